// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/changes.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/digest/digest.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostPath = 4'095;
constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostDepth = 128;
constexpr std::size_t kMostLeftBehind = 10'000;

struct ReaderDeleter {
  void operator()(struct archive* reader) const { (void)::archive_read_free(reader); }
};
using Reader = std::unique_ptr<struct archive, ReaderDeleter>;

Error archive_error(struct archive* reader) {
  const char* const text = ::archive_error_string(reader);
  return {ErrorCode::kInvalid, std::string("read the files of the sandbox: ") +
                                   (text != nullptr ? text : "unreadable archive")};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Git's own directory, also by the names under which other file systems know it.
bool is_git_directory(std::string_view name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // Characters that HFS+ does not see: U+200B to U+200F, U+202A to U+202E, U+206A to U+206F,
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

// What of a path leads to a directory called as git's, and it; empty where none is.
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
  Comparison(struct archive* reader,
             const CheckoutFiles& before,
             const FilesInside& inside,
             const ChangeLimits& limits)
      : reader_(reader), before_(before), inside_(inside), limits_(limits) {}

  Result<void> take(struct archive_entry* entry) {
    const char* const name = ::archive_entry_pathname(entry);
    if (name == nullptr) {
      return Error(ErrorCode::kInvalid, "read the files of the sandbox: an entry without a name");
    }
    std::string_view path(name);
    while (path.starts_with("./")) {
      path.remove_prefix(2);
    }
    const auto type = ::archive_entry_filetype(entry);
    const bool known = before_.contains(std::string(path));
    if (path.starts_with(".git/") || path == ".git" || type == AE_IFDIR ||
        (!known && inside_.counted && !inside_.counted->contains(std::string(path)))) {
      return {};
    }
    if (!seen_.insert(std::string(path)).second) {
      return leave(path, "there twice");
    }
    if (::archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFLNK)) {
      return leave(path, "not a file or a symbolic link");
    }
    if (type == AE_IFLNK) {
      const char* const target = ::archive_entry_symlink(entry);
      return compare(
          {.path = std::string(path), .is_link = true, .content = target != nullptr ? target : ""});
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

 private:
  Result<void> take_file(struct archive_entry* entry, std::string path) {
    Change change{.path = std::move(path), .executable = (::archive_entry_perm(entry) & 0100) != 0};
    const la_int64_t whole = ::archive_entry_size(entry);
    if (whole < 0 || static_cast<std::uint64_t>(whole) > limits_.file) {
      return leave(change.path, "larger than " + to_string(Bytes{limits_.file}));
    }
    for (;;) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(reader_, &block, &size, &offset);
      if (status == ARCHIVE_EOF) {
        break;
      }
      if (status < ARCHIVE_WARN) {
        return archive_error(reader_);
      }
      read_ += size;
      if (read_ > limits_.archive) {
        return Error(ErrorCode::kExhausted, "the files of the sandbox are too large");
      }
      if (offset < 0 || static_cast<std::uint64_t>(offset) + size > limits_.file) {
        return leave(change.path, "larger than " + to_string(Bytes{limits_.file}));
      }
      // Holes are zeros.
      change.content.resize(static_cast<std::size_t>(offset), '\0');
      change.content.append(static_cast<const char*>(block), size);
    }
    change.content.resize(static_cast<std::size_t>(whole), '\0');
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
      // Of a whole repository, one line says it.
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

  struct archive* reader_;
  const CheckoutFiles& before_;
  const FilesInside& inside_;
  const ChangeLimits& limits_;
  std::set<std::string> seen_;
  std::set<std::string> git_directories_;
  Changes found_;
  std::uint64_t read_ = 0;
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
  // "a/", "./a": the same as "a", and nobody needs them.
  if (auto problem = path_problem(target)) {
    return target.contains("..") ? out : "the target of the link: " + *problem;
  }
  return std::nullopt;
}

Result<Changes> read_changes(int archive_fd,
                             const CheckoutFiles& before,
                             const FilesInside& inside,
                             const ChangeLimits& limits) {
  const Reader reader(::archive_read_new());
  (void)::archive_read_support_format_tar(reader.get());
  (void)::archive_read_set_options(reader.get(), "hdrcharset=BINARY");
  if (::archive_read_open_fd(reader.get(), archive_fd, 256UL * 1024) < ARCHIVE_WARN) {
    return archive_error(reader.get());
  }
  Comparison comparison(reader.get(), before, inside, limits);
  for (std::size_t count = 0;; ++count) {
    struct archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return comparison.done();
    }
    if (status < ARCHIVE_WARN) {
      return archive_error(reader.get());
    }
    if (count >= limits.entries) {
      return Error(ErrorCode::kExhausted, "the sandbox has too many files");
    }
    GB_TRY(comparison.take(entry));
  }
}

}  // namespace glovebox::cli
