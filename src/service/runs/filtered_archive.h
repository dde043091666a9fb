// SPDX-License-Identifier: Apache-2.0
// Archives of directories without some of their files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/runs/transfer.h"

namespace glovebox {

// Whether a file of a directory is left out, by its name in the archive. A directory that is left
// out takes all below it along.
using LeaveOut = std::function<bool(const std::string& name, bool is_directory)>;

// As write_archive() (service/runs/transfer.h). Without `leave_out`, nothing is left out.
Result<void> write_filtered_archive(int fd,
                                    const std::vector<FileToCopy>& files,
                                    SpecialFiles special,
                                    const LeaveOut& leave_out);

}  // namespace glovebox
