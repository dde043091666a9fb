// SPDX-License-Identifier: Apache-2.0
#include "language/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <dirent.h>

#include "base/check.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "language/builtin.h"
#include "language/suggest.h"

namespace glovebox {
namespace {

// More than anyone keeps; a directory of a million files must not stop every start.
constexpr std::size_t kMaxFiles = 256;

constexpr std::string_view kSuffix = ".toml";

// $NAME, if it is set and not empty.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv.
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  return std::string(value);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return parts;
}

struct DirectoryCloser {
  void operator()(DIR* directory) const { (void)::closedir(directory); }
};

// The names of the *.toml files in a directory, sorted, so that the order of the file system does
// not matter. Fails with kNotFound when there is no such directory.
Result<std::vector<std::string>> language_files(const std::string& directory) {
  const std::unique_ptr<DIR, DirectoryCloser> stream(::opendir(directory.c_str()));
  if (stream == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return Error(ErrorCode::kNotFound, directory);
    }
    return Error::from_errno("open " + directory);
  }
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name(&entry->d_name[0]);
    if (name.ends_with(kSuffix) && !name.starts_with('.')) {
      if (names.size() == kMaxFiles) {
        return Error(ErrorCode::kInvalid, directory + " contains more than 256 language files");
      }
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    const int why = errno;
    Error error = Error::from_errno("open " + path, why);
    return why == ELOOP ? std::move(error).with_hint("replace the link with the file itself")
                        : error;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return Error::from_errno("stat " + path);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kInvalid, path + " is not a regular file");
  }
  // One byte more than allowed: the parser is the one to complain about size.
  std::string text(kMaxLanguageFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read " + path);
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

Language parse_builtin(const BuiltinLanguage& builtin) {
  // The build has parsed the same bytes with the same code.
  auto language = parse_language(builtin.text, builtin.file);
  GB_CHECK(language.has_value());
  return *std::move(language);
}

Language executable_language() {
  Language language;
  language.id = kExecutable;
  language.title = "Executable file";
  language.names = {"elf", "binary"};
  language.file_name = "program";
  language.file_mode = 0755;
  language.run = {"{dir}/{file}"};
  language.origin = "built in";
  return language;
}

Language module_language() {
  Language language;
  language.id = kModule;
  language.title = "WebAssembly module";
  language.names = {"webassembly", "wat"};
  language.extensions = {".wasm", ".wat"};
  language.file_name = "main.wasm";
  language.run = {"{dir}/{file}"};
  language.tier = "wasm";
  language.origin = "built in";
  return language;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <typename List>
bool holds(const List& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(),
                     [wanted](std::string_view each) { return each == wanted; });
}

template <typename List>
bool holds_any_case(const List& list, std::string_view wanted_lower) {
  return std::any_of(list.begin(), list.end(), [wanted_lower](std::string_view each) {
    return lower_case(each) == wanted_lower;
  });
}

// The program that a shebang line names: "python3" of "#!/usr/bin/env -S python3 -u". Empty when
// `head` begins with none.
std::string_view interpreter_in(std::string_view head) {
  if (!head.starts_with("#!")) {
    return {};
  }
  std::string_view line = head.substr(2, std::min(head.find('\n'), head.size()) - 2);
  const auto next = [&line] {
    const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
    line.remove_prefix(start);
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    return word;
  };
  const std::string_view program = base_name(next());
  if (program != "env") {
    return program;
  }
  // What env(1) takes before the program: options, and NAME=value.
  for (std::string_view word = next(); !word.empty(); word = next()) {
    if (word == "-u" || word == "-C" || word == "--unset" || word == "--chdir") {
      next();
    } else if (word.starts_with("-S") && word.size() > 2) {
      return base_name(word.substr(2));
    } else if (!word.starts_with('-') && word.find('=') == std::string_view::npos) {
      return base_name(word);
    }
  }
  return {};
}

// "python3.11" may also be known as "python3" or "python".
std::vector<std::string_view> shorter_names(std::string_view program) {
  std::vector<std::string_view> names;
  while (!program.empty()) {
    names.push_back(program);
    const std::size_t dot = program.rfind('.');
    const std::size_t digits = program.find_last_not_of("0123456789.-") + 1;
    if (digits == program.size()) {
      break;
    }
    program = program.substr(0, dot != std::string_view::npos && dot > digits ? dot : digits);
  }
  return names;
}

// The whole name, for languages that know some ("Makefile"); then, of "x.tar.gz", ".tar.gz" and
// ".gz". A hidden file has no ending in its first dot: ".py" is no Python.
std::vector<std::string_view> endings(std::string_view name) {
  std::vector<std::string_view> found;
  if (!name.empty() && !name.starts_with('.')) {
    found.push_back(name);
  }
  for (std::size_t dot = name.find('.', 1); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    found.push_back(name.substr(dot));
  }
  return found;
}

}  // namespace

std::vector<std::string> Registry::user_directories() {
  std::vector<std::string> directories = {"/etc/glovebox/languages"};
  if (const auto config = variable("XDG_CONFIG_HOME")) {
    directories.push_back(*config + "/glovebox/languages");
  } else if (const auto home = variable("HOME")) {
    directories.push_back(*home + "/.config/glovebox/languages");
  }
  for (std::string& directory : split(variable("GLOVEBOX_LANGUAGES").value_or(""), ':')) {
    directories.push_back(std::move(directory));
  }
  // A relative one would let the current directory, which may be a stranger's, decide.
  std::erase_if(directories, [](const std::string& each) { return !each.starts_with('/'); });
  return directories;
}

Registry Registry::load(const std::vector<std::string>& directories) {
  Registry registry;
  for (const std::string& directory : directories) {
    registry.read_directory(directory);
  }
  return registry;
}

void Registry::read_directory(const std::string& directory) {
  auto files = language_files(directory);
  if (!files) {
    if (files.error().code() != ErrorCode::kNotFound) {
      problems_.push_back(std::move(files).error());
      problem_names_.emplace_back();
    }
    return;
  }
  for (const std::string& file : *files) {
    std::string path = directory;
    path.append("/").append(file);
    auto text = read_file(path);
    auto language = text ? parse_language(*text, path) : Result<Language>(std::move(text).error());
    if (!language) {
      problems_.push_back(std::move(language).error());
      problem_names_.push_back(lower_case(file.substr(0, file.size() - kSuffix.size())));
      continue;
    }
    std::erase_if(users_, [&](const Language& each) { return each.id == language->id; });
    users_.insert(users_.begin(), *std::move(language));
  }
}

bool Registry::overridden(std::string_view id) const {
  return std::any_of(users_.begin(), users_.end(),
                     [id](const Language& each) { return each.id == id; });
}

std::vector<std::string_view> Registry::known_names() const {
  std::vector<std::string_view> names;
  for (const Language& language : users_) {
    names.emplace_back(language.id);
    names.insert(names.end(), language.names.begin(), language.names.end());
  }
  for (const BuiltinLanguage& builtin : builtin_languages()) {
    if (!overridden(builtin.id)) {
      names.push_back(builtin.id);
      names.insert(names.end(), builtin.names.begin(), builtin.names.end());
    }
  }
  return names;
}

Result<Language> Registry::find(std::string_view name) const {
  const std::string wanted = lower_case(name);
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (!wanted.empty() && problem_names_[i] == wanted) {
      return problems_[i];
    }
  }
  for (const Language& language : users_) {
    if (language.id == wanted || holds_any_case(language.names, wanted)) {
      return language;
    }
  }
  for (const BuiltinLanguage& builtin : builtin_languages()) {
    if ((builtin.id == wanted || holds_any_case(builtin.names, wanted)) &&
        !overridden(builtin.id)) {
      return parse_builtin(builtin);
    }
  }
  for (Language& language : std::array{executable_language(), module_language()}) {
    if (wanted == language.id || holds(language.names, wanted)) {
      return std::move(language);
    }
  }
  const std::string nearest = nearest_word(wanted, known_names());
  return Error(ErrorCode::kNotFound, "unknown language '" + std::string(name.substr(0, 64)) + "'",
               (nearest.empty() ? std::string() : "did you mean '" + nearest + "'? ") +
                   "run `glovebox languages` for a list");
}

Result<Language> Registry::detect(std::string_view file_name, std::string_view head) const {
  const std::string_view name = base_name(file_name);
  // First as written, then whatever the case: ".C" is C++ but ".c" is C.
  for (const std::string_view ending : endings(name)) {
    for (const bool any_case : {false, true}) {
      const std::string lower = lower_case(ending);
      const auto claims = [&](const auto& extensions) {
        return any_case ? holds_any_case(extensions, lower) : holds(extensions, ending);
      };
      for (const Language& language : users_) {
        if (claims(language.extensions)) {
          return language;
        }
      }
      for (const BuiltinLanguage& builtin : builtin_languages()) {
        if (claims(builtin.extensions) && !overridden(builtin.id)) {
          return parse_builtin(builtin);
        }
      }
    }
  }
  if (head.starts_with("\x7f"
                       "ELF")) {
    return executable_language();
  }
  if (head.starts_with(std::string_view("\0asm", 4)) || name.ends_with(".wasm") ||
      name.ends_with(".wat")) {
    return module_language();
  }
  const std::string_view program = interpreter_in(head);
  for (const std::string_view candidate : shorter_names(program)) {
    for (const Language& language : users_) {
      if (holds(language.interpreters, candidate)) {
        return language;
      }
    }
    for (const BuiltinLanguage& builtin : builtin_languages()) {
      if (holds(builtin.interpreters, candidate) && !overridden(builtin.id)) {
        return parse_builtin(builtin);
      }
    }
  }
  if (name.ends_with(".ipynb")) {
    return Error(ErrorCode::kInvalid,
                 "'" + std::string(name.substr(0, 255)) + "' is a notebook, not a program",
                 "run it with 'glovebox notebook run FILE'");
  }
  std::string message = "cannot detect the language";
  if (!name.empty()) {
    message += " of '" + std::string(name.substr(0, 255)) + "'";
  }
  if (!program.empty()) {
    message += ": unknown interpreter '" + std::string(program.substr(0, 64)) + "'";
  }
  return Error(ErrorCode::kNotFound, std::move(message),
               "pass it with -l; run `glovebox languages` for a list");
}

std::vector<Language> Registry::all() const {
  std::vector<Language> languages = users_;
  for (const BuiltinLanguage& builtin : builtin_languages()) {
    if (!overridden(builtin.id)) {
      languages.push_back(parse_builtin(builtin));
    }
  }
  std::sort(languages.begin(), languages.end(),
            [](const Language& a, const Language& b) { return a.id < b.id; });
  return languages;
}

}  // namespace glovebox
