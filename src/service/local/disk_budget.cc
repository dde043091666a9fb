// SPDX-License-Identifier: Apache-2.0
#include "service/local/disk_budget.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/sys/write_all.h"
#include "service/local/own_disk.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kStep = 4UL << 20;
// What is left to the database: a twentieth of the disk, and no more than this.
constexpr std::uint64_t kMostLeft = 256UL << 20;

Result<void> check_free(const std::string& directory, std::uint64_t bytes) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) {
    return {};  // The write itself will say what is wrong.
  }
  const std::uint64_t free = disk.f_bavail * disk.f_frsize;
  const std::uint64_t reserve =
      std::min<std::uint64_t>(kMostLeft, disk.f_blocks * disk.f_frsize / 20);
  if (free < reserve || free - reserve < bytes) {
    return Error(ErrorCode::kUnavailable, "the data directory's disk is nearly full",
                 "free some space on it");
  }
  return {};
}

}  // namespace

Result<DiskBudget> DiskBudget::begin(QuotaBook& quotas,
                                     std::string_view tenant,
                                     std::string directory) {
  QuotaLease lease = GB_TRY(quotas.reserve(tenant, disk_use({})));
  return DiskBudget(quotas, std::move(lease), std::move(directory));
}

Result<void> DiskBudget::spend(std::uint64_t bytes) {
  if (bytes > counted_ - spent_) {
    const std::uint64_t missing = bytes - (counted_ - spent_);
    GB_TRY(check_free(directory_, missing));
    const std::uint64_t ahead = std::max(missing, kStep);
    if (quotas_->extend(lease_, Bytes{ahead})) {
      counted_ += ahead;
    } else if (quotas_->extend(lease_, Bytes{missing})) {
      counted_ += missing;
    } else {
      // Not kExhausted, at which clients try again: nothing frees the room by itself.
      return Error(ErrorCode::kConflict, "this would exceed the tenant's disk quota",
                   "remove snapshots, templates or volumes that are no longer needed");
    }
  }
  spent_ += bytes;
  return {};
}

void DiskBudget::give_back(std::uint64_t bytes) {
  spent_ -= std::min(spent_, bytes);
  counted_ = spent_;
  lease_.shrink_disk(Bytes{counted_});
}

QuotaLease DiskBudget::settle(std::uint64_t bytes) && {
  lease_.shrink_disk(Bytes{bytes});
  return std::move(lease_);
}

Result<CountedFile> CountedFile::create(const std::string& path,
                                        DiskBudget budget,
                                        std::uint64_t most) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    return own_disk_error("create a file in the data directory");
  }
  return CountedFile(std::move(file), std::move(budget), most);
}

Result<CountedFile> CountedFile::create_nameless(const std::string& directory,
                                                 DiskBudget budget,
                                                 std::uint64_t most) {
  UniqueFd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {
    return own_disk_error("create a file in the data directory");
  }
  return CountedFile(std::move(file), std::move(budget), most);
}

Result<void> CountedFile::write(std::string_view bytes) {
  if (bytes.size() > left_) {
    return Error(ErrorCode::kInvalid,
                 "too large: at most " + std::to_string(most_) + " bytes are accepted");
  }
  GB_TRY(budget_.spend(bytes.size()));
  left_ -= bytes.size();
  return sys::write_all(file_.get(), bytes) ? Result<void>()
                                            : own_disk_error("write to the data directory");
}

Result<void> CountedFile::flush() {
  return ::fsync(file_.get()) == 0 ? Result<void>() : own_disk_error("flush the data directory");
}

std::pair<UniqueFd, QuotaLease> CountedFile::settle() && {
  struct stat status {};
  const bool known = ::fstat(file_.get(), &status) == 0;
  QuotaLease lease = std::move(budget_).settle(
      known ? static_cast<std::uint64_t>(status.st_blocks) * 512 : most_ - left_);
  return {std::move(file_), std::move(lease)};
}

}  // namespace glovebox
