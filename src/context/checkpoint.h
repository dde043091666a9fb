// SPDX-License-Identifier: Apache-2.0
// Checkpoint: our hold on a sleeping copy of an interpreter (agents/python/native/checkpoint.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/agent_process.h"
#include "context/foreign_descriptors.h"

namespace glovebox {

// Closing it ends the copy.
class Checkpoint {
 public:
  // Takes the descriptors that came with an agent's answer. They are whatever the guest sent: fails
  // with kInvalid unless the first is the pidfd of a process in a pid namespace below ours and the
  // second a Unix socket.
  static Result<Checkpoint> adopt(std::uint32_t id, ForeignDescriptors passed);

  // Makes a process from the copy, in place of the one that the copy was made from.
  Result<std::unique_ptr<AgentProcess>> wake();

  // Makes another context from it, with these as its channel, standard output and standard error,
  // in this directory of the sandbox.
  Result<std::unique_ptr<AgentProcess>> fork(const std::array<int, 3>& descriptors,
                                             std::string_view directory);

  // Also the name of the workspace's snapshot.
  [[nodiscard]] std::uint32_t id() const { return id_; }

 private:
  Checkpoint(std::uint32_t id, UniqueFd process, UniqueFd socket)
      : id_(id), process_(std::move(process)), socket_(std::move(socket)) {}
  Result<std::unique_ptr<AgentProcess>> ask(std::string_view words, std::span<const int> passed);

  std::uint32_t id_;
  UniqueFd process_;
  UniqueFd socket_;
};

}  // namespace glovebox
