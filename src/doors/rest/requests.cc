// SPDX-License-Identifier: Apache-2.0
// Bodies of requests.
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np is not in <cstring>.
#include <csignal>

#include "base/text.h"
#include "doors/rest/sandbox_json.h"
#include "spec/json/network_rules_json.h"
#include "spec/json/tool_json.h"

namespace glovebox::rest {
namespace {

// For a command that is waited for: its script and input, and its limits unless it names others.
constexpr std::size_t kMaxUser = 64;
constexpr std::size_t kMaxShell = 128UL << 10;  // Of one argument (MAX_ARG_STRLEN, execve(2)).
constexpr std::size_t kMaxStdin = 1UL << 20;
constexpr std::chrono::milliseconds kCommandTime = std::chrono::minutes(1);
constexpr Bytes kCommandOutput = 1_MiB;
constexpr Bytes kMostCommandOutput = 16_MiB;
constexpr std::size_t kMaxCode = 8UL << 20;
// For a judge. Its body is bounded as a whole, too.
constexpr std::size_t kMaxCase = 8UL << 20;
constexpr std::size_t kMostCases = 1'000;
constexpr std::uint64_t kMostJobs = 64;
constexpr std::uint64_t kMost32 = 0xffff'ffff;
// The largest that every reader of JSON takes exactly.
constexpr std::uint64_t kMostNumber = (1ULL << 53U) - 1;

void read_tier(Fields& fields, TierWish& tier) {
  tier.exactly = fields.text("tier", 32).value_or("");
  tier.at_least = fields.text("min_tier", 32).value_or("");
}

// What it begins with: a template, or an image of a registry.
template <typename Request>
void read_base(Fields& fields, Request& request) {
  const auto name = fields.text("template", 256);
  request.image = fields.text("image", 519).value_or("");  // http:// and the longest name.
  request.template_name = name.value_or(request.template_name);
  if (name && !request.image.empty()) {
    fields.refuse("image", "cannot be combined with 'template'");
  }
}

template <typename Request>
void read_user_inside(Fields& fields, Request& request) {
  const auto user = fields.choice("user", {"user", "root"});
  request.as_root = user == "root";
  request.as_guest = user == "user";
}

std::vector<std::string> read_policies(Fields& fields) {
  return fields.texts("policy", 16).value_or(std::vector<std::string>());
}

std::optional<std::uint32_t> small(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

std::optional<Bytes> bytes(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(Bytes{*value}) : std::nullopt;
}

CodePlace read_place(Fields& fields) {
  return {.code = fields.required_text("code", CodePlace::kMaxCode),
          .cursor = fields.count("cursor", 0, CodePlace::kMaxCode)};
}

// [{"name": "data", "path": "/volumes/data", "read_only": true}]
Result<std::vector<VolumeMount>> read_volumes(Fields& fields) {
  std::vector<VolumeMount> mounts;
  for (Json& item : fields.objects("volumes", 32).value_or(std::vector<Json>())) {
    Fields mount(std::move(item), "volumes[].");
    mounts.push_back({.volume = mount.required_text("name", 128),
                      .path = mount.required_text("path", 1'024),
                      .read_only = mount.flag("read_only").value_or(false)});
    GB_TRY(mount.done());
  }
  return mounts;
}

std::optional<OnTimeout> read_on_timeout(Fields& fields) {
  const auto choice = fields.choice("on_timeout", {"kill", "pause"});
  if (!choice) {
    return std::nullopt;
  }
  return *choice == "pause" ? OnTimeout::kPause : OnTimeout::kKill;
}

// Starts with the program, if there is one.
std::optional<std::vector<std::string>> read_argv(Fields& fields) {
  auto argv = fields.texts("argv", 4'096);
  if (argv && (argv->empty() || argv->front().empty())) {
    fields.refuse("argv", "must be a list of strings that starts with the program");
  }
  for (const std::string& argument : argv.value_or(std::vector<std::string>())) {
    if (argument.find('\0') != std::string::npos) {
      fields.refuse("argv", "an argument cannot contain a NUL byte");
    }
  }
  return argv;
}

bool leads_out(const std::string& path) {
  return path.starts_with("/") || ("/" + path + "/").find("/../") != std::string::npos;
}

// Of a sandbox: nobody wants one that is over when it begins.
std::optional<std::chrono::milliseconds> read_lifetime(Fields& fields) {
  const auto lifetime = fields.duration("timeout");
  if (lifetime && *lifetime <= std::chrono::milliseconds(0)) {
    fields.refuse("timeout", "must be greater than 0; end a sandbox with DELETE");
  }
  return lifetime;
}

// Who runs a process: it becomes a word of a command line.
std::string read_user(Fields& fields) {
  const std::string user = fields.text("user", kMaxUser).value_or("");
  if (user.find('\0') != std::string::npos) {
    fields.refuse("user", "must be a string without NUL bytes");
  }
  return user;
}

}  // namespace

Result<std::optional<NetworkRules>> read_network(Fields& fields) {
  const auto object = fields.object("network");
  if (!object) {
    return std::optional<NetworkRules>();
  }
  NetworkRules rules = GB_TRY(parse_network_rules(to_line(*object)));
  allow_credential_hosts(rules);
  return std::optional(std::move(rules));
}

Result<LimitWishes> read_limits(Fields& fields) {
  LimitWishes wishes;
  auto object = fields.object("limits");
  if (!object) {
    return wishes;
  }
  Fields limits(*std::move(object), "limits.");
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    auto& wish = wishes.*field.wish;
    if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
      wish = limits.duration(field.name);
    } else if constexpr (std::is_same_v<Value, Bytes>) {
      wish = bytes(limits.size(field.name));
    } else if constexpr (std::is_same_v<Value, double>) {
      wish = limits.number(field.name);
    } else {
      wish = small(limits.count(field.name, 1, kMost32));
    }
  });
  GB_TRY(limits.done());
  return wishes;
}

Result<SandboxRequest> read_sandbox_request(Fields& fields) {
  SandboxRequest request;
  read_base(fields, request);
  request.timeout = read_lifetime(fields).value_or(request.timeout);
  request.on_timeout = read_on_timeout(fields).value_or(request.on_timeout);
  request.auto_resume = fields.flag("auto_resume").value_or(false);
  request.env = fields.environment("env").value_or(Environment());
  request.metadata =
      fields.text_map("metadata", 64, 16 * 1024).value_or(std::map<std::string, std::string>());
  read_tier(fields, request.tier);
  read_user_inside(fields, request);
  request.nested = fields.flag("nested").value_or(false);
  request.limits = GB_TRY(read_limits(fields));
  request.network = GB_TRY(read_network(fields)).value_or(NetworkRules());
  if (const auto storage = fields.choice("storage", {"memory", "disk"})) {
    request.storage = *storage == "disk" ? Storage::kDisk : Storage::kMemory;
  }
  request.volumes = GB_TRY(read_volumes(fields));
  request.policies = read_policies(fields);
  GB_TRY(fields.done());
  return request;
}

Result<SandboxChange> read_sandbox_change(Fields& fields) {
  SandboxChange change;
  change.timeout = read_lifetime(fields);
  change.on_timeout = read_on_timeout(fields);
  change.auto_resume = fields.flag("auto_resume");
  change.metadata = fields.text_map("metadata", 64, 16 * 1024);
  change.network = GB_TRY(read_network(fields));
  GB_TRY(fields.done());
  return change;
}

Result<Checks> read_checks(Fields& fields) {
  auto object = fields.object("checks");
  if (!object) {
    return Checks{};
  }
  Fields own(*std::move(object), "checks.");
  Checks checks;
  for (const auto& [name, texts] :
       {std::pair{"commands", &checks.commands}, std::pair{"files", &checks.files}}) {
    *texts = own.texts(name, Checks::kMost).value_or(std::vector<std::string>());
    for (const std::string& text : *texts) {
      if (text.empty() || text.size() > Checks::kMaxText) {
        own.refuse(name, "a check has 1 to " + std::to_string(Checks::kMaxText) + " bytes");
      }
    }
  }
  if (const auto schema = own.object("output_schema")) {
    checks.schemas.push_back(schema->dump());
  }
  if (auto criteria = own.text("review", Checks::kMaxText); criteria && !criteria->empty()) {
    checks.reviews.push_back(*std::move(criteria));
  }
  GB_TRY(own.done());
  return checks;
}

Result<RunRequest> read_run_request(Fields& fields) {
  RunRequest request;
  read_base(fields, request);
  request.language = fields.text("language", 64).value_or("");
  request.code = fields.required_text("code", kMaxCode);
  request.name = fields.text("name", 255).value_or("");
  request.arguments = fields.texts("arguments", 1'000).value_or(std::vector<std::string>());
  request.standard_input = fields.text("stdin", kMaxCode).value_or("");
  request.files =
      fields.text_map("files", 1'000, kMaxCode).value_or(std::map<std::string, std::string>());
  for (const auto& [name, content] : request.files) {
    if (leads_out(name)) {
      fields.refuse("files", "'" + printable(name) + "' is outside the workspace");
    }
  }
  request.env = fields.environment("env").value_or(Environment());
  request.verify = fields.text("verify", 64 * 1024).value_or("");
  request.checks = GB_TRY(read_checks(fields));
  request.network = GB_TRY(read_network(fields)).value_or(NetworkRules());
  request.replay_network = fields.text("replay_network", 64).value_or("");
  read_tier(fields, request.tier);
  read_user_inside(fields, request);
  request.nested = fields.flag("nested").value_or(false);
  request.policies = read_policies(fields);
  request.limits = GB_TRY(read_limits(fields));
  if (request.language.empty() && request.name.empty()) {
    fields.refuse("language",
                  "must be set unless the file extension of 'name' identifies the language");
  }
  GB_TRY(fields.done());
  return request;
}

// What a program and a checker have in common.
RunRequest read_program(Fields& fields) {
  RunRequest program;
  program.language = fields.required_text("language", 64);
  program.code = fields.required_text("code", kMaxCode);
  program.name = fields.text("name", 255).value_or("");
  return program;
}

Result<JudgeCase> read_case(Json object, std::size_t number) {
  Fields fields(std::move(object), "cases[].");
  JudgeCase one{.name = fields.text("name", 255).value_or(std::to_string(number)),
                .input = fields.text("input", kMaxCase).value_or(""),
                .expected = fields.text("expected", kMaxCase).value_or(""),
                .points = fields.number("points").value_or(1),
                .time = fields.duration("time"),
                .memory = bytes(fields.size("memory"))};
  if (one.points < 0) {
    fields.refuse("points", "must not be negative");
  }
  GB_TRY(fields.done());
  return one;
}

Result<JudgeRequest> read_judge_request(Fields& fields) {
  JudgeRequest request;
  request.program = read_program(fields);
  request.program.arguments = fields.texts("arguments", 1'000).value_or(std::vector<std::string>());
  request.program.env = fields.environment("env").value_or(Environment());
  read_tier(fields, request.program.tier);
  request.program.policies = read_policies(fields);
  request.program.limits = GB_TRY(read_limits(fields));
  request.compare = fields.text("compare", 64).value_or(request.compare);
  request.jobs = static_cast<std::uint32_t>(fields.count("jobs", 1, kMostJobs).value_or(1));
  request.stop_at_first = fields.flag("stop_at_first").value_or(false);
  if (auto object = fields.object("checker")) {
    Fields checker(*std::move(object), "checker.");
    request.checker = read_program(checker);
    GB_TRY(checker.done());
  }
  auto cases = fields.objects("cases", kMostCases).value_or(std::vector<Json>());
  if (cases.empty()) {
    fields.refuse("cases", "must be a list with at least one case");
  }
  GB_TRY(fields.done());
  for (Json& each : cases) {
    request.cases.push_back(GB_TRY(read_case(std::move(each), request.cases.size() + 1)));
  }
  return request;
}

// "tools": [{"name": …}], "tool_limits": {"calls": 100, "wait": "10m"}
Result<ToolOffer> read_tools(Fields& fields) {
  ToolOffer offer;
  if (const auto tools = fields.raw("tools"); tools && *tools != "null") {
    offer.tools = GB_TRY(parse_tools(*tools));
  }
  if (auto object = fields.object("tool_limits")) {
    Fields limits(*std::move(object), "tool_limits.");
    offer.calls = static_cast<std::uint32_t>(
        limits.count("calls", 0, ToolOffer::kMaxCalls).value_or(offer.calls));
    offer.wait = limits.duration("wait").value_or(offer.wait);
    GB_TRY(limits.done());
  }
  GB_TRY(validate(offer));
  return offer;
}

namespace {

DryRunWish read_dry_run(Fields& fields) {
  const auto network = fields.choice("dry_run_network", {"closed", "open"});
  const auto timeout = fields.duration("dry_run_timeout");
  const DryRunWish wish{.wanted = fields.flag("dry_run").value_or(false),
                        .network = network == "open",
                        .timeout = timeout.value_or(DryRunWish::kTimeout)};
  if (!wish.wanted && (network || timeout)) {
    fields.refuse(network ? "dry_run_network" : "dry_run_timeout", "needs \"dry_run\": true");
  }
  if (wish.timeout <= std::chrono::milliseconds(0) || wish.timeout > DryRunWish::kMostTimeout) {
    fields.refuse("dry_run_timeout", "must be more than 0 and at most 1 hour");
  }
  return wish;
}

}  // namespace

Result<ExecuteRequest> read_execute_request(Fields& fields) {
  ExecuteRequest request;
  request.code = fields.required_text("code", kMaxCode);
  request.env = fields.environment("env").value_or(Environment());
  request.recover = fields.flag("recover").value_or(false);
  request.store_history = fields.flag("store_history").value_or(true);
  request.allow_input = fields.flag("allow_input").value_or(false);
  request.tools = GB_TRY(read_tools(fields));
  request.limits = GB_TRY(read_limits(fields));
  request.dry_run = read_dry_run(fields);
  if (request.dry_run.wanted && request.recover) {
    fields.refuse("recover", "cannot be combined with \"dry_run\": discarding restores the state");
  }
  GB_TRY(fields.done());
  return request;
}

Result<InputReply> read_input_reply(Fields& fields) {
  InputReply reply{.value = fields.text("value", InputReply::kMaxValue),
                   .request = fields.count("request", 1, kMostNumber)};
  GB_TRY(fields.done());
  return reply;
}

Result<ToolAnswer> read_tool_answer(Fields& fields) {
  ToolAnswer answer;
  const auto result = fields.raw("result");
  if (auto object = fields.object("error")) {
    Fields error(*std::move(object), "error.");
    answer.error = error.required_text("message", RequestBox::kMaxLine);
    GB_TRY(error.done());
  }
  if (result.has_value() == answer.error.has_value()) {
    fields.refuse("result", "give either a result, any JSON value, or an error with a message");
  }
  answer.result = result.value_or(answer.result);
  GB_TRY(fields.done());
  return answer;
}

Result<CodePlace> read_completion_request(Fields& fields) {
  CodePlace place = read_place(fields);
  GB_TRY(fields.done());
  return place;
}

Result<InspectionRequest> read_inspection_request(Fields& fields) {
  InspectionRequest request{.place = read_place(fields)};
  request.detail = static_cast<int>(fields.count("detail", 0, 1).value_or(0));
  GB_TRY(fields.done());
  return request;
}

Result<ContextRequest> read_context_request(Fields& fields) {
  ContextRequest request;
  request.language = fields.text("language", 64).value_or(request.language);
  request.cwd = fields.text("cwd").value_or("");
  request.env = fields.environment("env").value_or(Environment());
  GB_TRY(fields.done());
  return request;
}

Result<ProcessRequest::Terminal> read_terminal(Fields& fields) {
  ProcessRequest::Terminal size;
  size.columns = static_cast<std::uint16_t>(fields.count("columns", 1, 10'000).value_or(80));
  size.rows = static_cast<std::uint16_t>(fields.count("rows", 1, 10'000).value_or(24));
  GB_TRY(fields.done());
  return size;
}

Result<ProcessRequest> read_process_request(Fields& fields) {
  ProcessRequest request;
  request.command.argv = read_argv(fields).value_or(std::vector<std::string>());
  if (request.command.argv.empty()) {
    fields.refuse("argv", "must be a list of strings that starts with the program");
  }
  request.command.cwd = fields.text("cwd").value_or("");
  request.command.env = fields.environment("env").value_or(Environment());
  request.user = read_user(fields);
  request.keep_stdin = fields.flag("stdin").value_or(false);
  request.tag = fields.text("tag", 256).value_or("");
  request.timeout = fields.duration("timeout").value_or(request.timeout);
  if (auto terminal = fields.object("terminal")) {
    Fields size(*std::move(terminal), "terminal.");
    request.terminal = GB_TRY(read_terminal(size));
  }
  GB_TRY(fields.done());
  return request;
}

Result<CommandRequest> read_command_request(Fields& fields) {
  CommandRequest request;
  Command& command = request.process.command;
  const auto argv = read_argv(fields);
  const auto shell = fields.text("shell", kMaxShell);
  if (argv.has_value() == shell.has_value()) {
    fields.refuse("argv", "give either argv, a list of strings, or shell, a line for sh");
  } else if (shell && (shell->empty() || shell->find('\0') != std::string::npos)) {
    fields.refuse("shell", "must be a non-empty string without NUL bytes");
  } else {
    command.argv = argv ? *argv : std::vector<std::string>{"/bin/sh", "-c", *shell};
  }
  command.cwd = fields.text("cwd").value_or("");
  command.env = fields.environment("env").value_or(Environment());
  request.process.user = read_user(fields);
  if (auto input = fields.text("stdin", kMaxStdin)) {
    request.process.keep_stdin = true;
    request.input = *std::move(input);
  }
  request.process.dry_run = read_dry_run(fields);
  request.process.timeout = kCommandTime;
  request.output = kCommandOutput;
  if (auto object = fields.object("limits")) {
    // The limits of memory and processes are the sandbox's.
    Fields limits(*std::move(object), "limits.");
    request.process.timeout = limits.duration("time").value_or(kCommandTime);
    request.output = Bytes{limits.size("output").value_or(kCommandOutput.count)};
    if (request.process.timeout.count() <= 0) {
      limits.refuse("time", "must be greater than 0");
    }
    if (request.output > kMostCommandOutput) {
      limits.refuse("output", "must not be more than " + to_string(kMostCommandOutput));
    }
    GB_TRY(limits.done());
  }
  GB_TRY(fields.done());
  return request;
}

Result<int> read_signal(Fields& fields) {
  const std::string name = fields.required_text("signal", 16);
  GB_TRY(fields.done());
  const std::string_view bare = std::string_view(name).substr(name.starts_with("SIG") ? 3 : 0);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && bare == known) {
      return number;
    }
  }
  return Error(ErrorCode::kInvalid, "field 'signal': unknown signal '" + printable(name) + "'",
               "use a name like \"SIGINT\"");
}

}  // namespace glovebox::rest
