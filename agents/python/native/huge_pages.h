// SPDX-License-Identifier: Apache-2.0
// Making a process cheap to fork: its anonymous memory in huge pages (MADV_COLLAPSE, Linux 6.1;
// madvise(2)). A fork copies one entry of a page table for each instead of 512; what is written to
// later is split and copied in small pages as before. Both do nothing where the kernel cannot.
#pragma once

namespace glovebox::zygote {

// All of this process's memory. What was not used of a huge page's range is used then.
void collapse_memory();

// Large mappings alone, and of them each part once, where nearly all of it is used already: so it
// takes hardly more memory than before, also when a copy of this process shares what was not
// written to since.
void collapse_large_mappings();

}  // namespace glovebox::zygote
