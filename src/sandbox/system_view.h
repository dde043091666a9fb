// SPDX-License-Identifier: Apache-2.0
// What a sandbox with a root of its own shows of the system, in every tier that builds one.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "sandbox/spec.h"

namespace glovebox {

// Top-level names that are links into /usr on every merged system, and directories elsewhere.
inline constexpr std::array<const char*, 5> kUsrLinks = {"bin", "sbin", "lib", "lib64", "lib32"};

// What every program may need of /etc, and what is not secret to the host.
inline constexpr std::array<const char*, 2> kCommonEtc = {"/etc/alternatives", "/etc/ld.so.cache"};

// A file of /etc that describes the sandbox, not the host.
struct EtcFile {
  std::string name;
  std::string text;
};

// Only if there is a way out.
inline constexpr const char* kResolvConf = "resolv.conf";

// Without the users, and with those of a sandbox whose guest is not root but the user that `uid`
// and `gid` name inside.
std::vector<EtcFile> etc_of_all(const SandboxSpec& spec);
std::vector<EtcFile> etc_of_guest(const SandboxSpec& spec,
                                  uid_t uid = kGuestUid,
                                  gid_t gid = kGuestGid);

}  // namespace glovebox
