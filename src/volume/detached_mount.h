// SPDX-License-Identifier: Apache-2.0
// Mounts of block devices that are in no mount table: only their descriptor leads to them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// One option of a file system (mount(8)); a flag has no value.
struct MountOption {
  const char* name;
  const char* value;
};

// Mounts the file system of type `type` on a device, with these attributes (MOUNT_ATTR_…). If it is
// mounted already, this is one more mount of it. Errors say what the kernel said.
Result<UniqueFd> mount_device(const char* type,
                              const std::string& device,
                              std::span<const MountOption> options,
                              unsigned attributes);

}  // namespace glovebox
