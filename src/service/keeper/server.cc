// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_budget.h"
#include "service/keeper/calls.h"
#include "service/keeper/codec.h"
#include "service/keeper/descriptor_budget.h"
#include "service/keeper/follower.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How long nobody has connected, and nothing is held, before the keeper ends: a daemon that was
// killed and whose data is gone leaves no keeper for ever.
constexpr auto kForsaken = 60s;
constexpr int kLookEvery = 10'000;  // Milliseconds.

// How many calls may be under way, so that others do not go without. Besides these, connections
// wait for their next call.
constexpr CallBudget::Bounds kCallBounds{};
constexpr std::size_t kMostConnections = kCallBounds.all + kCallBounds.reserve + 512;

bool is_gone(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

// Nobody else may speak to us, whatever the permissions of the socket are.
bool may_call(int socket, std::optional<uid_t> daemon) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0 || peer.uid == daemon);
}

bool is_foreign(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
         (peer.uid != ::geteuid() && peer.uid != 0);
}

// The connections whose threads still use the keeper.
class Connections {
 public:
  // False when there are too many.
  bool enter(int socket) {
    const std::scoped_lock lock(mutex_);
    return sockets_.size() < kMostConnections && sockets_.try_emplace(socket).second;
  }

  // What a connection asks for; empty once that is answered.
  void set_call(int socket, std::string name) {
    const std::scoped_lock lock(mutex_);
    sockets_[socket] = std::move(name);
    left_.notify_all();
  }

  void leave(int socket) {
    const std::scoped_lock lock(mutex_);
    sockets_.erase(socket);
    left_.notify_all();
  }

  bool empty() {
    const std::scoped_lock lock(mutex_);
    return sockets_.empty();
  }

  // Each thread learns that its caller is gone.
  void cut() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [socket, call] : sockets_) {
      (void)::shutdown(socket, SHUT_RDWR);
    }
  }

  void wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    (void)left_.wait_for(lock, patience, [this] { return sockets_.empty(); });
  }

  // Waits for the end of all calls. Returns the names of those that are still under way.
  std::string wait_for_calls(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    std::string names;
    (void)left_.wait_for(lock, patience, [&] {
      names.clear();
      for (const auto& [socket, call] : sockets_) {
        if (!call.empty()) {
          names += (names.empty() ? "" : ", ") + call;
        }
      }
      return names.empty();
    });
    return names;
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::map<int, std::string> sockets_;  // And the call that is under way on each.
};

// What serve() shares with the threads of its connections, which may outlive it.
struct Shared {
  Connections connections;
  CallBudget budget{kCallBounds};
};

// The tenant of a call that is about no sandbox, or about one that is yet to be made.
std::string tenant_in(const nlohmann::json& request) {
  const auto order = request.find("order");
  return text_in(order != request.end() && order->is_object() ? *order : request, "tenant");
}

Result<CallBudget::Place> enter(CallBudget& budget,
                                const nlohmann::json& request,
                                const CallContext& context) {
  const std::string sandbox = text_in(request, "sandbox");
  const std::string tenant =
      sandbox.empty() ? tenant_in(request) : context.keeper.tenant_of(sandbox);
  return context.terms.kind == CallKind::kEnds ? budget.enter_reserve(tenant)
                                               : budget.enter(tenant, sandbox);
}

// The message of a failure for want of descriptors talks about our files, and suggests the wrong
// cure.
bool may_be_starved(const Error& error) {
  return error.code() == ErrorCode::kExhausted || error.code() == ErrorCode::kUnsupported ||
         error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kInternal;
}

// Nothing that a call throws may end the keeper: its sandboxes are everybody's.
Result<nlohmann::json> answer_to(const std::string& name,
                                 const nlohmann::json& request,
                                 CallContext& context,
                                 CallBudget& budget) {
  try {
    const CallBudget::Place place = GB_TRY(enter(budget, request, context));
    auto answer = call(name, request, context);
    return !answer && may_be_starved(answer.error()) && is_starved() ? starved()
                                                                     : std::move(answer);
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "the sandbox keeper is out of memory",
                 "try again in a moment");
  } catch (const std::system_error&) {  // Of std::thread (pthread_create(3)).
    return Error(ErrorCode::kExhausted, "the sandbox keeper cannot start more threads",
                 "try again in a moment");
  } catch (const std::exception& unexpected) {
    return Error(ErrorCode::kInternal,
                 "'" + name + "' failed in the keeper: " + printable(unexpected.what()));
  }
}

// What comes after the call needs its connection, and no thread.
Result<void> begin_following(const KeeperWire& wire,
                             const nlohmann::json& request,
                             CallContext& context) {
  Following& following = *context.following;
  CallBudget::Place place = GB_TRY(enter(context.keeper.followers(), request, context));
  // Under a number of its own: this one is free again as soon as the thread leaves.
  UniqueFd socket(::fcntl(wire.fd(), F_DUPFD_CLOEXEC, 0));
  if (!socket) {
    return starved();
  }
  following.sandbox->follow(
      std::make_unique<Follower>(std::move(following.process), following.from_start,
                                 KeeperWire(std::move(socket)), std::move(place)));
  return {};
}

// One call after the other, until the caller goes.
void serve_connection(Keeper& keeper, KeeperWire& wire, Shared& shared) {
  const int number = wire.fd();
  const bool foreign = is_foreign(number);
  for (;;) {
    const auto message = wire.receive();
    if (!message || !message.value() || message.value()->type != MessageType::kRequest) {
      return;
    }
    const nlohmann::json request = unpack(message.value()->text);
    if (!request.is_object()) {
      return;
    }
    const std::string name = text_in(request, "call");
    bool gone = false;
    CallContext context{
        .keeper = keeper,
        .tell =
            [&](std::string_view event) { gone = gone || !wire.send(MessageType::kEvent, event); },
        .wire = wire,
        .listens = [&] { return !gone && !is_gone(wire.fd()); },
        .socket = wire.fd(),
        .terms = terms_of(name),
        .foreign = foreign,
        .handed = wire.take_descriptors()};
    shared.connections.set_call(number, printable(name.substr(0, 40)));
    auto answer = answer_to(name, request, context, shared.budget);
    if (answer && context.following) {
      auto followed = begin_following(wire, request, context);
      if (followed) {
        return;
      }
      answer = std::move(followed).error();
    }
    if (answer && context.lent) {
      shared.connections.set_call(number, {});
      continue;
    }
    std::vector<int> passed;
    for (const UniqueFd& fd : context.passed) {
      passed.push_back(fd.get());
    }
    const auto sent = answer ? wire.send(MessageType::kAnswer, pack(answer.value()), passed)
                             : wire.send(MessageType::kError, encode(answer.error()));
    shared.connections.set_call(number, {});
    if (gone || !sent || context.lent) {
      return;
    }
  }
}

// Says why, before anything was read, and hangs up.
void refuse(KeeperWire& wire, const Error& why) {
  (void)wire.send(MessageType::kError, encode(why), {}, 0ms);
}

// A thread of its own for a connection, or a refusal.
void begin_connection(const std::shared_ptr<Keeper>& keeper,
                      const std::shared_ptr<Shared>& shared,
                      UniqueFd socket) {
  const auto wire = std::make_shared<KeeperWire>(std::move(socket));
  const int number = wire->fd();
  if (!shared->connections.enter(number)) {
    refuse(*wire, Error(ErrorCode::kExhausted, "this machine is handling too many requests",
                        "try again in a moment"));
    return;
  }
  try {
    std::thread([keeper = keeper, shared, number, wire = wire]() mutable {
      try {
        serve_connection(*keeper, *wire, *shared);
      } catch (const std::exception&) {  // No memory for the request itself, or for its answer.
      }
      // Never the last owner: the thread that ends the keeper waits for that; we may be cut short.
      keeper.reset();
      shared->connections.leave(number);  // Before the number may mean another socket.
    }).detach();
  } catch (const std::exception&) {  // std::system_error (pthread_create(3)), or no memory.
    shared->connections.leave(number);
    refuse(*wire, Error(ErrorCode::kExhausted, "the sandbox keeper cannot start more threads",
                        "try again in a moment"));
  }
}

// Accepts with one descriptor in reserve: a caller that comes when there are none learns so.
class Acceptor {
 public:
  explicit Acceptor(UniqueFd listening) : listening_(std::move(listening)), spare_(open_spare()) {}

  [[nodiscard]] int fd() const { return listening_.get(); }

  void accept(const std::shared_ptr<Keeper>& keeper, const std::shared_ptr<Shared>& shared) {
    UniqueFd socket(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket && may_call(socket.get(), keeper->daemon_user())) {
      begin_connection(keeper, shared, std::move(socket));
    } else if (!socket && (errno == EMFILE || errno == ENFILE)) {
      refuse_next();
    } else if (!socket && errno == ENOMEM) {
      (void)::poll(nullptr, 0, 100);  // Until there is some again.
    }
  }

 private:
  static UniqueFd open_spare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  void refuse_next() {
    spare_.reset();
    if (UniqueFd socket(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC)); socket) {
      KeeperWire wire(std::move(socket));
      refuse(wire, starved());
    } else {
      (void)::poll(nullptr, 0, 100);  // Somebody else took it.
    }
    spare_ = open_spare();
  }

  UniqueFd listening_;
  UniqueFd spare_;
};

}  // namespace

Result<void> serve(const std::shared_ptr<Keeper>& keeper, UniqueFd listening, int stop_fd) {
  const auto shared = std::make_shared<Shared>();
  Connections& connections = shared->connections;
  Acceptor acceptor(std::move(listening));
  Result<void> served;
  auto last_wanted = std::chrono::steady_clock::now();
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (keeper->stays() || !connections.empty() || !keeper->all().empty()) {
      last_wanted = now;
    } else if (now - last_wanted >= kForsaken) {
      break;
    }
    std::array<pollfd, 3> polled{
        {{acceptor.fd(), POLLIN, 0}, {stop_fd, POLLIN, 0}, {keeper->stop_fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), kLookEvery) < 0 && errno != EINTR) {
      served = Error::from_errno("wait for calls");
      break;
    }
    if (polled[1].revents != 0 || polled[2].revents != 0) {
      break;
    }
    if (polled[0].revents == 0) {
      continue;
    }
    try {
      acceptor.accept(keeper, shared);
    } catch (const std::exception&) {  // No memory: the caller sees its connection end.
    }
  }
  // Calls that wait for a guest learn of its end; connections without a call are cut off with us.
  (void)keeper->end_all(EndReason::kKeeperEnded);
  if (const std::string names = connections.wait_for_calls(5s); !names.empty()) {
    served = Error(ErrorCode::kUnavailable, "did not finish in time: " + names);
  }
  // Each thread holds the keeper as long as it may call it; none is waited for without end.
  connections.cut();
  connections.wait(1s);
  return served;
}

}  // namespace glovebox::keeper
