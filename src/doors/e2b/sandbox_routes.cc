// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/sandbox_routes.h"

#include "doors/e2b/change_notes.h"
#include "doors/e2b/fields.h"
#include "doors/e2b/network.h"
#include "doors/e2b/sandbox_json.h"
#include "doors/e2b/template_name.h"
#include "doors/e2b/template_routes.h"
#include "doors/e2b/volume_routes.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kDefaultTimeout = 300;
constexpr std::int64_t kFirstGenerationTimeout = 15;
constexpr std::int64_t kMaxTimeout = 365LL * 24 * 3600;
constexpr std::int64_t kMaxForks = 100;

Error unsupported(std::string message) {
  return Error(ErrorCode::kUnsupported, std::move(message));
}

Error not_found(const std::string& id) {
  return Error(ErrorCode::kNotFound, "sandbox \"" + id + "\" not found");
}

// Seconds from a body.
Result<milliseconds> timeout_of(const Json& body, std::int64_t otherwise) {
  const std::int64_t timeout = GB_TRY(number_member(body, "timeout")).value_or(otherwise);
  if (timeout > kMaxTimeout) {
    return invalid("the timeout is too long");
  }
  return milliseconds(seconds(timeout));
}

// Refuses what only a virtual machine could do, and what this daemon does not have.
Result<void> check_offered(const Json& body) {
  if (GB_TRY(flag_member(body, "autoPauseMemory")) == false) {
    return unsupported("pausing without memory is not supported");
  }
  const Json iam = GB_TRY(object_member(body, "iam"));
  if (!GB_TRY(object_member(iam, "tokens")).empty()) {
    return unsupported("workload identity is not supported");
  }
  return {};
}

Result<SandboxRequest> sandbox_request(const Json& body,
                                       NetworkPolicy policy,
                                       SandboxNotes& notes) {
  if (auto offered = check_offered(body); !offered) {
    return offered.error();
  }
  SandboxRequest request;
  const auto wanted = GB_TRY(text_member(body, "templateID"));
  if (!wanted || wanted->empty()) {
    return invalid("'templateID' is missing");
  }
  request.template_name = GB_TRY(TemplateName::parse(*wanted)).ours();
  notes.template_id = request.template_name;
  request.metadata = GB_TRY(text_map_member(body, "metadata"));
  for (auto& [name, value] : GB_TRY(text_map_member(body, "envVars"))) {
    request.env.emplace_back(name, value);
  }
  request.on_timeout =
      GB_TRY(flag_member(body, "autoPause")).value_or(false) ? OnTimeout::kPause : OnTimeout::kKill;
  const Json resume = GB_TRY(object_member(body, "autoResume"));
  request.auto_resume = GB_TRY(flag_member(resume, "enabled")).value_or(false);

  const Json network = GB_TRY(object_member(body, "network"));
  notes.internet = GB_TRY(flag_member(body, "allow_internet_access"));
  notes.public_ports = GB_TRY(flag_member(network, "allowPublicTraffic")).value_or(true);
  if (!notes.public_ports && !notes.secure) {
    return invalid("private traffic requires a secured sandbox");
  }
  GB_TRY(check_supported(network, policy));
  Network made = GB_TRY(make_network(network, notes.internet));
  request.network = std::move(made.rules);
  request.network_optional = true;  // By E2B's default, everything is allowed.
  notes.network = std::move(made.told);
  request.volumes = GB_TRY(volume_mounts(body));
  return request;
}

}  // namespace

void SandboxRoutes::add_to(Routes& routes) {
  const auto handler = [this](auto method) {
    return [this, method](ControlCall& call) { return (this->*method)(call); };
  };
  routes.add("POST", "v2/sandboxes",
             [this](ControlCall& call) { return create(call, Generation::kSecond); });
  routes.add("POST", "sandboxes",
             [this](ControlCall& call) { return create(call, Generation::kFirst); });
  for (const char* prefix : {"", "v2/"}) {
    routes.add("POST", std::string(prefix) + "sandboxes/*/connect",
               handler(&SandboxRoutes::connect));
  }
  routes.add("POST", "sandboxes/*/resume", handler(&SandboxRoutes::resume));
  routes.add("GET", "sandboxes/*", handler(&SandboxRoutes::show));
  routes.add("DELETE", "sandboxes/*", handler(&SandboxRoutes::kill));
  routes.add("POST", "sandboxes/*/timeout", handler(&SandboxRoutes::set_timeout));
  routes.add("POST", "sandboxes/*/refreshes", handler(&SandboxRoutes::refresh));
  routes.add("POST", "sandboxes/*/pause", handler(&SandboxRoutes::pause));
  routes.add("POST", "sandboxes/*/fork", handler(&SandboxRoutes::fork));
  routes.add("PUT", "sandboxes/*/network", handler(&SandboxRoutes::set_network));
}

Result<void> SandboxRoutes::create(ControlCall& call, Generation generation) {
  const Json body = GB_TRY(call.body());
  SandboxNotes notes = GB_TRY(make_notes(call.caller.tenant));
  const bool first = generation == Generation::kFirst;
  notes.secure = !first || GB_TRY(flag_member(body, "secure")).value_or(false);
  SandboxRequest request = GB_TRY(sandbox_request(body, service_.network_policy(), notes));
  if (options_.root) {
    request.as_root = true;
    request.run_as = "user";
    request.sudo = true;
  }
  request.timeout = GB_TRY(timeout_of(body, first ? kFirstGenerationTimeout : kDefaultTimeout));
  if (request.timeout <= milliseconds(0)) {
    return invalid("the timeout must be positive");
  }
  request.extra = write_notes("{}", notes);
  auto made = service_.create(call.caller, request);
  if (!made && made.error().code() == ErrorCode::kNotFound) {
    // Rare, so looked up only now: the name that a client gave to a snapshot.
    const auto resolved = GB_TRY(resolve_template(service_, call.caller, request.template_name));
    if (resolved != request.template_name) {
      request.template_name = notes.template_id = resolved;
      request.extra = write_notes("{}", notes);
      made = service_.create(call.caller, request);
    }
  }
  if (!made && made.error().code() == ErrorCode::kNotFound) {
    return Error(ErrorCode::kNotFound, "template '" + request.template_name + "' not found");
  }
  if (!made) {
    return made.error();
  }
  return answer_opened(call, 201, std::move(*made));
}

Result<SandboxNotes> SandboxRoutes::adopt(const Caller& caller, SandboxInfo& info) {
  if (auto notes = read_notes(info.extra)) {
    return std::move(*notes);
  }
  // Another client may be doing the same: both get the same notes.
  const auto nothing = [](const SandboxInfo&, SandboxNotes&, SandboxChange&) -> Result<void> {
    return {};
  };
  info = GB_TRY(change_notes(service_, caller, info.id, nothing));
  return notes_of(info);
}

Result<void> SandboxRoutes::answer_opened(ControlCall& call, int status, SandboxInfo info) {
  const SandboxNotes notes = GB_TRY(adopt(call.caller, info));
  gate_.remember(info, notes);
  answer(call.response, status, opened_json(info, notes, options_));
  return {};
}

Result<SandboxInfo> SandboxRoutes::extend(const Caller& caller,
                                          SandboxInfo info,
                                          milliseconds timeout) {
  if (std::chrono::system_clock::now() + timeout <= info.expires) {
    return info;
  }
  SandboxChange change;
  change.timeout = timeout;
  return service_.change(caller, info.id, change);
}

Result<void> SandboxRoutes::connect(ControlCall& call) {
  const std::string& id = call.arguments[0];
  const Json body = GB_TRY(call.body());
  const milliseconds timeout = GB_TRY(timeout_of(body, kDefaultTimeout));
  const bool reboot = GB_TRY(flag_member(body, "memory")) == false;
  auto info = service_.find(call.caller, id);
  if (!info) {
    return info.error().code() == ErrorCode::kNotFound ? not_found(id) : info.error();
  }
  if (info->state == SandboxState::kRunning) {
    return answer_opened(call, 200, GB_TRY(extend(call.caller, std::move(*info), timeout)));
  }
  if (reboot) {
    return unsupported("rebooting a sandbox from its files is not supported");
  }
  (void)GB_TRY(service_.resume(call.caller, id));
  SandboxChange change;
  change.timeout = timeout;
  return answer_opened(call, 201, GB_TRY(service_.change(call.caller, id, change)));
}

Result<void> SandboxRoutes::resume(ControlCall& call) {
  const std::string& id = call.arguments[0];
  const Json body = GB_TRY(call.body());
  SandboxChange change;
  change.timeout = GB_TRY(timeout_of(body, kFirstGenerationTimeout));
  if (GB_TRY(service_.find(call.caller, id)).state == SandboxState::kRunning) {
    return Error(ErrorCode::kConflict, "sandbox " + id + " is already running");
  }
  (void)GB_TRY(service_.resume(call.caller, id));
  return answer_opened(call, 201, GB_TRY(service_.change(call.caller, id, change)));
}

Result<void> SandboxRoutes::show(ControlCall& call) {
  const auto info = service_.find(call.caller, call.arguments[0]);
  if (!info) {
    return info.error().code() == ErrorCode::kNotFound ? not_found(call.arguments[0])
                                                       : info.error();
  }
  Json detail = detail_json(*info, notes_of(*info), options_);
  for (const VolumeMount& mount : info->volumes) {
    if (const auto volume = service_.volumes().find(call.caller, mount.volume)) {
      detail["volumeMounts"].push_back({{"name", volume->name}, {"path", mount.path}});
    }
  }
  answer(call.response, 200, detail);
  return {};
}

Result<void> SandboxRoutes::kill(ControlCall& call) {
  if (auto killed = service_.kill(call.caller, call.arguments[0]); !killed) {
    return killed.error();
  }
  gate_.forget(call.arguments[0]);
  answer_empty(call.response, 204);
  return {};
}

Result<void> SandboxRoutes::set_timeout(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  if (member(body, "timeout") == nullptr) {
    return invalid("'timeout' is missing");
  }
  SandboxChange change;
  change.timeout = std::max(GB_TRY(timeout_of(body, 0)), milliseconds(0));
  (void)GB_TRY(service_.change(call.caller, call.arguments[0], change));
  answer_empty(call.response, 204);
  return {};
}

Result<void> SandboxRoutes::refresh(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const std::int64_t duration = GB_TRY(number_member(body, "duration")).value_or(15);
  if (duration < 0 || duration > 3600) {
    return invalid("the duration must be between 0 and 3600 seconds");
  }
  SandboxInfo info = GB_TRY(service_.find(call.caller, call.arguments[0]));
  (void)GB_TRY(extend(call.caller, std::move(info), seconds(duration)));
  answer_empty(call.response, 204);
  return {};
}

Result<void> SandboxRoutes::pause(ControlCall& call) {
  const std::string& id = call.arguments[0];
  const Json body = GB_TRY(call.body());
  const SandboxInfo info = GB_TRY(service_.find(call.caller, id));
  if (info.state == SandboxState::kPaused) {
    return Error(ErrorCode::kConflict, "sandbox " + id + " is already paused");
  }
  if (GB_TRY(flag_member(body, "memory")) == false) {
    return unsupported("pausing without memory is not supported");
  }
  if (auto paused = service_.pause(call.caller, id, PauseTo::kMemory); !paused) {
    return paused.error();
  }
  answer_empty(call.response, 204);
  return {};
}

Result<void> SandboxRoutes::fork(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const std::int64_t count = GB_TRY(number_member(body, "count")).value_or(1);
  if (count < 1 || count > kMaxForks) {
    return invalid("the count must be between 1 and 100");
  }
  const milliseconds timeout = GB_TRY(timeout_of(body, kFirstGenerationTimeout));
  const auto forks =
      GB_TRY(service_.fork(call.caller, call.arguments[0],
                           {.count = static_cast<std::size_t>(count), .timeout = timeout}));
  Json entries = Json::array();
  for (const SandboxInfo& each : forks) {
    // A fork is a sandbox of its own: the secrets of its origin must not open it.
    const auto notes = [&]() -> Result<SandboxNotes> {
      const SandboxNotes before = notes_of(each);
      SandboxNotes fresh = GB_TRY(make_notes(call.caller.tenant));
      fresh.secure = before.secure;
      fresh.public_ports = before.public_ports;
      fresh.internet = before.internet;
      fresh.template_id = before.template_id;
      fresh.network = before.network;
      SandboxChange change;
      change.extra = write_notes(each.extra, fresh);
      (void)GB_TRY(service_.change(call.caller, each.id, change));
      return fresh;
    }();
    if (!notes) {
      const int status = http_status(notes.error().code());
      entries.push_back({{"error", {{"code", status}, {"message", notes.error().message()}}}});
      continue;
    }
    gate_.remember(each, *notes);
    entries.push_back({{"sandbox", opened_json(each, *notes, options_)}});
  }
  answer(call.response, 201, entries);
  return {};
}

Result<void> SandboxRoutes::set_network(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const auto set = [&body, policy = service_.network_policy()](
                       const SandboxInfo&, SandboxNotes& notes,
                       SandboxChange& change) -> Result<void> {
    GB_TRY(check_supported(body, policy));
    notes.internet = GB_TRY(flag_member(body, "allow_internet_access"));
    Network made = GB_TRY(update_network(notes.network, body, notes.internet));
    change.network = std::move(made.rules);
    change.network_optional = true;
    notes.network = std::move(made.told);
    return {};
  };
  (void)GB_TRY(change_notes(service_, call.caller, call.arguments[0], set));
  answer_empty(call.response, 204);
  return {};
}

}  // namespace glovebox::e2b
