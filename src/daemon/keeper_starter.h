// SPDX-License-Identifier: Apache-2.0
// KeeperStarter: the small process that starts and ends keepers for a daemon that gave up root.
//
// It stays root, and takes two words from the daemon: "start" and "stop". The program, the data
// directory and the user that they apply to were fixed before the daemon could be taken over.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// Safe to use from several threads.
class KeeperStarter {
 public:
  // Starts the process, which ends with this one. Requires: no other thread.
  static Result<KeeperStarter> start(const std::string& program,
                                     const std::string& directory,
                                     const std::string& user);
  KeeperStarter(KeeperStarter&& other) noexcept : socket_(std::move(other.socket_)) {}
  KeeperStarter(const KeeperStarter&) = delete;
  KeeperStarter& operator=(const KeeperStarter&) = delete;
  ~KeeperStarter() = default;

  // As ensure_keeper() and stop_keeper().
  Result<bool> ensure();
  Result<void> stop();

 private:
  explicit KeeperStarter(UniqueFd socket) : socket_(std::move(socket)) {}
  Result<bool> ask(char word);

  std::mutex mutex_;
  UniqueFd socket_;
};

}  // namespace glovebox
