// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec_access.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kReadFile = abi::kFsReadFile;
constexpr std::uint64_t kStartFile = abi::kFsReadFile | abi::kFsExecute;

// Where commands are looked up, and where their distributions keep programs that these start.
constexpr std::array<std::string_view, 11> kDirectories = {"/usr/local/sbin",
                                                           "/usr/local/bin",
                                                           "/usr/sbin",
                                                           "/usr/bin",
                                                           "/sbin",
                                                           "/bin",
                                                           "/usr/local/games",
                                                           "/usr/games",
                                                           "/usr/libexec",
                                                           "/usr/lib/git-core",
                                                           "/usr/lib/klibc/bin"};
// Directories whose subdirectories have a "bin" of their own.
constexpr std::array<std::string_view, 3> kParents = {"/usr/lib", "/usr/lib/jvm", "/opt"};

// The kernel starts them for nearly every program, and cannot tell that from a start by a guest.
constexpr std::array<const char*, 4> kLoaders = {"/lib64/ld-linux-x86-64.so.2",
                                                 "/lib/ld-linux.so.2", "/libx32/ld-linux-x32.so.2",
                                                 "/lib/ld-musl-x86_64.so.1"};

// A root is made by others.
constexpr std::size_t kMostPrograms = 50'000;
constexpr std::size_t kMostRules = 200'000;

bool is_loader(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-") && name.find(".so") != std::string_view::npos;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Links lead to what guests would find there; nothing leads out of the root.
UniqueFd open_in(const UniqueFd& root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = sys::raw(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
  return fd < 0 ? UniqueFd() : UniqueFd(static_cast<int>(fd));
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size > 0 && static_cast<std::size_t>(size) < path.size()
             ? std::string(path.data(), static_cast<std::size_t>(size))
             : std::string();
}

struct Entry {
  std::string name;
  unsigned char type;
};

// Empty if it cannot be read.
std::vector<Entry> entries_of(UniqueFd directory) {
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      directory ? ::fdopendir(directory.get()) : nullptr, ::closedir);
  if (!stream) {
    return entries;
  }
  const int descriptor = directory.release();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") {
      continue;
    }
    unsigned char type = entry->d_type;
    struct stat status {};
    if (type == DT_UNKNOWN &&
        ::fstatat(descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      type = static_cast<unsigned char>(IFTODT(status.st_mode));
    }
    entries.push_back({std::string(name), type});
  }
  return entries;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = text.find_first_not_of(" \t", at);
    if (start == std::string_view::npos) {
      break;
    }
    at = std::min(text.find_first_of(" \t", start), text.size());
    words.emplace_back(text.substr(start, at - start));
  }
  return words;
}

}  // namespace

Result<ExecAccess> ExecAccess::create(const ExecRules& rules, const std::string& root) {
  GB_TRY(validate(rules));
  UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) {
    return Error::from_errno("open " + root);
  }
  std::string prefix = path_of(top.get());
  if (prefix.empty()) {
    return Error(ErrorCode::kUnsupported, "command rules require /proc");
  }
  ExecAccess access(std::move(top), prefix == "/" ? std::string() : std::move(prefix));
  access.rest_ = kReadFile | abi::kFsReadDir | (rules.names_all() ? 0 : abi::kFsExecute);
  if (!rules.lists.empty()) {
    for (const std::string_view directory : kDirectories) {
      GB_TRY(access.look_into(std::string(directory)));
    }
    for (const std::string_view parent : kParents) {
      const std::string path(parent);
      for (const Entry& entry : entries_of(open_in(access.root_, path, O_RDONLY | O_DIRECTORY))) {
        if (entry.type == DT_DIR) {
          GB_TRY(access.look_into(path + "/" + entry.name + "/bin"));
        }
      }
    }
    access.join_hard_links();
    access.decide(rules);
  }
  return access;
}

std::string ExecAccess::path_inside(int descriptor) const {
  const std::string path = path_of(descriptor);
  return path.starts_with(prefix_ + "/") ? path.substr(prefix_.size()) : std::string();
}

Result<void> ExecAccess::look_into(const std::string& directory) {
  UniqueFd opened = open_in(root_, directory, O_RDONLY | O_DIRECTORY);
  const std::string path = opened ? path_inside(opened.get()) : std::string();
  if (path.empty() || !seen_.insert(path).second) {
    return {};
  }
  const UniqueFd here(::dup(opened.get()));
  for (const Entry& entry : entries_of(std::move(opened))) {
    struct stat status {};
    if (entry.type == DT_REG &&
        ::fstatat(here.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      GB_TRY(add_program(path + "/" + entry.name, entry.name, status.st_dev, status.st_ino));
    } else if (entry.type == DT_LNK) {
      GB_TRY(add_link(path + "/" + entry.name, entry.name));
    }
  }
  return {};
}

Result<void> ExecAccess::add_link(const std::string& link, const std::string& name) {
  const UniqueFd file = open_in(root_, link, O_PATH);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  return add_program(path_inside(file.get()), name, status.st_dev, status.st_ino);
}

Result<void> ExecAccess::add_program(const std::string& path,
                                     const std::string& name,
                                     std::uint64_t device,
                                     std::uint64_t inode) {
  if (path.empty() || is_loader(path)) {
    return {};
  }
  Found& found = found_[path];
  if (found.names.empty()) {
    found.names.emplace_back(base_name(path));
    found.device = device;
    found.inode = inode;
  }
  if (name != found.names.front()) {
    found.names.push_back(name);
  }
  if (found_.size() > kMostPrograms) {
    return Error(ErrorCode::kInvalid,
                 "the root has more than " + std::to_string(kMostPrograms) + " programs");
  }
  return {};
}

void ExecAccess::join_hard_links() {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Found*>> files;
  for (auto& [path, found] : found_) {
    files[{found.device, found.inode}].push_back(&found);
  }
  for (const auto& [identity, same] : files) {
    if (same.size() == 1) {
      continue;
    }
    std::vector<std::string> names;
    for (const Found* const each : same) {
      names.insert(names.end(), each->names.begin(), each->names.end());
    }
    for (Found* const each : same) {
      each->names = names;
    }
  }
}

std::vector<std::string> ExecAccess::interpreters_of(const std::string& path) const {
  const UniqueFd file = open_in(root_, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  std::array<char, 256> head{};
  const ssize_t size = file ? ::read(file.get(), head.data(), head.size()) : 0;
  std::string_view line(head.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (!line.starts_with("#!")) {
    return {};
  }
  line =
      line.substr(2, line.find('\n') == std::string_view::npos ? line.npos : line.find('\n') - 2);
  std::vector<std::string> words = words_of(line);
  std::vector<std::string> names;
  if (!words.empty()) {
    names.emplace_back(base_name(words.front()));
  }
  if (!names.empty() && names.front() == "env") {
    const auto program = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
      return !word.starts_with('-') && word.find('=') == std::string::npos;
    });
    if (program != words.end()) {
      names.emplace_back(base_name(*program));
    }
  }
  return names;
}

void ExecAccess::decide(ExecRules rules) {
  const bool names_all = rules.names_all();
  if (names_all) {
    ExecRules wider = rules;
    for (const auto& [path, found] : found_) {
      if (rules.lets_start(found.names)) {
        for (const std::string& interpreter : interpreters_of(path)) {
          wider.permit(interpreter);
        }
      }
    }
    rules = std::move(wider);
  }
  for (const auto& [path, found] : found_) {
    if (!rules.lets_start(found.names)) {
      closed_.insert(path);
    } else if (names_all) {
      started_.push_back(path);
    }
  }
}

const char* ExecAccess::keep(std::string text) {
  texts_.push_back(std::move(text));
  return texts_.back().c_str();
}

bool ExecAccess::has_closed_below(const std::string& path) const {
  const auto next = closed_.lower_bound(path + "/");
  return next != closed_.end() && next->starts_with(path + "/");
}

Result<void> ExecAccess::grant_below(const std::string& path,
                                     std::vector<child::AccessRule>& rules) {
  rules.push_back({keep(path), abi::kFsReadDir, true});
  for (const Entry& entry : entries_of(open_in(root_, path, O_RDONLY | O_DIRECTORY))) {
    std::string below = path + "/" + entry.name;
    if (entry.type == DT_DIR && has_closed_below(below)) {
      GB_TRY(grant_below(below, rules));
    } else if (entry.type == DT_DIR) {
      rules.push_back({keep(std::move(below)), rest_, true});
    } else if (entry.type == DT_REG && !closed_.contains(below)) {
      rules.push_back({keep(std::move(below)), rest_ & kStartFile, true});
    }
    if (rules.size() > kMostRules) {
      return Error(ErrorCode::kInvalid, "the root has too many files for command rules");
    }
  }
  return {};
}

Result<void> ExecAccess::add_rules(const std::string& top, std::vector<child::AccessRule>& rules) {
  struct stat status {};
  if (::fstatat(root_.get(), top.c_str() + 1, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(status.st_mode)) {
    return {};  // What it leads to has rules of its own.
  }
  if (has_closed_below(top)) {
    GB_TRY(grant_below(top, rules));
  } else {
    rules.push_back({keep(top), rest_, true});
  }
  for (const std::string& path : started_) {
    if (path.starts_with(top + "/")) {
      rules.push_back({path.c_str(), kStartFile, true});
    }
  }
  return {};
}

void ExecAccess::add_loaders(std::vector<child::AccessRule>& rules) {
  for (const char* const loader : kLoaders) {
    rules.push_back({loader, kStartFile, true});
  }
}

}  // namespace glovebox
