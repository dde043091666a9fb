// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/pool_shelf.h"

#include <algorithm>
#include <utility>

namespace glovebox::keeper {
namespace {

// Each has a warm interpreter and sandboxes that wait.
constexpr std::size_t kMostOfTemplates = 16;
constexpr std::size_t kMostOfTenant = 4;

std::string kind_of(const std::string& home, const TemplateOrder& shows) {
  return home + '\0' + shows.key();
}

}  // namespace

Result<std::shared_ptr<ContextPool>> PoolShelf::get(
    const std::string& home,
    const TemplateOrder& shows,
    const std::function<Result<PoolSpec>()>& describe) {
  std::shared_ptr<Shelved> shelved;
  std::vector<std::shared_ptr<Shelved>> gone;  // Ended after the lock.
  {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Shelved>& found = shelved_[kind_of(home, shows)];
    if (!found) {
      found = std::make_shared<Shelved>();
      found->tenant = shows.tenant;
      found->of_template = shows.of_template();
      found->paths = shows.contents;
    }
    found->used = Clock::now();
    shelved = found;
    make_room(shows.tenant, gone);
  }
  const std::scoped_lock lock(shelved->starting);
  if (shelved->failed) {
    return Error(ErrorCode::kUnsupported, "there is no warm interpreter for this template");
  }
  if (!shelved->pool) {
    shelved->contents = GB_TRY(hold_contents(shows));
    PoolSpec spec = GB_TRY(describe());
    auto started = ContextPool::start(std::move(spec));
    if (!started) {
      shelved->failed = shelved->of_template;
      shelved->contents.clear();
      return std::move(started).error();
    }
    shelved->pool = std::move(started).value();
  }
  return shelved->pool;
}

void PoolShelf::make_room(const std::string& tenant, std::vector<std::shared_ptr<Shelved>>& gone) {
  const auto drop_oldest_of = [&](const std::string& whose) {
    auto oldest = shelved_.end();
    for (auto each = shelved_.begin(); each != shelved_.end(); ++each) {
      if (each->second->of_template && each->second->tenant == whose &&
          (oldest == shelved_.end() || each->second->used < oldest->second->used)) {
        oldest = each;
      }
    }
    gone.push_back(std::move(oldest->second));
    shelved_.erase(oldest);
  };
  std::map<std::string, std::size_t> counts;
  std::size_t all = 0;
  for (const auto& [kind, each] : shelved_) {
    if (each->of_template) {
      ++counts[each->tenant];
      ++all;
    }
  }
  if (const auto own = counts.find(tenant); own != counts.end() && own->second > kMostOfTenant) {
    drop_oldest_of(tenant);
  } else if (all > kMostOfTemplates) {
    // Whoever has most gives: nobody's pools are pushed out by somebody with more of them.
    drop_oldest_of(
        std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first);
  }
}

void PoolShelf::drop(const std::string& home, const TemplateOrder& shows) {
  std::shared_ptr<Shelved> gone;  // Ended after the lock.
  const std::scoped_lock lock(mutex_);
  if (const auto found = shelved_.find(kind_of(home, shows)); found != shelved_.end()) {
    gone = std::move(found->second);
    shelved_.erase(found);
  }
}

void PoolShelf::forget(std::string_view content) {
  std::vector<std::shared_ptr<Shelved>> gone;  // Ended after the lock.
  const std::scoped_lock lock(mutex_);
  for (auto next = shelved_.begin(); next != shelved_.end();) {
    const auto current = next++;
    if (std::ranges::find(current->second->paths, content) != current->second->paths.end()) {
      gone.push_back(std::move(current->second));
      shelved_.erase(current);
    }
  }
}

}  // namespace glovebox::keeper
