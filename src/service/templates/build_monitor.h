// SPDX-License-Identifier: Apache-2.0
// BuildMonitor: tells the client that waits for a template what happens; knows if it still waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

struct BuildEvent {
  enum class Kind { kProgress, kLog, kIdle };
  Kind kind = Kind::kIdle;
  std::size_t step = 0;
  std::size_t steps = 0;
  std::string text{};
};

// Returns false if nobody listens any more; the build is then canceled. kIdle comes once a second.
// Calls come one at a time, from any thread.
using BuildSink = std::function<bool(const BuildEvent&)>;

// The disk that a build may use. Both are called on the build's own thread.
struct BuildRoom {
  // Counts bytes that are about to be written; its error says that there is no room for them.
  std::function<Result<void>(std::uint64_t bytes)> spend;
  // Takes back counted bytes that no longer exist.
  std::function<void(std::uint64_t bytes)> give_back = [](std::uint64_t) {};
};

// Room for what is gone before the build is over; counted as long as this lives.
class [[nodiscard]] BorrowedRoom {
 public:
  BorrowedRoom() = default;  // Holds nothing.
  BorrowedRoom(const BuildRoom& room, std::uint64_t bytes) : room_(&room), bytes_(bytes) {}
  BorrowedRoom(BorrowedRoom&& other) noexcept
      : room_(other.room_), bytes_(std::exchange(other.bytes_, 0)) {}
  BorrowedRoom& operator=(BorrowedRoom&& other) noexcept {
    shrink(0);
    room_ = other.room_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~BorrowedRoom() { shrink(0); }

  // Gives back what it has beyond `bytes`.
  void shrink(std::uint64_t bytes) {
    if (bytes < bytes_) {
      room_->give_back(std::exchange(bytes_, bytes) - bytes);
    }
  }

 private:
  const BuildRoom* room_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class BuildMonitor {
 public:
  BuildMonitor(BuildSink sink, BuildRoom room);
  BuildMonitor(const BuildMonitor&) = delete;
  BuildMonitor& operator=(const BuildMonitor&) = delete;
  ~BuildMonitor();

  void expect(std::size_t steps) { steps_ = steps; }
  // The next step begins.
  void progress(std::string text);
  // What a program says; bounded over the whole build.
  void log(std::string_view text);

  // Before `bytes` are written that will be part of the template. On the build's own thread.
  Result<void> spend(std::uint64_t bytes) { return room_.spend(bytes); }
  // Likewise `bytes` that will be no part of it. The monitor outlives the room.
  Result<BorrowedRoom> borrow(std::uint64_t bytes) {
    GB_TRY(room_.spend(bytes));
    return BorrowedRoom(room_, bytes);
  }

  [[nodiscard]] bool wanted() const;
  // Becomes readable when the build is canceled.
  [[nodiscard]] int cancel_fd() const { return canceled_.get(); }

 private:
  void tell(const BuildEvent& event);
  void watch();

  const BuildSink sink_;
  const BuildRoom room_;
  const UniqueFd canceled_;
  std::size_t step_ = 0;
  std::size_t steps_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t logged_ = 0;
  bool wanted_ = true;
  bool done_ = false;
  std::thread watcher_;
};

}  // namespace glovebox
