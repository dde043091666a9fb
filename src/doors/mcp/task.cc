// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/task.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"

namespace glovebox::mcp {
namespace {

constexpr std::size_t kMostPrintedKept = 64UL * 1'024;
// How much of what was printed is searched for its last line.
constexpr std::size_t kMostRead = 1'024;
constexpr std::size_t kMostNote = 200;
// How often a wait checks whether its request was canceled.
constexpr std::chrono::milliseconds kNoticeEvery{100};

std::string last_line(std::string_view printed) {
  printed.remove_prefix(printed.size() > kMostRead ? printed.size() - kMostRead : 0);
  const std::string text = AnsiStripper().strip(to_utf8(printed));
  std::string_view rest(text);
  const std::size_t end = rest.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) {
    return {};
  }
  rest = rest.substr(0, end + 1);
  rest = rest.substr(rest.find_last_of("\r\n") + 1);
  return printable(to_utf8(rest.substr(0, kMostNote)));
}

std::unique_ptr<Conversation::Entry> enter(Conversation& conversation, const Json& id) {
  auto entry = conversation.enter(id);
  GB_CHECK(entry.has_value());
  return *std::move(entry);
}

}  // namespace

Task::Task(const Call& call, std::chrono::milliseconds time_to_live, Work work)
    : id_(random_name()),
      message_(call.message()),
      version_(call.version()),
      client_capabilities_(call.client_capabilities()),
      caller_(call.caller()),
      time_to_live_(time_to_live),
      conversation_(call.conversation().lasts(), call.conversation().shared_sandbox()),
      entry_(enter(conversation_, message_.id)),
      attached_(&call) {
  conversation_.set_log_level(call.conversation().log_level());
  thread_ = std::thread([this, work = std::move(work)] { run(work); });
}

Task::~Task() {
  cancel();
  thread_.join();
}

Outlet Task::outlet() {
  return {.send =
              [this](std::string_view message) {
                const std::scoped_lock lock(attached_mutex_);
                if (attached_ != nullptr) {
                  attached_->tell(message);
                }
              },
          .ask =
              [this](const std::string& id, std::string_view method, const Json& params) {
                note_question({.id = id, .method = std::string(method), .params = params});
              },
          .withdraw = [this](const std::string& id) { (void)forget_question(id); },
          .print = [this](std::string_view text) { note_printed(text); }};
}

void Task::run(const Work& work) {
  Reply reply;
  try {
    const Call call(message_, version_, client_capabilities_, caller_, conversation_,
                    entry_->cancellation(), outlet());
    reply = work(call);
  } catch (const std::exception&) {  // No memory, or no threads.
    reply = RpcError{.code = code::kInternal, .message = "out of memory or threads"};
  }
  const std::size_t bytes = response_text({}, reply).size();
  const std::scoped_lock lock(mutex_);
  questions_.clear();
  if (is_over_now()) {
    return;  // Canceled.
  }
  const bool failed = std::holds_alternative<RpcError>(reply);
  reply_ = std::make_shared<const Reply>(std::move(reply));
  bytes_ = bytes;
  change(failed ? Status::kFailed : Status::kCompleted);
}

void Task::change(Status status) {
  status_ = status;
  ++changes_;
  updated_ = std::chrono::system_clock::now();
  changed_.notify_all();
}

void Task::note_question(Question question) {
  const std::scoped_lock lock(mutex_);
  if (!is_over_now()) {
    questions_.push_back(std::move(question));
    change(Status::kInputRequired);
  }
}

bool Task::forget_question(std::string_view question) {
  const std::scoped_lock lock(mutex_);
  const bool known =
      std::erase_if(questions_, [&](const Question& each) { return each.id == question; }) > 0;
  if (known && !is_over_now()) {
    change(questions_.empty() ? Status::kWorking : Status::kInputRequired);
  }
  return known;
}

void Task::note_printed(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  printed_ += text;
  printed_bytes_ += text.size();
  printed_.erase(0, printed_.size() > kMostPrintedKept ? printed_.size() - kMostPrintedKept : 0);
}

Task::State Task::state() const {
  const std::scoped_lock lock(mutex_);
  const auto* const error = reply_ ? std::get_if<RpcError>(reply_.get()) : nullptr;
  return {.status = status_,
          .note = error != nullptr ? error->message
                  : is_over_now()  ? std::string()
                                   : last_line(printed_),
          .updated = updated_,
          .questions = questions_,
          .reply = reply_};
}

bool Task::is_over() const {
  const std::scoped_lock lock(mutex_);
  return is_over_now();
}

std::size_t Task::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

std::string Task::printed() const {
  const std::scoped_lock lock(mutex_);
  return printed_;
}

std::uint64_t Task::printed_bytes() const {
  const std::scoped_lock lock(mutex_);
  return printed_bytes_;
}

std::uint64_t Task::changes() const {
  const std::scoped_lock lock(mutex_);
  return changes_;
}

void Task::detach() {
  const std::scoped_lock lock(attached_mutex_);
  attached_ = nullptr;
}

void Task::wait(const Cancellation& cancellation, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  while (!is_over_now() && questions_.empty() && !cancellation.canceled() &&
         Clock::now() < deadline) {
    (void)changed_.wait_until(lock, std::min(deadline, Clock::now() + kNoticeEvery));
  }
}

bool Task::asks(std::string_view question) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(questions_, [&](const Question& each) { return each.id == question; });
}

void Task::answer(std::string_view question, const Params& response) {
  if (forget_question(question)) {
    Message message{.kind = Message::Kind::kResponse};
    message.id = std::string(question);
    message.result = response;
    conversation_.take_response(message);
  }
}

void Task::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    if (is_over_now()) {
      return;
    }
    questions_.clear();
    change(Status::kCanceled);
  }
  conversation_.end();
}

}  // namespace glovebox::mcp
