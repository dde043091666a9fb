// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/unique_fd.h"

namespace glovebox::cli {
namespace {

// Words of our own. The parser's interface is main()'s, which has no const.
char kRun[] = "run";
char kHelp[] = "--help";
char kVersion[] = "--version";
char kDashes[] = "--";

bool is_file(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// Whether the kernel starts glovebox to run this file.
bool names_glovebox(const char* path) {
  if (!is_file(path)) {
    return false;
  }
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 256> head{};  // What the kernel reads of it, too (BINPRM_BUF_SIZE).
  const ssize_t got = file ? ::read(file.get(), head.data(), head.size()) : -1;
  std::string_view line(head.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  line = line.substr(0, line.find('\n'));
  return line.starts_with("#!") && line.find("glovebox") != std::string_view::npos;
}

// Adds "--" before the script that glovebox is to interpret.
void separate_script(std::vector<char*>& words) {
  for (auto word = words.begin() + 2; word != words.end(); ++word) {
    const std::string_view text = *word;
    if (text == kDashes) {
      return;
    }
    const std::string_view before = *(word - 1);
    const bool is_value = before == "--file" || before == "--stdin";
    if (!text.starts_with('-') && !is_value && names_glovebox(*word)) {
      words.insert(word, kDashes);
      return;
    }
  }
}

}  // namespace

std::vector<char*> read_command_line(int argc,
                                     char** argv,
                                     std::span<const std::string_view> commands) {
  std::vector<char*> words(argv, argv + argc);
  const std::string_view first = words.size() > 1 ? words[1] : "";
  if (first == "help") {
    words.erase(words.begin() + 1);
    words.push_back(kHelp);
  } else if (first == "version" && words.size() == 2) {
    words[1] = kVersion;
  } else if (!first.empty() && !first.starts_with('-') &&
             std::ranges::find(commands, first) == commands.end() && is_file(words[1])) {
    words.insert(words.begin() + 1, kRun);
  }
  if (words.size() > 2 && words[1] == std::string_view(kRun)) {
    separate_script(words);
  }
  words.push_back(nullptr);
  return words;
}

}  // namespace glovebox::cli
