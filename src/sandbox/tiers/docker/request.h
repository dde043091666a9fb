// SPDX-License-Identifier: Apache-2.0
// What an engine is asked for (Docker Engine API): the container of a sandbox, other limits for it
// while it lives, and file systems of its own.
//
// Podman's service takes the same requests, but not everything in them: its file systems in memory
// have no limit on files and no owner, so they are volumes, made by requests of their own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/spec.h"
#include "sandbox/tiers/docker/engine.h"
#include "sandbox/tiers/docker/image.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox::docker {

// The label that says which runtime directory a container belongs to.
inline constexpr const char* kOwnerLabel = "glovebox.owner";

// The runtime that starts our containers: the one that GLOVEBOX_DOCKER_RUNTIME names, or else the
// engine's own choice. kUnsupported if the engine would not use the one that is named.
Result<std::string> runtime_of(const Engine& engine);

struct ContainerSpec {
  std::string name;
  Image image{};
  const SandboxSpec& sandbox;
  const std::vector<Mount>& mounts;  // Of the host's files; all are read-only.
  std::string runtime{};             // As runtime_of() says it.
  bool is_podman = false;
  std::string terminals{};  // For Podman: where this machine keeps the last of the volumes.
  // Of the guest, inside.
  uid_t uid = 0;
  gid_t gid = 0;
};

// As JSON: a container of that image whose only process is the launcher, with every wall that the
// engine can build.
std::string create_request(const ContainerSpec& spec);

// As JSON, for Podman: the volumes that the container names, which must be made before it. The last
// one is for terminals, if the runtime takes one (takes_terminals()).
std::vector<std::string> volume_requests(const ContainerSpec& spec);
bool takes_terminals(const ContainerSpec& spec);
// Their names, and maybe one more.
std::vector<std::string> volume_names(const std::string& container);

// As JSON: other limits for a living container. Podman takes them as a runtime does.
std::string update_request(const Limits& limits);
std::string podman_update_request(const Limits& limits);

}  // namespace glovebox::docker
