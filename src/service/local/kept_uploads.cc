// SPDX-License-Identifier: Apache-2.0
#include "service/local/kept_uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/digest/digest.h"
#include "base/random.h"
#include "base/text.h"
#include "service/local/disk_budget.h"
#include "service/local/own_disk.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 30;
constexpr std::size_t kPiece = 256UL * 1024;
constexpr std::size_t kHashSize = 64;
constexpr std::string_view kUnfinished = "unfinished-";

Result<void> receive(CountedFile& file, const FileClient::Source& source) {
  std::vector<char> buffer(kPiece);
  while (const std::size_t got = GB_TRY(source(buffer))) {
    GB_TRY(file.write({buffer.data(), got}));
  }
  return file.flush();
}

}  // namespace

Result<void> KeptUploads::keep(const std::string& tenant,
                               std::string_view name,
                               const FileClient::Source& source) {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return own_disk_error("create the directory for uploads");
  }
  sweep();
  const Key key(tenant, sha256_hex(name));
  const std::string unfinished = directory_ + "/" + std::string(kUnfinished) + random_hex(16);
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, tenant, directory_));
  CountedFile file = GB_TRY(CountedFile::create(unfinished, std::move(budget), kMostBytes));
  if (auto received = receive(file, source); !received) {
    (void)::unlink(unfinished.c_str());
    return received;
  }
  QuotaLease lease = std::move(file).settle().second;
  const std::scoped_lock lock(mutex_);
  if (::rename(unfinished.c_str(), path(key).c_str()) != 0) {
    const int error = errno;
    (void)::unlink(unfinished.c_str());
    errno = error;
    return own_disk_error("keep an upload");
  }
  uploads_.insert_or_assign(key, Upload{Clock::now(), std::move(lease)});
  make_room(tenant);
  return {};
}

Result<UniqueFd> KeptUploads::open(const std::string& tenant, std::string_view name) {
  const Key key(tenant, sha256_hex(name));
  const std::scoped_lock lock(mutex_);
  drop_old(Clock::now());
  if (!uploads_.contains(key)) {
    return Error(ErrorCode::kNotFound, "upload '" + printable(name) + "' not found");
  }
  UniqueFd file(::open(path(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file ? Result<UniqueFd>(std::move(file)) : own_disk_error("open an upload");
}

void KeptUploads::adopt() {
  const std::scoped_lock lock(mutex_);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    struct stat status {};
    if (name.starts_with(kUnfinished) || name.size() <= kHashSize + 1 || name[kHashSize] != '.' ||
        ::lstat(entry.path().c_str(), &status) != 0) {
      (void)::unlink(entry.path().c_str());
      continue;
    }
    const Key key(name.substr(kHashSize + 1), name.substr(0, kHashSize));
    const Bytes size{static_cast<std::uint64_t>(status.st_blocks) * 512};
    uploads_.emplace(
        key, Upload{Clock::from_time_t(status.st_mtime), quotas_.adopt(key.first, disk_use(size))});
  }
  drop_old(Clock::now());
}

void KeptUploads::sweep() {
  const std::scoped_lock lock(mutex_);
  drop_old(Clock::now());
}

void KeptUploads::drop(std::map<Key, Upload>::iterator upload) {
  (void)::unlink(path(upload->first).c_str());
  uploads_.erase(upload);
}

void KeptUploads::drop_old(Clock::time_point now) {
  for (auto next = uploads_.begin(); next != uploads_.end();) {
    const auto each = next++;
    if (now - each->second.at > kKept) {
      drop(each);
    }
  }
}

void KeptUploads::make_room(const std::string& tenant) {
  std::size_t count = 0;
  auto oldest = uploads_.end();
  for (auto each = uploads_.lower_bound({tenant, ""});
       each != uploads_.end() && each->first.first == tenant; ++each) {
    ++count;
    if (oldest == uploads_.end() || each->second.at < oldest->second.at) {
      oldest = each;
    }
  }
  if (count > kMost) {
    drop(oldest);
  }
}

}  // namespace glovebox
