// SPDX-License-Identifier: Apache-2.0
// SandboxBook: the living sandboxes of all tenants, as the daemon knows them.
//
// The truth is with the keeper, which holds a copy of each entry; a daemon that starts reads its
// book from there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/sandbox_service.h"
#include "service/tenants/quota_book.h"

namespace glovebox {

struct SandboxEntry {
  std::string tenant;
  std::string claim;  // The subject of the idempotency claim that it was made for, or empty.
  std::uint64_t changes = 0;  // Since this daemon has known it.
  bool filling = false;       // Its files are not all there yet: nobody has been told of it.
  SandboxInfo info;
};

// What the keeper keeps of an entry, and back; nothing if `record` is not one.
std::string encode(const SandboxEntry& entry);
std::optional<SandboxEntry> decode_entry(std::string_view record);

// Safe to use from any thread.
class SandboxBook {
 public:
  void put(SandboxEntry entry, QuotaLease lease);

  // Of any tenant.
  Result<SandboxEntry> entry(std::string_view id) const;
  // kNotFound also if it is another tenant's.
  Result<SandboxInfo> find(std::string_view tenant, std::string_view id) const;

  // Change an entry that is there.
  void set(const SandboxInfo& info);
  void set_state(std::string_view id, SandboxState state);
  // Sets what was asked for when all() returned `before`; newer changes stay.
  void set_state_since(const SandboxEntry& before, SandboxState state);

  // The entry, when it was there. Its quota is free again.
  std::optional<SandboxEntry> remove(std::string_view id);

  Result<SandboxPage> list(std::string_view tenant, const SandboxQuery& query) const;
  [[nodiscard]] std::vector<SandboxEntry> all() const;

 private:
  struct Held {
    SandboxEntry entry;
    QuotaLease lease;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Held, std::less<>> held_;
};

}  // namespace glovebox
