// SPDX-License-Identifier: Apache-2.0
#include "context/context_starter.h"

#include <utility>

#include "base/json/json.h"
#include "sandbox/slot.h"
#include "sandbox/slot_tree.h"

namespace glovebox {
namespace {

// Emulated processors take a minute to import pandas, and a busy machine makes that several.
constexpr std::chrono::minutes kWarmPatience{5};

// An expression of Python's: it leaves no name behind. Shows nothing.
std::string importing(const std::vector<std::string>& modules) {
  return "[__import__('importlib').import_module(m) for m in " + nlohmann::json(modules).dump() +
         " if __import__('importlib.util').util.find_spec(m.partition('.')[0])] and None";
}

Result<void> run_unseen(Context& context, const std::string& code) {
  if (code.empty()) {
    return {};
  }
  // Nobody sees the result, but it is shown: making it ready must be warm, too.
  ExecuteOptions options{.code = code, .store_history = false};
  options.limits.wall = kWarmPatience;
  options.limits.cpu_time = {};
  (void)GB_TRY(context.execute(options));
  return context.alive() ? Result<void>()
                         : Error(ErrorCode::kUnavailable, "the interpreter ended as it warmed up");
}

}  // namespace

// What a context and its sandbox were when they had been warmed up, on the host's disk.
class ContextStarter::Template {
 public:
  // `live` ends.
  static Result<std::shared_ptr<Template>> of(LiveContext live) {
    Slot slot = GB_TRY(Slot::take());
    SlotTree tree = GB_TRY(SlotTree::make(slot));
    RestingContext resting = GB_TRY(live.context->rest());
    std::string tier(live.sandbox->tier());
    GB_TRY(live.sandbox->save(tree.path(), Sandbox::Seal::kNone));
    live.context.reset();
    (void)live.sandbox->end();
    return std::make_shared<Template>(std::move(slot), std::move(tree), std::move(tier),
                                      std::move(resting));
  }

  Template(Slot slot, SlotTree tree, std::string tier, RestingContext resting)
      : slot_(std::move(slot)),
        tree_(std::move(tree)),
        tier_(std::move(tier)),
        resting_(std::move(resting)) {}

  Result<LiveContext> load(const SandboxSpec& spec) {
    ++uses_;
    LiveContext live;
    live.sandbox = GB_TRY(Sandbox::load(spec, tier_, tree_.path(), Sandbox::Seal::kNone));
    live.context = GB_TRY(Context::wake(*live.sandbox, resting_));
    return live;
  }

  [[nodiscard]] bool is_worn(const StarterSpec& spec) const {
    return uses_ >= spec.uses_of_template || Clock::now() - made_ >= spec.age_of_template;
  }

 private:
  const Slot slot_;  // Given back after the tree has been removed.
  const SlotTree tree_;
  const std::string tier_;
  const RestingContext resting_;
  const Clock::time_point made_ = Clock::now();
  std::atomic<std::uint64_t> uses_ = 0;
};

// A sandbox that stop() ends, as long as this lives.
class ContextStarter::Starting {
 public:
  Starting(ContextStarter& starter, Sandbox& sandbox) : starter_(starter), sandbox_(sandbox) {
    const std::scoped_lock lock(starter_.mutex_);
    starter_.starting_.push_back(&sandbox_);
    if (starter_.stopping_) {
      sandbox_.kill();
    }
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting() {
    const std::scoped_lock lock(starter_.mutex_);
    std::erase(starter_.starting_, &sandbox_);
  }

 private:
  ContextStarter& starter_;
  Sandbox& sandbox_;
};

ContextStarter::~ContextStarter() = default;

void ContextStarter::stop() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  for (Sandbox* const sandbox : starting_) {
    sandbox->kill();
  }
}

std::shared_ptr<ContextStarter::Template> ContextStarter::present() {
  const std::scoped_lock lock(mutex_);
  if (template_ && template_->is_worn(spec_)) {
    template_.reset();
  }
  return template_;
}

Result<LiveContext> ContextStarter::start() {
  LiveContext live;
  live.sandbox = GB_TRY(Sandbox::create(spec_.sandbox, spec_.tier));
  const Starting starting(*this, *live.sandbox);
  live.context = GB_TRY(Context::start(*live.sandbox, spec_.context));
  if (!spec_.modules.empty()) {
    GB_TRY(run_unseen(*live.context, importing(spec_.modules)));
  }
  GB_TRY(run_unseen(*live.context, spec_.warm_up));
  return live;
}

Result<LiveContext> ContextStarter::load(const std::shared_ptr<Template>& from) {
  auto live = from->load(spec_.sandbox);
  if (!live) {
    const std::scoped_lock lock(mutex_);
    if (template_ == from) {  // What it needs may have been replaced on this host.
      template_.reset();
      retry_ = Clock::now() + spec_.age_of_template;
    }
  }
  return live;
}

// Loaded memory is read from the template page by page, as it is touched: while nobody waits, we
// can do that before a first cell has to.
Result<LiveContext> ContextStarter::load_ahead(const std::shared_ptr<Template>& from) {
  LiveContext live = GB_TRY(load(from));
  const Starting starting(*this, *live.sandbox);
  GB_TRY(run_unseen(*live.context, spec_.warm_up));
  return live;
}

Result<LiveContext> ContextStarter::make_ahead() {
  if (const auto from = present()) {
    return load_ahead(from);
  }
  const std::scoped_lock making(making_);
  if (const auto from = present()) {  // Somebody has made it meanwhile.
    return load_ahead(from);
  }
  LiveContext live = GB_TRY(start());
  {
    const std::scoped_lock lock(mutex_);
    if (!live.sandbox->features().snapshots_memory || Clock::now() < retry_) {
      return live;
    }
    retry_ = Clock::now() + spec_.age_of_template;
  }
  const auto made = GB_TRY(Template::of(std::move(live)));
  {
    const std::scoped_lock lock(mutex_);
    template_ = made;
    retry_ = {};
  }
  return load_ahead(made);
}

Result<LiveContext> ContextStarter::make_now() {
  if (const auto from = present()) {
    return load(from);
  }
  LiveContext live;
  live.sandbox = GB_TRY(Sandbox::create(spec_.sandbox, spec_.tier));
  return live;
}

}  // namespace glovebox
