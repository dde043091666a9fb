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
// install it, where there is none. Found once in a process.
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
  // Becomes the standard input of the sandbox's first process: of a saved one that is replaced when
  // it is continued, and no other descriptor is.
  int control = -1;
};

struct Runsc {
  Cloned process;
  // What it says of its failure comes here; read without waiting. Keep it open as long as the
  // process lives: a program of Go dies of a standard error that nobody reads.
  UniqueFd complaints;
  WayOut way_out{};
  std::shared_ptr<const void> held{};  // What must stay as long as the sandbox.
};

// The beginning of every command line of runsc: its name, and what all its commands are told alike.
std::vector<std::string> runsc_options(const RunscOrder& order);

// Starts it in `cgroup`, as our child. The sentry and the gofer that it starts die with it, and it
// ends with the sandbox's first process. It holds nothing of ours but what `order` names. Returns
// once it runs; that the sandbox stands is known when its first process speaks.
Result<Runsc> start_runsc(const RunscOrder& order, const Cgroup& cgroup);

// Writes the kernel and the memory of the sandbox into the directory `order.image`, and ends it
// unless it goes on. Needs root.
Result<void> save_by_runsc(const RunscOrder& order, bool goes_on);

}  // namespace glovebox
