// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "service/keeper/calls.h"
#include "service/keeper/codec.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// Nobody has come back for so long, and nothing is kept for them: a daemon that was killed and
// whose data is gone leaves no keeper for ever.
constexpr auto kForsaken = 60s;
constexpr int kLookEvery = 10'000;  // Milliseconds.

bool is_gone(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

// The connections whose threads still use the keeper.
class Connections {
 public:
  void enter(int socket) {
    const std::scoped_lock lock(mutex_);
    sockets_.try_emplace(socket);
  }

  // What a connection asks for; nothing once that is answered.
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

  // Waits for the end of all calls. Answers the names of those that are still under way.
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

// One call after the other, until the caller goes.
void serve_connection(Keeper& keeper, KeeperWire& wire, Connections& connections) {
  const int number = wire.fd();
  for (;;) {
    const auto message = wire.receive();
    if (!message || !message.value() || message.value()->type != MessageType::kRequest) {
      return;
    }
    const nlohmann::json request = unpack(message.value()->text);
    if (!request.is_object()) {
      return;
    }
    bool gone = false;
    CallContext context{
        .keeper = keeper,
        .tell =
            [&](std::string_view event) { gone = gone || !wire.send(MessageType::kEvent, event); },
        .wire = wire,
        .listens = [&] { return !gone && !is_gone(wire.fd()); },
        .socket = wire.fd()};
    const auto name = request.value("call", std::string());
    connections.set_call(number, printable(name.substr(0, 40)));
    const auto answer = call(name, request, context);
    std::vector<int> passed;
    for (const UniqueFd& fd : context.passed) {
      passed.push_back(fd.get());
    }
    const auto sent = answer ? wire.send(MessageType::kAnswer, pack(answer.value()), passed)
                             : wire.send(MessageType::kError, encode(answer.error()));
    connections.set_call(number, {});
    if (gone || !sent) {
      return;
    }
  }
}

}  // namespace

Result<void> serve(const std::shared_ptr<Keeper>& keeper, UniqueFd listening, int stop_fd) {
  const auto connections = std::make_shared<Connections>();
  Result<void> served;
  auto last_wanted = std::chrono::steady_clock::now();
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (!connections->empty() || !keeper->all().empty()) {
      last_wanted = now;
    } else if (now - last_wanted >= kForsaken) {
      break;
    }
    std::array<pollfd, 3> polled{
        {{listening.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}, {keeper->stop_fd(), POLLIN, 0}}};
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
    UniqueFd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        (void)::poll(nullptr, 0, 100);  // Until some are given back.
      }
      continue;
    }
    if (!is_ours(socket.get())) {
      continue;
    }
    const int number = socket.get();
    connections->enter(number);
    try {
      std::thread([keeper = keeper, connections, number, socket = std::move(socket)]() mutable {
        KeeperWire wire(std::move(socket));
        serve_connection(*keeper, wire, *connections);
        // Never the last owner: who ends the keeper waits for it, and we may be cut short.
        keeper.reset();
        connections->leave(number);  // Before the number may mean another socket.
      }).detach();
    } catch (const std::system_error&) {
      connections->leave(number);
      // No thread to be had (pthread_create(3)): the caller sees its connection end.
    }
  }
  // What waits for a guest learns of its end; who only waits for the next call is cut off with us.
  (void)keeper->kill_all(false);
  if (const std::string names = connections->wait_for_calls(5s); !names.empty()) {
    served = Error(ErrorCode::kUnavailable, "did not end in time: " + names);
  }
  // Each thread holds the keeper as long as it may call it; none is waited for without end.
  connections->cut();
  connections->wait(1s);
  return served;
}

}  // namespace glovebox::keeper
