// SPDX-License-Identifier: Apache-2.0
// Starting the two programs that a gVisor sandbox consists of, its kernel and the server of files,
// ourselves. `runsc run` executes its own program seven times for that: once for itself, and three
// times for each of the two, to make its walls, to be inside them and to take /proc away. Each is a
// start of Go's runtime. Here the walls are made before the only exec (child/kernel_part.h).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sandbox/cgroup.h"
#include "sandbox/tiers/gvisor/bundle.h"
#include "sandbox/tiers/gvisor/runsc.h"

namespace glovebox {

// Whether the file is a build of runsc that this was written for and tested with: what is passed
// here is not a public interface of gVisor, and another version may give it another meaning. False
// if `program` is not a descriptor.
bool has_known_parts(int program);

// How sandboxes start on this host: by us, or by `runsc run`, and why. A clause for a person; empty
// if there is no runsc.
std::string manner_of_start();

// As start_runsc(), for a bundle whose root is in memory, at "root". Returns once the kernel runs.
// No other process is left that would end the two: the server of files ends with the kernel's last
// connection, or with `held`. Requires root, and a program that has_known_parts(). If it fails,
// nothing is left and nothing has read from `order.control`.
Result<Runsc> start_kernel(const RunscOrder& order,
                           const UniqueFd& program,
                           const Bundle& bundle,
                           const BundleRoot& root,
                           const Cgroup& cgroup);

// As save_by_runsc(), for a kernel that start_kernel() has started. False if it is not one.
Result<bool> save_kernel(const RunscOrder& order, bool goes_on);

}  // namespace glovebox
