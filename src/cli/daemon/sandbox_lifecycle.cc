// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox kill, pause, resume, extend, snapshot, fork.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

struct EachOptionsText {
  DaemonOptionsText daemon;
  std::vector<std::string> ids;
  bool all = false;
  bool to_disk = false;
};

// Sends one request for each sandbox named. All are tried; the first error is returned.
struct EachCommand {
  const char* name;
  const char* words;
  const char* examples;
  const char* method;
  const char* path;
  const char* all;  // What the option --all does; null: there is none.
};
constexpr EachCommand kEach[] = {
    {"kill", "End sandboxes and delete everything in them",
     "--all does not ask, and prints how many it ended.\n\nExamples:\n  glovebox sandbox kill ID\n"
     "  glovebox sandbox kill --all",
     "DELETE", "", "End all sandboxes of your tenant, paused ones too"},
    {"pause", "Pause sandboxes: stop their processes, keep memory and files",
     "Examples:\n  glovebox sandbox pause ID\n  glovebox sandbox pause --to-disk ID", "POST",
     "/pause", nullptr},
    {"resume", "Resume paused sandboxes", "Examples:\n  glovebox sandbox resume ID", "POST",
     "/resume", nullptr},
};

Result<int> for_each(const EachCommand& what, const EachOptionsText& options) {
  if (options.ids.empty() && !options.all) {
    return Error(ErrorCode::kInvalid, "ID or --all is required",
                 "run 'glovebox sandbox " + std::string(what.name) + " --help' for its options");
  }
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  std::vector<std::string> ids = options.ids;
  if (options.all) {
    for (const Json& sandbox : GB_TRY(fetch_sandboxes(daemon, ""))) {
      ids.push_back(text_in(sandbox, "id"));
    }
  }
  std::optional<Error> wrong;
  Json done = Json::array();
  for (const std::string& id : ids) {
    const auto answer =
        daemon.ask(what.method, "/v1/sandboxes/" + encode(id) + std::string(what.path),
                   options.to_disk ? Json{{"to_disk", true}} : Json());
    if (answer) {
      done.push_back(id);
    } else if (options.all && answer.error().code() == ErrorCode::kNotFound) {
      // It ended by itself since they were listed.
    } else if (wrong) {
      (void)report(answer.error());
    } else {
      wrong = answer.error();
    }
  }
  if (options.all && !options.daemon.json) {
    std::cout << "ended " << done.size() << (done.size() == 1 ? " sandbox\n" : " sandboxes\n");
  }
  if (options.daemon.json) {
    std::cout << Json{{"schema", schema_of("ids")}, {"ids", std::move(done)}}.dump() << "\n";
  }
  return wrong ? Result<int>(*wrong) : Result<int>(0);
}

struct OneOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string name;
  std::string timeout;
  unsigned count = 1;
  bool memory = false;
};

Result<int> snapshot(const OneOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Json request = Json::object();
  if (!options.name.empty()) {
    request["name"] = options.name;
  }
  const Json made =
      GB_TRY(daemon.ask("POST", "/v1/sandboxes/" + encode(options.id) + "/snapshot", request));
  std::cout << (options.daemon.json ? made.dump() : printable(text_in(made, "template"))) << "\n";
  return 0;
}

Result<int> fork(const OneOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Json request{{"count", options.count}};
  if (!options.timeout.empty()) {
    request["timeout"] = options.timeout;
  }
  if (options.memory) {
    request["memory"] = true;
  }
  const Json made =
      GB_TRY(daemon.ask("POST", "/v1/sandboxes/" + encode(options.id) + "/fork", request));
  if (options.daemon.json) {
    std::cout << made.dump(2) << "\n";
    return 0;
  }
  for (const Json& sandbox : list_in(made, "sandboxes")) {
    std::cout << printable(text_in(sandbox, "id")) << "\n";
  }
  return 0;
}

Result<int> extend(const OneOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json changed = GB_TRY(
      daemon.ask("PATCH", "/v1/sandboxes/" + encode(options.id), {{"timeout", options.timeout}}));
  std::cout << (options.daemon.json ? changed.dump(2) : printable(text_in(changed, "expires")))
            << "\n";
  return 0;
}

CLI::App* add_one(CLI::App& group,
                  const char* name,
                  const char* words,
                  const char* footer,
                  const std::shared_ptr<OneOptionsText>& options,
                  Result<int> (*run)(const OneOptionsText&),
                  Action* action) {
  auto* const command = group.add_subcommand(name, words);
  command->footer(footer);
  command->add_option("ID", options->id, "The sandbox")->required();
  add_daemon_options(*command, options->daemon);
  command->callback(
      [action, options, run] { *action = [options, run] { return ended(run(*options)); }; });
  return command;
}

}  // namespace

void add_sandbox_lifecycle(CLI::App& group, Action* action) {
  for (const EachCommand& what : kEach) {
    auto* const command = group.add_subcommand(what.name, what.words);
    command->footer(what.examples);
    auto options = std::make_shared<EachOptionsText>();
    auto* const ids = command->add_option("ID", options->ids, "The sandboxes");
    if (what.all == nullptr) {
      ids->required();
    } else {
      command->add_flag("--all", options->all, what.all)->excludes(ids);
    }
    if (std::string_view(what.name) == "pause") {
      command->add_flag("--to-disk", options->to_disk,
                        "Write the memory to disk and free it; tier gvisor only");
    }
    add_daemon_options(*command, options->daemon);
    command->callback([action, options, &what] {
      *action = [options, &what] { return ended(for_each(what, *options)); };
    });
  }
  auto extending = std::make_shared<OneOptionsText>();
  add_one(group, "extend", "Set a sandbox's remaining lifetime, counted from now",
          "Prints the new expiry time.\n\nExamples:\n  glovebox sandbox extend ID 30m", extending,
          extend, action)
      ->add_option("TIME", extending->timeout, "Remaining lifetime: 30m")
      ->required();
  auto snapping = std::make_shared<OneOptionsText>();
  add_one(
      group, "snapshot", "Save a sandbox's files as a template",
      "Prints the template's name.\n\nExamples:\n  glovebox sandbox snapshot ID --name with-data\n"
      "  glovebox sandbox create --template with-data",
      snapping, snapshot, action)
      ->add_option("--name", snapping->name, "The template's name")
      ->type_name("NAME");
  auto forking = std::make_shared<OneOptionsText>();
  auto* const forks = add_one(group, "fork", "Create sandboxes with the same files",
                              "Prints their ids. Processes and contexts are not copied without "
                              "--memory.\n\nExamples:\n  glovebox sandbox fork ID --count 3\n"
                              "  glovebox sandbox fork ID --memory",
                              forking, fork, action);
  forks->add_option("--count", forking->count, "Number of sandboxes to create")
      ->type_name("N")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  forks->add_flag("--memory", forking->memory,
                  "Copy the memory, too: contexts keep their variables (tiers gvisor and microvm)");
  forks
      ->add_option("--timeout", forking->timeout,
                   "Lifetime of the new sandboxes [default: the original's remaining lifetime]")
      ->type_name("TIME");
}

}  // namespace glovebox::cli
