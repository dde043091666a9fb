// SPDX-License-Identifier: Apache-2.0
// glovebox languages: what can run here, and what is missing for the rest.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output_writer.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "service/one_shot.h"

namespace glovebox::cli {
namespace {

using namespace std::chrono_literals;

struct LanguagesOptions {
  bool json = false;
  bool no_versions = false;
};

struct Row {
  Language language;
  Readiness readiness;
  std::string version;
};

// Asks the language's own programs, sealed as any guest: a version command is just a program.
std::string ask_version(const Language& language) {
  if (language.version.empty()) {
    return {};
  }
  SandboxSpec spec{.limits = run_limits(language, {}), .env = {}, .mounts = language.mounts};
  spec.limits.wall = 10s;
  auto sandbox = Sandbox::create(spec, {.exactly = {}, .at_least = "landlock"});
  if (!sandbox) {
    return {};
  }
  const Plan plan = make_plan(language, {}, {}, spec.limits, spec.limits);
  const RunOptions options{.limits = spec.limits};
  auto outcome =
      (*sandbox)->run({.argv = language.version, .env = plan.run.env, .cwd = {}}, options);
  if (!outcome) {
    return {};
  }
  const std::string version = version_in(outcome->out.bytes);
  return version.empty() ? version_in(outcome->err.bytes) : version;
}

std::vector<Row> collect(const Registry& registry, const LanguagesOptions& options) {
  const bool live = !options.json && ::isatty(STDERR_FILENO) == 1;
  std::vector<Row> rows;
  for (Language& language : registry.all()) {
    Row row{.language = std::move(language), .readiness = {}, .version = {}};
    row.readiness = readiness(row.language);
    if (row.readiness.ready && !options.no_versions) {
      if (live) {
        write_fully(STDERR_FILENO, "\r\x1b[Kasking " + row.language.id + " for its version …");
      }
      row.version = ask_version(row.language);
    }
    rows.push_back(std::move(row));
  }
  if (live) {
    write_fully(STDERR_FILENO, "\r\x1b[K");
  }
  return rows;
}

void print_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"id", row.language.id},
                    {"names", row.language.names},
                    {"title", row.language.title},
                    {"version", row.version},
                    {"ready", row.readiness.ready},
                    {"package", row.language.package},
                    {"missing", row.readiness.missing},
                    {"hint", row.readiness.hint}});
  }
  std::cout << list.dump() << "\n";
}

void print_text(const std::vector<Row>& rows) {
  const auto column = [](std::string text, std::size_t width) {
    text.resize(std::max(width, text.size() + 1), ' ');
    return text;
  };
  std::size_t ready = 0;
  for (const Row& row : rows) {
    ready += row.readiness.ready ? 1 : 0;
    std::cout << (row.readiness.ready ? "✓ " : "· ") << column(row.language.id, 18)
              << column(row.language.title, 26)
              << (row.readiness.ready
                      ? row.version
                      : "missing " + row.readiness.missing + ": " + row.readiness.hint)
              << "\n";
  }
  std::cout << ready << " of " << rows.size() << " languages are ready\n";
}

int run(const LanguagesOptions& options) {
  const Registry registry = Registry::load(Registry::user_directories());
  const std::vector<Row> rows = collect(registry, options);
  if (options.json) {
    print_json(rows);
  } else {
    print_text(rows);
  }
  for (const Error& problem : registry.problems()) {
    (void)report(problem);
  }
  return registry.problems().empty() ? 0 : kExitFailed;
}

}  // namespace

void add_languages(CLI::App& app, Action* action) {
  auto* const command =
      app.add_subcommand("languages", "List languages and what is missing for each");
  command->footer("Examples:\n  glovebox languages\n  glovebox languages --json --no-versions");
  auto options = std::make_shared<LanguagesOptions>();
  command->add_flag("--json", options->json, "Print a JSON list");
  command->add_flag("--no-versions", options->no_versions,
                    "Do not start interpreters to query their versions");
  command->callback([action, options] { *action = [options] { return run(*options); }; });
}

}  // namespace glovebox::cli
