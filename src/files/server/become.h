// SPDX-License-Identifier: Apache-2.0
// Acting for another user of the sandbox: root inside may become anybody there.
#pragma once

namespace glovebox::files {

// Becomes the user (files/users.h) of the root that it sees, with HOME, USER and LOGNAME, and
// executes the command, which is searched for in PATH. Returns only the status to exit with, after
// it has said on standard error why: 126, or 127 where there is no such command.
int run_as(const char* user, char* const* command);

// What this process makes from now on belongs to the user, while it may do what root may. False
// after it has said why on standard error. Before there are threads.
bool make_for(const char* user);

// Gives the user a directory, and a home where there is none. Returns the status to exit with.
int give_to(const char* user, const char* directory);

}  // namespace glovebox::files
