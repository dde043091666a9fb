// SPDX-License-Identifier: Apache-2.0
#include "context/pool.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "context/agent_files.h"
#include "context/scarce_memory.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// At least how often the pool checks whether to shrink.
constexpr auto kRest = 10s;
// After a failure, so that we do not keep a host busy that can make none.
constexpr auto kPause = 1s;
// A claimer has its first execution to itself: making the next context competes with it for the
// caches and the processors.
constexpr auto kSettle = 5ms;
// The same if contexts are started: a start keeps the processors busy for so long that waiting a
// moment costs nothing, even if no context is left.
constexpr auto kSettleOfStarted = 25ms;
// How long a warm interpreter of another language waits for a fork.
constexpr auto kIdleBeside = 60s;
// How often we look.
constexpr auto kLook = 250ms;
// More would wait for each other: a zygote forks one at a time.
constexpr unsigned kMostMakers = 2;

void end(LiveContext& live) {
  live.context.reset();
  if (live.sandbox) {
    (void)live.sandbox->end();
  }
  live.sandbox.reset();
  live.zygote.reset();
}

}  // namespace

ContextPool::ContextPool(PoolSpec spec)
    : spec_(std::move(spec)),
      starter_(spec_.context.agent.empty() ? nullptr
                                           : std::make_unique<ContextStarter>(
                                                 StarterSpec{.sandbox = spec_.sandbox,
                                                             .tier = spec_.tier,
                                                             .context = spec_.context,
                                                             .modules = spec_.zygote.modules,
                                                             .warm_up = spec_.warm_up,
                                                             .uses_of_template = spec_.wear.forks,
                                                             .age_of_template = spec_.wear.age})) {}

Result<std::unique_ptr<ContextPool>> ContextPool::start(PoolSpec spec) {
  spec.sandbox.live = true;
  spec.sandbox.mounts.push_back(GB_TRY(agents_mount()));
  spec.most = std::max(spec.most, spec.least);
  if (!spec.source) {
    spec.source = std::make_shared<ZygoteSource>(spec.zygote, spec.wear, spec.tell);
  }
  std::unique_ptr<ContextPool> pool(new ContextPool(std::move(spec)));
  if (!pool->starter_) {
    (void)GB_TRY(pool->spec_.source->get());
  }
  pool->wanted_ = pool->spec_.least;
  const unsigned makers = std::clamp(std::thread::hardware_concurrency(), 1U, kMostMakers);
  for (unsigned maker = 0; maker < makers; ++maker) {
    pool->threads_.emplace_back(&ContextPool::work, pool.get(),
                                maker == 0 ? &ContextPool::keep_filled : &ContextPool::help_out);
  }
  pool->threads_.emplace_back(&ContextPool::work, pool.get(), &ContextPool::clear_away);
  return pool;
}

ContextPool::~ContextPool() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  help_wanted_.notify_one();
  discarded_one_.notify_one();
  stopped_.notify_all();
  if (starter_) {
    starter_->stop();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  for (LiveContext& live : discarded_) {
    end(live);
  }
  for (Waiting& waiting : ready_) {
    end(waiting.live);
  }
}

void ContextPool::end_hoarders() {
  if (!starter_) {
    spec_.source->end_hoarders();
  }
}

void ContextPool::tell(std::string_view line) const {
  if (spec_.tell) {
    spec_.tell(line);
  }
}

namespace {

Result<LiveContext> make_in(const PoolSpec& pool, std::shared_ptr<Zygote> zygote) {
  LiveContext live{.zygote = std::move(zygote)};
  SandboxSpec spec = pool.sandbox;
  spec.within = &live.zygote->realm();
  live.sandbox = GB_TRY(Sandbox::create(spec, pool.tier));
  live.context = GB_TRY(Context::fork(*live.sandbox, *live.zygote, pool.context));
  if (!pool.warm_up.empty()) {
    // Nobody sees the result, but it is shown: making it ready must be warm, too.
    (void)GB_TRY(live.context->execute({.code = pool.warm_up, .store_history = false}));
  }
  return live;
}

}  // namespace

Result<LiveContext> ContextPool::fork() {
  const std::shared_ptr<Zygote> used = GB_TRY(spec_.source->get());
  auto made = make_in(spec_, used);
  // Its realm may have died meanwhile: the next zygote has another.
  if (!made && !used->alive()) {
    made = make_in(spec_, GB_TRY(spec_.source->get()));
  }
  return made;
}

Result<LiveContext> ContextPool::claim() {
  for (;;) {
    LiveContext live;
    {
      const std::scoped_lock lock(mutex_);
      last_claim_ = Clock::now();
      if (ready_.empty()) {
        wanted_ = std::min(std::max<std::size_t>(wanted_ * 2, 1), spec_.most);
        break;
      }
      // The newest: what it needs is the likeliest to be in the caches still.
      live = std::move(ready_.back().live);
      ready_.pop_back();
      if (ready_.size() < wanted_ / 2) {
        wanted_ = std::min(wanted_ * 2, spec_.most);
      }
    }
    changed_.notify_one();
    // A context that waited may have been killed with its realm, or by itself. Not under the lock:
    // a zygote that is forking makes us wait.
    if (live.alive()) {
      return live;
    }
    discard(std::move(live));
  }
  changed_.notify_one();
  return starter_ ? starter_->make_now() : fork();
}

void ContextPool::discard(LiveContext used) {
  {
    const std::scoped_lock lock(mutex_);
    discarded_.push_back(std::move(used));
  }
  discarded_one_.notify_one();
}

std::size_t ContextPool::await_ready(std::size_t count, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  wanted_ = std::clamp(count, wanted_, spec_.most);
  last_claim_ = Clock::now();
  changed_.notify_one();
  (void)made_one_.wait_until(lock, deadline, [this, count] { return ready_.size() >= count; });
  return ready_.size();
}

ContextPool::Depth ContextPool::depth() {
  const std::scoped_lock lock(mutex_);
  return {.ready = ready_.size(), .wanted = wanted_};
}

void ContextPool::adapt(Clock::time_point now) {
  if (now - last_claim_ >= spec_.idle) {
    last_claim_ = now;
    wanted_ = std::max(spec_.least, wanted_ - std::min<std::size_t>(wanted_, 1));
  }
  bool given_back = false;
  const auto give_back = [&](std::deque<Waiting>::iterator waiting) {
    discarded_.push_back(std::move(waiting->live));
    given_back = true;
    return ready_.erase(waiting);
  };
  if (now - looked_ >= kLook) {
    looked_ = now;
    scarce_ = memory_is_scarce();
    // The kernel keeps what is left of a killed sandbox, and the realm around it, until we end the
    // sandbox. The zygote is not asked here, since that may have to wait for a fork.
    for (auto waiting = ready_.begin(); waiting != ready_.end();) {
      waiting = waiting->live.sandbox->alive() ? waiting + 1 : give_back(waiting);
    }
  }
  if (!starter_) {
    spec_.source->end_idle(scarce_ ? 0s : kIdleBeside);
  }
  const std::size_t target = scarce_ ? 0 : wanted_;
  while (ready_.size() > target) {
    (void)give_back(ready_.begin());
  }
  // Gives back those that share their seeds with contexts of long ago.
  while (!ready_.empty() && now - ready_.front().made >= spec_.wear.age) {
    (void)give_back(ready_.begin());
  }
  if (given_back) {
    discarded_one_.notify_one();
  }
}

void ContextPool::work(void (ContextPool::*task)()) {
  for (bool stopped = false; !stopped;) {
    try {
      (this->*task)();
      stopped = true;
    } catch (const std::exception&) {  // No memory, or no threads: a later try may succeed.
      std::unique_lock lock(mutex_);
      (void)stopped_.wait_for(lock, kPause, [this] { return stopping_; });
    }
  }
}

bool ContextPool::is_hurried() const { return ready_.size() + making_ < (wanted_ + 1) / 2; }

ContextPool::Clock::time_point ContextPool::quiet_until() const {
  if (starter_) {
    return last_claim_ + kSettleOfStarted;
  }
  return is_hurried() ? last_claim_ : last_claim_ + kSettle;
}

void ContextPool::keep_filled() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (const auto quiet = quiet_until(); Clock::now() < quiet) {
      (void)changed_.wait_until(lock, quiet);
      continue;
    }
    adapt(Clock::now());
    if (ready_.size() + making_ >= wanted_ || scarce_) {
      (void)changed_.wait_for(lock, kRest);
      continue;
    }
    if (is_hurried()) {
      help_wanted_.notify_one();
    }
    make_one(lock);
  }
}

void ContextPool::help_out() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!is_hurried() || scarce_) {
      help_wanted_.wait(lock);
    } else if (const auto quiet = quiet_until(); Clock::now() < quiet) {
      (void)help_wanted_.wait_until(lock, quiet);
    } else {
      make_one(lock);
    }
  }
}

void ContextPool::make_one(std::unique_lock<std::mutex>& lock) {
  class Count {
   public:
    Count(std::size_t& making, std::unique_lock<std::mutex>& lock) : making_(making), lock_(lock) {
      ++making_;
      lock_.unlock();
    }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    ~Count() {
      lock_.lock();
      --making_;
    }

   private:
    std::size_t& making_;
    std::unique_lock<std::mutex>& lock_;
  };
  auto made = [&] {
    const Count count(making_, lock);
    return starter_ ? starter_->make_ahead() : fork();
  }();
  if (made) {
    ready_.push_back({.live = std::move(made).value(), .made = Clock::now()});
    made_one_.notify_all();
  } else {
    tell("cannot make a sandbox ahead: " + made.error().message());
    if (starter_) {
      wanted_ = spec_.least;  // Each try takes seconds: the next claim justifies another.
    }
    (void)stopped_.wait_for(lock, kPause, [this] { return stopping_; });
  }
}

void ContextPool::clear_away() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (discarded_.empty()) {
      discarded_one_.wait(lock);
      continue;
    }
    LiveContext used = std::move(discarded_.front());
    discarded_.pop_front();
    lock.unlock();
    end(used);
    lock.lock();
  }
}

}  // namespace glovebox
