// SPDX-License-Identifier: Apache-2.0
// BuildMonitor: what the one who waits for a template is told, and whether they still wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

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

// False: nobody listens any more, and the build is canceled. kIdle comes once a second. Calls come
// one at a time, from any thread.
using BuildSink = std::function<bool(const BuildEvent&)>;

// Counts bytes that the build is about to write; its error says that there is no room for them.
using BuildSpend = std::function<Result<void>(std::uint64_t bytes)>;

class BuildMonitor {
 public:
  BuildMonitor(BuildSink sink, BuildSpend spend);
  BuildMonitor(const BuildMonitor&) = delete;
  BuildMonitor& operator=(const BuildMonitor&) = delete;
  ~BuildMonitor();

  void expect(std::size_t steps) { steps_ = steps; }
  // The next step begins.
  void progress(std::string text);
  // What a program says; bounded over the whole build.
  void log(std::string_view text);

  // Before `bytes` are written that will be part of the template. On the build's own thread.
  Result<void> spend(std::uint64_t bytes) { return spend_(bytes); }

  [[nodiscard]] bool wanted() const;
  // Becomes readable when the build is canceled.
  [[nodiscard]] int cancel_fd() const { return canceled_.get(); }

 private:
  void tell(const BuildEvent& event);
  void watch();

  const BuildSink sink_;
  const BuildSpend spend_;
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
