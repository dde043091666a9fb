// SPDX-License-Identifier: Apache-2.0
// Language: how a text in one programming language becomes a running program in a sandbox.
//
// A language is data. The built-in ones are the files of languages/, which the build puts into the
// program; users add their own by dropping in a file (language/registry.h). docs/languages.md says
// what each key of such a file means; the fields below have the same names.
//
// The code goes into one file in the workspace. If there is a compile command, it runs first, in
// the same kind of sandbox, with limits of its own; then the run command runs, followed by the
// user's arguments. make_plan() says exactly what to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "spec/command.h"
#include "spec/guest.h"
#include "spec/limit_fields.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox {

// A language file is a page of text. A larger one is a mistake, or an attack.
inline constexpr std::size_t kMaxLanguageFile = 64 * 1024;

// How the file in the workspace gets its name.
enum class SourceNaming {
  kFixed,       // It is `file_name`, with the user's ending if the language knows it; for a
                // language without a compiler, the user's own name.
  kOwn,         // The user's own name, although it is compiled: no tool derives anything from it.
  kJava,        // After the public class, which javac insists on; `file_name` if there is none.
  kJavaScript,  // Ends in .mjs if the text has import or export statements, for old Nodes.
};

struct Language {
  std::string id;                         // "cpp": lower case, unique.
  std::string title;                      // "C++": for people.
  std::vector<std::string> names;         // Other names that people use: "c++", "cxx".
  std::vector<std::string> extensions;    // ".cpp"; without the dot a whole name: "Makefile".
  std::vector<std::string> interpreters;  // Programs in a shebang line: "python3".

  std::string file_name;  // In the workspace: "main.cpp". Never holds a slash.
  SourceNaming naming = SourceNaming::kFixed;
  std::uint32_t file_mode = 0644;

  std::vector<std::string> compile;  // Empty: nothing to compile.
  std::vector<std::string> run;      // Never empty.
  std::vector<std::string> agent;    // Starts a live context; empty: the language has none.
  std::vector<std::string> preload;  // What a warm interpreter has imported.
  std::vector<std::string> version;  // Prints the version; may be empty.
  std::vector<std::string> needs;    // Other programs, or absolute paths, that must exist.

  std::string package;                      // Debian's; empty: it has none.
  std::vector<std::string> extra_packages;  // To install along with it.
  std::string agent_package;                // What `agent` needs besides; empty: nothing.
  std::string install;                      // How to get it otherwise; a sentence.

  Environment env;            // For all commands. Values may hold placeholders.
  Environment agent_env;      // For the agent, in place of what `env` says.
  std::vector<Mount> mounts;  // Read-only; always optional.
  LimitWishes run_limits;
  LimitWishes compile_limits;
  std::string tier{};  // The only one that can run it; empty: any that runs programs.
  // How tiers that run no programs of the machine compile and run it, each with its `tier`: the
  // tables of the file that are named after these tiers. Variants have no variants.
  std::vector<Language> variants{};

  std::string origin;  // The file that it was read from, for messages.

  friend bool operator==(const Language&, const Language&) = default;
};

// Reads the text of one language file. `file_name` only names it in messages. Any text is safe to
// give: this is where hostile files are stopped, and the target of the fuzzer. Fails with kInvalid
// and "file:line:column: what is wrong"; the hint says how to fix it.
Result<Language> parse_language(std::string_view text, std::string_view file_name);

// The language as the tier of this name compiles and runs it: its variant for it, or else itself.
Language in_tier(Language language, std::string_view tier);

// What to do to run one piece of code.
struct Plan {
  std::string file_name;  // The code goes into this file of the workspace ...
  std::uint32_t file_mode = 0644;
  std::optional<Command> compile;  // ... then this must end with exit status 0 ...
  Command run;                     // ... and this is the guest.
};

// What to run.
struct SourceText {
  std::string_view code;
  // What the user calls the file; may be a path, or empty. Its ending counts when it is one of the
  // language's: .mjs and .js, or .f and .f90, are not the same to their compilers. Scripts keep the
  // rest of the name, too, if no interpreter could take it for something else.
  std::string_view name;
  // Where the sandbox's workspace is.
  std::string_view home = kWorkspace;
};

// Fills in the placeholders: {file} and {stem} are names in the workspace, {dir} is the workspace,
// {main} the class to start (Java), {memory_mib} and {cpus} the limits of the command at hand, for
// runtimes that would otherwise size themselves by the machine, {heap_mib} three quarters of that
// memory. `arguments` are appended to the run command, unchanged.
Plan make_plan(const Language& language,
               const SourceText& source,
               const std::vector<std::string>& arguments,
               const Limits& run_limits,
               const Limits& compile_limits);

// The command that starts a live context of the language. `agents` is the sandbox's directory of
// agents: {agents} in the command. Requires: language.agent is not empty.
Command make_agent_command(const Language& language,
                           const std::string& agents,
                           const Limits& limits);

// The version number in what a version command printed: "Python 3.11.2" gives "3.11.2". Empty when
// there is none.
std::string version_in(std::string_view output);

}  // namespace glovebox
