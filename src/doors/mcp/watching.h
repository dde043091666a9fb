// SPDX-License-Identifier: Apache-2.0
// Watching: what a client wants to hear about, and which changes it has heard about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "doors/mcp/message.h"

namespace glovebox::mcp {

// Safe to use from several threads. It has no thread of its own: the code that can reach the client
// waits for fd() and tells it.
class Watching {
 public:
  static constexpr std::size_t kMost = 128;

  struct Subject {
    std::string name{};  // No other subject here has it.
    // A different number whenever it has changed, 0 before there is anything to tell; nothing when
    // it is gone, which removes the subject.
    std::function<std::optional<std::uint64_t>()> version{};
    std::function<bool()> is_over{};  // It will not change any more.
    std::string method{};             // Of the notification that it has changed,
    std::function<Json()> params{};   // and what that says.
    std::uint64_t told = 0;           // The version that the client knows.
  };
  // One that is there already stays as it is. False when there are too many.
  bool add(Subject subject);
  void remove(std::string_view name);

  // Readable when tell() may have something, as long as this lives; not to be read. -1 if the host
  // has no descriptor left.
  [[nodiscard]] int fd();
  // Hands on what has changed since the client was told last. One change goes to one caller.
  void tell(const std::function<void(std::string_view method, Json params)>& take);
  // The client may not have heard what it was told: it is told all of it again.
  void repeat();
  // Whether nothing changes any more, and everything was told.
  [[nodiscard]] bool is_over();

 private:
  // These require the mutex.
  static bool is_settled(const Subject& subject);
  void set_clock();

  std::mutex mutex_;
  std::vector<Subject> subjects_;
  UniqueFd clock_;
  bool runs_ = false;
};

}  // namespace glovebox::mcp
