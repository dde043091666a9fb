// SPDX-License-Identifier: Apache-2.0
// Running a command as another user of the sandbox: root inside may become anybody there.
#pragma once

namespace glovebox::files {

// Becomes the user (files/users.h) of the root that it sees, with HOME, USER and LOGNAME, and
// executes the command, which is searched for in PATH. Returns only the status to exit with, after
// it has said on standard error why: 126, or 127 where there is no such command.
int run_as(const char* user, char* const* command);

}  // namespace glovebox::files
