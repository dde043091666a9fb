// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spec.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace glovebox {
namespace {

// Directories of the guest's system, on which nothing can be mounted.
constexpr std::array<std::string_view, 12> kSystem = {"/usr",   "/bin",   "/sbin", "/lib",
                                                      "/lib64", "/lib32", "/etc",  "/dev",
                                                      "/proc",  "/sys",   "/run",  "/tmp"};
constexpr std::size_t kLongestTarget = 1024;
constexpr std::size_t kMostAttachments = 32;

bool is_within(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

// Absolute and normalized: without parts that a shorter spelling of the path would leave out.
bool is_plain(std::string_view path) {
  if (path.size() < 2 || path.size() > kLongestTarget || path.front() != '/' ||
      path.back() == '/') {
    return false;
  }
  const std::string closed = std::string(path) + "/";
  const auto has = [&closed](const char* piece) { return closed.find(piece) != std::string::npos; };
  return !has("//") && !has("/./") && !has("/../") &&
         std::ranges::all_of(path, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

}  // namespace

Result<void> check_targets(const std::vector<Attachment>& attachments, std::string_view home) {
  const auto refuse = [](const std::string& target, const char* why) {
    return Error(ErrorCode::kInvalid, "cannot mount at '" + target + "': " + why,
                 "choose a path like /volumes/data");
  };
  if (attachments.size() > kMostAttachments) {
    return Error(ErrorCode::kInvalid,
                 "a sandbox can have at most " + std::to_string(kMostAttachments) + " volumes");
  }
  for (std::size_t i = 0; i < attachments.size(); ++i) {
    const std::string& target = attachments[i].target;
    if (!is_plain(target)) {
      return refuse(target, "not a normalized absolute path");
    }
    for (const std::string_view part : kSystem) {
      if (is_within(target, part)) {
        return refuse(target, "the path belongs to the system");
      }
    }
    // Home may be moved; /workspace then is a link to it.
    if (target != home &&
        (is_within(home, target) || (home != kWorkspace && is_within(target, kWorkspace)))) {
      return refuse(target, "the path overlaps the workspace");
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::string& other = attachments[j].target;
      if (is_within(target, other) || is_within(other, target)) {
        return refuse(target, "the path overlaps another volume");
      }
    }
  }
  return {};
}

Result<std::optional<mode_t>> type_of(const Mount& mount) {
  if (mount.target.size() < 2 || mount.target.front() != '/' ||
      (mount.target + "/").find("/../") != std::string::npos) {
    return Error(ErrorCode::kInvalid,
                 "mount target '" + mount.target + "' is not an absolute path");
  }
  struct stat status {};
  if (::stat(mount.source.c_str(), &status) == 0) {
    return std::optional(status.st_mode & S_IFMT);
  }
  if (mount.optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
    return std::optional<mode_t>();
  }
  return Error::from_errno("mount " + mount.source);
}

Environment base_environment() {
  return {
      {"PATH", std::string(kDefaultPath)},
      {"HOME", std::string(kWorkspace)},
      {"USER", "guest"},
      {"LOGNAME", "guest"},
      {"SHELL", "/bin/bash"},
      {"TMPDIR", "/tmp"},
      // Caches are not results, so they stay out of the workspace, whose changes are reported.
      {"XDG_CACHE_HOME", "/tmp/.cache"},
      {"LANG", "C.UTF-8"},
      // Without a network no attempt succeeds, and npm and pip would wait between them.
      {"npm_config_fetch_retries", "0"},
      {"PIP_RETRIES", "0"},
      // Otherwise pip fails earlier, because it has no certificates, which hides the cause.
      {"PIP_NO_INDEX", "1"},
      // What pip asks after each installation, for a line of advice.
      {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
      // A system that lasts no longer than the sandbox need not be protected from pip (PEP 668).
      {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
  };
}

Environment root_environment() {
  return {{"PATH", std::string(kRootPath)},
          {"HOME", std::string(kRootHome)},
          {"USER", "root"},
          {"LOGNAME", "root"}};
}

}  // namespace glovebox
