// SPDX-License-Identifier: Apache-2.0
// KeeperClient: the daemon's end of the keeper's calls.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// The events of a call, without a thread that waits for them. Destroying this cancels what only
// waits in the keeper. One thread.
class KeeperStream {
 public:
  // `responsive` is the client's, which must outlive this.
  KeeperStream(std::unique_ptr<KeeperWire> wire, const std::atomic<bool>& responsive, Message first)
      : wire_(std::move(wire)), responsive_(responsive), first_(std::move(first)) {}

  // Readable when next() may have something.
  [[nodiscard]] int fd() const { return wire_->fd(); }
  // The next event; nothing when there is none now, or after the last one. Fails as the call does.
  // Never waits.
  Result<std::optional<std::string>> next();

 private:
  const std::unique_ptr<KeeperWire> wire_;
  const std::atomic<bool>& responsive_;
  Message first_;
  bool has_first_ = true;
  bool answered_ = false;
};

// Safe to use from any thread; each call in progress has a connection of its own. No call outlasts
// what calls.h allows it, or waits for a keeper that has stopped responding.
class KeeperClient {
 public:
  explicit KeeperClient(std::string socket_path) : path_(std::move(socket_path)) {}

  // Gets the events that come before the answer. `event` is empty when the request was sent, so
  // that something else can be done meanwhile, and then once a second while nothing comes. False
  // ends the call, which then fails with kUnavailable. What only waits in the keeper is given up;
  // what is already under way continues.
  using OnEvent = std::function<bool(std::string_view event)>;

  // `handed` goes with the request, `passed` is what comes with the answer. kUnavailable when the
  // keeper is gone, does not respond, or needs too long.
  Result<nlohmann::json> call(std::string_view name,
                              nlohmann::json arguments,
                              const OnEvent& on_event = {},
                              std::vector<UniqueFd>* passed = nullptr,
                              std::span<const int> handed = {});

  // Begins a call whose events are taken as they come. Returns once the first event is there; if
  // the call fails before that, fails likewise.
  Result<std::unique_ptr<KeeperStream>> open(std::string_view name, nlohmann::json arguments);

  // The call "states", within 15 seconds. Make it regularly: a keeper that lets it wait counts
  // as unresponsive, and all other calls fail at once, until a later probe is not kept waiting.
  Result<nlohmann::json> probe();
  [[nodiscard]] bool responsive() const { return responsive_; }

  // The process that listens at the socket, as a pidfd; none when nobody does. It may be stopped.
  UniqueFd process();

 private:
  struct Wish;
  Result<nlohmann::json> exchange(std::string_view name,
                                  nlohmann::json arguments,
                                  const Wish& wish);
  // A connection on which this request was sent.
  Result<std::unique_ptr<KeeperWire>> ask(std::string_view name,
                                          nlohmann::json arguments,
                                          std::span<const int> handed = {});
  Result<std::unique_ptr<KeeperWire>> borrow();
  void give_back(std::unique_ptr<KeeperWire> wire);

  const std::string path_;
  std::atomic<bool> responsive_ = true;
  std::mutex mutex_;
  std::vector<std::unique_ptr<KeeperWire>> idle_;
};

}  // namespace glovebox::keeper
