// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/call_budget.h"

namespace glovebox::keeper {
namespace {

template <typename Counts>
std::size_t count_of(const Counts& counts, std::string_view name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

template <typename Counts>
void add(Counts& counts, std::string_view name) {
  if (!name.empty()) {
    ++counts[std::string(name)];
  }
}

template <typename Counts>
void remove(Counts& counts, std::string_view name) {
  const auto found = counts.find(name);
  if (found != counts.end() && --found->second == 0) {
    counts.erase(found);
  }
}

Error too_many(std::string_view whose, std::size_t most, std::string hint) {
  return {ErrorCode::kExhausted,
          std::string(whose) + " has reached its limit of " + std::to_string(most) +
              " concurrent requests",
          std::move(hint)};
}

}  // namespace

CallBudget::Place::~Place() {
  if (budget_ != nullptr) {
    budget_->leave(*this);
  }
}

Result<CallBudget::Place> CallBudget::enter(std::string_view tenant, std::string_view sandbox) {
  const std::scoped_lock lock(mutex_);
  if (count_of(sandboxes_, sandbox) >= bounds_.of_sandbox) {
    return too_many("this sandbox", bounds_.of_sandbox,
                    "wait for some of them to finish, or interrupt what they wait for");
  }
  if (count_of(tenants_, tenant) >= bounds_.of_tenant) {
    return too_many("this tenant", bounds_.of_tenant, "wait for some of them to finish");
  }
  if (all_ >= bounds_.all) {
    return too_many("this machine", bounds_.all, "try again in a moment");
  }
  ++all_;
  add(tenants_, tenant);
  add(sandboxes_, sandbox);
  return Place(this, tenant, sandbox, false);
}

Result<CallBudget::Place> CallBudget::enter_reserve(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (count_of(reserved_of_, tenant) >= bounds_.reserve_of_tenant) {
    return too_many("this tenant", bounds_.reserve_of_tenant, "wait for some of them to finish");
  }
  if (reserved_ >= bounds_.reserve) {
    return too_many("this machine", bounds_.reserve, "try again in a moment");
  }
  ++reserved_;
  add(reserved_of_, tenant);
  return Place(this, tenant, {}, true);
}

void CallBudget::leave(const Place& place) {
  const std::scoped_lock lock(mutex_);
  if (place.reserved_) {
    --reserved_;
    remove(reserved_of_, place.tenant_);
    return;
  }
  --all_;
  remove(tenants_, place.tenant_);
  remove(sandboxes_, place.sandbox_);
}

}  // namespace glovebox::keeper
