// SPDX-License-Identifier: Apache-2.0
// The archiver's own system call filters: no exec, no fork, no sockets. Any other call ends it.
#pragma once

#include <linux/filter.h>

#include <span>

namespace glovebox::archiver {

// What moving bytes and files takes, inside a sandbox.
std::span<const sock_filter> filter_for_files();

// The same and what a root of a container image takes: hard links, and removing whole directories.
std::span<const sock_filter> filter_for_roots();

// What reading a tree takes: nothing that changes a file.
std::span<const sock_filter> filter_for_reading();

}  // namespace glovebox::archiver
