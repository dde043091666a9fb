// SPDX-License-Identifier: Apache-2.0
// DiskBudget: what a tenant writes into the data directory, counted before it is written.
//
// Everything of a tenant's that lasts there (snapshots, the content of templates, uploads, answers
// that are kept) counts against the tenant's quota of disk. Nothing is written that was not counted
// first, and a tenant without a quota still leaves the daemon room for its database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/tenants/quota_book.h"

namespace glovebox {

// One thread at a time.
class DiskBudget {
 public:
  // A budget with nothing spent yet. `directory` is where the bytes will go. The book must outlive
  // this.
  static Result<DiskBudget> begin(QuotaBook& quotas,
                                  std::string_view tenant,
                                  std::string directory);

  // Call it before `bytes` more are written. kConflict if the tenant's quota has no room for them,
  // kUnavailable if the disk itself is nearly full; then they are not counted.
  Result<void> spend(std::uint64_t bytes);

  // Up to `bytes` of what was spent are no longer there.
  void give_back(std::uint64_t bytes);

  // Ends the budget: what was spent beyond `bytes` goes back, and the rest counts as long as the
  // lease lives.
  QuotaLease settle(std::uint64_t bytes) &&;

 private:
  DiskBudget(QuotaBook& quotas, QuotaLease lease, std::string directory)
      : quotas_(&quotas), lease_(std::move(lease)), directory_(std::move(directory)) {}

  QuotaBook* quotas_;
  QuotaLease lease_;
  std::string directory_;
  std::uint64_t spent_ = 0;
  std::uint64_t counted_ = 0;  // Ahead of what is spent, so that not every piece asks the book.
};

// A file that is written once, from its beginning to its end. One thread at a time.
class CountedFile {
 public:
  // A new file at `path`, mode 0600. It takes at most `most` bytes: kInvalid beyond that.
  static Result<CountedFile> create(const std::string& path, DiskBudget budget, std::uint64_t most);
  // One without a name in `directory`: nothing is left of it when it is closed.
  static Result<CountedFile> create_nameless(const std::string& directory,
                                             DiskBudget budget,
                                             std::uint64_t most);

  Result<void> write(std::string_view bytes);
  [[nodiscard]] int fd() const { return file_.get(); }
  // Waits until it is on the disk.
  Result<void> flush();
  // Ends the writing. What the file takes of the disk counts as long as the lease lives.
  std::pair<UniqueFd, QuotaLease> settle() &&;

 private:
  CountedFile(UniqueFd file, DiskBudget budget, std::uint64_t most)
      : file_(std::move(file)), budget_(std::move(budget)), left_(most), most_(most) {}

  UniqueFd file_;
  DiskBudget budget_;
  std::uint64_t left_;
  std::uint64_t most_;
};

}  // namespace glovebox
