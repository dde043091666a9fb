// SPDX-License-Identifier: Apache-2.0
// Making a process cheap to fork: its anonymous memory in huge pages (MADV_COLLAPSE, Linux 6.1;
// madvise(2)). A fork then copies one page-table entry per huge page instead of 512; a huge page
// that is written to later is split and copied in small pages as before. Both functions do nothing
// if the kernel cannot.
#pragma once

namespace glovebox::zygote {

// Collapses all of this process's memory. The unused parts of a huge page's range then take memory,
// too.
void collapse_memory();

// Collapses large mappings only, and each part of them only once, if nearly all of it is used
// already: so it takes hardly more memory than before, even if a copy of this process shares what
// was not written to since.
void collapse_large_mappings();

}  // namespace glovebox::zygote
