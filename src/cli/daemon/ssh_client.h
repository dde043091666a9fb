// SPDX-License-Identifier: Apache-2.0
// The caller's own OpenSSH: its keys, what it is told about a sandbox, and how it is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

// The files of a directory that makes a session possible.
inline constexpr const char* kSshClientKey = "id_ed25519";
inline constexpr const char* kSshServerKey = "host_key";
inline constexpr const char* kSshKnownHosts = "known_hosts";

// What a client calls the sandbox: "glovebox-ID".
std::string ssh_name(const std::string& sandbox);

// Makes or replaces a file that nobody else may read, in a directory of ours.
Result<void> write_private_file(const std::string& path, std::string_view text);

// Makes both key pairs in an empty directory, and the file that pins the server's. kUnsupported
// if there is no OpenSSH.
Result<void> make_ssh_keys(const std::string& directory, const std::string& name);

struct SshHost {
  std::string name;                // As ssh_name() returns it.
  std::string user;                // As the sandbox says, so it is checked.
  std::string directory;           // Of the keys.
  std::vector<std::string> proxy;  // The command whose streams lead to the server.
};

// The host's block of ssh_config(5): where the server is, and that it may do nothing to the client.
// kInvalid if a value cannot be written there.
Result<std::string> ssh_host_block(const SshHost& host);

// Runs a program with our streams and waits for it. Returns its exit status, or 128+N if signal N
// ended it. Signals that would end us go to it instead. kUnsupported if there is no such program.
Result<int> run_here(const std::vector<std::string>& words);

}  // namespace glovebox::cli
