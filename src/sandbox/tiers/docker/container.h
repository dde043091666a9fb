// SPDX-License-Identifier: Apache-2.0
// One container: made, started, looked at, and removed with all that was made for it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/slot.h"
#include "sandbox/spec.h"
#include "sandbox/tiers/docker/engine.h"
#include "sandbox/tiers/docker/image.h"
#include "sandbox/tiers/docker/request.h"
#include "sandbox/tiers/docker/stage.h"
#include "sandbox/tiers/tier.h"

namespace glovebox::docker {

class Container final : public Carrier {
 public:
  // Makes the container and its stage; `slot` notes both first. Nothing runs in it yet.
  // kUnsupported if the engine refuses what a sandbox needs.
  static Result<std::unique_ptr<Container>> create(Engine engine,
                                                   const Image& image,
                                                   const std::string& runtime,
                                                   const SandboxSpec& spec,
                                                   Slot& slot);

  ~Container() override;

  // Starts it and waits for the connection of its launcher.
  Result<UniqueFd> start();

  // Its first process, as the engine names it, once it is certain that the process is this
  // container's, on this host, and that the engine gives what it was asked for.
  struct Process {
    pid_t pid = 0;
    UniqueFd pidfd;
  };
  Result<Process> inspect() const;

  Result<void> change_limits(const Limits& limits) override;
  Result<void> remove() override;

  // For the sweep: removes the container that a note of create() names, if it belongs to this
  // runtime directory.
  static Result<void> remove_leftover(std::string_view note);

 private:
  Container(Engine engine, std::string name, Stage stage)
      : engine_(std::move(engine)), name_(std::move(name)), stage_(std::move(stage)) {}
  Result<void> make(ContainerSpec spec);

  Engine engine_;
  std::string name_;
  Stage stage_;
  std::string id_;  // The engine's; empty before it is made.
  bool removed_ = false;
};

}  // namespace glovebox::docker
