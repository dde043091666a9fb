// SPDX-License-Identifier: Apache-2.0
// One machine, as the only guest of a native sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/tiers/microvm/port.h"
#include "sandbox/tiers/tier.h"
#include "sandbox/warden_link.h"

namespace glovebox::microvm {

// Keeps the native sandbox's warden, which ends with its socket. The port must outlive it.
class Machine final : public Carrier {
 public:
  // Waits until the walls of the native sandbox stand, and starts the command in it. `descriptors`
  // become the command's 1, 2 and 3. Takes the enclosure's socket.
  static Result<std::unique_ptr<Machine>> start(Enclosure& native,
                                                const std::vector<std::string>& command,
                                                const std::array<int, 3>& descriptors,
                                                Port& port);

  // The stream for saving; glovebox-microvm has the other end.
  void save_over(UniqueFd stream, Bytes memory) {
    saving_ = std::move(stream);
    memory_ = memory;
  }
  // Writes the machine into the directory as the files of a template. Afterwards it stands still,
  // or continues if `goes_on`.
  Result<void> save(const std::string& directory, bool goes_on);

  Result<void> change_limits(const Limits& limits) override { return port_.change_limits(limits); }
  Result<void> remove() override;

 private:
  Machine(UniqueFd control, Port& port) : warden_(std::move(control)), port_(port) {}

  Result<void> await_walls();

  WardenLink warden_;
  Port& port_;
  UniqueFd saving_;
  Bytes memory_;
};

}  // namespace glovebox::microvm
