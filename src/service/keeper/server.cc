// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

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
    sockets_.insert(socket);
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
    for (const int socket : sockets_) {
      (void)::shutdown(socket, SHUT_RDWR);
    }
  }

  void wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    (void)left_.wait_for(lock, patience, [this] { return sockets_.empty(); });
  }

  // Calls under way.
  std::atomic<int> calls = 0;

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::set<int> sockets_;
};

// One call after the other, until the caller goes. `calls` counts those under way.
void serve_connection(Keeper& keeper, KeeperWire& wire, std::atomic<int>& calls) {
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
        .listens = [&] { return !gone && !is_gone(wire.fd()); },
        .socket = wire.fd()};
    ++calls;
    const auto answer = call(request.value("call", std::string()), request, context);
    std::vector<int> passed;
    for (const UniqueFd& fd : context.passed) {
      passed.push_back(fd.get());
    }
    const auto sent = answer ? wire.send(MessageType::kAnswer, pack(answer.value()), passed)
                             : wire.send(MessageType::kError, encode(answer.error()));
    --calls;
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
      std::thread([keeper, connections, number, socket = std::move(socket)]() mutable {
        KeeperWire wire(std::move(socket));
        serve_connection(*keeper, wire, connections->calls);
        connections->leave(number);  // Before the number may mean another socket.
      }).detach();
    } catch (const std::system_error&) {
      connections->leave(number);
      // No thread to be had (pthread_create(3)): the caller sees its connection end.
    }
  }
  // What waits for a guest learns of its end; who only waits for the next call is cut off with us.
  (void)keeper->kill_all(false);
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (connections->calls > 0 && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, 10);
  }
  // Each thread holds the keeper as long as it may call it; none is waited for without end.
  connections->cut();
  connections->wait(1s);
  return served;
}

}  // namespace glovebox::keeper
