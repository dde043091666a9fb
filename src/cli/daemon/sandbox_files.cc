// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox files
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/table.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxFilesFooter =
    R"(Paths are relative to the workspace; start an absolute path with two slashes.

Examples:
  glovebox sandbox files ID
  glovebox sandbox files ID data --depth 3
  glovebox sandbox files ID --watch
  glovebox sandbox files ID old.csv --remove)";

struct FilesOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string path;
  unsigned depth = 1;
  bool watch = false;
  bool remove = false;
};

Result<int> watch(DaemonClient& daemon, const std::string& path, const FilesOptionsText& options) {
  const std::string query =
      path + "/files/watch?recursive=1&path=" + encode(options.path.empty() ? "." : options.path);
  EventLines lines(GB_TRY(daemon.stream("GET", query, Json(), "application/x-ndjson")));
  while (const auto line = GB_TRY(lines.next_line())) {
    const Json event = GB_TRY(parse_answer(*line));
    const std::string type = text_in(event, "type");
    if (options.daemon.json) {
      write_fully(STDOUT_FILENO, *line + "\n");
    } else if (const std::string name = text_in(event, "path"); !name.empty()) {
      write_fully(STDOUT_FILENO, type + " " + printable(name) + "\n");
    }
  }
  return 0;
}

Result<int> run(const FilesOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/sandboxes/" + encode(options.id);
  if (options.remove) {
    (void)GB_TRY(daemon.ask("DELETE", path + "/files/" + encode_path(options.path)));
    return 0;
  }
  if (options.watch) {
    return watch(daemon, path, options);
  }
  const Json listed = GB_TRY(daemon.ask("GET", path + "/files?list=" + encode(options.path) +
                                                   "&depth=" + std::to_string(options.depth)));
  if (options.daemon.json) {
    std::cout << listed.dump(2) << "\n";
    return 0;
  }
  Table table({"MODE", "SIZE", "MODIFIED", "NAME"});
  for (const Json& entry : list_in(listed, "entries")) {
    const std::string type = text_in(entry, "type");
    const std::string target = text_in(entry, "target");
    table.add({text_in(entry, "mode"),
               type == "directory" ? "-" : std::to_string(number_in(entry, "size")),
               text_in(entry, "modified").substr(0, 19),
               text_in(entry, "path") + (type == "directory" ? "/" : "") +
                   (target.empty() ? "" : " -> " + target)});
  }
  std::cout << table.text();
  return 0;
}

}  // namespace

void add_sandbox_files(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("files", "List, watch or remove files");
  command->footer(kSandboxFilesFooter);
  auto options = std::make_shared<FilesOptionsText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  command->add_option("PATH", options->path, "A file or directory [default: the workspace]");
  command->add_option("--depth", options->depth, "How many directory levels to list")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  auto* const follow = command->add_flag("--watch", options->watch, "Print changes as they happen");
  command->add_flag("--remove", options->remove, "Remove PATH and everything below it")
      ->excludes(follow);
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(run(*options)); }; });
}

}  // namespace glovebox::cli
