// SPDX-License-Identifier: Apache-2.0
// Starting file servers in sandboxes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "spec/mount.h"

namespace glovebox {

// To be added to the mounts of a sandbox that shall have its files served: the directory with the
// program glovebox-files, beside our own program's directory, in ../libexec/glovebox/files, or
// where GLOVEBOX_FILES says. kUnsupported when it is nowhere.
Result<Mount> file_server_mount();

// Requests call the guest "user", whatever its name inside is; files/users.h knows its number.
std::string by_number(const std::string& user);

// The command as another user's (files/users.h), in a sandbox that was made with
// file_server_mount() and whose guest is root. A user that it does not have ends it with exit
// status 126.
std::vector<std::string> as_user(const std::string& user, const std::vector<std::string>& argv);

// Likewise: what gives such a user a directory, and a home below /home where there is none.
std::vector<std::string> give_to(const std::string& user, const std::string& directory);

// Starts a file server in a sandbox that was made with file_server_mount(). Returns the socket that
// a FileClient takes; when that is closed, the server ends. Any thread may call it. What it makes
// belongs to `user` (files/users.h), where one is named: of a sandbox whose guest is root.
Result<UniqueFd> open_file_server(Sandbox& sandbox, const std::string& user = {});

}  // namespace glovebox
