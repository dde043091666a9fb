// SPDX-License-Identifier: Apache-2.0
// Archives in and out of the workspace: tar, plain or gzip.
//
// Both run in a process of their own, forked by the warden, under the warden's filter and inside
// the sandbox's limits: an archive that is made to hurt hurts the sandbox.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "spec/warden_protocol.h"
#include "warden/workspace.h"

namespace glovebox::warden {

// Reads a tar archive from `input_fd` and creates its directories, regular files and symbolic
// links below `directory`. Absolute names, "..", hard links, devices, and anything that would
// write through a link are refused with the entry's name.
Result<void> unpack(const Workspace& workspace, std::string_view directory, int input_fd);

// Writes a tar archive of the regular files that `request` names to `output_fd`. Files larger
// than what is left of `request.max_bytes` are left out.
Result<void> pack(const Workspace& workspace, const PackRequest& request, int output_fd);

}  // namespace glovebox::warden
