// SPDX-License-Identifier: Apache-2.0
// glovebox policy: what a policy says about a program, and whether it says what its author meant.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input_file.h"
#include "cli/output_writer.h"
#include "cli/policy_files.h"
#include "cli/sandbox_options.h"
#include "guard/policy/assessment_json.h"
#include "guard/policy/call_assessment.h"
#include "language/registry.h"
#include "sandbox/slot.h"
#include "service/runs/analysis.h"
#include "spec/json/error_json.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

using policy::Assessment;
using policy::Example;
using policy::Policy;

constexpr std::size_t kMaxCheckedCode = 16 * 1024 * 1024;
constexpr int kExitAsk = 1;
constexpr int kExitWrongExamples = 1;

constexpr const char* kCheckFooter =
    R"(Exit status: 0 the policy allows the program; 1 a person has to agree; 126 it is refused.

Examples:
  glovebox policy check untrusted script.py
  glovebox policy check mine.toml build.sh --json
  glovebox policy check mine.toml --tool mcp.github.delete_repo --arguments '{"repo": "a/b"}'
  cat answer.txt | glovebox policy check grader - -l python)";

constexpr const char* kTestFooter =
    R"(The examples are in a file beside the policy: mine.examples.toml beside mine.toml. Exit status:
0 the policy decides each example as expected; 1 it does not.

Examples:
  glovebox policy test mine.toml
  glovebox policy test coding-agent)";

constexpr const char* kFooter =
    R"(Examples:
  glovebox policy list
  glovebox policy show untrusted > mine.toml
  glovebox policy check mine.toml script.py
  glovebox policy test mine.toml)";

struct PolicyOptions {
  std::string policy;
  std::string code;
  std::string tool;
  std::string arguments = "{}";
  std::string language;
  bool json = false;
};

bool stdout_has_colour() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

int status_of(policy::Action decision) {
  return decision == policy::Action::kRefuse ? kExitRefused
         : decision == policy::Action::kAsk  ? kExitAsk
                                             : 0;
}

int show_assessment(const PolicyOptions& options,
                    const Assessment& assessment,
                    const std::string& code,
                    const std::string& name) {
  write_fully(STDOUT_FILENO, options.json ? policy::to_json(assessment) + "\n"
                                          : describe(assessment, code, name, stdout_has_colour()));
  return status_of(assessment.decision);
}

Result<int> check_call(const PolicyOptions& options) {
  const Policy policy = GB_TRY(load_policy(options.policy));
  if (!nlohmann::json::accept(options.arguments)) {
    return Error(ErrorCode::kInvalid, "--arguments must be JSON",
                 R"(write the arguments as an object: '{"repo": "a/b"}')");
  }
  return show_assessment(options, policy::assess_call({policy}, options.tool, options.arguments),
                         options.arguments, options.tool);
}

Result<int> check(const PolicyOptions& options) {
  if (options.tool.empty() == options.code.empty()) {
    return Error(ErrorCode::kInvalid, "name what to check: a program, or a call with --tool",
                 "glovebox policy check POLICY CODE");
  }
  if (!options.tool.empty()) {
    return check_call(options);
  }
  if (options.policy == kStandardInput && options.code == kStandardInput) {
    return Error(ErrorCode::kInvalid, "standard input cannot be both the policy and the program",
                 "save one of them in a file, and name it");
  }
  const Policy policy = GB_TRY(load_policy(options.policy));
  const std::string code =
      GB_TRY(read_whole_input(options.code, kMaxCheckedCode, "check the part that matters"));
  const Registry registry = Registry::load(Registry::user_directories());
  const Language language =
      GB_TRY(options.language.empty()
                 ? registry.detect(options.code, std::string_view(code).substr(0, 512))
                 : registry.find(options.language));
  (void)sweep_leftovers();
  const auto programs = GB_TRY(analyse({{language.id, code, options.code}}, in_own_sandbox({})));
  const Assessment assessment = policy::assess({policy}, programs.front());
  return show_assessment(options, assessment, code, options.code);
}

struct Outcome {
  const Example& example;
  Assessment assessment;

  [[nodiscard]] bool as_expected() const {
    return assessment.decision == example.expected &&
           (example.rule.empty() ||
            std::ranges::any_of(assessment.findings, [this](const policy::Finding& finding) {
              return finding.rule == example.rule;
            }));
  }
};

void print(const Outcome& outcome) {
  const Example& example = outcome.example;
  std::cout << (outcome.as_expected() ? "ok     " : "WRONG  ")
            << printable(!example.name.empty()   ? example.name
                         : !example.tool.empty() ? example.tool
                                                 : example.code.substr(0, 60));
  if (!outcome.as_expected()) {
    std::cout << ": expected " << name_of(example.expected)
              << (example.rule.empty() ? "" : " by " + printable(example.rule)) << ", decided "
              << name_of(outcome.assessment.decision) << "\n"
              << describe(outcome.assessment,
                          example.tool.empty() ? example.code : example.arguments, "example",
                          stdout_has_colour());
  } else {
    std::cout << ": " << name_of(example.expected) << "\n";
  }
}

std::string json_of(const std::vector<Outcome>& outcomes, std::size_t wrong) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Outcome& each : outcomes) {
    list.push_back({{"name", each.example.name},
                    {"as_expected", each.as_expected()},
                    {"expected", name_of(each.example.expected)},
                    {"assessment", Json::parse(policy::to_json(each.assessment))}});
  }
  return Json({{"schema", schema_of("policy_test")}, {"wrong", wrong}, {"examples", list}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<int> test(const PolicyOptions& options) {
  const Policy policy = GB_TRY(load_policy(options.policy));
  const std::vector<Example> examples = GB_TRY(load_examples(options.policy));
  const Registry registry = Registry::load(Registry::user_directories());
  std::vector<SourceUnit> units;
  for (const Example& each : examples) {
    if (each.tool.empty()) {
      units.push_back({GB_TRY(registry.find(each.language)).id, each.code, each.file});
    }
  }
  (void)sweep_leftovers();
  std::vector<policy::Program> programs;
  if (!units.empty()) {
    programs = GB_TRY(analyse(units, in_own_sandbox({})));
  }
  std::vector<Outcome> outcomes;
  auto program = programs.begin();
  for (const Example& each : examples) {
    outcomes.push_back({each, each.tool.empty()
                                  ? policy::assess({policy}, *program++)
                                  : policy::assess_call({policy}, each.tool, each.arguments)});
  }
  const auto wrong = static_cast<std::size_t>(
      std::ranges::count_if(outcomes, [](const Outcome& each) { return !each.as_expected(); }));
  if (options.json) {
    std::cout << json_of(outcomes, wrong) << "\n";
  } else {
    std::ranges::for_each(outcomes, print);
    std::cout << outcomes.size() << " examples, " << wrong << " wrong\n";
  }
  return wrong == 0 ? 0 : kExitWrongExamples;
}

Result<int> list() {
  for (const std::string_view name : policy::shipped_policies()) {
    const Policy policy = GB_TRY(load_policy(std::string(name)));
    std::cout << name << std::string(16 - std::min<std::size_t>(15, name.size()), ' ')
              << policy.description << "\n";
  }
  return 0;
}

Result<int> show(const PolicyOptions& options) {
  GB_TRY(load_policy(options.policy));
  std::cout << policy::shipped_policy(options.policy);
  return 0;
}

int with_json_errors(const Result<int>& status, bool json) {
  if (!status && json) {
    write_fully(STDOUT_FILENO, to_json(status.error()) + "\n");
  }
  return ended(status);
}

}  // namespace

void add_policy(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("policy", "Check programs before they run");
  command->footer(kFooter);
  command->require_subcommand(1);
  auto options = std::make_shared<PolicyOptions>();
  const auto add_policy_argument = [&options](CLI::App& to) {
    to.add_option("POLICY", options->policy,
                  "Policy file, or the name of a shipped policy; '-' reads it from standard input")
        ->required()
        ->type_name("FILE");
  };
  const auto add_json = [&options](CLI::App& to) {
    to.add_flag("--json", options->json, "Print the result as one JSON object");
  };

  auto* const checking =
      command->add_subcommand("check", "Show what a policy says about a program");
  checking->footer(kCheckFooter);
  add_policy_argument(*checking);
  auto* const code =
      checking
          ->add_option("CODE", options->code, "Program to check; '-' reads it from standard input")
          ->type_name("CODE");
  checking
      ->add_option("-l,--language", options->language,
                   "Language [default: by the file's name or its first line]")
      ->type_name("LANGUAGE");
  auto* const tool = checking
                         ->add_option("--tool", options->tool,
                                      "Instead of a program: the name of a tool that code calls")
                         ->type_name("NAME")
                         ->excludes(code);
  checking->add_option("--arguments", options->arguments, "Arguments of that call")
      ->type_name("JSON")
      ->needs(tool)
      ->capture_default_str();
  add_json(*checking);
  checking->callback([action, options] {
    *action = [options] { return with_json_errors(check(*options), options->json); };
  });

  auto* const testing = command->add_subcommand("test", "Run the examples beside a policy");
  testing->footer(kTestFooter);
  add_policy_argument(*testing);
  add_json(*testing);
  testing->callback([action, options] {
    *action = [options] { return with_json_errors(test(*options), options->json); };
  });

  auto* const listing = command->add_subcommand("list", "List the shipped policies");
  listing->callback([action] { *action = [] { return ended(list()); }; });

  auto* const showing = command->add_subcommand("show", "Print a shipped policy");
  add_policy_argument(*showing);
  showing->callback([action, options] { *action = [options] { return ended(show(*options)); }; });

  for (CLI::App* const each : {checking, testing, listing, showing}) {
    forbid_empty_values(*each);
  }
}

}  // namespace glovebox::cli
