// SPDX-License-Identifier: Apache-2.0
// glovebox-archiver: unpacks and packs inside a sandbox, started by its warden.
//
// The one program of ours that reads archives, which may be made to hurt: it runs within the
// sandbox's walls and limits, and under a filter of its own that leaves it little more than moving
// bytes and files. Standard input and output carry the data; complaints go to standard error.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "archiver/archive.h"
#include "archiver/filter.h"
#include "base/unique_fd.h"

namespace glovebox::archiver {
namespace {

Result<void> work(std::string_view task, std::string_view argument) {
  const UniqueFd root(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    return Error::from_errno("open the workspace");
  }
  GB_TRY(confine_self());
  if (task == "unpack") {
    return unpack(root.get(), argument, STDIN_FILENO);
  }
  std::uint64_t max_bytes = 0;
  const char* const end = argument.data() + argument.size();
  if (task != "pack" || std::from_chars(argument.data(), end, max_bytes).ptr != end) {
    return Error(ErrorCode::kInvalid, "usage: glovebox-archiver unpack DIRECTORY | pack MAX_BYTES");
  }
  return pack(root.get(), max_bytes, STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace
}  // namespace glovebox::archiver

int main(int argc, char** argv) {
  const auto done = glovebox::archiver::work(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (done) {
    return 0;
  }
  const std::string text = done.error().message() + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return 1;
}
