// SPDX-License-Identifier: Apache-2.0
// Acting for another user of the sandbox: root inside may become anybody there.
#pragma once

namespace glovebox::files {

// Becomes that user (files/users.h) of the root that it sees, with HOME, USER and LOGNAME, and
// executes the command, which it looks up in PATH. Returns only on failure, after saying why on
// standard error: the status to exit with, 126, or 127 if there is no such command.
int run_as(const char* user, char* const* command);

// From now on, what this process makes belongs to the user, but it may still do what root may. On
// failure, says why on standard error and returns false. Call it before there are threads.
bool make_for(const char* user);

// Gives the user a directory, and a home if there is none. Returns the status to exit with.
int give_to(const char* user, const char* directory);

}  // namespace glovebox::files
