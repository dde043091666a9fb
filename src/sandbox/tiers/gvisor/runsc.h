// SPDX-License-Identifier: Apache-2.0
// The program runsc, which runs a gVisor sandbox: finding it, and starting it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/handing.h"
#include "sandbox/launch.h"

namespace glovebox {

// The file that GLOVEBOX_RUNSC names, else the first runsc on the PATH. kUnsupported, with how to
// install it, if there is none. Found once in a process.
Result<std::string> find_runsc();

// The first line of what `program` says of its version, such as "runsc version 0.0~20240729.0".
Result<std::string> version_of_runsc(const std::string& program);

struct RunscOrder {
  std::string program;
  std::string id;      // Of the container.
  std::string bundle;  // OCI's: the directory of its config.json.
  std::string state;   // A directory for this sandbox alone, where runsc keeps what it must.
  std::string image;   // What save_by_runsc() has written, to be continued; empty: a new sandbox.
  // The port of child/way_out.h; 0: no network but gVisor's own loopback device. Needs root.
  std::uint16_t egress_port = 0;
  // Becomes the standard input of the sandbox's first process. When a saved sandbox continues, only
  // this descriptor is replaced.
  int control = -1;
};

struct Runsc {
  Cloned process;
  // Where it says why it failed; read without waiting. Keep it open as long as the process lives: a
  // Go program dies of a standard error that nobody reads.
  UniqueFd complaints;
  WayOut way_out{};
  std::shared_ptr<const void> held{};  // What must stay as long as the sandbox.
};

// The beginning of every command line of runsc: its name, and the options that all commands share.
std::vector<std::string> runsc_options(const RunscOrder& order);

// Starts it in `cgroup`, as our child. The sentry and the gofer that it starts die with it, and it
// ends with the sandbox's first process. It holds nothing of ours but what `order` names. Returns
// once it runs; only when the sandbox's first process speaks is the sandbox known to stand.
Result<Runsc> start_runsc(const RunscOrder& order, const Cgroup& cgroup);

// Writes the kernel and the memory of the sandbox into the directory `order.image`, and ends it
// unless `goes_on`. Needs root.
Result<void> save_by_runsc(const RunscOrder& order, bool goes_on);

}  // namespace glovebox
