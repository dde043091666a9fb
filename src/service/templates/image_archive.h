// SPDX-License-Identifier: Apache-2.0
// A template as a container image that other programs take, in one tar archive: an OCI image layout
// (OCI image specification 1.1), and beside it the description that `docker load` reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "service/templates/build.h"
#include "service/templates/image_layer.h"

namespace glovebox {

struct ArchiveTarget {
  // How large the archive will be; called once, before the first byte.
  std::function<Result<void>(std::uint64_t size)> begin;
  PutBytes put;
};

// Writes the template of that name: one layer, and its environment, workspace and start command as
// the configuration. The same files and settings give the same bytes. kUnsupported for a template
// that shows the host's /usr; kUnavailable when it was canceled.
Result<void> export_template(const std::string& name,
                             const TemplateParts& parts,
                             const ContentStore& store,
                             BuildMonitor& monitor,
                             const ArchiveTarget& target);

}  // namespace glovebox
