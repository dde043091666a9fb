// SPDX-License-Identifier: Apache-2.0
// Whether a language's programs exist: looks at the host's files, and runs nothing.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "language/registry.h"

namespace glovebox {
namespace {

struct Freer {
  void operator()(char* text) const { std::free(text); }  // NOLINT(*-no-malloc): realpath's.
};

// `path` with every symbolic link followed; empty when it does not lead anywhere.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, Freer> real(::realpath(path.c_str(), nullptr));
  return real == nullptr ? std::string() : std::string(real.get());
}

bool is_visible(const std::string& path, const Language& language, const ProgramSearch& search) {
  const auto below = [&path](const std::string& root) { return path.starts_with(root); };
  return std::any_of(search.visible.begin(), search.visible.end(), below) ||
         std::any_of(language.mounts.begin(), language.mounts.end(), [&](const Mount& mount) {
           const std::string source = resolved(mount.source);
           return !source.empty() && (path == source || path.starts_with(source + "/"));
         });
}

enum class Kind { kProgram, kFile };

bool is_there(const std::string& path,
              Kind kind,
              const Language& language,
              const ProgramSearch& search) {
  const std::string real = resolved(path);
  return !real.empty() && ::access(real.c_str(), kind == Kind::kProgram ? X_OK : F_OK) == 0 &&
         is_visible(real, language, search);
}

std::string search_path(const Language& language, const ProgramSearch& search) {
  for (const auto& [name, value] : language.env) {
    if (name == "PATH") {
      return value;
    }
  }
  return search.path;
}

bool is_in_path(const std::string& program, const Language& language, const ProgramSearch& search) {
  const std::string path = search_path(language, search);
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    std::string file = path.substr(start, end - start);
    // An empty entry means the current directory, where no tool is.
    if (!file.empty()) {
      file.append("/").append(program);
      if (is_there(file, Kind::kProgram, language, search)) {
        return true;
      }
    }
    start = end + 1;
  }
  return false;
}

std::string hint_for(const Language& language) {
  if (language.package.empty()) {
    return language.install.empty() ? "install it below /usr/local" : language.install;
  }
  std::string hint = "apt-get install " + language.package;
  for (const std::string& package : language.extra_packages) {
    hint += " " + package;
  }
  return hint;
}

}  // namespace

Readiness readiness(const Language& language, const ProgramSearch& search) {
  std::vector<std::string> wanted = language.needs;
  for (const auto* argv : {&language.run, &language.compile}) {
    // A name with a placeholder is made by the compiler, or is the code itself; and a tier that
    // runs no programs of the machine has interpreters of its own.
    const bool is_of_tier = argv == &language.run && !language.tier.empty();
    if (!argv->empty() && !is_of_tier && argv->front().find('{') == std::string::npos) {
      wanted.insert(wanted.begin(), argv->front());
    }
  }
  for (const std::string& each : wanted) {
    const bool found = each.starts_with('/') ? is_there(each, Kind::kFile, language, search)
                                             : is_in_path(each, language, search);
    if (!found) {
      return {.ready = false, .missing = each, .hint = hint_for(language)};
    }
  }
  return {.ready = true, .missing = {}, .hint = {}};
}

}  // namespace glovebox
