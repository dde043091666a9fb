// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/pool_shelf.h"

#include <algorithm>
#include <utility>

namespace glovebox::keeper {
namespace {

// Each has a warm interpreter and sandboxes that wait.
constexpr std::size_t kMostOfTemplates = 16;
constexpr std::size_t kMostOfTenant = 4;
// Between tries of a pool that does not start, twice as long each time.
constexpr std::chrono::seconds kFirstPause{15};
constexpr std::chrono::seconds kLongestPause{3'600};

std::string key_of_interpreter(const PoolKind& kind) { return kind.tier + '\0' + kind.shows.key(); }

std::string key_of(const PoolKind& kind) {
  return kind.home + '\0' + (kind.network ? "network" : "") + '\0' + key_of_interpreter(kind);
}

std::string name_of(const std::string& home, const std::string& tenant, bool of_template) {
  return of_template ? "pool for a template of tenant " + tenant : "pool for " + home;
}

std::string name_of_interpreters(const TemplateOrder& shows) {
  return shows.of_template() ? "interpreters of a template of tenant " + shows.tenant
                             : "interpreters of the built-in templates";
}

}  // namespace

Result<std::shared_ptr<ContextPool>> PoolShelf::get(
    const PoolKind& kind, const std::function<Result<PoolSpec>()>& describe) {
  const auto& [home, shows, tier, network] = kind;
  std::shared_ptr<Shelved> shelved;
  std::vector<std::shared_ptr<Shelved>> gone;  // Ended after the lock.
  {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Shelved>& found = shelved_[key_of(kind)];
    if (!found) {
      found = std::make_shared<Shelved>();
      found->home = home;
      found->tier = tier;
      found->tenant = shows.tenant;
      found->of_template = shows.of_template();
      found->paths = shows.contents;
    }
    found->used = Clock::now();
    shelved = found;
    make_room(shows.tenant, gone);
  }
  const std::scoped_lock lock(shelved->starting);
  if (shelved->pool) {
    return shelved->pool;
  }
  if (Clock::now() < shelved->retry) {
    return Error(ErrorCode::kUnavailable, "there is no warm interpreter of this kind");
  }
  auto started = start(*shelved, kind, describe);
  if (!started) {
    shelved->contents.clear();
    shelved->pause = std::clamp(2 * shelved->pause, kFirstPause, kLongestPause);
    shelved->retry = Clock::now() + shelved->pause;
    ++failures_;
    tell_(name_of(home, shelved->tenant, shelved->of_template),
          "cannot start: " + started.error().message() + "; next try in " +
              std::to_string(shelved->pause.count()) + " s at the earliest");
  }
  return started;
}

Result<std::shared_ptr<ContextPool>> PoolShelf::start(
    Shelved& shelved, const PoolKind& kind, const std::function<Result<PoolSpec>()>& describe) {
  shelved.contents = GB_TRY(hold_contents(kind.shows));
  PoolSpec spec = GB_TRY(describe());
  spec.tell = [tell = tell_, name = name_of(shelved.home, shelved.tenant, shelved.of_template)](
                  std::string_view line) { tell(name, line); };
  spec.source = source_for(kind, spec);
  std::shared_ptr<ContextPool> started = GB_TRY(ContextPool::start(std::move(spec)));
  const std::scoped_lock lock(mutex_);
  shelved.pool = started;
  return started;
}

std::shared_ptr<ZygoteSource> PoolShelf::source_for(const PoolKind& kind, const PoolSpec& spec) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(sources_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<ZygoteSource>& known = sources_[key_of_interpreter(kind)];
  std::shared_ptr<ZygoteSource> source = known.lock();
  if (!source) {
    source = std::make_shared<ZygoteSource>(spec.zygote, spec.wear,
                                            [tell = tell_, name = name_of_interpreters(kind.shows)](
                                                std::string_view line) { tell(name, line); });
    known = source;
  }
  return source;
}

void PoolShelf::end_hoarders() {
  std::vector<std::shared_ptr<ContextPool>> pools;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [kind, each] : shelved_) {
      pools.push_back(each->pool);
    }
  }
  for (const auto& pool : pools) {
    if (pool) {
      pool->end_hoarders();
    }
  }
}

std::vector<PoolShelf::Figures> PoolShelf::figures() {
  std::vector<std::pair<Figures, std::shared_ptr<ContextPool>>> found;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [kind, each] : shelved_) {
      found.push_back(
          {{.home = each->home, .tier = each->tier, .of_template = each->of_template, .depth = {}},
           each->pool});
    }
  }
  std::vector<Figures> figures;
  for (auto& [figure, pool] : found) {
    figure.depth = pool ? pool->depth() : ContextPool::Depth();
    figures.push_back(std::move(figure));
  }
  return figures;
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
    // The tenant with the most pools gives one up: nobody loses one to somebody with more of them.
    drop_oldest_of(
        std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first);
  }
}

void PoolShelf::drop(const PoolKind& kind) {
  std::shared_ptr<Shelved> gone;  // Ended after the lock.
  const std::scoped_lock lock(mutex_);
  if (const auto found = shelved_.find(key_of(kind)); found != shelved_.end()) {
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
