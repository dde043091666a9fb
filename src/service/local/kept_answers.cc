// SPDX-License-Identifier: Apache-2.0
#include "service/local/kept_answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "service/local/disk_budget.h"
#include "service/local/own_disk.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kMostBytes = 256UL << 20;

}  // namespace

Result<void> KeptAnswers::keep(const std::string& tenant,
                               const std::string& subject,
                               std::string_view answer) {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return own_disk_error("create the directory for stored responses");
  }
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, tenant, directory_));
  CountedFile file = GB_TRY(CountedFile::create(path(subject), std::move(budget), kMostBytes));
  if (auto written = file.write(answer); !written) {
    (void)::unlink(path(subject).c_str());
    return written;
  }
  const std::scoped_lock lock(mutex_);
  leases_.insert_or_assign(subject, std::move(file).settle().second);
  return {};
}

Result<std::string> KeptAnswers::read(const std::string& subject) const {
  const UniqueFd file(::open(path(subject).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Error::from_errno("read a stored response");
  }
  std::string answer(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t at = 0; at < answer.size();) {
    const ssize_t got = ::read(file.get(), answer.data() + at, answer.size() - at);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return Error::from_errno("read a stored response", got == 0 ? EIO : errno);
    }
    at += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return answer;
}

void KeptAnswers::remove(const std::string& subject) {
  (void)::unlink(path(subject).c_str());
  const std::scoped_lock lock(mutex_);
  leases_.erase(subject);
}

void KeptAnswers::sweep(const std::vector<IdempotencyClaim>& claims) {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> wanted;
  for (const IdempotencyClaim& claim : claims) {
    wanted.insert(claim.subject);
    struct stat status {};
    if (!leases_.contains(claim.subject) && ::lstat(path(claim.subject).c_str(), &status) == 0) {
      const Bytes size{static_cast<std::uint64_t>(status.st_blocks) * 512};
      leases_.emplace(claim.subject, quotas_.adopt(claim.tenant, disk_use(size)));
    }
  }
  std::erase_if(leases_, [&wanted](const auto& each) { return !wanted.contains(each.first); });
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    if (!wanted.contains(entry.path().filename().string())) {
      (void)::unlink(entry.path().c_str());
    }
  }
}

}  // namespace glovebox
