// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/bundle.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/json/json.h"
#include "base/unique_fd.h"
#include "sandbox/machine.h"
#include "sandbox/system_view.h"
#include "spec/warden_protocol.h"

namespace glovebox {
namespace {

using Json = nlohmann::json;

// For our own directories and files besides the guests', so that these get what was promised.
constexpr std::uint64_t kOwnBytes = 128UL * 1024;

// An absolute path inside, relative to the root.
const char* in_root(const std::string& path) { return path.c_str() + 1; }

// The ids that we have, each as itself (user_namespaces(7)).
Json identity_map(const char* ours) {
  std::ifstream lines(ours);
  Json map = Json::array();
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (lines >> first >> outside >> count) {
    map.push_back({{"containerID", first}, {"hostID", first}, {"size", count}});
  }
  return map;
}

// The root of one sandbox, with what is mounted on it.
class Layout {
 public:
  Layout(const BundleRoot& root, const SandboxSpec& spec) : root_(root), spec_(spec) {}

  Result<void> add_system();
  Result<void> add_etc();
  Result<void> add_programs(const InnerPrograms& programs);
  Result<void> add_mount(const Mount& mount);
  Result<void> add_own_files();
  Result<void> add_writable();
  [[nodiscard]] Json config() const;
  [[nodiscard]] std::vector<BundleBind> binds() && { return std::move(binds_); }

 private:
  // Whether guests find something at this path.
  [[nodiscard]] bool has(const std::string& path) const;
  Result<void> make_directory(const std::string& path);
  // With the directories above it.
  Result<void> make_directories(const std::string& path);
  Result<void> write(const std::string& path, std::string_view text);
  Result<void> link(const std::string& path, const std::string& target);
  Result<void> bind(const std::string& source, const std::string& target, bool directory);

  const BundleRoot& root_;
  const SandboxSpec& spec_;
  std::vector<std::string> made_;
  // Directories that are the host's own: what is mounted in them would be made on the host.
  std::vector<std::string> hosts_;
  std::vector<BundleBind> binds_;
  Json tmpfs_;
};

bool Layout::has(const std::string& path) const {
  for (const BundleBind& bind : binds_) {
    if (path.starts_with(bind.target + "/")) {
      return ::access((bind.source + path.substr(bind.target.size())).c_str(), F_OK) == 0;
    }
  }
  return ::faccessat(root_.directory.get(), in_root(path), F_OK, 0) == 0;
}

Result<void> Layout::make_directory(const std::string& path) {
  if (std::ranges::find(made_, path) != made_.end()) {
    return {};
  }
  if (::mkdirat(root_.directory.get(), in_root(path), 0755) != 0) {
    return Error::from_errno("create " + path);
  }
  made_.push_back(path);
  return {};
}

Result<void> Layout::make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    GB_TRY(make_directory(path.substr(0, slash)));
  }
  return make_directory(path);
}

Result<void> Layout::write(const std::string& path, std::string_view text) {
  const UniqueFd file(::openat(root_.directory.get(), in_root(path),
                               O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  // A sandbox that is loaded finds the files as they were, or gVisor refuses it.
  constexpr std::array<timespec, 2> kAlways{
      {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}}};
  if (!file || ::write(file.get(), text.data(), text.size()) != std::ssize(text) ||
      ::futimens(file.get(), kAlways.data()) != 0) {
    return Error::from_errno("write " + path);
  }
  return {};
}

Result<void> Layout::link(const std::string& path, const std::string& target) {
  return ::symlinkat(target.c_str(), root_.directory.get(), in_root(path)) == 0
             ? Result<void>()
             : Error::from_errno("create " + path);
}

Result<void> Layout::bind(const std::string& source, const std::string& target, bool directory) {
  if (std::ranges::any_of(hosts_, [&target](const std::string& host) {
        return target == host || target.starts_with(host + "/");
      })) {
    return Error(
        ErrorCode::kUnsupported,
        "the gvisor tier cannot mount anything at " + target + ", in a directory of the host",
        "choose another path, or use the native tier");
  }
  if (directory) {
    GB_TRY(make_directories(target));
    hosts_.push_back(target);
  } else {
    const std::size_t slash = target.rfind('/');
    if (slash > 0) {
      GB_TRY(make_directories(target.substr(0, slash)));
    }
    GB_TRY(write(target, {}));
  }
  binds_.push_back({.source = source, .target = target});
  return {};
}

Result<void> Layout::add_system() {
  GB_TRY(bind("/usr", "/usr", true));
  for (const char* const name : kUsrLinks) {
    const std::string path = std::string("/") + name;
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (size > 0) {
      GB_TRY(link(path, std::string(target.data(), static_cast<std::size_t>(size))));
    } else if (errno == EINVAL) {
      GB_TRY(bind(path, path, true));
    }
  }
  return {};
}

Result<void> Layout::add_etc() {
  GB_TRY(make_directory("/etc"));
  for (const auto& [name, text] : etc_of_guest(spec_)) {
    GB_TRY(write("/etc/" + name, text));
  }
  for (const char* const path : kCommonEtc) {
    GB_TRY(add_mount({.source = path, .target = path, .optional = true}));
  }
  return {};
}

Result<void> Layout::add_programs(const InnerPrograms& programs) {
  for (const auto& [fd, target] : {std::pair{programs.warden, warden::kMovingWarden},
                                   std::pair{programs.archiver, warden::kMovingArchiver}}) {
    std::array<char, PATH_MAX> path{};
    const std::string descriptor = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(descriptor.c_str(), path.data(), path.size() - 1) < 0) {
      return Error::from_errno("readlink " + descriptor);
    }
    GB_TRY(bind(path.data(), target, false));
  }
  return {};
}

Result<void> Layout::add_mount(const Mount& mount) {
  const auto type = GB_TRY(type_of(mount));
  return type ? bind(mount.source, mount.target, S_ISDIR(*type)) : Result<void>();
}

Result<void> Layout::add_own_files() {
  const std::string own(SandboxSpec::kOwnFiles);
  for (const SandboxSpec::OwnFile& file : spec_.own_files) {
    GB_TRY(make_directories(own));
    const std::string path = own + "/" + file.name;
    GB_TRY(write(path, file.content));
    if (!file.shown_at.empty() && has(file.shown_at)) {
      binds_.push_back({.source = root_.path + path, .target = file.shown_at});
    }
  }
  return {};
}

Result<void> Layout::add_writable() {
  if (spec_.home != kWorkspace) {
    GB_TRY(link(std::string(kWorkspace), spec_.home));
  }
  GB_TRY(make_directories(spec_.home));
  for (const char* const path : {"/tmp", "/dev", "/proc", "/sys", "/var"}) {
    GB_TRY(make_directory(path));
  }
  GB_TRY(link("/var/tmp", "../tmp"));
  GB_TRY(make_directories(warden::kMovingPlace));
  const std::uint64_t size = spec_.limits.disk.count + kOwnBytes + machine_room();
  tmpfs_ = {{"destination", warden::kMovingPlace},
            {"type", "tmpfs"},
            {"source", "tmpfs"},
            {"options", {"nosuid", "nodev", "mode=0755", "size=" + std::to_string(size)}}};
  return {};
}

Json Layout::config() const {
  // Of the sandbox's own root, for the warden's set-up, which gives them all up.
  const Json capabilities = {"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP",
                             "CAP_CHOWN"};
  // More than any guest is allowed, whose own limits come with each start.
  constexpr std::uint64_t kOpenFiles = 1U << 20;
  Json mounts = Json::array({tmpfs_});
  for (const BundleBind& bind : binds_) {
    mounts.push_back({{"destination", bind.target},
                      {"type", "bind"},
                      {"source", bind.source},
                      {"options", {"bind", "ro", "nosuid", "nodev"}}});
  }
  mounts.push_back({{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}});
  mounts.push_back({{"destination", "/sys"},
                    {"type", "sysfs"},
                    {"source", "sysfs"},
                    {"options", {"ro", "nosuid", "nodev", "noexec"}}});
  Json system = {{"namespaces",
                  {{{"type", "pid"}}, {{"type", "mount"}}, {{"type", "ipc"}}, {{"type", "uts"}}}}};
  if (spec_.egress_port == 0) {
    system["namespaces"].push_back({{"type", "network"}});
  } else {
    // It is in the network that it will use. Unless it is told to, it would then not take a user
    // namespace of its own, and so have power over that network.
    system["namespaces"].push_back({{"type", "user"}});
    system["uidMappings"] = identity_map("/proc/self/uid_map");
    system["gidMappings"] = identity_map("/proc/self/gid_map");
  }
  return {
      {"ociVersion", "1.0.2"},
      {"hostname", spec_.hostname},
      {"root", {{"path", "root"}, {"readonly", true}}},
      {"mounts", std::move(mounts)},
      {"process",
       {{"user", {{"uid", 0}, {"gid", 0}}},
        {"args", {warden::kMovingWarden, "own-kernel", "stdin"}},
        {"env", Json::array()},
        {"cwd", "/"},
        {"noNewPrivileges", true},
        // When the host runs out of memory, sandboxes go first.
        {"oomScoreAdj", 1000},
        {"rlimits",
         {{{"type", "RLIMIT_NOFILE"}, {"hard", kOpenFiles}, {"soft", kOpenFiles}},
          {{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}}},
        {"capabilities",
         {{"bounding", capabilities}, {"effective", capabilities}, {"permitted", capabilities}}}}},
      {"linux", std::move(system)}};
}

}  // namespace

Result<Bundle> make_bundle(const BundleRoot& root,
                           const SandboxSpec& spec,
                           const InnerPrograms& programs) {
  Layout layout(root, spec);
  GB_TRY(layout.add_writable());
  GB_TRY(layout.add_system());
  GB_TRY(layout.add_etc());
  GB_TRY(layout.add_programs(programs));
  for (const Mount& mount : spec.mounts) {
    GB_TRY(layout.add_mount(mount));
  }
  GB_TRY(layout.add_own_files());
  // What is not UTF-8 can be the name of a file, but none that runsc would find.
  std::string config = layout.config().dump(-1, ' ', false, Json::error_handler_t::replace);
  return Bundle{.config = std::move(config), .binds = std::move(layout).binds()};
}

}  // namespace glovebox
