// SPDX-License-Identifier: Apache-2.0
// glovebox template: what sandboxes are made from.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/table.h"
#include "cli/daemon/template_build.h"

namespace glovebox::cli {
namespace {

constexpr const char* kTemplateFooter = R"(Examples:
  glovebox template build science -f science.toml
  glovebox template ls
  glovebox template info science
  glovebox template export app -o app.tar
  glovebox sandbox create --template science
  glovebox template rm science)";

constexpr const char* kBuildFooter = R"(A recipe is a TOML file:

  base = "default"
  packages = ["pip:flask"]
  commands = ["mkdir -p data"]
  preload = ["flask"]
  [env]
  STAGE = "test"

Identical builds are reused. Building from host paths requires a key with the admin scope, or access
to the daemon's socket.

Examples:
  glovebox template build -f Dockerfile . -t app
  glovebox template build . -t app --allow-net pypi.org --allow-net files.pythonhosted.org
  glovebox template build science -f science.toml
  docker save node:22 | glovebox template build node --from-docker-save -
  glovebox template build debian --debootstrap bookworm --allow-net deb.debian.org:80
  glovebox template build tool --from-registry registry.example/tool:1 --allow-net registry.example
  glovebox template build tools --from-oci image/)";

struct TemplateOptionsText {
  DaemonOptionsText daemon;
  std::string name;
};

Result<int> list(const TemplateOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json listed = GB_TRY(daemon.ask("GET", "/v1/templates"));
  if (options.daemon.json) {
    std::cout << listed.dump(2) << "\n";
    return 0;
  }
  Table table({"NAME", "SOURCE", "BASE", "SIZE", "CREATED"});
  for (const Json& each : list_in(listed, "templates")) {
    const std::int64_t size = number_in(each, "size");
    table.add({text_in(each, "name"),
               flag_in(each, "builtin") ? std::string("built in") : text_in(each, "source"),
               text_in(each, "base"),
               size > 0 ? to_string(Bytes{static_cast<std::uint64_t>(size)}) : "-",
               text_in(each, "created").substr(0, 16)});
  }
  std::cout << table.text();
  return 0;
}

Result<int> info(const TemplateOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json shown = GB_TRY(daemon.ask("GET", "/v1/templates/" + encode(options.name)));
  if (options.daemon.json) {
    std::cout << shown.dump(2) << "\n";
    return 0;
  }
  for (const auto& [name, value] : shown.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::cout << name + ":" + std::string(name.size() < 13 ? 13 - name.size() : 1, ' ')
              << printable(text) << "\n";
  }
  return 0;
}

Result<int> remove(const TemplateOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  (void)GB_TRY(daemon.ask("DELETE", "/v1/templates/" + encode(options.name)));
  return 0;
}

// The meaning of the argument without an option depends on the options.
void take_place(BuildOrder& order, const std::string& place, bool has_source) {
  if (!order.package_sources.empty() && (order.recipe.empty() || !order.name.empty())) {
    throw CLI::ValidationError("--package-source", "needs a recipe");
  }
  if (!order.login_user.empty() && order.registry.empty()) {
    throw CLI::ValidationError("--registry-login", "needs --from-registry");
  }
  const bool is_image = !(order.docker + order.oci + order.rootfs).empty();
  if (!order.name.empty()) {
    if (is_image || !order.registry.empty() || !order.suite.empty()) {
      throw CLI::ValidationError("--tag", "builds from a Dockerfile, and from nothing else");
    }
    order.context = place;
    return;
  }
  if (!order.build_args.empty() || order.no_cache) {
    throw CLI::ValidationError("--build-arg, --no-cache", "need a Dockerfile and --tag");
  }
  if (is_image && !(order.network.allow.empty() && order.network.deny.empty())) {
    throw CLI::ValidationError("--allow-net, --deny-net",
                               "need a Dockerfile, a recipe, --from-registry or --debootstrap");
  }
  if (!has_source) {
    throw CLI::RequiredError(
        "one of --file, --from-registry, --from-docker-save, --from-oci, "
        "--from-rootfs, --debootstrap and --tag");
  }
  order.name = place;
}

constexpr const char* kExportFooter =
    R"(The archive is an OCI image layout with one layer, for 'docker load' and --from-oci of 'glovebox
template build'. The same template gives the same bytes each time.

Examples:
  glovebox template export app -o app.tar
  glovebox template export app -o - | docker load)";

void add_export(CLI::App& group, Action* action) {
  auto* const command =
      group.add_subcommand("export", "Write a template as a container image to a tar archive");
  command->footer(kExportFooter);
  auto order = std::make_shared<ExportOrder>();
  command->add_option("NAME", order->name, "The template; it must have a root of its own")
      ->required();
  command->add_option("-o,--output", order->output, "The archive; '-' writes standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("-q,--quiet", order->quiet, "Show no progress");
  add_daemon_options(*command, order->daemon);
  command->callback(
      [action, order] { *action = [order] { return ended(export_template(*order)); }; });
}

void add_build(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("build", "Build a template");
  command->footer(kBuildFooter);
  auto order = std::make_shared<BuildOrder>();
  auto place = std::make_shared<std::string>();
  command
      ->add_option("NAME", *place,
                   "Name of the new template; with --tag, the directory of the files that a "
                   "Dockerfile copies")
      ->required();
  command
      ->add_option("-t,--tag", order->name, "Name of the new template; builds it from a Dockerfile")
      ->type_name("NAME");
  auto* const from = command->add_option_group("from", "What to build it from, exactly one of");
  from->add_option("-f,--file", order->recipe,
                   "Recipe file; with --tag, Dockerfile (default: DIR/Dockerfile); '-' reads "
                   "standard input")
      ->type_name("FILE");
  from->add_option("--from-registry", order->registry,
                   "Image of a container registry, whose hosts --allow-net must name")
      ->type_name("IMAGE");
  auto* const login =
      command
          ->add_option("--registry-login", order->login_user,
                       "User name for the registry; the password is read from standard input")
          ->type_name("USER");
  command
      ->add_option("--registry-secret", order->login_secret,
                   "Secret of the daemon that is the password")
      ->type_name("NAME")
      ->needs(login);
  from->add_option("--from-docker-save", order->docker,
                   "Archive written by 'docker save'; '-' reads standard input")
      ->type_name("FILE");
  from->add_option("--from-oci", order->oci,
                   "OCI image layout: a directory, or a tar archive of one")
      ->type_name("PATH");
  from->add_option("--from-rootfs", order->rootfs, "Tar archive of a root file system")
      ->type_name("FILE");
  from->add_option("--debootstrap", order->suite,
                   "Debian suite, for example bookworm; --allow-net must name its mirror")
      ->type_name("SUITE");
  from->require_option(0, 1);
  command
      ->add_option("--build-arg", order->build_args,
                   "Value of an ARG of the Dockerfile; repeatable")
      ->type_name("NAME=VALUE");
  command->add_flag("--no-cache", order->no_cache, "Execute every step of the Dockerfile");
  command
      ->add_option("--package-source", order->package_sources,
                   "Directory of the daemon's host with files of the recipe's packages; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  add_rule_options(*command, order->network, "commands of a Dockerfile or a recipe");
  command->add_flag("-q,--quiet", order->quiet, "Show no progress");
  add_daemon_options(*command, order->daemon);
  command->callback([action, order, place, from] {
    take_place(*order, *place, from->count_all() > 0);
    *action = [order] { return ended(build_template(*order)); };
  });
}

}  // namespace

void add_template(CLI::App& app, bool described, Action* action) {
  auto* const group = app.add_subcommand(kTemplate.name, kTemplate.description);
  group->footer(kTemplateFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  add_build(*group, action);
  add_export(*group, action);
  struct Command {
    const char* name;
    const char* words;
    const char* footer;
    Result<int> (*run)(const TemplateOptionsText&);
    bool named;
  };
  static constexpr Command kCommands[] = {
      {"ls", "List templates", "Examples:\n  glovebox template ls --json", list, false},
      {"info", "Show what a template contains", "Examples:\n  glovebox template info science", info,
       true},
      {"rm", "Remove a template; sandboxes created from it keep running",
       "Examples:\n  glovebox template rm science", remove, true},
  };
  for (const Command& what : kCommands) {
    auto* const command = group->add_subcommand(what.name, what.words);
    command->footer(what.footer);
    auto options = std::make_shared<TemplateOptionsText>();
    if (what.named) {
      command->add_option("NAME", options->name, "The template")->required();
    }
    add_daemon_options(*command, options->daemon);
    command->callback([action, options, &what] {
      *action = [options, &what] { return ended(what.run(*options)); };
    });
  }
}

}  // namespace glovebox::cli
