// SPDX-License-Identifier: Apache-2.0
// Builds a template from a Dockerfile.
//
// On a base with a root of its own, RUN runs as root and may change all of it; the result is the
// template's root. On a base that shows the host's /usr, RUN runs as the guest, and the workspace
// is kept. The state after each RUN is a piece of the store, under a hash of everything that led to
// it, so that a later build begins at the first difference.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "service/templates/build.h"

namespace glovebox {

// A Dockerfile of this name in the context is not a file that instructions copy.
inline constexpr const char* kSentAside = ".glovebox-dockerfile";

// What a template's name stands for, for the tenant that builds.
using FindBase = std::function<Result<TemplateParts>(const std::string& name)>;

// Requires: a valid recipe with a Dockerfile, whose rules `network` has. kUnavailable when it was
// canceled. Errors of an instruction name its line.
Result<BuiltParts> build_dockerfile(const Recipe& recipe,
                                    const BuildNetwork& network,
                                    const ContentStore& store,
                                    BuildMonitor& monitor,
                                    const FindBase& find_base);

}  // namespace glovebox
