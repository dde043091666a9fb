// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/policy_gate.h"

#include <algorithm>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/random.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "guard/policy/analysers.h"
#include "guard/policy/assessment_json.h"
#include "service/guarded/call_gate.h"
#include "service/runs/analyser_program.h"
#include "spec/json/verdict_json.h"
#include "trace/span.h"

namespace glovebox {
namespace {

using nlohmann::json;
using policy::Action;
using policy::Assessment;
using policy::Policy;

// How often to check that a waiting listener is still there.
constexpr std::chrono::seconds kGateBeat{1};
// A dry run is kept for longer than its question, so that what is approved last can be committed.
constexpr std::chrono::seconds kDecisionTime{60};

std::vector<std::string> grants_of(const NetworkRules& network) {
  std::vector<std::string> grants;
  for (const NetworkRule& rule : network.allow) {
    grants.push_back("network " + rule.to_text());
  }
  if (network.otherwise == NetworkRules::Otherwise::kAllow) {
    grants.emplace_back("network wherever no rule forbids it");
  }
  return grants;
}

// `asked`: a RunRequest, or the SandboxInfo of what it runs in.
template <typename Asked>
std::vector<std::string> all_grants_of(const Asked& asked) {
  std::vector<std::string> grants = grants_of(asked.network);
  if (asked.as_root) {
    grants.emplace_back("root");
  }
  if (asked.nested) {
    grants.emplace_back("nested");
  }
  return grants;
}

void add_inputs(const RunRequest& program, std::vector<std::string>& inputs) {
  inputs.insert(inputs.end(), {program.language, program.code, program.name, program.standard_input,
                               program.verify, std::to_string(program.arguments.size())});
  inputs.insert(inputs.end(), program.arguments.begin(), program.arguments.end());
  for (const auto& [name, content] : program.files) {
    inputs.insert(inputs.end(), {name, content});
  }
  for (const auto& [name, value] : program.env) {
    inputs.insert(inputs.end(), {name, value});
  }
}

// Keeps what was found after the lines of `before`, and counts from there.
void forget_lines(std::vector<policy::Fact>& facts, std::string_view before) {
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
  std::erase_if(facts, [&](const policy::Fact& fact) {
    return fact.line <= lines && fact.kind != policy::FactKind::kUnparsed;
  });
  for (policy::Fact& fact : facts) {
    fact.line -= std::min(fact.line - 1, lines);
  }
}

Result<NamedLocks::Held> wait_turn(NamedLocks& turns,
                                   std::string_view name,
                                   const EventSink& sink) {
  for (;;) {
    if (auto turn = turns.take(name, kGateBeat)) {
      return std::move(*turn);
    }
    if (!sink({})) {
      return Error(ErrorCode::kUnavailable, "the client left before its turn");
    }
  }
}

// A dry run fails for these reasons before anything was executed.
bool can_have_none(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kConflict ||
         code == ErrorCode::kInvalid;
}

std::string command_text(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) {
    text += (text.empty() ? "" : " ") + shell_quoted(word);
  }
  return text;
}

}  // namespace

PolicyGate::PolicyGate(SandboxService& service, PolicyOptions options)
    : service_(service),
      approval_time_(options.approval_time),
      holding_(service, std::move(options)),
      approvals_(approval_time_),
      reviews_(approval_time_) {}

RunAnalyser PolicyGate::in_sandbox_of(const Caller& caller) const {
  return [this, caller](const std::string& units) -> Result<AnalyserEnd> {
    // It counts as a run of the tenant whose code it reads, and can harm nobody else's.
    RunRequest request;
    request.language = "sh";
    request.code =
        "exec " + shell_quoted(GB_TRY(analyser_path())) + " " + shell_quoted(kAnalysedFile) + "\n";
    request.files.emplace(kAnalysedFile, units);
    request.analysis = true;
    request.limits.wall = kAnalysisTime;
    request.limits.memory = kAnalysisMemory;
    request.limits.pids = kAnalysisProcesses;
    request.limits.disk = kAnalysisDisk;
    request.limits.output = kAnalysisOutput;
    AnalyserEnd end;
    GB_TRY(service_.run(caller, request, [&](std::string_view event) {
      if (is_verdict_event(event)) {
        const json parsed = json::parse(event, nullptr, false);
        end.printed = parsed.value("stdout", "");
        const std::string status = parsed.value("status", "");
        for (const Status each : {Status::kOk, Status::kTimeout, Status::kOutOfMemory}) {
          if (status == to_string(each)) {
            end.status = to_string(each);
          }
        }
      }
      return true;
    }));
    return end;
  };
}

Result<PolicyGate::Judgement> PolicyGate::examine(const Caller& caller,
                                                  const std::vector<Policy>& policies,
                                                  const Request& request) {
  const trace::Span span("policy");
  std::vector<SourceUnit> units = request.units;
  if (!request.before.empty()) {
    units.front().code.insert(0, request.before);
  }
  std::vector<policy::Program> programs =
      GB_TRY(analyse(units, confined_or(analyser_, in_sandbox_of(caller))));
  forget_lines(programs.front().facts, request.before);
  Assessment strictest;
  std::size_t which = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (!request.unseen.empty()) {
      programs[i].facts.push_back({.kind = policy::FactKind::kUnparsed, .name = request.unseen});
    }
    Assessment assessment = policy::assess(policies, programs[i]);
    if (i == 0 || assessment.decision > strictest.decision) {
      strictest = std::move(assessment);
      which = i;
    }
  }
  Judgement judgement;
  judgement.parsed = std::ranges::none_of(programs, [](const policy::Program& program) {
    return std::ranges::any_of(program.facts, [](const policy::Fact& fact) {
      return fact.kind == policy::FactKind::kUnparsed;
    });
  });
  if (strictest.decision < Action::kAsk) {
    return judgement;
  }
  if (strictest.decision == Action::kRefuse) {
    return Error(ErrorCode::kRefused,
                 "the policy refuses this program: " + reason_of(strictest, "code"),
                 "glovebox policy check shows all findings; change the program, or the policy");
  }
  Approval approval{.tenant = caller.tenant,
                    .sandbox = std::string(request.sandbox),
                    .kind = std::string(request.kind),
                    .language = request.units[which].language,
                    .code = request.units[which].code,
                    .assessment = std::move(strictest),
                    .grants = request.grants};
  ContentHash hash;
  hash.add(request.before).add(request.kind).add(request.sandbox).add(request.units.size());
  for (const SourceUnit& unit : request.units) {
    hash.add(unit.language).add(unit.code).add(unit.file);
  }
  hash.add(request.grants.size());
  for (const std::string& grant : request.grants) {
    hash.add(grant);
  }
  for (const std::string& input : request.inputs) {
    hash.add(input);
  }
  for (const Policy& policy : policies) {
    hash.add(policy.origin);
  }
  approval.hash = hash.hex();
  judgement.question = std::move(approval);
  return judgement;
}

Result<void> PolicyGate::ask(Approval question, const EventSink& sink) {
  trace::Span span("approval");
  return approvals_.wait(std::move(question), [&](const Approval* asked) {
    return !sink ||
           sink(asked == nullptr ? std::string()
                                 : policy::approval_needed_event(asked->id, asked->assessment,
                                                                 asked->grants, asked->hash));
  });
}

Result<void> PolicyGate::decide(const Caller& caller,
                                const std::vector<Policy>& policies,
                                const Request& request,
                                const EventSink& sink) {
  Judgement judgement = GB_TRY(examine(caller, policies, request));
  if (!judgement.question) {
    return {};
  }
  if (judgement.question->assessment.dry_run_first) {
    judgement.question->no_dry_run = "only code that is executed in a context can have one";
  }
  return ask(*std::move(judgement.question), sink);
}

Result<std::unique_ptr<Trial>> PolicyGate::try_first(const Cell& cell, Approval& question) {
  question.no_dry_run = Trial::why_not(cell.request);
  if (!question.no_dry_run.empty()) {
    return std::unique_ptr<Trial>();
  }
  const Trial::Place place{.service = service_,
                           .caller = cell.caller,
                           .sandbox = std::string(cell.sandbox),
                           .context = std::string(cell.context)};
  ExecuteRequest keyed = cell.request;
  std::optional<KeptTrials::Kept> kept;
  if (!keyed.idempotency_key.empty()) {
    kept = kept_.find(place, keyed.idempotency_key);
    // Nobody else knows it: no client can ask again for what is discarded.
    keyed.idempotency_key = kept ? kept->key : random_name();
    keyed.dry_run_seal = kept ? kept->seal : "";
  }
  auto tried = Trial::run(place, keyed, approval_time_ + kDecisionTime, cell.sink);
  if (!tried && !kept && can_have_none(tried.error().code())) {
    question.no_dry_run = tried.error().message();
    return std::unique_ptr<Trial>();
  }
  std::unique_ptr<Trial> trial = GB_TRY(std::move(tried));
  if (kept && kept->id == trial->id()) {
    trial->was_committed();
  }
  question.dry_run = trial->report();
  question.hash = ContentHash().add(question.hash).add(trial->digest()).hex();
  return trial;
}

Result<void> PolicyGate::execute(const Caller& caller,
                                 std::string_view sandbox,
                                 std::string_view context,
                                 const ExecuteRequest& request,
                                 const EventSink& sink) {
  const std::vector<Policy> policies = holding_.of_sandbox(caller, sandbox);
  const Cell cell{caller, sandbox, context, request, sink};
  if (policies.empty()) {
    return carry_out(cell);
  }
  const std::vector<ContextInfo> contexts = GB_TRY(service_.contexts(caller, sandbox));
  const auto found = std::ranges::find(contexts, context, &ContextInfo::id);
  if (found == contexts.end() && context != kDefaultContext) {
    return Error(ErrorCode::kNotFound, "no context '" + printable(context) + "'");
  }
  const std::string language = found == contexts.end() ? "python" : found->language;
  NamedLocks::Held turn =
      GB_TRY(wait_turn(turns_, std::string(sandbox) + "/" + std::string(context), sink));
  const SandboxInfo info = GB_TRY(service_.find(caller, sandbox));
  Request asked{.kind = "execution",
                .sandbox = sandbox,
                .units = {{language, request.code}},
                .grants = all_grants_of(info),
                .inputs = {std::string(context)}};
  for (const auto& [name, value] : request.env) {
    asked.inputs.insert(asked.inputs.end(), {name, value});
  }
  // A cell in another of IPython's languages is a program of its own.
  const std::size_t first =
      std::min(request.code.find_first_not_of(" \t\r\n"), request.code.size());
  const bool goes_on = policy::family_of(language) == "python" &&
                       !std::string_view(request.code).substr(first).starts_with("%%");
  if (goes_on) {
    CellHistory::Known known = history_.of(caller.tenant, sandbox, context);
    asked.before = std::move(known.code);
    asked.unseen = known.whole ? "" : "more was executed before it than can be analysed";
  }
  Judgement judgement = GB_TRY(examine(caller, policies, asked));
  std::unique_ptr<Trial> trial;
  if (judgement.question) {
    if (judgement.question->assessment.dry_run_first) {
      trial = GB_TRY(try_first(cell, *judgement.question));
    }
    if (!trial || !trial->is_decided()) {
      GB_TRY(ask(*std::move(judgement.question), sink));
    }
  }
  if (trial && !trial->is_decided()) {
    GB_TRY(trial->commit());
    kept_.add(*trial, request.idempotency_key);
  }
  if (judgement.parsed && goes_on) {
    history_.add(caller.tenant, sandbox, context, request.code,
                 [&](const std::string& id) { return service_.find(caller, id).has_value(); });
  }
  if (trial) {
    trial->tell(sink);
    return {};
  }
  return carry_out(cell);
}

Result<void> PolicyGate::carry_out(const Cell& cell) {
  std::vector<Policy> policies;
  if (!cell.request.tools.tools.empty()) {
    // A sandbox that is not there fails where it is used.
    const auto info = service_.find(cell.caller, cell.sandbox);
    policies = holding_.all(cell.caller, info ? info->policies : std::vector<std::string>());
    std::erase_if(policies, [](const Policy& policy) { return !policy.tools; });
  }
  if (policies.empty()) {
    return service_.execute(cell.caller, cell.sandbox, cell.context, cell.request, cell.sink);
  }
  CallGate gate({service_, cell.caller, cell.sandbox, cell.context}, std::move(policies),
                approvals_, cell.sink);
  return service_.execute(cell.caller, cell.sandbox, cell.context, cell.request,
                          [&](std::string_view event) { return gate.take(event); });
}

void PolicyGate::forked(const Caller& caller,
                        std::string_view sandbox,
                        std::string_view context,
                        std::string_view fork) {
  history_.copy(caller.tenant, sandbox, context, fork);
}

void PolicyGate::copied(const Caller& caller, std::string_view sandbox, std::string_view copy) {
  history_.copy_all(caller.tenant, sandbox, copy);
}

Result<void> PolicyGate::run(const Caller& caller,
                             const RunRequest& request,
                             const EventSink& sink) {
  const std::vector<Policy> policies = holding_.examining(caller, request.policies);
  if (policies.empty()) {
    return {};
  }
  Request asked{.kind = "run",
                .units = {{holding_.language_of(request), request.code, request.name}},
                .grants = all_grants_of(request)};
  if (!request.verify.empty()) {
    asked.units.push_back({"bash", request.verify});
  }
  for (const std::string& command : request.checks.commands) {
    asked.units.push_back({"bash", command});
  }
  add_inputs(request, asked.inputs);
  GB_TRY(decide(caller, policies, asked, sink));
  return {};
}

Result<void> PolicyGate::judge(const Caller& caller,
                               const JudgeRequest& request,
                               const EventSink& sink) {
  const std::vector<Policy> policies = holding_.examining(caller, request.program.policies);
  if (policies.empty()) {
    return {};
  }
  Request asked{.kind = "judge",
                .units = {{holding_.language_of(request.program), request.program.code,
                           request.program.name}}};
  add_inputs(request.program, asked.inputs);
  if (request.checker) {
    asked.units.push_back(
        {holding_.language_of(*request.checker), request.checker->code, request.checker->name});
    add_inputs(*request.checker, asked.inputs);
  }
  GB_TRY(decide(caller, policies, asked, sink));
  return {};
}

Result<void> PolicyGate::process(const Caller& caller,
                                 std::string_view sandbox,
                                 const ProcessRequest& request) {
  const std::vector<Policy> policies = holding_.of_sandbox(caller, sandbox);
  if (policies.empty()) {
    return {};
  }
  const SandboxInfo info = GB_TRY(service_.find(caller, sandbox));
  Request asked{.kind = "command",
                .sandbox = sandbox,
                .units = {{"bash", command_text(request.command.argv)}},
                .grants = all_grants_of(info),
                .inputs = {request.command.cwd}};
  if (request.terminal || request.keep_stdin) {
    asked.unseen = request.terminal ? "what is typed at its terminal is not analysed"
                                    : "what is written to it later is not analysed";
  }
  for (const auto& [name, value] : request.command.env) {
    asked.inputs.insert(asked.inputs.end(), {name, value});
  }
  GB_TRY(decide(caller, policies, asked, request.told));
  return {};
}

Result<void> PolicyGate::packages(const Caller& caller,
                                  std::string_view sandbox,
                                  const PackagesRequest& request,
                                  const EventSink& sink) {
  const std::vector<Policy> policies = holding_.of_sandbox(caller, sandbox);
  if (policies.empty()) {
    return {};
  }
  std::string text;
  for (const std::string& package : request.packages) {
    const std::size_t colon = package.find(':');
    const bool npm = package.starts_with("npm:");
    text += (npm ? "npm install " : "pip install ") +
            shell_quoted(colon == std::string::npos ? package : package.substr(colon + 1)) + "\n";
  }
  GB_TRY(decide(caller, policies,
                {.kind = "packages", .sandbox = sandbox, .units = {{"bash", std::move(text)}}},
                sink));
  return {};
}

Result<void> PolicyGate::recipe(const Caller& caller, const Recipe& recipe) {
  GB_TRY(holding_.known(recipe.policies));
  const std::vector<Policy> policies = holding_.examining(caller, {});
  if (policies.empty()) {
    return {};
  }
  Request asked{.kind = "template", .grants = grants_of(recipe.network)};
  if (recipe.dockerfile) {
    asked.units = {{"bash", ""}};
    asked.unseen = "the commands of a Dockerfile are not analysed";
  }
  for (const RecipeStep& step : recipe.steps) {
    if (step.kind == RecipeStep::Kind::kCommand) {
      asked.units.push_back({"bash", step.text});
    }
  }
  for (const std::string& command : {recipe.start, recipe.ready}) {
    if (!command.empty()) {
      asked.units.push_back({"bash", command});
    }
  }
  if (!asked.units.empty()) {
    GB_TRY(decide(caller, policies, asked, {}));
  }
  return {};
}

}  // namespace glovebox
