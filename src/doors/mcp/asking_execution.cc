// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/asking_execution.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "spec/json/object_text.h"
#include "spec/json/raw_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::mcp {
namespace {

// What is printed and waits to be told.
constexpr std::size_t kMostPrinted = 16'384;
constexpr int kTellEvery = 100;  // Milliseconds.
constexpr std::chrono::seconds kLookForDryRunEvery{2};
constexpr std::string_view kStateOf = "call:";
// Members of a verdict.
constexpr std::array<std::string_view, 4> kUntold = {"walls", "limits", "usage", "timings"};

}  // namespace

Json told_event(std::string_view text) {
  if (!is_verdict_event(text)) {
    return Json::parse(text, nullptr, false);
  }
  ObjectText told;
  for (const auto& [name, value] : raw_members(text)) {
    if (std::ranges::find(kUntold, name) == kUntold.end()) {
      told.add_text(name, value);
    }
  }
  return Json::parse(told.take(), nullptr, false);
}

std::string waiting_note(const Json& event) {
  return text_of(event, "type") == "approval_needed"
             ? "A policy wants a person to approve this: glovebox approve " + text_of(event, "id") +
                   "\n"
             : std::string();
}

AskingExecution::AskingExecution(
    Desks desks, Caller caller, Place place, Work work, std::function<void()> changed)
    : desks_(desks),
      caller_(std::move(caller)),
      place_(std::move(place)),
      on_change_(std::move(changed)),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this, work = std::move(work)] { run(work); });
}

AskingExecution::~AskingExecution() {
  interrupt();
  thread_.join();
}

void AskingExecution::run(const Work& work) {
  Result<void> done;
  try {
    done = work([this](std::string_view event) { return take(event); });
  } catch (const std::exception&) {  // No memory, or no threads.
    done = Error(ErrorCode::kExhausted, "out of memory or threads");
  }
  if (done) {
    ask_about_dry_run();
  } else {
    const std::scoped_lock lock(mutex_);
    verdict_ = std::move(done).error();
  }
  ended_ = true;
  (void)::eventfd_write(changed_.get(), 1);
  if (on_change_) {
    on_change_();
  }
}

std::optional<Approval> AskingExecution::approval_of(const Json& event) const {
  if (desks_.approvals == nullptr || !caller_.may(kScopeApprove)) {
    return std::nullopt;
  }
  auto waiting = desks_.approvals->waiting(caller_);
  const std::string id = text_of(event, "id");
  if (waiting) {
    if (const auto found = std::ranges::find(*waiting, id, &Approval::id);
        found != waiting->end()) {
      return std::move(*found);
    }
  }
  return std::nullopt;
}

bool AskingExecution::note_event(const std::string& type,
                                 Json event,
                                 std::optional<Approval> approval) {
  // Anything that comes after the question whether it may run means that somebody has decided.
  const bool moot = std::erase_if(questions_, [](const Waiting& each) {
                      return each.question.approval.has_value();
                    }) > 0;
  if (approval) {
    questions_.push_back({.question = {.number = ++asked_, .approval = std::move(approval)}});
  } else if (type == "verdict") {
    verdict_ = std::move(event);
  } else if (type == "input_request") {
    const std::uint64_t number = ++asked_;
    questions_.push_back(
        {.question = {.number = number,
                      .request = event.value("request", std::uint64_t{0}),
                      .prompt = event.value("prompt", "")},
         .is_answerable = !event.value("password", false) && number <= kMostQuestions});
  } else {
    printed_ += type == "stdout" || type == "stderr" ? text_of(event, "text") : waiting_note(event);
    if (printed_.size() > 2 * kMostPrinted) {
      printed_.erase(0, printed_.size() - kMostPrinted);
    }
  }
  return moot;
}

bool AskingExecution::take(std::string_view text) {
  if (text.empty()) {
    return !interrupted_;
  }
  Json event = told_event(text);
  const std::string type = text_of(event, "type");
  std::optional<Approval> approval = type == "approval_needed" ? approval_of(event) : std::nullopt;
  bool moot = false;
  {
    const std::scoped_lock lock(mutex_);
    moot = note_event(type, std::move(event), std::move(approval));
  }
  reply_to_unanswerable();
  (void)::eventfd_write(changed_.get(), 1);
  if (moot && on_change_) {
    on_change_();
  }
  return !interrupted_;
}

void AskingExecution::reply_to_unanswerable() {
  const std::scoped_lock in_order(replying_);
  for (;;) {
    Question question;
    {
      const std::scoped_lock lock(mutex_);
      if (questions_.empty() || questions_.front().is_answerable) {
        return;
      }
      question = std::move(questions_.front().question);
      questions_.pop_front();
    }
    (void)desks_.service.reply_input(caller_, place_.sandbox, place_.context,
                                     {.value = {}, .request = question.request});
  }
}

AskingExecution::Stop AskingExecution::wait(const Cancellation& cancellation,
                                            OutputProgress& progress) {
  for (;;) {
    eventfd_t count = 0;
    (void)::eventfd_read(changed_.get(), &count);
    const bool is_over = ended_;
    std::string printed;
    {
      const std::scoped_lock lock(mutex_);
      printed.swap(printed_);
    }
    progress.print(printed);
    if (is_over) {
      return Stop::kEnded;
    }
    if (cancellation.canceled()) {
      return Stop::kCanceled;
    }
    if (question()) {
      return Stop::kAsks;
    }
    std::array<pollfd, 2> waits{{{changed_.get(), POLLIN, 0}, {cancellation.fd(), POLLIN, 0}}};
    (void)::poll(waits.data(), waits.size(), kTellEvery);
  }
}

std::optional<AskingExecution::Question> AskingExecution::question() const {
  const std::scoped_lock lock(mutex_);
  return questions_.empty() ? std::nullopt : std::optional(questions_.front().question);
}

bool AskingExecution::asks(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  return !questions_.empty() && questions_.front().question.number == number;
}

std::optional<AskingExecution::Question> AskingExecution::pop(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  if (questions_.empty() || questions_.front().question.number != number) {
    return std::nullopt;
  }
  Question question = std::move(questions_.front().question);
  questions_.pop_front();
  answered_.notify_all();
  return question;
}

void AskingExecution::answer(std::uint64_t number, const std::optional<std::string>& line) {
  {
    const std::scoped_lock in_order(replying_);
    const auto question = pop(number);
    if (!question) {
      return;
    }
    // Refused if the execution has ended meanwhile; then nothing waits for it.
    (void)desks_.service.reply_input(caller_, place_.sandbox, place_.context,
                                     {.value = line, .request = question->request});
  }
  reply_to_unanswerable();
}

void AskingExecution::decide(std::uint64_t number, bool agree, bool remember) {
  const auto question = pop(number);
  if (question && question->approval) {
    // Refused if somebody else was faster; what they said holds.
    (void)desks_.approvals->decide(
        caller_, question->approval->id,
        {.agree = agree, .hash = question->approval->hash, .remember = remember});
  }
}

void AskingExecution::conclude(std::uint64_t number, bool keep) {
  {
    const std::scoped_lock lock(mutex_);
    keep_ = keep;
  }
  (void)pop(number);
}

// False once somebody else has decided, its time is over, or its sandbox has ended.
bool AskingExecution::dry_run_waits(const std::string& id) {
  const auto waiting = desks_.service.dry_runs(caller_, place_.sandbox);
  return waiting && std::ranges::any_of(*waiting, [&](const std::string& each) {
           return text_of(Json::parse(each, nullptr, false), "id") == id;
         });
}

void AskingExecution::ask_about_dry_run() {
  std::unique_lock lock(mutex_);
  if (!verdict_ || !verdict_->is_object()) {
    return;
  }
  Json run = verdict_->value("dry_run", Json());
  const std::string id = text_of(run, "id");
  if (id.empty() || run.contains("committed")) {
    return;
  }
  const std::uint64_t number = ++asked_;
  questions_.clear();
  questions_.push_back({.question = {.number = number, .dry_run = run.dump()}});
  (void)::eventfd_write(changed_.get(), 1);
  auto look = std::chrono::steady_clock::now() + kLookForDryRunEvery;
  while (!questions_.empty() && !interrupted_) {
    (void)answered_.wait_for(lock, std::chrono::milliseconds(kTellEvery));
    if (!questions_.empty() && std::chrono::steady_clock::now() >= look) {
      lock.unlock();
      const bool waits = dry_run_waits(id);
      lock.lock();
      if (!waits) {
        questions_.clear();
      }
      look = std::chrono::steady_clock::now() + kLookForDryRunEvery;
    }
  }
  questions_.clear();
  const std::optional<bool> keep = keep_;
  lock.unlock();
  if (!keep) {
    return;
  }
  const auto decided =
      desks_.service.decide_dry_run(caller_, place_.sandbox, id, {.commit = *keep, .seal = {}});
  lock.lock();
  if (decided) {
    (*verdict_)["dry_run"]["committed"] = *keep;
  } else {
    (*verdict_)["dry_run"]["problem"] = decided.error().message();
  }
}

void AskingExecution::pass_over(std::uint64_t number) { (void)pop(number); }

Result<Json> AskingExecution::verdict() {
  const std::scoped_lock lock(mutex_);
  return std::move(verdict_);
}

ParkedExecutions::~ParkedExecutions() {
  // All at once, not one after the other.
  for (const auto& [id, parked] : parked_) {
    parked.execution->interrupt();
  }
}

std::vector<ParkedExecutions::Parked> ParkedExecutions::stale() {
  std::vector<Parked> stale;
  const auto before = Clock::now() - kPatience;
  for (auto each = parked_.begin(); each != parked_.end();) {
    if (each->second.execution->ended() && each->second.since < before) {
      stale.push_back(std::move(each->second));
      each = parked_.erase(each);
    } else {
      ++each;
    }
  }
  return stale;
}

std::optional<std::string> ParkedExecutions::park(const Caller& caller,
                                                  const std::string& arguments,
                                                  std::unique_ptr<AskingExecution>& execution) {
  std::vector<Parked> gone;
  const std::scoped_lock lock(mutex_);
  gone = stale();
  const auto of_tenant = std::ranges::count_if(
      parked_, [&](const auto& each) { return each.second.tenant == caller.tenant; });
  if (parked_.size() >= kMost || static_cast<std::size_t>(of_tenant) >= kMostOfTenant) {
    return std::nullopt;
  }
  const std::string id = std::string(kStateOf) + std::to_string(++last_);
  parked_[id] = {.tenant = caller.tenant,
                 .key = caller.key,
                 .arguments = arguments,
                 .execution = std::move(execution),
                 .since = Clock::now()};
  return states_.sign(id);
}

Result<std::unique_ptr<AskingExecution>> ParkedExecutions::take(const Caller& caller,
                                                                const std::string& arguments,
                                                                std::string_view state) {
  std::vector<Parked> gone;
  const auto id = states_.open(state);
  const std::scoped_lock lock(mutex_);
  gone = stale();
  const auto found = id ? parked_.find(*id) : parked_.end();
  if (found == parked_.end() || found->second.tenant != caller.tenant ||
      found->second.key != caller.key || found->second.arguments != arguments) {
    return Error(ErrorCode::kNotFound, "no call with these arguments waits for an answer",
                 "it has ended, or was answered before; call the tool again without requestState");
  }
  auto execution = std::move(found->second.execution);
  parked_.erase(found);
  return execution;
}

}  // namespace glovebox::mcp
