// SPDX-License-Identifier: Apache-2.0
// Sandboxes from their creation to their end.
#include <charconv>

#include "base/text.h"
#include "doors/rest/archive_answer.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

namespace glovebox::rest {
namespace {

Result<std::size_t> read_limit(const Call& call) {
  if (!call.has_parameter("limit")) {
    return std::size_t{100};
  }
  const std::string text = call.parameter("limit");
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > 1'000) {
    return Error(ErrorCode::kInvalid, "'limit' must be a number from 1 to 1000");
  }
  return limit;
}

Result<void> no_fields(Call& call) {
  Fields fields = GB_TRY(call.fields());
  return fields.done();
}

}  // namespace

Result<void> create_sandbox(Call& call) {
  GB_TRY(call.only_parameters({}));
  Fields fields = GB_TRY(call.fields());
  SandboxRequest request = GB_TRY(read_sandbox_request(fields));
  request.idempotency_key = GB_TRY(call.idempotency_key());
  if (!request.image.empty()) {
    GB_TRY(call.request.count_for(call.caller.tenant, http::Pace::kLong));  // It may be pulled.
    request.wanted = [&call] { return !call.has_left(); };
  }
  const SandboxInfo info = GB_TRY(call.service.create(call.caller, request));
  call.send_json(201, "sandbox", to_json(info), {{"Location", "/v1/sandboxes/" + info.id}});
  return {};
}

Result<void> list_sandboxes(Call& call) {
  SandboxQuery query;
  query.limit = GB_TRY(read_limit(call));
  query.after = call.parameter("after");
  for (const auto& [name, value] : call.target.query) {
    if (name.starts_with("metadata.")) {
      query.metadata[name.substr(9)] = value;
    } else if (name == "state" && (value == "running" || value == "paused")) {
      query.states = {value == "running" ? SandboxState::kRunning : SandboxState::kPaused};
    } else if (name == "state") {
      return Error(ErrorCode::kInvalid, "'state' must be 'running' or 'paused'");
    } else if (name != "limit" && name != "after") {
      return Error(ErrorCode::kInvalid, "unknown parameter '" + printable(name) + "'",
                   "allowed parameters: limit, after, state, metadata.NAME");
    }
  }
  const SandboxPage page = GB_TRY(call.service.list(call.caller, query));
  Json sandboxes = Json::array();
  for (const SandboxInfo& info : page.sandboxes) {
    sandboxes.push_back(to_json(info));
  }
  call.send_json(200, "sandboxes",
                 {{"sandboxes", std::move(sandboxes)},
                  {"next", page.next.empty() ? Json(nullptr) : Json(page.next)}});
  return {};
}

Result<void> show_sandbox(Call& call) {
  call.send_json(200, "sandbox",
                 to_json(GB_TRY(call.service.find(call.caller, call.parameters[0]))));
  return {};
}

Result<void> change_sandbox(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const SandboxChange change = GB_TRY(read_sandbox_change(fields));
  call.send_json(200, "sandbox",
                 to_json(GB_TRY(call.service.change(call.caller, call.parameters[0], change))));
  return {};
}

Result<void> kill_sandbox(Call& call) {
  GB_TRY(call.service.kill(call.caller, call.parameters[0]));
  call.send_nothing();
  return {};
}

Result<void> pause_sandbox(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const bool to_disk = fields.flag("to_disk").value_or(false);
  GB_TRY(fields.done());
  GB_TRY(call.service.pause(call.caller, call.parameters[0],
                            to_disk ? PauseTo::kDisk : PauseTo::kMemory));
  call.send_nothing();
  return {};
}

Result<void> resume_sandbox(Call& call) {
  GB_TRY(no_fields(call));
  call.send_json(200, "sandbox",
                 to_json(GB_TRY(call.service.resume(call.caller, call.parameters[0]))));
  return {};
}

Result<void> snapshot_sandbox(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const std::string name = fields.text("name", 256).value_or("");
  GB_TRY(fields.done());
  const std::string made = GB_TRY(call.service.snapshot(call.caller, call.parameters[0], name));
  call.send_json(201, "snapshot", {{"template", made}});
  return {};
}

Result<void> fork_sandbox(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const ForkRequest request{
      .count = static_cast<std::size_t>(fields.count("count", 1, 100).value_or(1)),
      .timeout = fields.duration("timeout"),
      .memory = fields.flag("memory").value_or(false)};
  GB_TRY(fields.done());
  Json sandboxes = Json::array();
  for (const SandboxInfo& info :
       GB_TRY(call.service.fork(call.caller, call.parameters[0], request))) {
    sandboxes.push_back(to_json(info));
  }
  call.send_json(201, "sandboxes", {{"sandboxes", std::move(sandboxes)}});
  return {};
}

Result<void> export_sandbox(Call& call) {
  GB_TRY(call.only_parameters({}));
  return send_archive(call, "application/vnd.glovebox.sandbox", [&call](const ArchiveSink& sink) {
    return call.service.export_archive(call.caller, call.parameters[0], sink);
  });
}

namespace {

// The received archive is gone before the client is answered.
Result<SandboxInfo> create_from_archive(Call& call) {
  const SandboxRequest request = GB_TRY(call.service.open_archive(
      call.caller, [&call](std::span<char> bytes) { return call.request.read(bytes); }));
  return call.service.create(call.caller, request);
}

}  // namespace

Result<void> import_sandbox(Call& call) {
  GB_TRY(call.only_parameters({}));
  const SandboxInfo info = GB_TRY(create_from_archive(call));
  call.send_json(201, "sandbox", to_json(info), {{"Location", "/v1/sandboxes/" + info.id}});
  return {};
}

Result<void> show_usage(Call& call) {
  call.send_json(200, "usage",
                 to_json(GB_TRY(call.service.usage(call.caller, call.parameters[0]))));
  return {};
}

Result<void> show_connections(Call& call) {
  GB_TRY(call.only_parameters({}));
  call.send_json(200, "connections",
                 to_json(GB_TRY(call.service.connections(call.caller, call.parameters[0]))));
  return {};
}

}  // namespace glovebox::rest
