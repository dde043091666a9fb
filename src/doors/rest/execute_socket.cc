// SPDX-License-Identifier: Apache-2.0
// Executions over a WebSocket: {"code": …} one after the other, {"interrupt": true} meanwhile.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "doors/rest/gone.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "spec/json/error_json.h"

namespace glovebox::rest {
namespace {

constexpr std::size_t kMostWaiting = 64;

class Executions {
 public:
  Executions(Call& call, http::WebSocket& socket)
      : call_(call), socket_(socket), worker_([this] { work(); }) {}
  Executions(const Executions&) = delete;
  Executions& operator=(const Executions&) = delete;

  // The client has gone: the service hears of it when it next asks, and ends what runs.
  ~Executions() {
    {
      const std::scoped_lock lock(mutex_);
      gone_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  // Each message is a request: false once the key is no longer valid.
  bool take(std::string_view text) {
    auto taken = call_.service.renew(call_.caller);
    if (!taken && taken.error().code() == ErrorCode::kRefused) {
      return false;
    }
    if (taken) {
      taken = understand(text);
    }
    if (!taken) {
      (void)socket_.write(false, failed_event(taken.error()));
    }
    return true;
  }

 private:
  Result<void> understand(std::string_view text) {
    Fields fields = GB_TRY(Fields::parse(std::string(text)));
    if (fields.flag("interrupt").value_or(false)) {
      GB_TRY(fields.done());
      interrupt();
      return {};
    }
    ExecuteRequest request = GB_TRY(read_execute_request(fields));
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      return Error(ErrorCode::kExhausted, "too many executions are queued on this socket",
                   "wait for one of them to finish");
    }
    waiting_.push_back(std::move(request));
    changed_.notify_all();
    return {};
  }

  void interrupt() {
    (void)call_.service.interrupt(call_.caller, call_.parameters[0], call_.parameters[1]);
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return gone_ || !waiting_.empty(); });
      if (gone_) {
        return;
      }
      const ExecuteRequest request = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      auto done =
          call_.service.execute(call_.caller, call_.parameters[0], call_.parameters[1], request,
                                [this](std::string_view event) {
                                  return !gone_ && (event.empty() || socket_.write(false, event));
                                });
      if (!done) {
        auto gone = describe_gone(call_, done.error());
        if (gone) {
          (*gone)["type"] = "failed";
        }
        (void)socket_.write(false, gone ? to_line(*gone) : failed_event(done.error()));
      }
      lock.lock();
    }
  }

  Call& call_;
  http::WebSocket& socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ExecuteRequest> waiting_;
  std::atomic<bool> gone_{false};
  std::thread worker_;
};

}  // namespace

Result<void> execute_by_socket(Call& call) {
  // Before the handshake, so that what does not exist is a plain 404 or 410.
  const auto contexts = GB_TRY(call.service.contexts(call.caller, call.parameters[0]));
  if (std::none_of(contexts.begin(), contexts.end(),
                   [&](const ContextInfo& info) { return info.id == call.parameters[1]; })) {
    return Error(ErrorCode::kNotFound, "no such context");
  }
  auto socket = GB_TRY(call.response.upgrade(""));
  Executions executions(call, *socket);
  while (true) {
    auto message = socket->read();
    if (!message || !*message) {
      return {};
    }
    if (!executions.take((*message)->payload)) {
      socket->close(kPolicyViolation, "the key is no longer valid");
      return {};
    }
  }
}

}  // namespace glovebox::rest
