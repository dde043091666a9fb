// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox run: one program in a fresh sandbox on the daemon.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/daemon/remote_options.h"
#include "cli/daemon/remote_run.h"
#include "cli/daemon/sandbox_commands.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxRunFooter =
    R"(Like 'glovebox run', but on the daemon's host, and with the same exit statuses.

Examples:
  glovebox sandbox run hello.py
  glovebox sandbox run -l js -e 'console.log(6*7)'
  glovebox sandbox run solve.c --time 2s --memory 256M --json)";

struct RunRemoteText {
  DaemonOptionsText daemon;
  LimitsText limits;
  std::string file;
  std::string code;
  std::string language;
  std::string template_name;
  std::string image;
  std::vector<std::string> env;
  RemoteNetworkText network;
  bool code_given = false;
  bool events = false;
};

Result<Json> request_of(const RunRemoteText& options) {
  if (options.code_given == !options.file.empty()) {
    return Error(ErrorCode::kInvalid, "expected one of FILE, '-' or -e CODE");
  }
  Json request = Json::object();
  request["code"] = to_utf8(options.code_given ? options.code : GB_TRY(read_program(options.file)));
  if (!options.language.empty()) {
    request["language"] = options.language;
  }
  if (!options.code_given && options.file != "-") {
    request["name"] = to_utf8(options.file.substr(options.file.rfind('/') + 1));
  }
  if (!options.template_name.empty()) {
    request["template"] = options.template_name;
  }
  if (!options.image.empty()) {
    request["image"] = options.image;
  }
  request["env"] = GB_TRY(pairs_json(options.env, "--env"));
  if (Json limits = GB_TRY(limits_json(options.limits)); !limits.empty()) {
    request["limits"] = std::move(limits);
  }
  GB_TRY(put_network(request, options.network));
  return request;
}

Result<int> run(const RunRemoteText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  return follow_run(daemon, "/v1/run", GB_TRY(request_of(options)),
                    {.json = options.daemon.json, .events = options.events});
}

}  // namespace

void add_sandbox_run(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("run", "Run one program in a fresh sandbox");
  command->footer(kSandboxRunFooter);
  auto options = std::make_shared<RunRemoteText>();
  command->add_option("FILE", options->file, "Program to run; '-' reads it from standard input");
  auto* const code = command->add_option("-e", options->code, "Code to run")->type_name("CODE");
  command->add_option("-l,--language", options->language, "Language of the code")
      ->type_name("LANGUAGE");
  auto* const in_template = command
                                ->add_option("--template", options->template_name,
                                             "Template to run it in [default: default]")
                                ->type_name("NAME");
  command
      ->add_option("--image", options->image,
                   "Image of a container registry to run it in; pulled once")
      ->type_name("IMAGE")
      ->excludes(in_template);
  command->add_option("--env", options->env, "Environment variable NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--events", options->events, "Print events as JSON lines as they happen");
  add_network_options(*command, options->network);
  add_limit_options(*command, options->limits);
  add_daemon_options(*command, options->daemon);
  command->callback([action, options, code] {
    options->code_given = code->count() > 0;
    *action = [options] { return ended(run(*options)); };
  });
}

}  // namespace glovebox::cli
