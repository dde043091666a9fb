// SPDX-License-Identifier: Apache-2.0
#include "service/local/start_errors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace glovebox {
namespace {

// execve(2), MAX_ARG_STRLEN with its NUL.
constexpr std::size_t kLongestArgument = 128UL * 1024 - 1;

}  // namespace

Error explain_start(Result<FileClient> files, const Command& command, Error error) {
  const bool too_long = std::ranges::any_of(
      command.argv, [](const std::string& each) { return each.size() > kLongestArgument; });
  if (too_long) {
    return {ErrorCode::kInvalid, "an argument is too long",
            "use at most 131071 bytes per argument; pass more in a file"};
  }
  if (!files) {
    return error;
  }
  if (!command.cwd.empty()) {
    const auto entry = files->stat(command.cwd);
    if (!entry || entry->type == FileEntry::Type::kFile || entry->type == FileEntry::Type::kOther) {
      return {ErrorCode::kInvalid,
              "directory '" + printable(command.cwd) + "' does not exist in the sandbox",
              "create it first, or leave out 'cwd'"};
    }
  }
  const std::string program = command.argv.empty() ? std::string() : command.argv.front();
  if (program.find('/') != std::string::npos) {
    const auto entry = files->stat(program);
    if (entry && entry->type == FileEntry::Type::kDirectory) {
      return {ErrorCode::kInvalid, "'" + printable(program) + "' is a directory, not a program",
              "use the path of the program itself"};
    }
  }
  return error;
}

}  // namespace glovebox
