// SPDX-License-Identifier: Apache-2.0
// Subvolumes of a btrfs (linux/btrfs.h): directories whose copies take the same short time however
// much is in them, and no space until one of the two changes.
//
// All of these make system calls only, and return zero or an errno. A name is one of a directory's
// entries, of at most 255 bytes.
#pragma once

namespace glovebox {

int make_subvolume(int directory, const char* name) noexcept;

// A copy of the subvolume that is open as `from`, as it is now. It is on stable storage when this
// returns, and so is all that was written to `from` before.
int snapshot_subvolume(int from, int directory, const char* name) noexcept;

// Waits until writes to the file that had begun, also past its page cache, are in place.
int wait_for_writes(int file) noexcept;

// The name goes at once; the space comes back in the background, once no file in it is open.
int remove_subvolume(int directory, const char* name) noexcept;

// Makes the file system that `root` is in as large as its device.
int fill_device(int root) noexcept;

}  // namespace glovebox
