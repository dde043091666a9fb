// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/client.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/calls.h"
#include "service/keeper/codec.h"
#include "spec/json/raw_json.h"
#include "spec/json/verdict_json.h"
#include "trace/span.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostIdle = 32;
// How often a call that waits checks whether it should continue.
constexpr auto kTick = 1s;
// A keeper that lives answers a probe in a millisecond; one on a starved machine in some seconds.
constexpr auto kProbePatience = 15s;
// For a request to be taken: the keeper's thread for it does nothing else.
constexpr auto kSendPatience = 15s;
// For the first event of a stream: a process is started, or a sandbox looked for.
constexpr auto kFirstPatience = 180s;

Error unresponsive() {
  return {ErrorCode::kUnavailable, "the sandbox keeper does not respond",
          "try again in a moment; the operator can find the cause in keeper.log"};
}

Error late(std::string_view name) {
  return {ErrorCode::kUnavailable,
          "the sandbox keeper did not finish '" + std::string(name) + "' in time",
          "try again in a moment"};
}

// Nothing has come on it, and its other end is open.
bool is_fresh(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

// The steps of a start, as an answer or a verdict has them: {"warden_us":2400,…}, in their order.
void add_steps(trace::Span& span, std::string_view timings) {
  constexpr std::string_view kUnit = "_us";
  std::vector<trace::Span::Step> steps;
  for (const auto& [name, took] : raw_members(timings)) {
    std::int64_t count = 0;
    const auto read = std::from_chars(took.data(), took.data() + took.size(), count);
    if (read.ec != std::errc() || count < 0 || !name.ends_with(kUnit)) {
      continue;
    }
    const std::string_view step = name.substr(0, name.size() - kUnit.size());
    if (step == "first_event") {  // Within the step of the run.
      span.set("glovebox.first_event_us", count);
    } else {
      steps.emplace_back(step, std::chrono::microseconds(count));
    }
  }
  span.add_steps(steps);
}

void describe_verdict(trace::Span& span, std::string_view event) {
  if (!span || !is_verdict_event(event)) {
    return;
  }
  if (const auto status = raw_member(event, "status"); status && status->size() > 2) {
    span.set("glovebox.status", std::string(status->substr(1, status->size() - 2)));
  }
  add_steps(span, raw_member(event, "timings").value_or(""));
}

}  // namespace

// What the caller of a call wants, besides the answer.
struct KeeperClient::Wish {
  const OnEvent* on_event = nullptr;
  std::vector<UniqueFd>* passed = nullptr;
  std::span<const int> handed{};
  std::optional<std::chrono::milliseconds> patience{};
  bool* late = nullptr;  // For a probe: set if no answer came in time.
};

Result<std::unique_ptr<KeeperWire>> KeeperClient::borrow() {
  {
    const std::scoped_lock lock(mutex_);
    while (!idle_.empty()) {
      auto wire = std::move(idle_.back());
      idle_.pop_back();
      if (is_fresh(wire->fd())) {  // Else its keeper was replaced meanwhile.
        return wire;
      }
    }
  }
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path_.size() >= sizeof address.sun_path) {
    return Error(ErrorCode::kInvalid, "the data directory's path is too long for a socket");
  }
  std::memcpy(address.sun_path, path_.data(), path_.size());
  // A keeper that no longer accepts connections keeps nobody waiting (unix(7): EAGAIN).
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error(ErrorCode::kUnavailable,
                 std::string("cannot connect to the sandbox keeper: ") +
                     std::generic_category().message(errno),
                 "try again in a moment");
  }
  return std::make_unique<KeeperWire>(std::move(socket));
}

void KeeperClient::give_back(std::unique_ptr<KeeperWire> wire) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kMostIdle) {
    idle_.push_back(std::move(wire));
  }
}

Result<nlohmann::json> KeeperClient::call(std::string_view name,
                                          nlohmann::json arguments,
                                          const OnEvent& on_event,
                                          std::vector<UniqueFd>* passed,
                                          std::span<const int> handed) {
  trace::Span span("keeper", trace::SpanKind::kClient);
  if (span) {
    span.rename("keeper " + std::string(name));
  }
  const OnEvent seen = [&](std::string_view event) {
    describe_verdict(span, event);
    return on_event(event);
  };
  auto done = exchange(name, std::move(arguments),
                       {.on_event = span && on_event ? &seen : &on_event,
                        .passed = passed,
                        .handed = handed,
                        .patience = terms_of(name).patience});
  if (!done) {
    span.fail(done.error().message());
  } else if (span && done->is_object() && done->contains("timings") &&
             (*done)["timings"].is_string()) {
    add_steps(span, (*done)["timings"].get_ref<const std::string&>());
  }
  return done;
}

Result<nlohmann::json> KeeperClient::probe() {
  bool late = false;
  auto states = exchange("states", nlohmann::json::object(),
                         {.patience = std::chrono::milliseconds(kProbePatience), .late = &late});
  responsive_ = !late;  // One that is gone can be replaced.
  return states;
}

UniqueFd KeeperClient::process() {
  const auto wire = borrow();
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!wire || ::getsockopt(wire.value()->fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.pid <= 1) {
    return {};
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

Result<std::unique_ptr<KeeperWire>> KeeperClient::ask(std::string_view name,
                                                      nlohmann::json arguments,
                                                      std::span<const int> handed) {
  arguments["call"] = name;
  auto wire = GB_TRY(borrow());
  if (auto sent = wire->send(MessageType::kRequest, pack(arguments), handed, kSendPatience);
      !sent) {
    // It may have been refused before it was read.
    const auto refused = wire->receive(0ms);
    return refused && *refused && (*refused)->type == MessageType::kError
               ? decode_error((*refused)->text)
               : std::move(sent).error();
  }
  return wire;
}

Result<std::unique_ptr<KeeperStream>> KeeperClient::open(std::string_view name,
                                                         nlohmann::json arguments) {
  if (!responsive_) {
    return unresponsive();
  }
  auto wire = GB_TRY(ask(name, std::move(arguments)));
  for (const auto ends = Clock::now() + kFirstPatience; Clock::now() < ends;) {
    auto message = wire->receive(kTick);
    if (!message) {
      return std::move(message).error();
    }
    if (*message && (*message)->type == MessageType::kError) {
      give_back(std::move(wire));
      return decode_error((*message)->text);
    }
    if (*message) {
      return std::make_unique<KeeperStream>(std::move(wire), responsive_, **std::move(message));
    }
    if (!responsive_) {
      return unresponsive();
    }
  }
  return late(name);
}

Result<std::optional<std::string>> KeeperStream::next() {
  if (answered_) {
    return std::optional<std::string>();
  }
  Message message;
  if (std::exchange(has_first_, false)) {
    message = std::move(first_);
  } else {
    auto received = wire_->receive(0ms);
    if (!received) {
      return std::move(received).error();
    }
    if (!*received) {
      return responsive_ ? Result<std::optional<std::string>>(std::nullopt) : unresponsive();
    }
    message = **std::move(received);
  }
  answered_ = message.type != MessageType::kEvent;
  if (message.type == MessageType::kError) {
    return decode_error(message.text);
  }
  return answered_ ? std::nullopt : std::optional(std::move(message.text));
}

Result<nlohmann::json> KeeperClient::exchange(std::string_view name,
                                              nlohmann::json arguments,
                                              const Wish& wish) {
  const auto ends = wish.patience ? Clock::now() + *wish.patience : Clock::time_point::max();
  if (wish.late == nullptr && !responsive_) {
    return unresponsive();
  }
  auto wire = GB_TRY(ask(name, std::move(arguments), wish.handed));
  const auto goes_on = [&](std::string_view event) {
    return wish.on_event == nullptr || !*wish.on_event || (*wish.on_event)(event);
  };
  const Error canceled(ErrorCode::kUnavailable, "the request was canceled");
  if (!goes_on({})) {
    return canceled;
  }
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(ends - Clock::now());
    if (left <= 0ms) {
      if (wish.late != nullptr) {
        *wish.late = true;
        return unresponsive();
      }
      return late(name);
    }
    const auto message = GB_TRY(wire->receive(std::min<std::chrono::milliseconds>(left, kTick)));
    if (!message && wish.late == nullptr && !responsive_) {
      return unresponsive();
    }
    if (!message || message->type == MessageType::kEvent) {
      if (!goes_on(message ? std::string_view(message->text) : "")) {
        return canceled;
      }
      continue;
    }
    if (wish.passed != nullptr) {
      *wish.passed = wire->take_descriptors();
    }
    give_back(std::move(wire));
    if (message->type == MessageType::kError) {
      return decode_error(message->text);
    }
    return unpack(message->text);
  }
}

}  // namespace glovebox::keeper
