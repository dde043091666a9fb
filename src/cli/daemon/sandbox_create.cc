// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox create
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/daemon/remote_options.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/shared_options.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxCreateFooter = R"(Prints the sandbox's id.

Examples:
  glovebox sandbox create
  glovebox sandbox create --timeout 1h --memory 2G --cpus 2 --metadata task=report
  glovebox sandbox create --allow-net pypi.org:443 --allow-net '*.pythonhosted.org'
  glovebox sandbox create --image python:3.12-slim
  glovebox sandbox create --template with-data --on-timeout pause --auto-resume --json)";

struct CreateOptionsText {
  DaemonOptionsText daemon;
  LimitsText limits;
  std::string template_name;
  std::string image;
  std::string timeout;
  std::string on_timeout;
  std::string tier;
  std::string min_tier;
  std::string user;
  std::string storage;
  bool nested = false;
  bool auto_resume = false;
  std::vector<std::string> policies;
  std::vector<std::string> env;
  std::vector<std::string> metadata;
  RemoteNetworkText network;
};

Result<Json> request_of(const CreateOptionsText& options) {
  Json request = Json::object();
  const auto put = [&request](const char* name, const std::string& text) {
    if (!text.empty()) {
      request[name] = text;
    }
  };
  put("template", options.template_name);
  put("image", options.image);
  (void)GB_TRY(parse_time(options.timeout, "--timeout"));
  put("timeout", options.timeout);
  put("on_timeout", options.on_timeout);
  put("tier", options.tier);
  put("min_tier", options.min_tier);
  put("user", options.user);
  put("storage", options.storage);
  if (!options.policies.empty()) {
    request["policy"] = options.policies;
  }
  if (options.nested) {
    request["nested"] = true;
  }
  if (options.auto_resume) {
    request["auto_resume"] = true;
  }
  if (Json limits = GB_TRY(limits_json(options.limits)); !limits.empty()) {
    request["limits"] = std::move(limits);
  }
  request["env"] = GB_TRY(pairs_json(options.env, "--env"));
  request["metadata"] = GB_TRY(pairs_json(options.metadata, "--metadata"));
  GB_TRY(put_network(request, options.network));
  return request;
}

Result<int> create(const CreateOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json request = GB_TRY(request_of(options));
  const Json made = GB_TRY(daemon.ask("POST", "/v1/sandboxes", request));
  std::cout << (options.daemon.json ? made.dump(2) : text_in(made, "id")) << "\n";
  return 0;
}

}  // namespace

void add_sandbox_create(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("create", "Create a sandbox");
  command->footer(kSandboxCreateFooter);
  auto options = std::make_shared<CreateOptionsText>();
  auto* const of_template = command
                                ->add_option("--template", options->template_name,
                                             "Template to create it from [default: default]")
                                ->type_name("NAME");
  command
      ->add_option("--image", options->image,
                   "Image of a container registry to create it from; pulled once")
      ->type_name("IMAGE")
      ->excludes(of_template);
  command->add_option("--timeout", options->timeout, "Lifetime of the sandbox [default: 5m]")
      ->type_name("TIME");
  command
      ->add_option("--on-timeout", options->on_timeout, "What to do at the timeout: kill or pause")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"kill", "pause"}));
  command->add_flag("--auto-resume", options->auto_resume,
                    "Resume the paused sandbox automatically on the next request");
  command
      ->add_option(
          "--tier", options->tier,
          "Require exactly this isolation tier (microvm, gvisor, native, docker, landlock), or "
          "'auto' for the strongest that works")
      ->type_name("TIER");
  command
      ->add_option("--min-tier", options->min_tier, "Require this isolation tier or a stronger one")
      ->type_name("TIER");
  command
      ->add_option("--user", options->user,
                   "User of its processes: 'user', or 'root' with a file system that they can "
                   "change (native tier) [default: user]")
      ->type_name("USER")
      ->check(CLI::IsMember({"user", "root"}));
  command
      ->add_option(
          "--storage", options->storage,
          "Where its workspace is, and what root changes of its root: 'memory', or 'disk', "
          "where it survives the daemon and is copied in milliseconds [default: the "
          "template's, else memory]")
      ->type_name("STORAGE")
      ->check(CLI::IsMember({"memory", "disk"}));
  command->add_flag("--nested", options->nested,
                    "Let tools inside build sandboxes of their own, such as bubblewrap's (native "
                    "tier)");
  command
      ->add_option("--policy", options->policies,
                   "Shipped policy that checks what runs in it; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--env", options->env, "Environment variable NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--metadata", options->metadata,
                   "Metadata NAME=VALUE to find the sandbox by; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_network_options(*command, options->network);
  add_limit_options(*command, options->limits);
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(create(*options)); }; });
}

}  // namespace glovebox::cli
