// SPDX-License-Identifier: Apache-2.0
// The template of a machine: a booted machine with nothing of a sandbox in it, as it was when its
// warden had moved in and its first program waited for its order. glovebox keeps it as three files:
// every clone maps its memory privately, loads the state of its devices, and continues with the
// names of files that it knew. A sandbox that is saved is three such files as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glovebox::microvm {

// How glovebox-microvm starts a machine, as its first argument.
inline constexpr const char* kBoot = "boot";
inline constexpr const char* kClone = "clone";
inline constexpr const char* kContinue = "continue";  // As a clone, of a saved machine.
inline constexpr const char* kMake = "make";

// Names in a template's directory, and where a clone's sandbox shows that, to QEMU alone.
inline constexpr const char* kMemoryName = "memory";
inline constexpr const char* kStateName = "state";
inline constexpr const char* kNamesName = "names";
inline constexpr const char* kTemplatePlace = "/run/machine";
inline constexpr const char* kTemplateMemory = "/run/machine/memory";
inline constexpr const char* kTemplateState = "/run/machine/state";
inline constexpr const char* kTemplateNames = "/run/machine/names";

// The arguments of QEMU's migrate-set-capabilities: memory that is shared with a file stays there,
// and events tell how the transfer goes.
inline constexpr const char* kKeepMemory =
    R"({"capabilities": [{"capability": "x-ignore-shared", "state": true},)"
    R"( {"capability": "events", "state": true}]})";

// When glovebox-microvm makes a template, it reads the warden's first frame from its standard
// output, a socket. This is what it writes there, each Piece followed by its
// bytes: one at 0 with the state, and one with the names; then those of the memory, in ascending
// order, with zeros between them; and one of no bytes, whose `at` is the size of the memory.
struct Piece {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};
inline constexpr std::size_t kMostState = 16UL << 20;
inline constexpr std::size_t kMostNames = 64UL << 20;

// What is said over the stream for saving, which glovebox-microvm gets with the first byte of the
// machine's own port: kSave asks for all of a clone, in the form above; then the machine stands
// still until kGoOn.
enum class Saving : char { kSave = 's', kGoOn = 'g' };

}  // namespace glovebox::microvm
