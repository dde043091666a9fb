// SPDX-License-Identifier: Apache-2.0
#include "executions.h"

#include <algorithm>
#include <string_view>

namespace glovebox::jupyter {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A message can be lost: too large, wrongly signed, or never sent by a kernel that was interrupted
// at a bad moment.
constexpr seconds kMissingGrace(3);

// Kernels ignore a signal that comes before they run code; they say so by execute_input, but some
// do not, and none does for a silent execution.
constexpr milliseconds kInterruptGrace(200);

// How long output that was sent before an input request may need to overtake it.
constexpr milliseconds kOutputGrace(5);
constexpr int kMaxOvertaking = 1000;

// By custom, kernels take this for the end of their input.
constexpr const char* kEndOfInput = "\x04";

constexpr std::size_t kMaxTracebackLines = 1000;

Json traceback_of(const Json& content) {
  Json lines = Json::array();
  const auto found = content.find("traceback");
  if (found != content.end() && found->is_array()) {
    for (const Json& line : *found) {
      if (line.is_string() && lines.size() < kMaxTracebackLines) {
        lines.push_back(line);
      }
    }
  }
  return lines;
}

}  // namespace

void Executions::handle_execute(const Request& request) {
  const auto json = parse_json_object(request.payload, kMaxJoined);
  const bool full =
      waiting_.size() == kMaxWaiting || waiting_bytes_ + request.payload.size() > kMaxWaitingBytes;
  if (!json || full) {
    outside_.note(request.channel, full ? "too many queued executions" : json.error().message());
    done(request.channel, "aborted", 0);
    return;
  }
  if (!object_at(*json, "env").empty() || !string_at(*json, "cwd").empty()) {
    outside_.note(
        request.channel,
        "a Jupyter kernel cannot change the environment or working directory for one execution");
  }
  const bool silent = flag_at(*json, "silent", false);
  Json content{{"code", string_at(*json, "code")},
               {"silent", silent},
               {"store_history", !silent && flag_at(*json, "store_history", true)},
               {"user_expressions", Json::object()},
               {"allow_stdin", true},
               // Concerns requests that the kernel knows of besides this one; it knows of none
               // that should be aborted.
               {"stop_on_error", false}};
  waiting_bytes_ += request.payload.size();
  waiting_.push_back({request.channel, std::move(content), request.payload.size()});
  if (!running_) {
    start_next();
  }
}

void Executions::start_next() {
  while (!running_ && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.size;
    noted_.clear();
    const bool silent = flag_at(next.content, "silent", false);
    const Message message = maker_.make("execute_request", std::move(next.content));
    if (!channels_.send(Channel::kShell, message)) {
      outside_.note(next.channel, "the kernel accepts no more requests");
      done(next.channel, "aborted", 0);
      continue;
    }
    running_.emplace();
    running_->channel = next.channel;
    running_->id = message.id();
    running_->silent = silent;
  }
}

void Executions::handle_input(const Request& request) {
  const auto json = parse_json_object(request.payload, kMaxJoined);
  if (!json || !running_ || !running_->input_request) {
    outside_.note(request.channel, "input was dropped: nothing is waiting for input");
    return;
  }
  const std::string text = flag_at(*json, "eof", false) ? kEndOfInput : string_at(*json, "text");
  Message reply = maker_.make("input_reply", {{"value", text}, {"status", "ok"}});
  reply.parent = *std::exchange(running_->input_request, std::nullopt);
  if (!channels_.send(Channel::kStdin, reply)) {
    outside_.note(request.channel, "input was dropped: the kernel does not accept it");
  }
}

bool Executions::is_of_running(const Message& message) const {
  return running_ && message.parent_id() == running_->id;
}

// Output of an execution that has ended, such as that of a thread, carries the newest channel.
std::uint32_t Executions::output_channel(const Message& message) {
  if (is_of_running(message)) {
    start(running_->count);
    return running_->channel;
  }
  return running_ && running_->started ? running_->channel : last_channel_;
}

void Executions::handle_output(const Message& message) {
  const std::string type = message.type();
  const Json& content = message.content;
  // While output comes, the idle status may still be behind it.
  if (is_of_running(message)) {
    postpone(Clock::now());
  }
  if (type == "status" || type == "execute_input") {
    if (is_of_running(message)) {
      handle_own_status(message);
    }
  } else if (type == "stream") {
    send_stream(output_channel(message), content);
  } else if (type == "execute_result") {
    send_bundle(FrameType::kResult, output_channel(message), content);
  } else if (type == "display_data" || type == "update_display_data") {
    send_display(output_channel(message), content, type == "update_display_data");
  } else if (type == "error") {
    const std::uint32_t channel = output_channel(message);
    send_error(channel, content);
    if (is_of_running(message)) {
      running_->error_sent = true;
    }
  } else if (type == "clear_output") {
    outside_.send(FrameType::kClear, output_channel(message),
                  {{"wait", flag_at(content, "wait", false)}});
  } else if (type == "comm_open") {
    note_once("comm", "interactive widgets are shown as plain text");
  }
}

void Executions::handle_own_status(const Message& message) {
  if (message.type() == "execute_input") {
    start(integer_at(message.content, "execution_count"));
    return;
  }
  const std::string state = string_at(message.content, "execution_state");
  if (state == "busy" && running_->silent) {
    start(0);
  } else if (state == "idle") {
    running_->idle = true;
    half_done();
  }
}

void Executions::start(std::int64_t count) {
  if (running_->started) {
    return;
  }
  running_->started = true;
  running_->count = count;
  last_channel_ = running_->channel;
  outside_.send(FrameType::kStarted, running_->channel, {{"execution_count", count}});
  if (running_->interrupt_due && !running_->silent) {
    running_->interrupt_due.reset();
    interrupt_kernel_();
  }
}

void Executions::send_stream(std::uint32_t channel, const Json& content) {
  const bool is_error = string_at(content, "name") == "stderr";
  outside_.send_bytes(is_error ? FrameType::kStderr : FrameType::kStdout, channel,
                      string_at(content, "text"));
}

void Executions::send_bundle(FrameType type, std::uint32_t channel, const Json& content) {
  Json payload{{"data", values_.translate(object_at(content, "data"))},
               {"metadata", object_at(content, "metadata")}};
  if (type == FrameType::kResult) {
    payload["execution_count"] = integer_at(content, "execution_count");
  }
  outside_.send(type, channel, payload);
}

void Executions::send_display(std::uint32_t channel, const Json& content, bool update) {
  Json payload{{"data", values_.translate(object_at(content, "data"))},
               {"metadata", object_at(content, "metadata")}};
  const std::string id = string_at(object_at(content, "transient"), "display_id");
  if (!id.empty()) {
    payload["display_id"] = id;
    payload["update"] = update;
  }
  outside_.send(FrameType::kDisplay, channel, payload);
}

void Executions::send_error(std::uint32_t channel, const Json& content) {
  outside_.send(FrameType::kError, channel,
                {{"name", string_at(content, "ename")},
                 {"value", string_at(content, "evalue")},
                 {"traceback", traceback_of(content)}});
}

void Executions::handle_reply(const Message& message) {
  if (is_of_running(message) && message.type() == "execute_reply") {
    running_->reply = message.content;
    half_done();
  }
}

void Executions::handle_stdin(const Message& message) {
  if (message.type() != "input_request" || !is_of_running(message)) {
    return;
  }
  for (int i = 0; i < kMaxOvertaking && channels_.wait(Channel::kIopub, kOutputGrace); ++i) {
    const auto output = channels_.receive(Channel::kIopub);
    if (output && *output) {
      handle_output(**output);
    }
  }
  // That output may have been the end of the execution.
  if (!is_of_running(message)) {
    return;
  }
  start(running_->count);
  running_->input_request = message.header;
  outside_.send(FrameType::kInputRequest, running_->channel,
                {{"prompt", string_at(message.content, "prompt")},
                 {"password", flag_at(message.content, "password", false)}});
}

void Executions::interrupt() {
  if (!running_) {
    return;
  }
  if (running_->started && !running_->silent) {
    interrupt_kernel_();
  } else {
    running_->interrupt_due = Clock::now() + kInterruptGrace;
  }
}

std::optional<Executions::Clock::time_point> Executions::deadline() const {
  if (!running_) {
    return std::nullopt;
  }
  if (running_->interrupt_due && running_->missing_due) {
    return std::min(*running_->interrupt_due, *running_->missing_due);
  }
  return running_->interrupt_due ? running_->interrupt_due : running_->missing_due;
}

void Executions::postpone(Clock::time_point now) {
  if (running_ && running_->missing_due) {
    running_->missing_due = now + kMissingGrace;
  }
}

void Executions::handle_time(Clock::time_point now) {
  if (running_ && running_->interrupt_due && now >= *running_->interrupt_due) {
    running_->interrupt_due.reset();
    interrupt_kernel_();
  }
  if (running_ && running_->missing_due && now >= *running_->missing_due) {
    if (running_->reply) {
      running_->missing =
          "the kernel never reported that it is idle; output may be missing, for example a message "
          "over 64 MiB";
    } else {
      outside_.note(running_->channel, "the kernel did not report how the execution ended");
    }
    finish();
  }
}

void Executions::handle_loss(Channel channel) {
  if (!running_) {
    return;
  }
  if (channel == Channel::kIopub) {
    running_->missing = "output may be missing, for example a message over 64 MiB";
  }
  // The kernel may not have got the request. It is not sent again: the kernel may also be about to
  // start, and would do it twice.
  if (channel == Channel::kShell && !running_->started && !running_->missing_due) {
    running_->missing_due = Clock::now() + kMissingGrace;
  }
}

void Executions::half_done() {
  if (running_->idle && running_->reply) {
    finish();
  } else if (!running_->missing_due) {
    running_->missing_due = Clock::now() + kMissingGrace;
  }
}

void Executions::finish() {
  const Json reply = running_->reply.value_or(Json::object());
  std::string status = string_at(reply, "status", "error");
  if (status == "abort") {
    status = "aborted";  // As it was called up to version 5.1.
  } else if (status != "ok" && status != "aborted") {
    status = "error";
  }
  start(integer_at(reply, "execution_count", running_->count));
  if (running_->missing != nullptr) {
    outside_.note(running_->channel, running_->missing);
  }
  send_pages(reply);
  if (status == "error" && !running_->error_sent && running_->reply) {
    send_error(running_->channel, reply);
  }
  const std::uint32_t channel = running_->channel;
  const std::int64_t count = integer_at(reply, "execution_count", running_->count);
  running_.reset();
  done(channel, status.c_str(), count);
  start_next();
}

// What IPython would show in a pager: `name?`.
void Executions::send_pages(const Json& reply) {
  const auto payload = reply.find("payload");
  if (payload == reply.end() || !payload->is_array()) {
    return;
  }
  for (const Json& item : *payload) {
    if (string_at(item, "source") == "page") {
      send_bundle(FrameType::kDisplay, running_->channel, item);
    }
  }
}

void Executions::done(std::uint32_t channel, const char* status, std::int64_t count) {
  outside_.send(FrameType::kDone, channel, {{"status", status}, {"execution_count", count}});
}

bool Executions::handle_death(const std::string& how) {
  const bool was_running = running_.has_value();
  if (was_running) {
    start(running_->count);
    send_error(running_->channel, {{"ename", "KernelDied"}, {"evalue", "the kernel " + how}});
    done(running_->channel, "error", running_->count);
    running_.reset();
  } else {
    outside_.note(last_channel_, "the kernel " + how);
  }
  for (const Waiting& waiting : waiting_) {
    done(waiting.channel, "aborted", 0);
  }
  waiting_.clear();
  return was_running;
}

void Executions::note_once(const std::string& kind, std::string_view text) {
  if (noted_.insert(kind).second) {
    outside_.note(running_ ? running_->channel : last_channel_, text);
  }
}

}  // namespace glovebox::jupyter
