// SPDX-License-Identifier: Apache-2.0
// Making a process cheap to fork.
#pragma once

namespace glovebox::zygote {

// Puts this process's anonymous memory into huge pages where it fills them (MADV_COLLAPSE,
// Linux 6.1; madvise(2)). A fork copies one entry of a page table for each instead of 512; what it
// writes to later is split and copied in small pages as before. Does nothing where the kernel
// cannot.
void collapse_memory();

}  // namespace glovebox::zygote
