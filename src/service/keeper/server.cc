// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "service/keeper/calls.h"
#include "service/keeper/codec.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

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

// One call after the other, until the caller goes.
// `calls` counts those under way.
void serve_connection(Keeper& keeper, UniqueFd socket, std::atomic<int>& calls) {
  KeeperWire wire(std::move(socket));
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

Result<void> serve(Keeper& keeper, UniqueFd listening, int stop_fd) {
  std::atomic<int> calls = 0;
  for (;;) {
    std::array<pollfd, 3> polled{
        {{listening.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}, {keeper.stop_fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return Error::from_errno("wait for calls");
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
    std::thread([&keeper, &calls, socket = std::move(socket)]() mutable {
      serve_connection(keeper, std::move(socket), calls);
    }).detach();
  }
  // What waits for a guest learns of its end; who only waits for the next call is cut off with us.
  (void)keeper.kill_all();
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (calls > 0 && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, 10);
  }
  return {};
}

}  // namespace glovebox::keeper
