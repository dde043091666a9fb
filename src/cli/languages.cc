// SPDX-License-Identifier: Apache-2.0
// glovebox languages: what can run here, and what the rest lacks; or all about one language.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output_writer.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "service/runs/run_terms.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

using namespace std::chrono_literals;

using OrderedJson = nlohmann::ordered_json;

struct LanguagesOptions {
  std::optional<std::string> name;  // Absent: all of them.
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

Row look_at(Language language, const LanguagesOptions& options, bool live) {
  Row row{.language = std::move(language), .readiness = {}, .version = {}};
  row.readiness = readiness(row.language);
  if (row.readiness.ready && !options.no_versions) {
    if (live) {
      write_fully(STDERR_FILENO, "\r\x1b[Kasking " + row.language.id + " for its version …");
    }
    row.version = ask_version(row.language);
  }
  return row;
}

std::vector<Row> collect(const Registry& registry, const LanguagesOptions& options) {
  const bool live = !options.json && ::isatty(STDERR_FILENO) == 1;
  std::vector<Row> rows;
  for (Language& language : registry.all()) {
    rows.push_back(look_at(std::move(language), options, live));
  }
  if (live) {
    write_fully(STDERR_FILENO, "\r\x1b[K");
  }
  return rows;
}

OrderedJson summary_json(const Row& row) {
  return {{"id", row.language.id},
          {"names", row.language.names},
          {"title", row.language.title},
          {"version", row.version},
          {"ready", row.readiness.ready},
          {"package", row.language.package},
          {"missing", row.readiness.missing},
          {"hint", row.readiness.hint}};
}

void print_json(const std::vector<Row>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const Row& row : rows) {
    list.push_back(summary_json(row));
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

// In seconds and bytes, as docs/json.md has it.
template <typename T>
OrderedJson limit_json(const T& value) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return static_cast<double>(value.count()) / 1000;
  } else {
    return to_plain(value);
  }
}

OrderedJson limits_json(const Limits& limits) {
  OrderedJson json = OrderedJson::object();
  each_wish([&](const auto& field) { json[field.name] = limit_json(limits.*field.limit); });
  return json;
}

OrderedJson details_json(const Row& row) {
  const Language& language = row.language;
  OrderedJson json{{"schema", schema_of("language")}};
  json.update(summary_json(row));
  json["extra_packages"] = language.extra_packages;
  json["extensions"] = language.extensions;
  json["interpreters"] = language.interpreters;
  json["file_name"] = language.file_name;
  json["compile"] = language.compile;
  json["run"] = language.run;
  json["live"] = !language.agent.empty();
  json["agent_package"] = language.agent_package;
  json["preload"] = language.preload;
  json["limits"] = limits_json(run_limits(language, {}));
  json["compile_limits"] =
      language.compile.empty() ? OrderedJson() : limits_json(compile_limits(language, {}));
  json["tiers"] = OrderedJson::object();
  for (const Language& variant : language.variants) {
    const Readiness ready = readiness(variant);
    json["tiers"][variant.tier] = {{"ready", ready.ready},
                                   {"missing", ready.missing},
                                   {"hint", ready.hint},
                                   {"compile", variant.compile},
                                   {"run", variant.run}};
  }
  json["origin"] = language.origin;
  return json;
}

// "time 30s, memory 512 MiB"; leaves out those that are zero, which means no limit.
std::string limits_text(const Limits& limits) {
  std::string text;
  each_wish([&](const auto& field) {
    const auto& value = limits.*field.limit;
    using Value = std::decay_t<decltype(value)>;
    std::string shown;
    if constexpr (std::is_same_v<Value, Bytes>) {
      shown = value.count == 0 ? "" : to_string(value);
    } else if (const OrderedJson number = limit_json(value); number != 0) {
      shown = number == std::floor(number.get<double>())
                  ? std::to_string(static_cast<long long>(number.get<double>()))
                  : number.dump();
      shown += std::is_same_v<Value, std::chrono::milliseconds> ? "s" : "";
    }
    if (!shown.empty()) {
      text += (text.empty() ? "" : ", ") + std::string(field.name) + " " + shown;
    }
  });
  return text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : between).append(word);
  }
  return text;
}

void print_details(const Row& row) {
  const Language& language = row.language;
  std::cout << printable(language.title) << "\n";
  const auto line = [](std::string name, const std::string& value) {
    if (!value.empty()) {
      name.resize(16, ' ');
      std::cout << "  " << name << printable(value) << "\n";
    }
  };
  std::vector<std::string> packages = language.extra_packages;
  if (!language.package.empty()) {
    packages.insert(packages.begin(), language.package);
  }
  line("id", language.id);
  line("other names", joined(language.names, ", "));
  line("ready", row.readiness.ready ? "yes" : "no");
  line("missing", row.readiness.missing);
  line("to install", row.readiness.hint);
  line("version", row.version);
  line("packages", joined(packages, " "));
  line("extensions", joined(language.extensions, ", "));
  line("interpreters", joined(language.interpreters, ", "));
  line("file", language.file_name);
  line("compiles with", joined(language.compile, " "));
  line("runs with", joined(language.run, " "));
  line("live contexts", language.agent.empty()           ? "no"
                        : language.agent_package.empty() ? "yes"
                                                         : "yes, with " + language.agent_package);
  line("preloads", joined(language.preload, ", "));
  line("limits", limits_text(run_limits(language, {})));
  line("compile limits", language.compile.empty() ? "" : limits_text(compile_limits(language, {})));
  for (const Language& variant : language.variants) {
    const Readiness ready = readiness(variant);
    const std::string how =
        variant.compile.empty() ? "the tier's own " + variant.run.front() : "yes";
    line("in tier " + variant.tier,
         ready.ready ? how : "missing " + ready.missing + ": " + ready.hint);
  }
  line("defined in", language.origin);
}

Result<int> show(const LanguagesOptions& options) {
  const Registry registry = Registry::load(Registry::user_directories());
  const Row row = look_at(GB_TRY(registry.find(*options.name)), options, false);
  if (options.json) {
    std::cout << details_json(row).dump() << "\n";
  } else {
    print_details(row);
  }
  return 0;
}

int list_all(const LanguagesOptions& options) {
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
  command->footer(
      "Examples:\n  glovebox languages\n  glovebox languages cpp\n"
      "  glovebox languages --json --no-versions");
  auto options = std::make_shared<LanguagesOptions>();
  command->add_option("NAME", options->name,
                      "Show the details of this language: its id, or another of its names");
  command->add_flag("--json", options->json, "Print JSON: a list, or the details of NAME");
  command->add_flag("--no-versions", options->no_versions,
                    "Do not start interpreters to query their versions");
  command->callback([action, options] {
    *action = [options] { return options->name ? ended(show(*options)) : list_all(*options); };
  });
}

}  // namespace glovebox::cli
