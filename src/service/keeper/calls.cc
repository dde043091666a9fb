// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/calls.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/sys/tree.h"
#include "files/open.h"
#include "service/keeper/builder.h"
#include "service/keeper/codec.h"
#include "service/keeper/delivery.h"
#include "service/keeper/judge_call.h"
#include "service/keeper/memory_export.h"
#include "service/keeper/one_shot_call.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long a question about code waits for its turn.
constexpr auto kQuestionTurn = 5s;

std::string text(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

const json& object(const json& arguments, const char* name) {
  static const json kNone = json::object();
  const auto found = arguments.find(name);
  return found != arguments.end() ? *found : kNone;
}

Result<std::shared_ptr<HeldSandbox>> sandbox(const json& arguments, CallContext& context) {
  return context.keeper.find(text(arguments, "sandbox"));
}

// Something of a sandbox, which must not end before that.
template <typename T>
struct Inside {
  std::shared_ptr<HeldSandbox> sandbox;
  std::shared_ptr<T> inner;
  T* operator->() const { return inner.get(); }
};

Result<Inside<HeldContext>> held_context(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox(arguments, context));
  auto inner = GB_TRY(held->context(context.keeper.registry(), text(arguments, "context")));
  return Inside<HeldContext>{std::move(held), std::move(inner)};
}

Result<Inside<HeldProcess>> process(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox(arguments, context));
  auto inner = GB_TRY(held->process(static_cast<std::uint32_t>(number(arguments, "pid"))));
  return Inside<HeldProcess>{std::move(held), std::move(inner)};
}

// How long a call waits for its turn in a context. Shorter than its caller's patience: what comes
// after the waiting takes time, too.
Patience turn_patience(const CallContext& context) {
  Patience patience{.wanted = context.listens};
  if (context.terms.patience) {
    patience.deadline = Clock::now() + *context.terms.patience / 3;
  }
  return patience;
}

// Who completes a line waits for a moment and not for a cell.
Patience question_patience(const CallContext& context) {
  return {.deadline = Clock::now() + kQuestionTurn, .wanted = context.listens};
}

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

// ----

Result<CreateOrder> checked_order(const json& arguments, CallContext& context) {
  return context.keeper.paths().resolve(to_create_order(object(arguments, "order")));
}

Result<json> create(const json& arguments, CallContext& context) {
  const CreateOrder order = GB_TRY(checked_order(arguments, context));
  const auto held =
      GB_TRY(context.keeper.create(order, text(arguments, "record"), context.listens));
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

Result<json> warm(const json&, CallContext& context) { return json(context.keeper.is_warm()); }

// Which live, and whether they are paused.
Result<json> states(const json&, CallContext& context) {
  json answer = json::object();
  for (const auto& held : context.keeper.all()) {
    answer[std::string(held->id())] = held->paused();
  }
  return answer;
}

std::uint64_t entries_of(const char* directory) {
  std::error_code failure;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each(directory, failure), end; !failure && each != end;
       each.increment(failure)) {
    ++count;
  }
  return count;
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

json describe(const Ending& ending) {
  return {{"reason", to_string(ending.reason)}, {"at", to_ms(ending.at)}};
}

// Of those of "sandboxes" that have ended here, how; and since when that is known.
Result<json> endings(const json& arguments, CallContext& context) {
  json ended = json::object();
  for (const json& id : object(arguments, "sandboxes")) {
    if (const auto ending = id.is_string() ? context.keeper.ending(id.get_ref<const std::string&>())
                                           : std::nullopt) {
      ended[id.get_ref<const std::string&>()] = describe(*ending);
    }
  }
  return json{{"since", to_ms(context.keeper.started())}, {"ended", std::move(ended)}};
}

// Of a context that a living sandbox had, or null.
Result<json> context_ending(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  const auto ending = held->context_ending(text(arguments, "context"));
  return ending ? describe(*ending) : json();
}

Result<json> change(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox(arguments, context));
  held->set_record(text(arguments, "record"));
  held->set_lifetime({.expires = to_time(number(arguments, "expires")),
                      .on_timeout = static_cast<OnTimeout>(number(arguments, "on_timeout"))});
  return describe(*held);
}

Result<json> warm_up(const json& arguments, CallContext& context) {
  std::vector<CreateOrder> usual;
  for (const json& order : object(arguments, "orders")) {
    usual.push_back(GB_TRY(context.keeper.paths().resolve(to_create_order(order))));
  }
  context.keeper.warm_up(std::move(usual));
  return json();
}

Result<json> kill(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.kill(text(arguments, "sandbox")));
  return json();
}

Result<json> emergency_end(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.end(text(arguments, "sandbox"), EndReason::kEmergencyStop));
  return json();
}

std::set<std::string> texts(const json& arguments, const char* name) {
  std::set<std::string> all;
  for (const json& each : object(arguments, name)) {
    if (each.is_string()) {
      all.insert(each.get<std::string>());
    }
  }
  return all;
}

// "named" are the pieces of templates, "used" those and what sandboxes want again.
Result<json> sweep_contents(const json& arguments, CallContext& context) {
  GB_TRY(context.keeper.sweep_contents(texts(arguments, "named"), texts(arguments, "used")));
  return json();
}

// Or an archive of one: the builder sees which.
Result<json> build_template(const json& arguments, CallContext& context) {
  auto built = run_in_builder({.request = arguments,
                               .directory = context.keeper.paths().directory(),
                               .socket = context.socket,
                               .passed = std::move(context.handed),
                               .foreign = context.foreign},
                              context.listens, context.lent);
  if (!built && built.error().code() == ErrorCode::kInternal) {
    context.keeper.log().warning("a build of tenant " + text(arguments, "tenant") + ": " +
                                 built.error().message());
  }
  GB_TRY(std::move(built));
  return json();
}

Result<json> emergency_end_all(const json&, CallContext& context) {
  return json(context.keeper.end_all(EndReason::kEmergencyStop));
}

Result<json> stop(const json&, CallContext& context) {
  context.keeper.stop();
  return json();
}

Result<json> pause(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  GB_TRY(held->pause());
  return json();
}

Result<json> resume(const json& arguments, CallContext& context) {
  auto held = GB_TRY(sandbox(arguments, context));
  GB_TRY(held->resume());
  return describe(*held);
}

Result<json> save(const json& arguments, CallContext& context) {
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text(arguments, "to")));
  GB_TRY(context.keeper.save(text(arguments, "sandbox"), to,
                             Bytes{static_cast<std::uint64_t>(number(arguments, "room"))}));
  return json();
}

Result<json> copy(const json& arguments, CallContext& context) {
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text(arguments, "to")));
  GB_TRY(context.keeper.copy(text(arguments, "sandbox"), to,
                             Bytes{static_cast<std::uint64_t>(number(arguments, "room"))}));
  return json();
}

Result<json> remove_saved(const json& arguments, CallContext& context) {
  const auto saved = context.keeper.paths().resolve(text(arguments, "saved"));
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
  const std::string saved = GB_TRY(paths.resolve(text(arguments, "saved")));
  const ExportKey key = GB_TRY(ExportKey::open(paths.directory()));
  MemoryExport made =
      GB_TRY(export_memory(key, saved, text(arguments, "tier"), object(arguments, "order").dump()));
  context.passed = std::move(made.files);
  return json{{"manifest", std::move(made.manifest)}, {"signature", std::move(made.signature)}};
}

Result<json> import_saved(const json& arguments, CallContext& context) {
  const OwnPaths& paths = context.keeper.paths();
  const std::string to = GB_TRY(paths.resolve_new(text(arguments, "to")));
  if (context.handed.size() != 1) {
    return Error(ErrorCode::kInvalid, "'import_saved' takes one file");
  }
  const ExportKey key = GB_TRY(ExportKey::open(paths.directory()));
  GB_TRY(import_memory(key, text(arguments, "manifest"), text(arguments, "signature"),
                       context.handed.front().get(), to));
  return json();
}

Result<json> usage(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  return to_json(GB_TRY(held->usage()));
}

Result<json> connections(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  return to_json(held->network() == nullptr ? SandboxConnections()
                                            : held->network()->connections());
}

Result<json> change_network(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  if (held->network() == nullptr) {
    return Error(ErrorCode::kConflict,
                 "the sandbox was made without network rules, and has no way out",
                 "create a sandbox with the rules that it needs");
  }
  const auto order = to_network_order(object(arguments, "network"));
  const auto pass = GB_TRY(held->change());
  GB_TRY(held->network()->change(order.value_or(NetworkOrder())));
  return json();
}

Result<json> create_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  return to_json(GB_TRY(held->create_context(context.keeper.registry(),
                                             to_context_request(object(arguments, "request")),
                                             turn_patience(context))));
}

Result<json> contexts(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  json answer = json::array();
  for (const ContextInfo& info : held->contexts()) {
    answer.push_back(to_json(info));
  }
  return answer;
}

Result<json> delete_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  GB_TRY(held->delete_context(text(arguments, "context")));
  return json();
}

Result<json> restart_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  GB_TRY(held->restart(turn_patience(context)));
  return json();
}

Result<json> interrupt(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  held->interrupt();
  return json();
}

// Of one execution by its key, whether it runs or waits.
Result<json> cancel(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  held->cancel(text(arguments, "key"));
  return json();
}

// A reply ends a wait: it has the room of calls that end something.
Result<json> reply_input(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  GB_TRY(held->reply_input(to_input_reply(object(arguments, "reply"))));
  return json();
}

Result<json> reply_tool(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  GB_TRY(held->reply_tool(to_tool_reply(object(arguments, "reply"))));
  return json();
}

Result<json> tool_wait(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  return to_json(GB_TRY(held->tool_wait(text(arguments, "number"))));
}

Result<json> agree_to_tool(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  GB_TRY(held->agree_to_tool(text(arguments, "number"), text(arguments, "hash")));
  return json();
}

Result<json> complete(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  return to_json(GB_TRY(
      held->complete(to_code_place(object(arguments, "place")), question_patience(context))));
}

Result<json> inspect(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  return to_json(GB_TRY(held->inspect(to_code_place(object(arguments, "place")),
                                      static_cast<int>(number(arguments, "detail")),
                                      question_patience(context))));
}

// Whatever happens to an execution, those who follow it learn of its end.
class Finish {
 public:
  explicit Finish(ExecutionLog& log) : log_(log) {}
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;
  ~Finish() {
    if (!log_.finished()) {
      log_.finish(Error(ErrorCode::kInternal, "the execution failed in the keeper"));
    }
  }

 private:
  ExecutionLog& log_;
};

Result<json> execute(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  const auto in = GB_TRY(held->context(context.keeper.registry(), text(arguments, "context")));
  const ExecuteRequest request = to_execute_request(object(arguments, "request"));
  const Limits limits = request.limits.over(held->sandbox().limits());
  GB_TRY(validate(limits));
  const auto [log, mine] = GB_TRY(in->claim(request));
  Delivery delivery(log, context.wire);
  if (mine) {
    // An execution with a key of the client's waits on without its caller: they may come back for
    // it, or cancel it by its key.
    const bool lasts = !request.idempotency_key.starts_with(kOwnKey);
    const Patience patience{
        .wanted = [&] { return !log->canceled() && (lasts || context.listens()); }};
    const Finish finish(*log);
    in->execute(request, limits, log, delivery, patience);
    if (!lasts) {
      in->forget(request.idempotency_key);
    }
  }
  GB_TRY(delivery.finish(context.listens));
  return json();
}

Result<json> checkpoint(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  return json(GB_TRY(held->checkpoint(turn_patience(context))));
}

Result<json> rollback(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  std::optional<std::uint32_t> wanted;
  if (arguments.contains("checkpoint")) {
    wanted = static_cast<std::uint32_t>(number(arguments, "checkpoint"));
  }
  return json(GB_TRY(held->rollback(wanted, turn_patience(context))));
}

Result<json> fork_context(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  return to_json(GB_TRY(held->fork_context(
      text(arguments, "context"), static_cast<std::uint32_t>(number(arguments, "checkpoint")),
      turn_patience(context))));
}

// What waits for a decision: the texts of a JSON array's members.
Result<json> dry_runs(const json& arguments, CallContext& context) {
  const auto told = GB_TRY(sandbox(arguments, context))->undecided();
  return told ? json::array({*told}) : json::array();
}

Result<json> decide_dry_run(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  GB_TRY(
      held->decide(text(arguments, "dry_run"),
                   {.commit = object(arguments, "commit") == true, .seal = text(arguments, "seal")},
                   turn_patience(context)));
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

// Fails while there is a dry run.
Result<json> settled(const json& arguments, CallContext& context) {
  (void)GB_TRY(GB_TRY(sandbox(arguments, context))->change());
  return json();
}

// Unpacks an archive into a workspace as the warden does it, who has the places that are closed to
// everybody else.
Result<json> fill(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  const std::string path = GB_TRY(context.keeper.paths().resolve(text(arguments, "archive")));
  const UniqueFd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!archive) {
    return Error::from_errno("open what a workspace begins with");
  }
  GB_TRY(held->sandbox().unpack("", archive.get()));
  return json();
}

Result<json> notebook(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(held_context(arguments, context));
  return json(GB_TRY(held->notebook()));
}

Result<json> judge_program(const json& arguments, CallContext& context) {
  return judge_cases(to_judge_request(object(arguments, "request")), context);
}

Result<json> run(const json& arguments, CallContext& context) {
  const CreateOrder order = GB_TRY(checked_order(arguments, context));
  std::string archive = text(arguments, "archive");
  if (!archive.empty()) {
    archive = GB_TRY(context.keeper.paths().resolve(archive));
  }
  const RunRequest request = to_run_request(object(arguments, "request"));
  return run_one_shot(request, order, archive, context);
}

// ----

Result<json> start_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  const ProcessRequest request = to_process_request(object(arguments, "request"));
  const auto started = GB_TRY(held->start_process(request));
  if (request.start_only) {
    context.tell(
        pack(to_json(ProcessEvent{.kind = ProcessEvent::Kind::kStarted, .pid = started->pid()})));
    return json();
  }
  context.following = {.sandbox = held, .process = started, .from_start = true};
  return json();
}

Result<json> attach_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process(arguments, context));
  context.following = {.sandbox = held.sandbox, .process = held.inner, .from_start = false};
  return json();
}

Result<json> processes(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  json answer = json::array();
  for (const ProcessInfo& info : held->processes()) {
    answer.push_back(to_json(info));
  }
  return answer;
}

Result<json> signal_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process(arguments, context));
  GB_TRY(held->signal(static_cast<int>(number(arguments, "signal"))));
  return json();
}

Result<json> write_process(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process(arguments, context));
  std::optional<DryRunGate::Pass> pass;
  if (!held->is_dry_run()) {
    pass.emplace(GB_TRY(held.sandbox->change()));
  }
  GB_TRY(held->write(text(arguments, "bytes")));
  return json();
}

Result<json> close_stdin(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process(arguments, context));
  GB_TRY(held->close_stdin());
  return json();
}

Result<json> resize(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(process(arguments, context));
  GB_TRY(held->resize({.columns = static_cast<std::uint16_t>(number(arguments, "columns")),
                       .rows = static_cast<std::uint16_t>(number(arguments, "rows"))}));
  return json();
}

Result<json> files(const json& arguments, CallContext& context) {
  const auto held = GB_TRY(sandbox(arguments, context));
  if (object(arguments, "to_use") == true) {
    (void)GB_TRY(held->change());
  }
  context.passed.push_back(
      GB_TRY(open_file_server(held->sandbox(), by_number(text(arguments, "owner")))));
  return json();
}

// ---- images: by the paths of their files, which the daemon chooses in the data directory

Result<json> make_image(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve_new(text(arguments, "image")));
  const ImageShape shape{.size = Bytes{static_cast<std::uint64_t>(number(arguments, "size"))},
                         .inodes = static_cast<std::uint32_t>(
                             std::clamp<std::int64_t>(number(arguments, "inodes"), 0, UINT32_MAX))};
  GB_TRY(context.keeper.images().make(image, shape));
  const bool shares = GB_TRY(context.keeper.images().shares_copies(image));
  return json{{"shares_copies", shares}};
}

// "idle": nobody has it and nobody will, so it need not be mounted for that.
Result<json> copy_image(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve(text(arguments, "image")));
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text(arguments, "to")));
  if (object(arguments, "idle") == true) {
    GB_TRY(context.keeper.images().copy_idle(image, to));
  } else {
    GB_TRY(context.keeper.images().copy(image, to));
  }
  const bool shares = GB_TRY(context.keeper.images().shares_copies(to));
  return json{{"shares_copies", shares}};
}

Result<json> remove_image(const json& arguments, CallContext& context) {
  const auto image = context.keeper.paths().resolve(text(arguments, "image"));
  if (image) {
    GB_TRY(context.keeper.images().remove(*image));
  } else if (image.error().code() != ErrorCode::kNotFound) {
    return image.error();
  }
  return json();
}

Result<json> image_files(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve(text(arguments, "image")));
  context.passed.push_back(GB_TRY(context.keeper.images().serve_files(image)));
  return json();
}

struct Call {
  std::string_view name;
  Result<json> (*function)(const json&, CallContext&);
  CallKind kind = CallKind::kShort;
};

using enum CallKind;

constexpr std::array kCalls = {
    Call{"create", create, kLong},
    Call{"list", list, kEnds},
    Call{"states", states, kEnds},
    Call{"warm", warm, kEnds},
    Call{"endings", endings, kEnds},
    Call{"figures", figures, kEnds},
    Call{"context_ending", context_ending, kShort},
    Call{"warm_up", warm_up, kShort},
    Call{"change", change, kShort},
    Call{"kill", kill, kEnds},
    Call{"emergency_end", emergency_end, kEnds},
    Call{"emergency_end_all", emergency_end_all, kEnds},
    Call{"sweep_contents", sweep_contents, kLong},
    Call{"build_template", build_template, kStream},
    Call{"export_template", build_template, kStream},
    Call{"stop", stop, kEnds},
    Call{"pause", pause, kLong},
    Call{"resume", resume, kLong},
    Call{"save", save, kLong},
    Call{"copy", copy, kLong},
    Call{"remove_saved", remove_saved, kLong},
    Call{"export_saved", export_saved, kLong},
    Call{"import_saved", import_saved, kLong},
    Call{"usage", usage, kShort},
    Call{"connections", connections, kShort},
    Call{"change_network", change_network, kLong},
    Call{"create_context", create_context, kLong},
    Call{"contexts", contexts, kShort},
    Call{"delete_context", delete_context, kEnds},
    Call{"restart_context", restart_context, kLong},
    Call{"interrupt", interrupt, kEnds},
    Call{"cancel", cancel, kEnds},
    Call{"execute", execute, kStream},
    Call{"reply_input", reply_input, kEnds},
    Call{"reply_tool", reply_tool, kEnds},
    Call{"tool_wait", tool_wait, kEnds},
    Call{"agree_to_tool", agree_to_tool, kEnds},
    Call{"complete", complete, kLong},
    Call{"inspect", inspect, kLong},
    Call{"checkpoint", checkpoint, kLong},
    Call{"rollback", rollback, kLong},
    Call{"fork_context", fork_context, kLong},
    Call{"dry_runs", dry_runs, kShort},
    Call{"decide_dry_run", decide_dry_run, kLong},
    Call{"happenings", happenings, kEnds},
    Call{"settled", settled, kShort},
    Call{"fill", fill, kLong},
    Call{"notebook", notebook, kLong},
    Call{"run", run, kStream},
    Call{"judge", judge_program, kStream},
    Call{"start_process", start_process, kStream},
    Call{"attach_process", attach_process, kStream},
    Call{"processes", processes, kShort},
    Call{"signal_process", signal_process, kEnds},
    Call{"write_process", write_process, kShort},
    Call{"close_stdin", close_stdin, kShort},
    Call{"resize", resize, kShort},
    Call{"files", files, kLong},
    Call{"make_image", make_image, kLong},
    Call{"copy_image", copy_image, kLong},
    Call{"remove_image", remove_image, kLong},
    Call{"image_files", image_files, kLong},
};

const Call* find(std::string_view name) {
  const auto* const found = std::ranges::find(kCalls, name, &Call::name);
  return found == kCalls.end() ? nullptr : found;
}

}  // namespace

CallTerms terms_of(std::string_view name) {
  const Call* const found = find(name);
  const CallKind kind = found == nullptr ? kShort : found->kind;
  switch (kind) {
    case kStream:
      return {.kind = kind, .patience = std::nullopt};
    case kLong:
      return {.kind = kind, .patience = 180s};
    case kEnds:  // The end of a sandbox is waited for.
    case kShort:
      break;
  }
  return {.kind = kind, .patience = 30s};
}

Result<json> call(std::string_view name, const json& arguments, CallContext& context) {
  if (const Call* const found = find(name)) {
    return found->function(arguments, context);
  }
  return Error(ErrorCode::kInvalid, "unknown keeper call '" + std::string(name) + "'",
               "stop the keeper of the other version and start the daemon again");
}

}  // namespace glovebox::keeper
