// SPDX-License-Identifier: Apache-2.0
// The root file system of a guest that is root inside: what others see read-only lies below an
// overlay (Documentation/filesystems/overlayfs.rst), whose upper layer is in the sandbox's own
// tmpfs, and so within its limits. Of the host's /etc and /var it shows what package managers need
// to work on the host's /usr, and nothing that only the host's root may read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest/digest.h"
#include "base/sys/beneath.h"
#include "sandbox/guest_ids.h"
#include "sandbox/system_view.h"
#include "sandbox/tiers/native/root_plan.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kLargestText = 1U << 20;
// What package managers keep, and what everybody may know of it; the rest of /var is fresh.
constexpr std::array<const char*, 2> kVarDirectories = {"var/lib/dpkg", "var/lib/apt"};

constexpr std::array<std::pair<const char*, std::uint32_t>, 24> kFreshDirectories = {
    {{"root", 0700},
     {"srv", 0755},
     {"mnt", 0755},
     {"media", 0755},
     {"opt", 0755},
     {"home", 0755},
     {"run", 0755},
     {"run/lock", 01777},
     {"var", 0755},
     {"var/backups", 0755},
     {"var/cache", 0755},
     {"var/cache/apt", 0755},
     {"var/cache/apt/archives", 0755},
     {"var/cache/apt/archives/partial", 0755},
     {"var/cache/debconf", 0755},
     {"var/lib", 0755},
     {"var/lib/misc", 0755},
     {"var/lib/pam", 0755},
     {"var/lib/ucf", 0755},
     {"var/local", 0755},
     {"var/log", 0755},
     {"var/log/apt", 0755},
     {"var/mail", 02775},
     {"var/spool", 0755}}};

// On a sandbox's disk, beside the layers: what is not a layer.
constexpr const char* kDiskRoot = "run/layers/root";

// Made from the name, so that it is found again on a disk; not the name itself, because this is
// part of a mount's options, and the names in another root are others' choice.
std::string layer_of(std::string_view target) {
  constexpr std::size_t kDigits = 32;
  return std::string(kLayers) + "/of." + sha256_hex(target).substr(0, kDigits);
}

// The whole of a regular file that is not absurdly large; empty if there is none.
std::string text_of(int fd, const struct stat& status) {
  std::string text;
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) > kLargestText) {
    return text;
  }
  text.resize(static_cast<std::size_t>(status.st_size));
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string public_text(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  const bool is_public =
      file && ::fstat(file.get(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
  return is_public ? text_of(file.get(), status) : std::string();
}

std::string_view field(std::string_view line, int index) {
  for (; index > 0 && !line.empty(); --index) {
    const std::size_t colon = line.find(':');
    line = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  }
  return line.substr(0, line.find(':'));
}

// An account of the system, by its number: people's stay outside.
bool is_system_id(std::string_view id) {
  return id == "65534" || (!id.empty() && id.size() <= 3 &&
                           id.find_first_not_of("0123456789") == std::string_view::npos);
}

// The lines of passwd(5) or group(5) that a sandbox takes over: those with a name that no line
// before has, and with no password. An image's user often has the number of the guest, too.
class Accounts {
 public:
  void add(std::string_view line) {
    const std::string_view name = field(line, 0);
    const std::string_view id = field(line, 2);
    if (name.empty() || id.empty() || !names_.emplace(name).second) {
      return;
    }
    const std::size_t rest = line.find(':', line.find(':') + 1);
    if (rest != std::string_view::npos) {
      ((text_ += name) += ":x").append(line.substr(rest)) += '\n';
    }
  }
  // All of them, or those of the system.
  void add_lines(std::string_view text, bool all) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (all || is_system_id(field(line, 2))) {
        add(line);
      }
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::set<std::string, std::less<>>& names() const { return names_; }

 private:
  std::string text_;
  std::set<std::string, std::less<>> names_;
};

// Nobody has a password: root needs none to become another user.
std::string shadow(const Accounts& accounts) {
  std::string text;
  for (const std::string& name : accounts.names()) {
    text += name + ":*:19700:0:99999:7:::\n";
  }
  return text;
}

}  // namespace

// The top-level directories that hold what the guest writes; in another root, only those that it
// lacks: each directory of its own is a layer there.
void RootPlan::add_disk(const SandboxSpec& spec) {
  disk_fd_ = spec.root_disk->mount_fd;
  disk_is_fresh_ = spec.root_disk->fresh;
  const auto target = [this](const char* path, std::uint32_t mode) {
    disk_targets_.push_back({path, mode});
    known_directories_.emplace_back(path);
  };
  target("run", 0755);
  target(kLayers, 0700);
  disk_directories_.push_back({kDiskWorkspace, 0755});
  disk_directories_.push_back({kDiskRoot, 0755});
  for (const auto& [path, mode] : kFreshDirectories) {
    const std::string_view name = path;
    if (name.find('/') != std::string_view::npos || name == "run" ||
        (!spec.root.empty() && name != "home" && name != "opt")) {
      continue;
    }
    target(path, mode);
    const char* const kept = keep(std::string(kDiskRoot) + "/" + path);
    disk_directories_.push_back({kept, mode});
    disk_binds_.push_back({kept, path, 0, false});
  }
}

void RootPlan::add_text(std::string path, std::string text, std::uint32_t mode) {
  if (is_written()) {
    return;
  }
  more_bytes_ += (text.size() + kPage - 1) / kPage * kPage;
  ++more_inodes_;
  const char* const kept = keep(std::move(path));
  texts_.push_back(std::move(text));
  files_.push_back({kept, texts_.back(), mode});
}

child::Lower RootPlan::add_lower(SystemLayer::Directory lower,
                                 const std::string& place,
                                 Owners owners) {
  add_directory(place, 0755);
  ++more_inodes_;
  const int mount = lower.mount.get();
  if (lower.mount) {
    if (owners == Owners::kShown) {
      to_map_.push_back(mount);
    }
    taken_.push_back(std::move(lower.mount));
  }
  return {.fd = mount, .source = keep(std::move(lower.path)), .place = keep(place)};
}

void RootPlan::add_overlay(SystemLayer::Directory lower,
                           std::uint32_t mode,
                           const std::string& target,
                           Owners owners,
                           SystemLayer::Directory directories) {
  const std::string layer = layer_of(target);
  const std::string upper = layer + "/upper";
  const std::string work = layer + "/work";
  std::string lowers = layer + "/lower";
  add_parents(target);
  add_directory(target, 0755);
  add_parents(upper);
  add_directory(upper, mode);  // The mode of the whole.
  add_directory(work, 0755);
  // Beside those, the layer's own and the one that the kernel makes in `work`.
  more_inodes_ += 4;
  child::Overlay overlay{.lowers = {add_lower(std::move(lower), lowers, owners)},
                         .target = keep(target),
                         .options = nullptr};
  if (directories.mount || !directories.path.empty()) {
    const std::string place = layer + "/directories";
    overlay.lowers[1] = add_lower(std::move(directories), place, Owners::kShown);
    lowers.insert(0, place + ":");
  }
  overlay.options =
      keep("lowerdir=" + lowers + ",upperdir=" + upper + ",workdir=" + work + ",userxattr");
  overlays_.push_back(overlay);
  layers_.push_back(keep(layer.substr(std::string_view(kLayers).size() + 1)));
  layers_.push_back(keep("/" + target));
}

Result<void> RootPlan::add_overlay(const std::string& source,
                                   const std::string& target,
                                   Owners owners,
                                   SystemLayer::Directory directories) {
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0) {
    return Error::from_errno("stat " + source);
  }
  add_overlay({.mount = GB_TRY(take_along(AT_FDCWD, source)), .path = source},
              status.st_mode & 01777, target, owners, std::move(directories));
  return {};
}

std::string RootPlan::made_at(const std::string& target) const {
  constexpr std::string_view kEtc = "etc/";
  const bool below =
      target.starts_with(kEtc) && std::ranges::any_of(overlays_, [](const child::Overlay& overlay) {
        return std::string_view(overlay.target) == "etc";
      });
  return below ? layer_of("etc") + "/upper/" + target.substr(kEtc.size()) : target;
}

Result<void> RootPlan::add_written_system() {
  system_layer_ = GB_TRY(SystemLayer::take());
  add_overlay(system_layer_.take_etc(), 0755, "etc", Owners::kShown, {});
  for (const auto& [path, mode] : kFreshDirectories) {
    add_directory(path, mode);
    ++more_inodes_;
  }
  // Files of the host's root belong to nobody where there is no range of ids, as for an ordinary
  // user: nothing below /usr could be changed.
  if (const auto given = guest_ids(); !given || !given->has_ranges) {
    add_system();
    return {};
  }
  GB_TRY(add_overlay("/usr", "usr", Owners::kShown));
  // The host's administrator keeps things there, some of them for root alone.
  if (::access("/usr/local", F_OK) == 0) {
    GB_TRY(add_overlay("/usr/local", "usr/local", Owners::kNobody, system_layer_.take_local()));
  }
  for (const char* const directory : kVarDirectories) {
    if (::access((std::string("/") + directory).c_str(), F_OK) == 0) {
      GB_TRY(add_overlay(std::string("/") + directory, directory, Owners::kShown));
    }
  }
  add_links_to_usr();
  return {};
}

Result<void> RootPlan::add_accounts(const SandboxSpec& spec, const std::string& etc) {
  Accounts users;
  Accounts groups;
  const std::string guest = std::to_string(kGuestUid);
  users.add("root:x:0:0:root:" + std::string(kRootHome) + ":/bin/bash");
  users.add(spec.user + ":x:" + guest + ":" + guest + ":" + spec.user + ":" + spec.home +
            ":/bin/bash");
  groups.add("root:x:0:");
  groups.add(spec.user + ":x:" + guest + ":");
  if (!spec.root.empty()) {
    const UniqueFd top(::open(spec.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (auto [name, into] : {std::pair("etc/passwd", &users), std::pair("etc/group", &groups)}) {
      const auto file = sys::open_beneath(top.get(), name, O_RDONLY | O_NONBLOCK);
      struct stat status {};
      const bool found = file && ::fstat(file->get(), &status) == 0;
      into->add_lines(found ? text_of(file->get(), status) : std::string(), true);
    }
  } else {
    users.add_lines(public_text("/etc/passwd"), false);
    groups.add_lines(public_text("/etc/group"), false);
  }
  users.add("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin");
  groups.add("nogroup:x:65534:");
  add_text(etc + "/shadow", shadow(users), 0640);
  add_text(etc + "/gshadow", "", 0640);
  if (spec.user_may_sudo) {
    // A root of its own brings its own rules (sudoers(5)); the host's are its administrator's.
    const std::string rule = spec.user + " ALL=(ALL:ALL) NOPASSWD: ALL\n";
    if (spec.root.empty()) {
      add_text(etc + "/sudoers", "root ALL=(ALL:ALL) ALL\n" + rule, 0440);
    } else {
      add_directory(etc + "/sudoers.d", 0750);
      add_text(etc + "/sudoers.d/glovebox", rule, 0440);
    }
  }
  add_text(etc + "/passwd", users.text());
  add_text(etc + "/group", groups.text());
  return {};
}

Result<void> RootPlan::add_written_etc(const SandboxSpec& spec) {
  const std::string etc = layer_of("etc") + "/upper";
  GB_TRY(add_accounts(spec, etc));
  for (auto& [name, text] : etc_of_all(spec)) {
    add_text(etc + "/" + name, std::move(text));
  }
  add_text(etc + "/hostname", spec.hostname + "\n");
  return {};
}

}  // namespace glovebox
