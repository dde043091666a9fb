// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/keeper/codec.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostIdle = 64;
constexpr auto kTick = 1s;

}  // namespace

Result<std::unique_ptr<KeeperWire>> KeeperClient::borrow() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto wire = std::move(idle_.back());
      idle_.pop_back();
      return wire;
    }
  }
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path_.size() >= sizeof address.sun_path) {
    return Error(ErrorCode::kInvalid, "the data directory's path is too long for a socket");
  }
  std::memcpy(address.sun_path, path_.data(), path_.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error(ErrorCode::kUnavailable,
                 std::string("the keeper of the sandboxes does not answer: ") +
                     std::generic_category().message(errno));
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
                                          std::vector<UniqueFd>* passed) {
  arguments["call"] = name;
  const std::string request = pack(arguments);
  auto wire = GB_TRY(borrow());
  if (auto sent = wire->send(MessageType::kRequest, request); !sent) {
    // One that waited here while the keeper was replaced; all of them are of that age.
    {
      const std::scoped_lock lock(mutex_);
      idle_.clear();
    }
    wire = GB_TRY(borrow());
    GB_TRY(wire->send(MessageType::kRequest, request));
  }
  for (;;) {
    const auto message = GB_TRY(
        wire->receive(on_event ? std::optional<std::chrono::milliseconds>(kTick) : std::nullopt));
    const bool event = !message || message->type == MessageType::kEvent;
    if (event && on_event && !on_event(message ? std::string_view(message->text) : "")) {
      return Error(ErrorCode::kUnavailable, "nobody listens any more");
    }
    if (event) {
      continue;
    }
    if (passed != nullptr) {
      *passed = wire->take_descriptors();
    }
    give_back(std::move(wire));
    if (message->type == MessageType::kError) {
      return decode_error(message->text);
    }
    return unpack(message->text);
  }
}

}  // namespace glovebox::keeper
