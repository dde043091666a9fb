// SPDX-License-Identifier: Apache-2.0
// Checkpoints: copies of this process that sleep until somebody wants to go back.
//
// The copy holds one end of a sequenced-packet socket (unix(7)), the outside the other. The copy
// ends when the outside closes its end. For each message it forks once more, so that one checkpoint
// serves many times:
//   "w"  the new process takes the place of the original: same channel, same streams;
//   "f"  it is another context: three descriptors come along, its channel, standard output and
//        error, and its working directory follows the letter.
// The copy answers with one byte and the pidfd of the new process.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace glovebox::zygote {

enum class Awakening {
  kOriginal,    // This is the process that asked; its copy sleeps.
  kRolledBack,  // This is a copy of the copy, in the place of the original.
  kForked,      // This is a context of its own now.
  kFailed,      // errno says why; there is no copy.
};

// Makes a checkpoint. `reply` is sent on `channel` with two descriptors: the pidfd of the copy and
// the outside's end of its socket.
Awakening make_checkpoint(int channel, std::string_view reply);

}  // namespace glovebox::zygote
