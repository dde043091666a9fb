// SPDX-License-Identifier: Apache-2.0
// Files between the host and a sandbox. On the host's side only what the caller named is read, and
// nothing outside the caller's output directory is written, whatever the guest made of its names.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"

namespace glovebox {

struct FileToCopy {
  std::string source;  // On the host: a file, or a directory with all below it.
  std::string target;  // Below the workspace; empty: under the source's own name.
};

// Reads "SRC[:DST]".
Result<FileToCopy> parse_file_to_copy(std::string_view text);

// Copies them in, in one stream if there is more than a small file. Symbolic links in a
// directory are copied as links; devices, sockets and FIFOs are refused.
Result<void> copy_in(Sandbox& sandbox, const std::vector<FileToCopy>& files);

// Writes one file of the workspace, whatever its size.
Result<void> write_program(Sandbox& sandbox,
                           const std::string& code,
                           const std::string& name,
                           std::uint32_t mode);

// What happens to devices, sockets and FIFOs.
enum class SpecialFiles { kRefused, kLeftOut };

// Writes them to a tar archive under their targets; links as with copy_in(). An archive that could
// not be written whole has no end.
Result<void> write_archive(int fd,
                           const std::vector<FileToCopy>& files,
                           SpecialFiles special = SpecialFiles::kRefused);

// Opens a directory for copy_out(), and makes it if its parent exists. Called before the run as
// well, so that no guest works for files that then have no place.
Result<UniqueFd> open_out_directory(const std::string& directory);

// Copies the regular files that changed since Sandbox::mark() to `directory`, at most `max` bytes,
// making it on demand. Returns their names below it. Links in `directory` are never followed.
Result<std::vector<std::string>> copy_out(Sandbox& sandbox,
                                          const std::string& directory,
                                          Bytes max);

// The content of one regular file among those that changed since Sandbox::mark(), at most `max`
// bytes. kInvalid if there is no such file, if it is larger, or if what was made beside it is too
// much.
Result<std::string> read_made(Sandbox& sandbox, const std::string& name, Bytes max);

}  // namespace glovebox
