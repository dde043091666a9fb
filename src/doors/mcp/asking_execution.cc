// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/asking_execution.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace glovebox::mcp {
namespace {

// What is printed and waits to be told.
constexpr std::size_t kMostPrinted = 16'384;
constexpr int kTellEvery = 100;  // Milliseconds.
constexpr std::string_view kStateOf = "run_code:";

}  // namespace

AskingExecution::AskingExecution(SandboxService& service,
                                 Caller caller,
                                 Place place,
                                 ExecuteRequest request,
                                 std::function<void()> ended)
    : service_(service),
      caller_(std::move(caller)),
      place_(std::move(place)),
      on_end_(std::move(ended)),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  request.allow_input = true;
  thread_ = std::thread([this, request = std::move(request)] { run(request); });
}

AskingExecution::~AskingExecution() {
  interrupt();
  thread_.join();
}

void AskingExecution::run(const ExecuteRequest& request) {
  Result<void> done;
  try {
    done = service_.execute(caller_, place_.sandbox, place_.context, request,
                            [this](std::string_view event) { return take(event); });
  } catch (const std::exception&) {  // No memory, or no threads.
    done = Error(ErrorCode::kExhausted, "out of memory or threads");
  }
  if (!done) {
    const std::scoped_lock lock(mutex_);
    verdict_ = std::move(done).error();
  }
  ended_ = true;
  (void)::eventfd_write(changed_.get(), 1);
  if (on_end_) {
    on_end_();
  }
}

bool AskingExecution::take(std::string_view text) {
  if (text.empty()) {
    return !interrupted_;
  }
  Json event = Json::parse(text, nullptr, false);
  const std::string type = event.is_object() ? event.value("type", "") : std::string();
  {
    const std::scoped_lock lock(mutex_);
    if (type == "verdict") {
      verdict_ = std::move(event);
    } else if (type == "stdout" || type == "stderr") {
      printed_ += event.value("text", "");
      if (printed_.size() > 2 * kMostPrinted) {
        printed_.erase(0, printed_.size() - kMostPrinted);
      }
    } else if (type == "input_request") {
      questions_.push_back(
          {.request = event.value("request", std::uint64_t{0}),
           .prompt = event.value("prompt", ""),
           .is_answerable = !event.value("password", false) && ++asked_ <= kMostQuestions});
    }
  }
  reply_to_unanswerable();
  (void)::eventfd_write(changed_.get(), 1);
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
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    (void)service_.reply_input(caller_, place_.sandbox, place_.context,
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

std::optional<std::string> AskingExecution::question() const {
  const std::scoped_lock lock(mutex_);
  return questions_.empty() ? std::nullopt : std::optional(questions_.front().prompt);
}

void AskingExecution::answer(const std::optional<std::string>& line) {
  {
    const std::scoped_lock in_order(replying_);
    Question question;
    {
      const std::scoped_lock lock(mutex_);
      if (questions_.empty()) {
        return;
      }
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    // Refused where the execution has ended meanwhile; then nothing waits for it.
    (void)service_.reply_input(caller_, place_.sandbox, place_.context,
                               {.value = line, .request = question.request});
  }
  reply_to_unanswerable();
}

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
    return Error(ErrorCode::kNotFound, "no code of this call waits for input",
                 "it has ended, or was answered before; call run_code again without requestState");
  }
  auto execution = std::move(found->second.execution);
  parked_.erase(found);
  return execution;
}

}  // namespace glovebox::mcp
