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

// What reading a tree takes. No filter sees with what flags a file is opened: give_up_changes()
// comes first.
std::span<const sock_filter> filter_for_reading();

// From now on, this process can neither make nor change nor remove a file (Landlock). True where
// the kernel has that; elsewhere the filter and a bound on the size of files are what remains.
// Nobody gives it a privilege any more. Before confine_self().
bool give_up_changes();

}  // namespace glovebox::archiver
