// SPDX-License-Identifier: Apache-2.0
// Registry: all known languages.
//
// The built-in ones are part of the program, as an index and their TOML texts; only the text of a
// language that somebody asks for is parsed, so that the others cost nothing at startup. The files
// of users are read when the registry is loaded, and win over built-in ones with the same id.
//
// A registry does not change after load(), so any number of threads may use one. Each answer is
// parsed anew: a caller that runs a language often should keep the Language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "language/language.h"

namespace glovebox {

// The language of an ELF file: nothing interprets it.
inline constexpr std::string_view kExecutable = "executable";

// The language of a WebAssembly module.
inline constexpr std::string_view kModule = "wasm";

class Registry {
 public:
  // Where users put language files, weakest first: /etc/glovebox/languages,
  // $XDG_CONFIG_HOME/glovebox/languages (or ~/.config/…), and the directories in
  // $GLOVEBOX_LANGUAGES, which are separated by colons. Absolute paths only.
  static std::vector<std::string> user_directories();

  // Reads every *.toml in `directories`; a later one wins over an earlier one of the same id. A
  // missing directory is fine. A bad file is left out and named in problems(), so that one mistake
  // does not take all languages away.
  static Registry load(const std::vector<std::string>& directories);

  // The language with this id or name, whatever the case. Fails with kNotFound (the hint names what
  // may have been meant), or with the kInvalid of a user's file that has the name but is bad.
  [[nodiscard]] Result<Language> find(std::string_view name) const;

  // The language of a file, by the ending of its name, else by the shebang line or the ELF magic in
  // `head`: the file's first bytes; 256 are enough. `file_name` may be a path, or empty. Fails with
  // kNotFound.
  [[nodiscard]] Result<Language> detect(std::string_view file_name, std::string_view head) const;

  // Every language, by id. Parses all of them: for listings.
  [[nodiscard]] std::vector<Language> all() const;

  // Why files of users were left out: "file:line:column: …".
  [[nodiscard]] const std::vector<Error>& problems() const { return problems_; }

 private:
  void read_directory(const std::string& directory);
  [[nodiscard]] bool overridden(std::string_view id) const;
  [[nodiscard]] std::vector<std::string_view> known_names() const;

  std::vector<Language> users_;  // The strongest first.
  std::vector<Error> problems_;
  std::vector<std::string> problem_names_;  // The id that each bad file would have by its name.
};

// Where to look for programs, and which of these places a sandbox shows.
struct ProgramSearch {
  // Directories, used unless the language's env sets a PATH.
  std::string path{kDefaultPath};
  // A program must lie below one of these, or below one of the language's mounts, once all symbolic
  // links are followed: /usr/local/bin/x may point to a home that no guest sees.
  std::vector<std::string> visible = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"};
};

struct Readiness {
  bool ready = false;
  std::string missing;  // The first program or path that a guest would not find.
  std::string hint;     // What to do about it: "apt-get install ruby".
};

// Whether everything that the language needs to compile and run exists. Only looks at the host's
// files; runs nothing.
Readiness readiness(const Language& language, const ProgramSearch& search = {});

}  // namespace glovebox
