// SPDX-License-Identifier: Apache-2.0
// What a daemon asks about one sandbox.
#include <fcntl.h>

#include <array>
#include <span>
#include <utility>

#include "base/json/json.h"
#include "base/sys/tree.h"
#include "files/open.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_table.h"
#include "service/keeper/codec.h"
#include "service/keeper/memory_export.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

json describe(HeldSandbox& held) {
  const Lifetime lifetime = held.lifetime();
  return {{"id", held.id()},
          {"record", held.record()},
          {"tier", held.sandbox().tier()},
          {"limits", to_json(held.sandbox().limits())},
          {"walls", glovebox::to_json(held.sandbox().walls())},
          {"paused", held.paused()},
          {"image_user", held.image_user()},
          {"expires", to_ms(lifetime.expires)},
          {"on_timeout", static_cast<int>(lifetime.on_timeout)}};
}

Result<json> create(const json& arguments, CallContext& context) {
  const CreateOrder order = GB_TRY(order_in(arguments, context));
  const auto held =
      GB_TRY(context.keeper.create(order, text_in(arguments, "record"), context.listens));
  json answer = describe(*held);
  answer["timings"] = timings_text(held->sandbox().timings());
  return answer;
}

Result<json> list(const json&, CallContext& context) {
  json answer = json::array();
  for (const auto& held : context.keeper.all()) {
    answer.push_back(describe(*held));
  }
  return answer;
}

// Which live, and whether they are paused.
Result<json> states(const json&, CallContext& context) {
  json answer = json::object();
  for (const auto& held : context.keeper.all()) {
    answer[std::string(held->id())] = held->paused();
  }
  return answer;
}

Result<json> change(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox_in(arguments, context));
  held->set_record(text_in(arguments, "record"));
  held->set_lifetime({.expires = to_time(number_in(arguments, "expires")),
                      .on_timeout = static_cast<OnTimeout>(number_in(arguments, "on_timeout"))});
  return describe(*held);
}

Result<json> kill(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.kill(text_in(arguments, "sandbox")));
  return json();
}

Result<json> emergency_end(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.end(text_in(arguments, "sandbox"), EndReason::kEmergencyStop));
  return json();
}

Result<json> pause(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  GB_TRY(held->pause());
  return json();
}

Result<json> resume(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox_in(arguments, context));
  GB_TRY(held->resume());
  return describe(*held);
}

Result<json> save(const json& arguments, CallContext& context) {
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text_in(arguments, "to")));
  GB_TRY(context.keeper.save(text_in(arguments, "sandbox"), to,
                             Bytes{static_cast<std::uint64_t>(number_in(arguments, "room"))}));
  return json();
}

Result<json> copy(const json& arguments, CallContext& context) {
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text_in(arguments, "to")));
  GB_TRY(context.keeper.copy(text_in(arguments, "sandbox"), to,
                             Bytes{static_cast<std::uint64_t>(number_in(arguments, "room"))}));
  return json();
}

Result<json> remove_saved(const json& arguments, CallContext& context) {
  const auto saved = context.keeper.paths().resolve(text_in(arguments, "saved"));
  if (saved) {
    GB_TRY(sys::remove_tree(*saved));
  } else if (saved.error().code() != ErrorCode::kNotFound) {
    return saved.error();
  }
  return json();
}

// "saved", its "tier", and the "order" that goes along as it is.
Result<json> export_saved(const json& arguments, CallContext& context) {
  const OwnPaths& paths = context.keeper.paths();
  const std::string saved = GB_TRY(paths.resolve(text_in(arguments, "saved")));
  const ExportKey key = GB_TRY(ExportKey::open(paths.directory()));
  MemoryExport made = GB_TRY(
      export_memory(key, saved, text_in(arguments, "tier"), object_in(arguments, "order").dump()));
  context.passed = std::move(made.files);
  return json{{"manifest", std::move(made.manifest)}, {"signature", std::move(made.signature)}};
}

Result<json> import_saved(const json& arguments, CallContext& context) {
  const OwnPaths& paths = context.keeper.paths();
  const std::string to = GB_TRY(paths.resolve_new(text_in(arguments, "to")));
  if (context.handed.size() != 1) {
    return Error(ErrorCode::kInvalid, "'import_saved' takes one file");
  }
  const ExportKey key = GB_TRY(ExportKey::open(paths.directory()));
  GB_TRY(import_memory(key, text_in(arguments, "manifest"), text_in(arguments, "signature"),
                       context.handed.front().get(), to));
  return json();
}

Result<json> usage(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  return to_json(GB_TRY(held->usage()));
}

Result<json> connections(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  return to_json(held->network() == nullptr ? SandboxConnections()
                                            : held->network()->connections());
}

Result<json> change_network(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  if (held->network() == nullptr) {
    return Error(ErrorCode::kConflict,
                 "the sandbox was made without network rules, and has no way out",
                 "create a sandbox with the rules that it needs");
  }
  const auto order = to_network_order(object_in(arguments, "network"));
  const auto pass = GB_TRY(held->change());
  GB_TRY(held->network()->change(order.value_or(NetworkOrder())));
  return json();
}

// The dry runs that wait for a decision: an array with the JSON text of each.
Result<json> dry_runs(const json& arguments, CallContext& context) {
  const auto told = GB_TRY(sandbox_in(arguments, context))->undecided();
  return told ? json::array({*told}) : json::array();
}

Result<json> decide_dry_run(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  GB_TRY(held->decide(
      text_in(arguments, "dry_run"),
      {.commit = object_in(arguments, "commit") == true, .seal = text_in(arguments, "seal")},
      turn_patience(context)));
  return json();
}

// Fails while there is a dry run.
Result<json> settled(const json& arguments, CallContext& context) {
  (void)GB_TRY(GB_TRY(sandbox_in(arguments, context))->change());
  return json();
}

// Has the warden unpack an archive into a workspace: it can use places that are closed to everybody
// else.
Result<json> fill(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  const std::string path = GB_TRY(context.keeper.paths().resolve(text_in(arguments, "archive")));
  const UniqueFd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!archive) {
    return Error::from_errno("open what a workspace begins with");
  }
  GB_TRY(held->sandbox().unpack("", archive.get()));
  return json();
}

Result<json> files(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox_in(arguments, context));
  if (object_in(arguments, "to_use") == true) {
    (void)GB_TRY(held->change());
  }
  context.passed.push_back(
      GB_TRY(open_file_server(held->sandbox(), by_number(text_in(arguments, "owner")))));
  return json();
}

constexpr std::array kSandboxCalls = {
    Call{"create", create, CallKind::kLong},
    Call{"list", list, CallKind::kEnds},
    Call{"states", states, CallKind::kEnds},
    Call{"change", change, CallKind::kShort},
    Call{"kill", kill, CallKind::kEnds},
    Call{"emergency_end", emergency_end, CallKind::kEnds},
    Call{"pause", pause, CallKind::kLong},
    Call{"resume", resume, CallKind::kLong},
    Call{"save", save, CallKind::kLong},
    Call{"copy", copy, CallKind::kLong},
    Call{"remove_saved", remove_saved, CallKind::kLong},
    Call{"export_saved", export_saved, CallKind::kLong},
    Call{"import_saved", import_saved, CallKind::kLong},
    Call{"usage", usage, CallKind::kShort},
    Call{"connections", connections, CallKind::kShort},
    Call{"change_network", change_network, CallKind::kLong},
    Call{"dry_runs", dry_runs, CallKind::kShort},
    Call{"decide_dry_run", decide_dry_run, CallKind::kLong},
    Call{"settled", settled, CallKind::kShort},
    Call{"fill", fill, CallKind::kLong},
    Call{"files", files, CallKind::kLong},
};

}  // namespace

std::span<const Call> sandbox_calls() { return kSandboxCalls; }

}  // namespace glovebox::keeper
