// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/changes.h"

#include <archive.h>

#include <algorithm>
#include <utility>

#include "base/archive/archive_reader.h"
#include "base/bytes.h"
#include "base/digest/digest.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostPath = 4'095;
constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostDepth = 128;
constexpr std::size_t kMostLeftBehind = 10'000;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Whether it is git's own directory, also under the names that other file systems take for it.
bool is_git_directory(std::string_view name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // Characters that HFS+ ignores: U+200B to U+200F, U+202A to U+202E, U+206A to U+206F,
    // U+FEFF.
    const std::string_view three = name.substr(i, 3);
    if (three == "\xEF\xBB\xBF" ||
        (three.size() == 3 && three[0] == '\xE2' && (three[1] == '\x80' || three[1] == '\x81'))) {
      i += 2;
      continue;
    }
    plain.push_back(lower(name[i]));
  }
  plain = plain.substr(0, plain.find(':'));  // A stream of NTFS.
  while (plain.ends_with('.') || plain.ends_with(' ')) {
    plain.pop_back();
  }
  return plain == ".git" || plain == "git~1";
}

bool has_control(std::string_view text) { return !is_utf8(text) || printable(text) != text; }

// The path up to and including a directory with git's name; empty if there is none.
std::string_view git_directory_in(std::string_view path) {
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (is_git_directory(path.substr(at, slash - at))) {
      return path.substr(0, slash);
    }
    at = slash + 1;
  }
  return {};
}

class Comparison {
 public:
  Comparison(ArchiveReader reader,
             const CheckoutFiles& before,
             const FilesInside& inside,
             const ChangeLimits& limits)
      : reader_(std::move(reader)),
        before_(before),
        inside_(inside),
        limits_(limits),
        left_(limits.archive) {}

  Result<Changes> run() {
    ArchiveEntry entry;
    for (std::size_t count = 0; GB_TRY(reader_.next(entry)); ++count) {
      if (count >= limits_.entries) {
        return Error(ErrorCode::kExhausted, "the sandbox has too many files");
      }
      GB_TRY(take(entry));
    }
    return done();
  }

 private:
  using Kind = ArchiveEntry::Kind;

  Result<void> take(const ArchiveEntry& entry) {
    if (entry.name.empty()) {
      return Error(ErrorCode::kInvalid, "read the files of the sandbox: an entry without a name");
    }
    std::string_view path(entry.name);
    while (path.starts_with("./")) {
      path.remove_prefix(2);
    }
    const bool known = before_.contains(std::string(path));
    if (path.starts_with(".git/") || path == ".git" || entry.kind == Kind::kDirectory ||
        (!known && inside_.counted && !inside_.counted->contains(std::string(path)))) {
      return {};
    }
    if (!seen_.insert(std::string(path)).second) {
      return leave(path, "there twice");
    }
    if (entry.kind != Kind::kFile && entry.kind != Kind::kSymlink) {
      return leave(path, "not a file or a symbolic link");
    }
    if (entry.kind == Kind::kSymlink) {
      return compare({.path = std::string(path), .is_link = true, .content = entry.target});
    }
    return take_file(entry, std::string(path));
  }

  Result<Changes> done() {
    for (const std::string& path : inside_.special) {
      if (seen_.insert(path).second && git_directory_in(path).empty()) {
        GB_TRY(leave(path, "neither a readable file nor a symbolic link"));
      }
    }
    for (const std::string& path : inside_.counted.value_or(std::set<std::string>())) {
      if (path.ends_with('/')) {
        GB_TRY(leave(path, "a repository of its own"));
      }
    }
    for (const auto& [path, file] : before_) {
      if (!seen_.contains(path)) {
        GB_TRY(add({.path = path, .kind = Change::Kind::kDeleted}));
      }
    }
    std::ranges::sort(found_.changes, {}, &Change::path);
    std::ranges::sort(found_.left_behind, {}, &LeftBehind::path);
    return std::move(found_);
  }

  Result<void> take_file(const ArchiveEntry& entry, std::string path) {
    Change change{.path = std::move(path), .executable = (entry.mode & 0100U) != 0};
    const std::uint64_t whole = entry.size.value_or(0);
    if (whole > limits_.file) {
      return leave(change.path, "larger than " + to_string(Bytes{limits_.file}));
    }
    const auto keep = [&change](std::uint64_t offset, std::string_view bytes) -> Result<void> {
      change.content.resize(offset, '\0');  // Holes are zeros.
      change.content.append(bytes);
      return {};
    };
    if (!GB_TRY(reader_.read_content(limits_.file, left_, keep))) {
      return Error(ErrorCode::kExhausted, "the files of the sandbox are too large");
    }
    change.content.resize(whole, '\0');
    return compare(std::move(change));
  }

  Result<void> compare(Change change) {
    const auto found = before_.find(change.path);
    if (found != before_.end()) {
      const CheckoutFile& old = found->second;
      if (old.is_link == change.is_link && old.executable == change.executable &&
          old.digest == sha256_hex(change.content)) {
        return {};
      }
    }
    change.kind = found == before_.end() ? Change::Kind::kAdded : Change::Kind::kModified;
    if (change.is_link) {
      if (auto problem = link_problem(change.path, change.content)) {
        return leave(change.path, *std::move(problem));
      }
    }
    return add(std::move(change));
  }

  Result<void> add(Change change) {
    if (auto problem = path_problem(change.path)) {
      // One line is enough for a whole repository.
      const std::string_view git = git_directory_in(change.path);
      const bool is_known = !git.empty() && !git_directories_.emplace(git).second;
      return is_known
                 ? Result<void>()
                 : leave(git.empty() ? std::string_view(change.path) : git, *std::move(problem));
    }
    content_ += change.content.size();
    if (found_.changes.size() >= limits_.changes || content_ > limits_.content) {
      return Error(ErrorCode::kExhausted,
                   found_.changes.size() >= limits_.changes
                       ? "more than " + std::to_string(limits_.changes) + " files are changed"
                       : "the changed files exceed " + to_string(Bytes{limits_.content}),
                   "copy what you need with 'glovebox sandbox cp'");
    }
    found_.changes.push_back(std::move(change));
    return {};
  }

  Result<void> leave(std::string_view path, std::string reason) {
    if (found_.left_behind.size() >= kMostLeftBehind) {
      return Error(ErrorCode::kExhausted, "too many files of the sandbox cannot be taken over",
                   "copy what you need with 'glovebox sandbox cp'");
    }
    found_.left_behind.push_back({.path = std::string(path), .reason = std::move(reason)});
    return {};
  }

  ArchiveReader reader_;
  const CheckoutFiles& before_;
  const FilesInside& inside_;
  const ChangeLimits& limits_;
  std::uint64_t left_;
  std::set<std::string> seen_;
  std::set<std::string> git_directories_;
  Changes found_;
  std::uint64_t content_ = 0;
};

}  // namespace

std::optional<std::string> path_problem(std::string_view path) {
  if (path.empty() || path.size() > kMostPath || path.starts_with('/')) {
    return "not the path of a file in the checkout";
  }
  if (has_control(path)) {
    return "control characters in the name";
  }
  std::size_t depth = 0;
  for (std::string_view rest = path;;) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, slash);
    if (name.empty() || name == "." || name == ".." || name.size() > kMostName ||
        ++depth > kMostDepth) {
      return "not the path of a file in the checkout";
    }
    if (is_git_directory(name)) {
      return "git's own directory is never written";
    }
    if (slash == rest.size()) {
      return std::nullopt;
    }
    rest.remove_prefix(slash + 1);
  }
}

std::optional<std::string> link_problem(std::string_view path, std::string_view target) {
  const std::string out = "the link leads out of the checkout";
  if (target.empty() || target.starts_with('/')) {
    return out;
  }
  std::size_t above = static_cast<std::size_t>(std::ranges::count(path, '/'));
  while (target == ".." || target.starts_with("../")) {
    if (above == 0) {
      return out;
    }
    --above;
    target.remove_prefix(std::min<std::size_t>(3, target.size()));
  }
  if (target.empty()) {
    return std::nullopt;
  }
  // This also refuses "a/" and "./a": they are the same as "a", and nobody needs them.
  if (auto problem = path_problem(target)) {
    return target.contains("..") ? out : "the target of the link: " + *problem;
  }
  return std::nullopt;
}

Result<Changes> read_changes(int archive_fd,
                             const CheckoutFiles& before,
                             const FilesInside& inside,
                             const ChangeLimits& limits) {
  // Names are bytes here.
  const auto as_bytes = [](struct archive* reader) {
    return ::archive_read_set_options(reader, "hdrcharset=BINARY");
  };
  ArchiveReader reader = GB_TRY(ArchiveReader::open(
      archive_fd, {::archive_read_support_format_tar, as_bytes}, "read the files of the sandbox"));
  return Comparison(std::move(reader), before, inside, limits).run();
}

}  // namespace glovebox::cli
