// SPDX-License-Identifier: Apache-2.0
// StorageCharges: the content that each tenant's templates and snapshots name, counted against the
// tenant's disk.
//
// A piece that several templates of a tenant are made of counts once for it; one that two tenants
// have counts for each, so that what one tenant does changes nothing for another.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "service/tenants/quota_book.h"

namespace glovebox {

// Its caller locks.
class StorageCharges {
 public:
  using Item = std::pair<std::string, std::string>;  // A tenant, and the key of a piece.

  [[nodiscard]] bool has(const Item& item) const { return leases_.contains(item); }
  // What counts already stays as it is.
  void keep(const Item& item, QuotaLease lease) { leases_.try_emplace(item, std::move(lease)); }
  // Gives back every item that is not one of these.
  void retain(const std::set<Item>& items) {
    std::erase_if(leases_, [&items](const auto& each) { return !items.contains(each.first); });
  }

 private:
  std::map<Item, QuotaLease> leases_;
};

}  // namespace glovebox
