// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/cell_history.h"

#include <set>
#include <vector>

namespace glovebox {

CellHistory::Known CellHistory::of(std::string_view tenant,
                                   std::string_view sandbox,
                                   std::string_view context) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tenants_.find(std::string(tenant));
  if (found == tenants_.end()) {
    return {};
  }
  const auto known = found->second.contexts.find(Key(sandbox, context));
  if (known != found->second.contexts.end()) {
    return known->second;
  }
  // If there is no room for more contexts, nothing is known of this one.
  return {.code = {}, .whole = found->second.contexts.size() < kMostContexts};
}

void CellHistory::add(std::string_view tenant,
                      std::string_view sandbox,
                      std::string_view context,
                      std::string_view cell,
                      const std::function<bool(const std::string& sandbox)>& lives) {
  const std::string name(tenant);
  const Key key(sandbox, context);
  const auto is_full = [&] {
    const std::scoped_lock lock(mutex_);
    const OfTenant& own = tenants_[name];
    return !own.contexts.contains(key) &&
           (own.contexts.size() >= kMostContexts || own.bytes + cell.size() >= kMostOfTenant);
  };
  if (is_full()) {
    drop_dead(name, lives);
  }
  const std::scoped_lock lock(mutex_);
  OfTenant& own = tenants_[name];
  if (!own.contexts.contains(key) && own.contexts.size() >= kMostContexts) {
    return;
  }
  Known& known = own.contexts[key];
  if (known.code.size() + cell.size() + 1 > kMostOfContext ||
      own.bytes + cell.size() + 1 > kMostOfTenant) {
    known.whole = false;
    return;
  }
  known.code.append(cell).append("\n");
  own.bytes += cell.size() + 1;
}

void CellHistory::copy(std::string_view tenant,
                       std::string_view sandbox,
                       std::string_view context,
                       std::string_view fork) {
  Known known = of(tenant, sandbox, context);
  if (known.code.empty() && known.whole) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  put(tenants_[std::string(tenant)], Key(sandbox, fork), std::move(known));
}

void CellHistory::copy_all(std::string_view tenant,
                           std::string_view sandbox,
                           std::string_view copy) {
  const std::scoped_lock lock(mutex_);
  OfTenant& own = tenants_[std::string(tenant)];
  std::vector<std::pair<std::string, Known>> copied;
  for (auto each = own.contexts.lower_bound(Key(sandbox, std::string()));
       each != own.contexts.end() && each->first.first == sandbox; ++each) {
    copied.emplace_back(each->first.second, each->second);
  }
  for (auto& [context, known] : copied) {
    put(own, Key(copy, context), std::move(known));
  }
}

// Of a context that is new.
void CellHistory::put(OfTenant& own, Key key, Known known) {
  if (own.contexts.size() >= kMostContexts) {
    return;
  }
  if (own.bytes + known.code.size() > kMostOfTenant) {
    known = {.code = {}, .whole = false};
  }
  own.bytes += known.code.size();
  own.contexts.insert_or_assign(std::move(key), std::move(known));
}

void CellHistory::drop_dead(const std::string& tenant,
                            const std::function<bool(const std::string& sandbox)>& lives) {
  std::set<std::string> sandboxes;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, known] : tenants_[tenant].contexts) {
      sandboxes.insert(key.first);
    }
  }
  std::erase_if(sandboxes, lives);
  const std::scoped_lock lock(mutex_);
  OfTenant& own = tenants_[tenant];
  std::erase_if(own.contexts, [&](const auto& entry) {
    const bool dead = sandboxes.contains(entry.first.first);
    own.bytes -= dead ? entry.second.code.size() : 0;
    return dead;
  });
}

}  // namespace glovebox
