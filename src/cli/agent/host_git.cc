// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/host_git.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/sys/memory_file.h"
#include "base/sys/start_process.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostOutput = 256UL << 20;
constexpr std::size_t kMostComplaint = 4'096;

// Each overrides the repository's own configuration.
constexpr std::array kSettings = {
    "core.hooksPath=/dev/null",  "core.fsmonitor=false",
    "core.untrackedCache=false", "core.pager=cat",
    "core.editor=false",         "core.askPass=false",
    "core.sshCommand=false",     "credential.helper=",
    "protocol.allow=never",      "gc.auto=0",
    "maintenance.auto=false",    "commit.gpgSign=false",
    "log.showSignature=false",   "core.quotePath=false",
    "submodule.recurse=false",
};

std::vector<std::string> environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> kept;
  for (char** each = ::environ; *each != nullptr; ++each) {
    const std::string_view text(*each);
    // GIT_DIR, GIT_CONFIG_COUNT, GIT_EXTERNAL_DIFF …
    if (!text.starts_with("GIT_") && !more.contains(std::string(text.substr(0, text.find('='))))) {
      kept.emplace_back(text);
    }
  }
  kept.insert(kept.end(), {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
                           "GIT_NO_REPLACE_OBJECTS=1"});
  for (const auto& [name, value] : more) {
    kept.push_back(name + "=" + value);
  }
  return kept;
}

Result<std::string> content_of(int fd, std::size_t most) {
  std::string content;
  std::array<char, 64 * 1024> piece{};
  off_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(fd, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read what git printed");
    }
    if (got == 0 || content.size() >= most) {
      return content;
    }
    at += got;
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// 0, or an error with what it complained about.
Result<void> run_git(const std::string& directory,
                     const std::vector<std::string>& words,
                     const std::map<std::string, std::string>& env,
                     int input,
                     int output) {
  std::vector<std::string> line = {"git", "-C", directory};
  for (const char* const setting : kSettings) {
    line.insert(line.end(), {"-c", setting});
  }
  line.insert(line.end(), words.begin(), words.end());
  const UniqueFd complaint = GB_TRY(sys::memory_file());
  const auto pid = sys::start_process({.program = "git",
                                       .words = std::move(line),
                                       .environment = environment(env),
                                       .descriptors = {input, output, complaint.get()}});
  if (!pid) {
    return pid.error().os_error() == ENOENT
               ? Error(ErrorCode::kUnsupported, "git is not installed here", "apt install git")
               : pid.error();
  }
  const int status = sys::wait_for_end(*pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  std::string said = GB_TRY(content_of(complaint.get(), kMostComplaint));
  while (said.ends_with('\n')) {
    said.pop_back();
  }
  // Git refuses to read a repository that belongs to somebody else.
  const bool refused = said.contains("dubious ownership");
  return Error(refused ? ErrorCode::kRefused : ErrorCode::kNotFound,
               "git " + words.front() + " failed" + (said.empty() ? "" : ": " + said));
}

}  // namespace

Result<std::string> HostGit::ask(const std::vector<std::string>& words,
                                 std::string_view input,
                                 const std::map<std::string, std::string>& env) const {
  const UniqueFd in = GB_TRY(sys::memory_file(input));
  const UniqueFd out = GB_TRY(sys::memory_file());
  GB_TRY(run_git(directory_, words, env, in.get(), out.get()));
  std::string printed = GB_TRY(content_of(out.get(), kMostOutput));
  if (printed.size() >= kMostOutput) {
    return Error(ErrorCode::kExhausted, "git " + words.front() + " prints too much");
  }
  return printed;
}

Result<void> HostGit::run(const std::vector<std::string>& words, int output) const {
  const UniqueFd in = GB_TRY(sys::memory_file());
  return run_git(directory_, words, {}, in.get(), output);
}

}  // namespace glovebox::cli
