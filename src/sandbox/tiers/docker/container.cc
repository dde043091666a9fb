// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/container.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json/json.h"
#include "base/sys/raw.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/tiers/docker/request.h"

namespace glovebox::docker {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kStartPatience = 60s;
constexpr int kLookMs = 500;  // How often a container that does not connect is looked at.
constexpr auto kRemovePatience = 30s;
constexpr int kRemovalPollMs = 20;

// Removes a container that may be about to go by itself (AutoRemove), and waits until it is gone.
// Or a volume, which may be one of such a container.
Result<void> remove_at(const Engine& engine, const std::string& path) {
  const auto deadline = Clock::now() + kRemovePatience;
  for (;;) {
    const Answer answer = GB_TRY(engine.ask("DELETE", path));
    if (answer.status == 404) {
      return {};
    }
    // 409: it is being removed. 500: that has just failed, as it was already gone.
    const bool passing = answer.status == 204 || answer.status == 409 || answer.status == 500;
    if (!passing || Clock::now() > deadline) {
      return refusal("remove " + path, answer);
    }
    if (answer.status == 204) {
      return {};
    }
    (void)::poll(nullptr, 0, kRemovalPollMs);
  }
}

std::string path_of_container(const std::string& name) {
  return "/containers/" + name + "?force=1&v=1";
}

// Whether what was asked for belongs to this runtime directory, and not to somebody else who gives
// the same names.
bool is_ours(const nlohmann::json& labeled) {
  return text_of(object_of(labeled, "Labels"), kOwnerLabel) == runtime_directory();
}

// Those that Podman has for a container that is gone, or some of them.
Result<void> remove_volumes(const Engine& engine, const std::string& container) {
  if (!engine.is_podman()) {
    return {};
  }
  for (const std::string& name : volume_names(container)) {
    const std::string path = "/volumes/" + name;
    const Answer answer = GB_TRY(engine.ask("GET", path));
    if (answer.status != 404 && is_ours(GB_TRY(json_of(answer)))) {
      GB_TRY(remove_at(engine, path));
    }
  }
  return {};
}

// Whether the process is in a cgroup of that container, in our own view of processes.
bool belongs_to(pid_t pid, const std::string& container) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.find(container) != std::string::npos;
}

}  // namespace

Result<std::unique_ptr<Container>> Container::create(Engine engine,
                                                     const Image& image,
                                                     const std::string& runtime,
                                                     const SandboxSpec& spec,
                                                     Slot& slot) {
  const std::string name = slot.name();
  const std::string path = runtime_directory() + "/" + name + ".stage";
  GB_TRY(slot.note_tree(path));
  GB_TRY(slot.note_for("docker", name + " " + engine.socket()));
  // Without a user namespace, ids inside are the host's: each sandbox gets one that nobody has.
  const uid_t uid = engine.maps_ids() ? kGuestUid : slot.host_uid();
  const gid_t gid = engine.maps_ids() ? kGuestGid : slot.host_uid();
  Stage stage = GB_TRY(Stage::create(path, spec, uid, gid, image.own_system));
  std::unique_ptr<Container> container(new Container(std::move(engine), name, std::move(stage)));
  GB_TRY(container->make({.name = name,
                          .image = image,
                          .sandbox = spec,
                          .mounts = container->stage_.mounts(),
                          .runtime = runtime,
                          .is_podman = container->engine_.is_podman(),
                          .uid = uid,
                          .gid = gid}));
  return container;
}

Result<void> Container::make(ContainerSpec spec) {
  if (spec.is_podman) {
    for (const std::string& request : volume_requests(spec)) {
      const Answer answer = GB_TRY(engine_.ask("POST", "/volumes/create", request));
      if (answer.status != 201) {
        return refusal("make a volume", answer);
      }
      if (takes_terminals(spec)) {
        spec.terminals = text_of(GB_TRY(json_of(answer)), "Mountpoint");
      }
    }
  }
  const std::string request = create_request(spec);
  const auto create = [&] {
    return engine_.ask("POST", "/containers/create?name=" + name_, request);
  };
  Answer answer = GB_TRY(create());
  if (answer.status == 404 && !spec.image.own_system) {
    GB_TRY(make_image(engine_, spec.image, spec.sandbox.home));
    answer = GB_TRY(create());
  }
  if (answer.status != 201) {
    return refusal("make a container", answer)
        .with_hint("see whether 'docker info' lists the runtime, and 'docker run' works");
  }
  id_ = text_of(GB_TRY(json_of(answer)), "Id");
  return id_.empty() ? Error(ErrorCode::kUnavailable, "the container engine names no container")
                     : Result<void>();
}

Container::~Container() {
  if (!removed_) {
    (void)remove();
  }
}

Result<UniqueFd> Container::start() {
  const Answer answer = GB_TRY(engine_.ask("POST", "/containers/" + id_ + "/start"));
  if (answer.status != 204) {
    // What a runtime cannot do shows only now.
    return Error(ErrorCode::kUnsupported, refusal("start a container", answer).message(),
                 "see whether 'docker run' works with the same runtime");
  }
  for (const auto deadline = Clock::now() + kStartPatience;;) {
    auto connection = stage_.accept(kLookMs);
    if (connection || connection.error().code() != ErrorCode::kUnavailable) {
      return connection;
    }
    const Answer state = GB_TRY(engine_.ask("GET", "/containers/" + id_ + "/json"));
    if (state.status == 404 || Clock::now() > deadline) {
      return Error(ErrorCode::kUnsupported,
                   state.status == 404
                       ? "the container ended before its first process connected to us"
                       : connection.error().message(),
                   "a runtime with a kernel of its own has to let sockets of mounts through "
                   "(runsc: --host-uds=open)");
    }
  }
}

Result<Container::Process> Container::inspect() const {
  const Answer answer = GB_TRY(engine_.ask("GET", "/containers/" + id_ + "/json"));
  if (answer.status != 200) {
    return refusal("look at the container", answer);
  }
  const auto json = GB_TRY(json_of(answer));
  const nlohmann::json& host = object_of(json, "HostConfig");
  if (!is_true(host, "ReadonlyRootfs") || text_of(host, "NetworkMode") != "none" ||
      is_true(host, "Privileged")) {
    return Error(ErrorCode::kUnsupported,
                 "the container engine has not built the walls that it was asked for");
  }
  const nlohmann::json& state = object_of(json, "State");
  const auto pid = state.find("Pid");
  Process process;
  process.pid = pid != state.end() && pid->is_number_integer() ? pid->get<pid_t>() : 0;
  if (process.pid > 0) {
    process.pidfd = UniqueFd(static_cast<int>(sys::raw(SYS_pidfd_open, process.pid, 0)));
  }
  // Checked after it was opened: the number is still its own.
  if (process.pid <= 0 || !process.pidfd || !belongs_to(process.pid, id_)) {
    return Error(ErrorCode::kUnsupported,
                 "the container engine runs its containers on another machine, or out of our sight",
                 "use an engine on this machine, and run glovebox outside of containers");
  }
  return process;
}

Result<void> Container::change_limits(const Limits& limits) {
  // Podman's service has this among its own requests only.
  const Answer answer =
      GB_TRY(engine_.is_podman()
                 ? engine_.ask("POST", "/libpod/containers/" + id_ + "/update",
                               podman_update_request(limits))
                 : engine_.ask("POST", "/containers/" + id_ + "/update", update_request(limits)));
  if (answer.status != 200 && answer.status != 201) {
    return refusal("change the limits of a container", answer);
  }
  return stage_.describe_machine(limits);
}

Result<void> Container::remove() {
  removed_ = true;
  if (!id_.empty()) {
    GB_TRY(remove_at(engine_, path_of_container(id_)));
  }
  GB_TRY(remove_volumes(engine_, name_));
  return stage_.remove();
}

Result<void> Container::remove_leftover(std::string_view note) {
  const std::size_t space = note.find(' ');
  if (space == std::string_view::npos || !note.starts_with("glovebox-")) {
    return {};
  }
  const std::string name(note.substr(0, space));
  const std::string socket(note.substr(space + 1));
  if (::access(socket.c_str(), F_OK) != 0) {
    return {};  // With its engine gone, no process of it is left, and the engine removes the rest.
  }
  const Engine engine = GB_TRY(Engine::at(socket));
  const Answer answer = GB_TRY(engine.ask("GET", "/containers/" + name + "/json"));
  if (answer.status != 404 && is_ours(object_of(GB_TRY(json_of(answer)), "Config"))) {
    GB_TRY(remove_at(engine, path_of_container(name)));
  }
  return remove_volumes(engine, name);
}

}  // namespace glovebox::docker
