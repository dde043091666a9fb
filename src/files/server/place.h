// SPDX-License-Identifier: Apache-2.0
// Places: where a path leads, as a directory that is held open and a name in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::files {

struct Place {
  UniqueFd parent;   // O_PATH.
  std::string name;  // One name, "." or "..".

  // Whether the name can be made and removed, which "." and ".." cannot.
  [[nodiscard]] bool has_name() const { return name != "." && name != ".."; }
};

// The guest's links are followed on the way, but not at the end.
Result<Place> find_place(std::string_view path);

// As find_place(), and makes the directories on the way.
Result<Place> make_place(std::string_view path);

// Where writing to a place goes: at the end of the links that begin there, if any.
Result<Place> follow_links(Place place);

// A path for calls that take no descriptor, leading to a name in a held directory.
std::string path_of(int directory_fd, std::string_view name);
std::string path_of(int fd);

// In a sandbox without a root of its own, where "/workspace" and "/tmp" are: the paths in the
// environment variables kWorkspaceVariable and kTmpVariable.
inline constexpr const char* kWorkspaceVariable = "GLOVEBOX_WORKSPACE";
inline constexpr const char* kTmpVariable = "GLOVEBOX_TMP";
std::string inner_path(std::string_view path);
std::string outer_path(std::string_view path);

// The Error of a call that failed with errno, worded for the person who asked for files.
Error file_error(std::string_view attempt);
Error file_error(std::string_view attempt, int errno_value);

}  // namespace glovebox::files
