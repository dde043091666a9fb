// SPDX-License-Identifier: Apache-2.0
// Which sandboxes the keeper makes ahead, and how they are warmed up.
#include <algorithm>
#include <exception>
#include <utility>

#include "context/agent_files.h"
#include "service/keeper/keeper.h"
#include "service/runs/live_session.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How often pools that could not be made are looked at, and how long the first sandbox in one may
// take.
constexpr auto kWarmEvery = 2s;
constexpr auto kWarmPatience = 2s;
// Run in each context that waits: the first use of a library costs more than the others. What
// pandas touches is most of what first cells touch; if it is installed, it is loaded already.
constexpr const char* kWarmUp =
    "(lambda pd: pd.DataFrame({'a': [1, 2, 3]}).a.sum() if pd else 1 + 1)"
    "(__import__('sys').modules.get('pandas'))";

// How long a sandbox waits to be claimed, in a tier where each is as large as a machine.
constexpr std::chrono::minutes kIdleMachine{5};

// Empty: that of realms.
std::string tier_of_pool(const TierWish& wish) {
  if (first_choice_can(wish, &TierTraits::can_hold_realms)) {
    return {};
  }
  const auto tiers = candidate_tiers(wish);
  return tiers ? std::string(tiers->front()->name()) : std::string();
}

}  // namespace

bool Keeper::comes_from_pool(const CreateOrder& order) {
  return first_choice_can(order.tier, &TierTraits::can_hold_realms) ||
         first_choice_can(order.tier, &TierTraits::forks_own_interpreters) ||
         (first_choice_can(order.tier, &TierTraits::waits_warm) && !order.network &&
          !order.shows.of_template() && order.limits == Limits());
}

Result<PoolSpec> Keeper::own_interpreters_pool(const CreateOrder& order) {
  PoolSpec spec;
  spec.zygote =
      GB_TRY(zygote_for(GB_TRY(find_live_language(registry_, "python", order.tier)), order.tier));
  spec.zygote.stop = warming_stop_.get_token();
  spec.tier = order.tier;
  spec.sandbox = GB_TRY(spec_of(order, {}));
  spec.sandbox.limits = {};
  spec.context.cwd = order.home;
  spec.warm_up = "1 + 1";
  spec.least = options_.least_ready;
  spec.most = options_.most_ready;
  return spec;
}

// Nothing waits in it before somebody has asked for one.
Result<PoolSpec> Keeper::started_pool(const CreateOrder& order, const std::string& tier) {
  const Language python = GB_TRY(find_live_language(registry_, "python"));
  PoolSpec spec;
  spec.zygote.modules = python.preload;
  spec.tier = {.exactly = tier};
  spec.sandbox = GB_TRY(spec_of(order, {}));
  spec.sandbox.limits = {};
  const Command agent = agent_command(python, kAgentsTarget, spec.sandbox.limits);
  spec.context = {.language = python.id, .agent = agent.argv, .env = agent.env, .cwd = order.home};
  spec.warm_up = kWarmUp;
  spec.least = 0;
  spec.most = options_.most_ready;
  spec.idle = kIdleMachine;
  return spec;
}

// Each context gets its language's own variables, so they do not concern the sandbox.
Result<std::shared_ptr<ContextPool>> Keeper::pool(const CreateOrder& order) {
  const PoolKind kind{.home = order.home,
                      .shows = order.shows,
                      .tier = tier_of_pool(order.tier),
                      .network = order.network.has_value()};
  return pools_.get(kind, [&]() -> Result<PoolSpec> {
    if (first_choice_can(order.tier, &TierTraits::forks_own_interpreters)) {
      return own_interpreters_pool(order);
    }
    if (!kind.tier.empty()) {
      return started_pool(order, kind.tier);
    }
    // What another root has installed turns out when it is started there.
    const Language python =
        GB_TRY(order.shows.root.empty() ? find_live_language(registry_, "python")
                                        : registry_.find("python"));
    PoolSpec spec;
    spec.zygote.modules = python.preload;
    spec.zygote.modules.insert(spec.zygote.modules.end(), order.shows.preload.begin(),
                               order.shows.preload.end());
    spec.zygote.root = order.shows.root;
    spec.zygote.env = order.shows.env;
    spec.sandbox = GB_TRY(spec_of(order, {}));
    spec.sandbox.limits = {};
    spec.zygote.mounts = mounts_of(order.shows);
    spec.zygote.stop = warming_stop_.get_token();
    spec.context.cwd = order.home;
    spec.warm_up = kWarmUp;
    spec.least = options_.least_ready;
    spec.most = options_.most_ready;
    return spec;
  });
}

void Keeper::warm_up(std::vector<CreateOrder> usual) {
  const auto same_kind = [](const CreateOrder& a, const CreateOrder& b) {
    return a.home == b.home && a.shows.key() == b.shows.key();
  };
  const std::scoped_lock lock(warming_);
  if (warmer_.joinable() && std::ranges::equal(usual, usual_, same_kind)) {
    return;
  }
  std::uint64_t wish = 0;
  {
    const std::scoped_lock changing(mutex_);
    wish = ++warm_wish_;
  }
  changed_.notify_all();
  if (warmer_.joinable()) {
    warmer_.join();
  }
  for (const CreateOrder& before : usual_) {
    if (std::ranges::none_of(usual, [&](const auto& now) { return same_kind(before, now); })) {
      pools_.drop({.home = before.home, .shows = before.shows});
    }
  }
  warm_ = false;
  usual_ = std::move(usual);
  // Runs beside the first calls: those that need no pool are answered at once, and those that do
  // wait for its lock.
  warmer_ = std::thread([this, orders = usual_, wish] { keep_trying(orders, wish); });
}

void Keeper::keep_trying(const std::vector<CreateOrder>& usual, std::uint64_t wish) {
  for (;;) {
    bool all = true;
    for (const CreateOrder& order : usual) {
      try {
        all = warm(order) && all;
      } catch (const std::exception&) {  // No memory, or no threads: a later try may succeed.
        all = false;
      }
    }
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return stopping_ || warm_wish_ != wish; };
    if (all && !is_over()) {
      warm_ = true;
    }
    if (all || changed_.wait_for(lock, kWarmEvery, is_over)) {
      return;
    }
  }
}

// False if a later try may succeed.
bool Keeper::warm(const CreateOrder& order) {
  if (!comes_from_pool(order)) {
    return true;  // Here every sandbox is made when it is asked for.
  }
  const auto made = pool(order);
  if (!made) {
    return made.error().code() == ErrorCode::kUnsupported;
  }
  return made.value()->await_ready(1, std::chrono::steady_clock::now() + kWarmPatience) > 0;
}

}  // namespace glovebox::keeper
