// SPDX-License-Identifier: Apache-2.0
// The archiver's own system call filters: no exec, no fork, no sockets. Any other call ends it.
#pragma once

#include <linux/filter.h>

#include <span>

namespace glovebox::archiver {

// The calls that it takes to move bytes and files, inside a sandbox.
std::span<const sock_filter> filter_for_files();

// The same, and what a container image's root takes: hard links, and removing whole directories.
std::span<const sock_filter> filter_for_roots();

// What reading a tree takes. No filter can see the flags with which a file is opened, so call
// give_up_changes() first.
std::span<const sock_filter> filter_for_reading();

// From now on, this process cannot create, change or remove a file (Landlock). True if the kernel
// can do that; otherwise only the filter and a bound on the size of files remain. It can gain no
// privilege any more. Call it before confine_self().
bool give_up_changes();

}  // namespace glovebox::archiver
