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

// The mount that a sandbox needs to have its files served: the directory with the program
// glovebox-files. That is where GLOVEBOX_FILES says, or else `files` in one of
// sys::installed_directories(). kUnsupported if it is nowhere.
Result<Mount> file_server_mount();

// Requests call the guest "user", whatever its name inside is; files/users.h knows its number.
std::string by_number(const std::string& user);

// The words that run the command as another user (files/users.h), in a sandbox that was made with
// file_server_mount() and whose guest is root. Exit status 126 if there is no such user.
std::vector<std::string> as_user(const std::string& user, const std::vector<std::string>& argv);

// Likewise, gives such a user a directory, and a home below /home if there is none.
std::vector<std::string> give_to(const std::string& user, const std::string& directory);

// Starts a file server in a sandbox that was made with file_server_mount(). Returns the socket that
// a FileClient takes; when that is closed, the server ends. Any thread may call it. What it makes
// belongs to `user` (files/users.h), if one is named; the sandbox's guest must then be root.
Result<UniqueFd> open_file_server(Sandbox& sandbox, const std::string& user = {});

}  // namespace glovebox
