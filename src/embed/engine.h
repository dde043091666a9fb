// SPDX-License-Identifier: Apache-2.0
// Engine: a daemon that serves this program alone, and ends with it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::embed {

struct EngineOptions {
  std::vector<std::string> words{};  // Options of `glovebox serve`.
  std::string programs{};            // The directory of glovebox-daemon; empty: as glovebox.h says.
  int log = -1;                      // A descriptor for its log; none if negative.
};

// Safe to use from several threads.
class Engine {
 public:
  // Starts the engine and waits until it accepts requests.
  static Result<std::unique_ptr<Engine>> start(const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // Ends the engine and waits for that; kills it if it does not end. In any process other than the
  // one that started it, this leaves the engine running.
  ~Engine();

  // A connection for REST: a stream socket that blocks. kUnavailable when the engine has ended.
  Result<UniqueFd> connect();

  // A connection on which nothing is under way: a kept one, or a new one.
  Result<UniqueFd> borrow();
  void give_back(UniqueFd connection);

 private:
  Engine(UniqueFd socket, UniqueFd process);

  UniqueFd socket_;   // Of embed/handshake.h.
  UniqueFd process_;  // Its pidfd, which it has sent; invalid if the kernel has none.
  const pid_t owner_;
  std::mutex mutex_;  // Guards what follows.
  std::vector<UniqueFd> kept_;
};

}  // namespace glovebox::embed
