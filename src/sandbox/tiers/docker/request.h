// SPDX-License-Identifier: Apache-2.0
// What an engine is asked for (Docker Engine API, POST /containers/create and …/update).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sandbox/spec.h"
#include "sandbox/tiers/docker/image.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox::docker {

// The label that says which runtime directory a container belongs to.
inline constexpr const char* kOwnerLabel = "glovebox.owner";

// As JSON: a container of that image whose only process is the launcher, with every wall that the
// engine can build.
std::string create_request(const Image& image,
                           const SandboxSpec& spec,
                           const std::vector<Mount>& mounts,
                           uid_t uid,
                           gid_t gid);

// As JSON: other limits for a living container.
std::string update_request(const Limits& limits);

}  // namespace glovebox::docker
