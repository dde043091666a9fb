// SPDX-License-Identifier: Apache-2.0
// What a daemon asks of its keeper as a whole, and runs that leave nothing.
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/json/json.h"
#include "sandbox/call_watch.h"
#include "service/keeper/builder.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_table.h"
#include "service/keeper/codec.h"
#include "service/keeper/judge_call.h"
#include "service/keeper/one_shot_call.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

std::uint64_t entries_of(const char* directory) {
  std::error_code failure;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each(directory, failure), end; !failure && each != end;
       each.increment(failure)) {
    ++count;
  }
  return count;
}

std::set<std::string> texts(const json& arguments, const char* name) {
  std::set<std::string> all;
  for (const json& each : object_in(arguments, name)) {
    if (each.is_string()) {
      all.insert(each.get<std::string>());
    }
  }
  return all;
}

Result<json> warm(const json&, CallContext& context) { return json(context.keeper.is_warm()); }

// How those of "sandboxes" that have ended here did so, and since when this keeper knows.
Result<json> endings(const json& arguments, CallContext& context) {
  json ended = json::object();
  for (const json& id : object_in(arguments, "sandboxes")) {
    if (const auto ending = id.is_string() ? context.keeper.ending(id.get_ref<const std::string&>())
                                           : std::nullopt) {
      ended[id.get_ref<const std::string&>()] = to_json(*ending);
    }
  }
  return json{{"since", to_ms(context.keeper.started())}, {"ended", std::move(ended)}};
}

Result<json> figures(const json&, CallContext& context) {
  json pools = json::array();
  for (const PoolShelf::Figures& pool : context.keeper.pools().figures()) {
    pools.push_back({{"home", pool.home},
                     {"tier", pool.tier},
                     {"of_template", pool.of_template},
                     {"ready", pool.depth.ready},
                     {"wanted", pool.depth.wanted}});
  }
  return json{{"threads", entries_of("/proc/self/task")},
              {"descriptors", entries_of("/proc/self/fd")},
              {"pool_failures", context.keeper.pools().failures()},
              {"pools", std::move(pools)}};
}

Result<json> warm_up(const json& arguments, CallContext& context) {
  std::vector<CreateOrder> usual;
  for (const json& order : object_in(arguments, "orders")) {
    usual.push_back(GB_TRY(context.keeper.paths().resolve(to_create_order(order))));
  }
  context.keeper.warm_up(std::move(usual));
  return json();
}

// Watches the guests of sandboxes that are made from now on, for the journal.
Result<json> watch(const json&, CallContext&) {
  watch_calls();
  return json();
}

Result<json> emergency_end_all(const json&, CallContext& context) {
  return json(context.keeper.end_all(EndReason::kEmergencyStop));
}

// "named" are the pieces of templates, "used" those and what sandboxes want again.
Result<json> sweep_contents(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.sweep_contents(texts(arguments, "named"), texts(arguments, "used")));
  return json();
}

// Or makes an archive of one: the builder sees which.
Result<json> build_template(const json& arguments, CallContext& context) {
  auto built = run_in_builder({.request = arguments,
                               .directory = context.keeper.paths().directory(),
                               .socket = context.socket,
                               .passed = std::move(context.handed),
                               .foreign = context.foreign},
                              context.listens, context.lent);
  if (!built && built.error().code() == ErrorCode::kInternal) {
    context.keeper.log().warning("a build of tenant " + text_in(arguments, "tenant") + ": " +
                                 built.error().message());
  }
  GB_TRY(std::move(built));
  return json();
}

Result<json> stop(const json&, CallContext& context) {
  context.keeper.stop();
  return json();
}

Result<json> happenings(const json&, CallContext& context) {
  json answer = json::array();
  for (const Happening& each : context.keeper.happenings().take()) {
    answer.push_back({{"tenant", each.tenant},
                      {"sandbox", each.sandbox},
                      {"action", each.action},
                      {"subject", each.subject},
                      {"result", each.result},
                      {"details", each.details}});
  }
  return answer;
}

Result<json> run(const json& arguments, CallContext& context) {
  const CreateOrder order = GB_TRY(order_in(arguments, context));
  std::string archive = text_in(arguments, "archive");
  if (!archive.empty()) {
    archive = GB_TRY(context.keeper.paths().resolve(archive));
  }
  const RunRequest request = to_run_request(object_in(arguments, "request"));
  return run_one_shot(request, order, archive, context);
}

Result<json> judge_program(const json& arguments, CallContext& context) {
  return judge_cases(to_judge_request(object_in(arguments, "request")), context);
}

constexpr std::array kKeeperCalls = {
    Call{"warm", warm, CallKind::kEnds},
    Call{"endings", endings, CallKind::kEnds},
    Call{"figures", figures, CallKind::kEnds},
    Call{"warm_up", warm_up, CallKind::kShort},
    Call{"watch", watch, CallKind::kShort},
    Call{"emergency_end_all", emergency_end_all, CallKind::kEnds},
    Call{"sweep_contents", sweep_contents, CallKind::kLong},
    Call{"build_template", build_template, CallKind::kStream},
    Call{"export_template", build_template, CallKind::kStream},
    Call{"stop", stop, CallKind::kEnds},
    Call{"happenings", happenings, CallKind::kEnds},
    Call{"run", run, CallKind::kStream},
    Call{"judge", judge_program, CallKind::kStream},
};

}  // namespace

std::span<const Call> keeper_calls() { return kKeeperCalls; }

}  // namespace glovebox::keeper
