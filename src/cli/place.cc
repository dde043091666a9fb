// SPDX-License-Identifier: Apache-2.0
#include "cli/place.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>

namespace glovebox::cli {
namespace {

constexpr int kSysAdmin = 21;  // CAP_SYS_ADMIN
constexpr std::string_view kPage = " (docs/containers.md)";

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  std::string all = std::move(text).str();
  while (all.ends_with('\n') || all.ends_with('\0')) {
    all.pop_back();
  }
  return all;
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_true(const Variable& variable, const char* name) {
  const char* const value = variable(name);
  return value != nullptr && std::string_view(value) == "true";
}

// The value of "NAME:\tVALUE" in the text of /proc/PID/status.
std::string field(const std::string& status, std::string_view name) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":\t")) {
      return line.substr(name.size() + 2);
    }
  }
  return {};
}

bool has_capability(const std::string& mask, int number) {
  std::uint64_t bits = 0;
  (void)std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
  return ((bits >> static_cast<unsigned>(number)) & 1U) != 0;
}

// Whether ids are mapped in any way but each to itself (user_namespaces(7)). If there is no map,
// there are no user namespaces.
bool maps_ids(const std::string& map) {
  std::istringstream words(map);
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  return words >> inside >> outside >> count &&
         (inside != 0 || outside != 0 || count != 0xffffffff);
}

// A line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
struct MountLine {
  std::string target;
  std::string options;
  std::string type;
};

std::vector<MountLine> mounts_of(const std::string& table) {
  std::vector<MountLine> mounts;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    MountLine mount;
    words >> skipped >> skipped >> skipped >> skipped >> mount.target >> mount.options;
    while (words >> skipped && skipped != "-") {
    }
    words >> mount.type;
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool covers_proc(const MountLine& mount) {
  return mount.target.starts_with("/proc/") && mount.target != "/proc/sys/fs/binfmt_misc";
}

bool fixes_cgroups(const MountLine& mount) {
  return (mount.type == "cgroup" || mount.type == "cgroup2") &&
         (mount.options == "ro" || mount.options.starts_with("ro,"));
}

// The last service in a path such as "/system.slice/grader.service". A user's own manager is also a
// service, but what runs below it is a session.
std::string service_in(std::string_view path) {
  constexpr std::string_view kOurRoom = "/glovebox-host";
  if (path.ends_with(kOurRoom)) {
    path.remove_suffix(kOurRoom.size());
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".service") && !name.starts_with("user@") ? std::string(name)
                                                                  : std::string();
}

// From /proc/self/cgroup: the path in cgroup v2, or in systemd's hierarchy of v1.
std::string service_of(const std::string& table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view prefix : {"0::", ":name=systemd:"}) {
      const std::size_t at = line.find(prefix);
      if (at != std::string::npos) {
        if (std::string unit = service_in(line.substr(at + prefix.size())); !unit.empty()) {
          return unit;
        }
      }
    }
  }
  return {};
}

void find_container(const std::string& root, const Variable& variable, Place& place) {
  using enum Place::Container;
  if (variable("KUBERNETES_SERVICE_HOST") != nullptr ||
      is_there(root + "/var/run/secrets/kubernetes.io/serviceaccount")) {
    place.container = kKubernetes;
  } else if (is_there(root + "/run/.containerenv")) {
    place.container = kPodman;
  } else if (is_there(root + "/.dockerenv")) {
    place.container = kDocker;
  } else {
    const char* const set = variable("container");
    place.container_name =
        set != nullptr && *set != '\0' ? set : read(root + "/run/systemd/container");
    if (place.container_name == "docker" || place.container_name == "podman") {
      place.container = place.container_name == "docker" ? kDocker : kPodman;
    } else if (!place.container_name.empty() && place.container_name != "wsl") {
      place.container = kOther;
    }
  }
}

void find_restrictions(const std::string& root, Place& place) {
  const std::string status = read(root + "/proc/self/status");
  place.filtered = field(status, "Seccomp") == "2";
  place.may_administer = has_capability(field(status, "CapEff"), kSysAdmin);
  place.lets_administer = has_capability(field(status, "CapBnd"), kSysAdmin);
  place.own_ids = maps_ids(read(root + "/proc/self/uid_map"));
  const std::vector<MountLine> mounts = mounts_of(read(root + "/proc/self/mountinfo"));
  place.covered_proc = std::ranges::any_of(mounts, covers_proc);
  place.fixed_cgroups = std::ranges::any_of(mounts, fixes_cgroups);
  place.no_user_namespaces =
      is_there(root + "/proc/self/ns/mnt") && !is_there(root + "/proc/self/ns/user");
  const std::string label = read(root + "/proc/self/attr/current");
  place.apparmor = label.ends_with(" (enforce)");
  place.selinux = contains(label, ":container_");
  place.unified = is_there(root + "/sys/fs/cgroup/cgroup.controllers");

  const std::string sys = root + "/proc/sys/";
  if (read(sys + "user/max_user_namespaces") == "0") {
    place.user_namespaces_need.emplace_back("user.max_user_namespaces=15000");
  }
  if (!place.as_root && read(sys + "kernel/unprivileged_userns_clone") == "0") {
    place.user_namespaces_need.emplace_back("kernel.unprivileged_userns_clone=1");
  }
  if (!place.as_root && read(sys + "kernel/apparmor_restrict_unprivileged_userns") == "1") {
    place.user_namespaces_need.emplace_back("kernel.apparmor_restrict_unprivileged_userns=0");
  }
}

// Whether a filter also blocks processes that can have CAP_SYS_ADMIN: Docker's refuses
// pivot_root(2) to everybody, Podman's only requires the capability.
bool needs_no_filter(const Place& place) {
  const bool by_capability = place.container == Place::Container::kPodman;
  return place.filtered && !(by_capability && (place.as_root || place.lets_administer));
}

struct Setting {
  bool needed;
  const char* text;
};

std::string needed_of(std::string_view separator, std::initializer_list<Setting> settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (setting.needed) {
      text += text.empty() ? "" : separator;
      text += setting.text;
    }
  }
  return text;
}

// The options of docker or podman that remove what is in the way, and no others.
std::string engine_flags(const Place& place) {
  const bool podman = place.container == Place::Container::kPodman;
  const std::string flags =
      needed_of(" ", {{needs_no_filter(place), "--security-opt seccomp=unconfined"},
                      {place.covered_proc, podman ? "--security-opt unmask=ALL"
                                                  : "--security-opt systempaths=unconfined"},
                      {place.as_root && !place.may_administer, "--cap-add SYS_ADMIN"},
                      {place.apparmor, "--security-opt apparmor=unconfined"},
                      {place.selinux, "--security-opt label=disable"}});
  if (!flags.empty()) {
    return flags;
  }
  return place.filtered ? "--security-opt seccomp=unconfined" : "--privileged";
}

std::string security_context(const Place& place) {
  const std::string fields = needed_of(
      ", ", {{place.filtered, "seccompProfile: {type: Unconfined}"},
             {place.covered_proc, "procMount: Unmasked (with hostUsers: false in the pod)"},
             {place.as_root && !place.may_administer, "capabilities: {add: [SYS_ADMIN]}"},
             {place.apparmor, "appArmorProfile: {type: Unconfined}"},
             {place.selinux, "seLinuxOptions: {type: spc_t}"}});
  return fields.empty() ? "privileged: true" : fields;
}

std::string native_in_container(const Place& place) {
  using enum Place::Container;
  const bool kubernetes = place.container == kKubernetes;
  if (place.ci == Place::Ci::kGitlab) {
    return std::string("set 'privileged = true' in [runners.") +
           (kubernetes ? "kubernetes" : "docker") + "] of the runner's config.toml";
  }
  if (kubernetes) {
    return "set in the container's securityContext: " + security_context(place);
  }
  if (place.container == kOther) {
    return "allow the container to nest others (LXC and Incus: security.nesting=true)";
  }
  if (place.ci == Place::Ci::kGithub) {
    return "add to 'options:' of the job's container: " + engine_flags(place);
  }
  return "start the container with " + engine_flags(place);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += " " + word;
  }
  return text;
}

std::string native_in_service(const Place& place) {
  const std::string options =
      needed_of(", ", {{place.filtered, "RestrictNamespaces=, SystemCallFilter="},
                       {place.covered_proc, "ProtectKernelTunables=, ProtectKernelLogs="},
                       {place.as_root && !place.may_administer, "CapabilityBoundingSet="}});
  return options.empty() ? std::string() : "take out of " + place.unit + ": " + options;
}

std::string native_on_machine(const Place& place) {
  if (place.no_user_namespaces) {
    return "boot a kernel that has user namespaces (CONFIG_USER_NS)";
  }
  if (!place.user_namespaces_need.empty()) {
    const std::string command = "sudo sysctl -w" + joined(place.user_namespaces_need);
    return place.ci == Place::Ci::kGithub ? "add a step before glovebox: 'run: " + command + "'"
                                          : "run '" + command + "'";
  }
  if (!place.unit.empty()) {
    return native_in_service(place);
  }
  if (place.filtered || place.covered_proc) {
    return std::string("start glovebox outside of what confines it here: ") +
           (place.filtered ? "its system calls are filtered" : "parts of /proc are covered");
  }
  return {};
}

std::string limits_in_container(const Place& place) {
  using enum Place::Container;
  std::string text = "no cgroup is writable here, so limit the container itself";
  if (place.container == kKubernetes) {
    return text + ": resources.limits";
  }
  if (place.container == kOther) {
    return text;
  }
  text += " with --memory and --pids-limit";
  // In a container with ids of its own, root has no rights on the host's cgroups.
  if (place.as_root && !place.own_ids) {
    text += ", or add --volume /sys/fs/cgroup:/sys/fs/cgroup:rw";
    text += place.unified ? " --cgroupns host" : "";
  }
  return text;
}

std::string limits_on_machine(const Place& place) {
  if (place.wsl == Place::Wsl::kTwo) {
    return "for limits of all processes together, write 'systemd=true' below [boot] in "
           "/etc/wsl.conf, run 'wsl --shutdown' in Windows, and start glovebox with 'systemd-run "
           "--user --scope -p Delegate=yes'";
  }
  if (place.unit.empty()) {
    return {};
  }
  // With v1, systemd delegates no controllers to ordinary users, and root needs no delegation.
  std::string settings = place.unified ? "set Delegate=yes in " + place.unit : std::string();
  if (place.fixed_cgroups && (place.as_root || place.unified)) {
    settings += (settings.empty() ? "" : " and ") + std::string("take out of ") + place.unit +
                ": ProtectControlGroups=";
  }
  return settings.empty() ? settings : "for limits of all processes together, " + settings;
}

}  // namespace

Place find_place(const std::string& root, const Variable& variable, bool as_root) {
  Place place;
  place.as_root = as_root;
  find_container(root, variable, place);
  place.ci = is_true(variable, "GITHUB_ACTIONS") ? Place::Ci::kGithub
             : is_true(variable, "GITLAB_CI")    ? Place::Ci::kGitlab
                                                 : Place::Ci::kNone;
  const std::string release = read(root + "/proc/sys/kernel/osrelease");
  // A container on Docker Desktop has WSL's kernel, but none of its settings.
  if (place.container == Place::Container::kNone) {
    place.wsl = contains(release, "WSL2")        ? Place::Wsl::kTwo
                : contains(release, "Microsoft") ? Place::Wsl::kOne
                                                 : Place::Wsl::kNone;
    place.unit = service_of(read(root + "/proc/self/cgroup"));
  }
  find_restrictions(root, place);
  return place;
}

std::string describe(const Place& place) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += text.empty() ? part : ", " + part; };
  switch (place.ci) {
    case Place::Ci::kGithub:
      add("GitHub Actions");
      break;
    case Place::Ci::kGitlab:
      add("GitLab CI");
      break;
    case Place::Ci::kNone:
      break;
  }
  switch (place.container) {
    case Place::Container::kDocker:
      add("a Docker container");
      break;
    case Place::Container::kPodman:
      add("a Podman container");
      break;
    case Place::Container::kKubernetes:
      add("a Kubernetes pod");
      break;
    case Place::Container::kOther:
      add("a container (" + place.container_name + ")");
      break;
    case Place::Container::kNone:
      break;
  }
  if (place.wsl != Place::Wsl::kNone) {
    add(place.wsl == Place::Wsl::kTwo ? "WSL 2" : "WSL 1");
  }
  if (!place.unit.empty()) {
    add("the systemd service " + place.unit);
  }
  if (text.empty()) {
    text = "an ordinary machine";
  }
  add(place.as_root ? "as root" : "as an ordinary user");
  return text;
}

std::string advice(const Place& place, const Lacks& lacks) {
  if (place.wsl == Place::Wsl::kOne) {
    return lacks.native || lacks.landlock
               ? "WSL 1 has no Linux kernel; run 'wsl --set-version DISTRIBUTION 2' in Windows"
               : "";
  }
  const bool contained = place.container != Place::Container::kNone;
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += text.empty() || part.empty() ? part : "; " + part;
  };
  const std::string native = !lacks.native ? std::string()
                             : contained   ? native_in_container(place)
                                           : native_on_machine(place);
  if (!native.empty()) {
    add("for tier native, " + native);
    add(lacks.landlock_tier ? "" : "as it is, run with --min-tier landlock");
  }
  if (lacks.cgroup) {
    add(contained ? limits_in_container(place) : limits_on_machine(place));
  }
  if (lacks.landlock && place.wsl == Place::Wsl::kTwo) {
    add("for Landlock, run 'wsl --update' in Windows");
  }
  return text.empty() ? text : text + std::string(kPage);
}

}  // namespace glovebox::cli
