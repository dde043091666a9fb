// SPDX-License-Identifier: Apache-2.0
// glovebox mcp: a server of the Model Context Protocol on standard input and output.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/sys/pipe.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/mcp_fixtures.h"
#include "cli/policy_files.h"
#include "cli/sandbox_options.h"
#include "cli/shared_options.h"
#include "daemon/private_service.h"
#include "doors/mcp/sandbox_features.h"
#include "doors/mcp/stdio.h"
#include "service/api/secret_service.h"
#include "service/guarded/guarded_service.h"
#include "service/guarded/policy_gate.h"
#include "service/packages/package_index.h"
#include "service/packages/package_request.h"
#include "service/runs/transfer.h"

namespace glovebox::cli {
namespace {

// As long as the client stays: the sandboxes end with this process.
constexpr std::chrono::hours kLifetime{24 * 30};

constexpr const char* kMcpFooter = R"(Examples:
  glovebox mcp                                    sandboxes without a network
  glovebox mcp --allow-net pypi.org --allow-net files.pythonhosted.org
  glovebox mcp --secret GITHUB_TOKEN@api.github.com    with a token that programs do not see
  glovebox mcp --file ./data:data --memory 2G     with files, and more memory
  glovebox mcp --policy coding-agent              the client's user is asked about what is risky
  glovebox mcp --package-source ./wheels          install_packages takes from there
  glovebox mcp --package-index pip:/run/index.sock    or from an index on a socket
  claude mcp add glovebox -- glovebox mcp         for Claude Code
Configurations of other clients are in docs/mcp.md.)";

struct McpOptionsText : SharedOptionsText {
  std::string time = "60s";
  std::vector<std::string> packages;
  std::vector<std::string> package_sources;
  std::vector<std::string> package_indexes;
  std::vector<std::string> policies;
  std::string fixtures;  // HOST:PORT; empty: the real tools.
};

// Copies into a sandbox, in one stream.
Result<void> copy_files(FileClient files, const std::vector<FileToCopy>& wanted) {
  sys::Pipe pipe = GB_TRY(sys::make_pipe());
  Result<void> packed;
  std::thread packer([&] {
    packed = write_archive(pipe.write.get(), wanted);
    pipe.write.reset();
  });
  auto unpacked = files.unpack(".", [&](std::span<char> into) -> Result<std::size_t> {
    const ssize_t got = ::read(pipe.read.get(), into.data(), into.size());
    return got < 0 ? Result<std::size_t>(Error::from_errno("read the archive"))
                   : Result<std::size_t>(static_cast<std::size_t>(got));
  });
  pipe.read.reset();  // So that the writer notices that nobody reads.
  packer.join();
  return packed ? std::move(unpacked) : std::move(packed);
}

// Installs packages, and waits without following the events.
Result<void> install(SandboxService& service,
                     const Caller& caller,
                     const std::string& sandbox,
                     const std::vector<std::string>& packages) {
  std::string verdict;
  GB_TRY(service.install_packages(caller, sandbox, {.packages = packages}, [&](auto event) {
    if (!event.empty()) {
      verdict = event;
    }
    return true;
  }));
  return verdict.find(R"("status":"ok")") != std::string::npos
             ? Result<void>()
             : Error(ErrorCode::kUnavailable, "the packages could not be installed: " + verdict);
}

// Rules name secrets; the service keeps their values.
Result<void> store(SandboxService& service, const SecretValues& secrets) {
  for (const auto& [name, value] : secrets) {
    GB_TRY(service.secrets().create(service.unix_peer(), {.name = name, .value = value}));
  }
  return {};
}

Result<PolicyOptions> policies_of(const McpOptionsText& text) {
  PolicyOptions options;
  for (const std::string& each : text.policies) {
    options.always.push_back(GB_TRY(load_policy(each)));
  }
  return options;
}

Result<mcp::SandboxFeaturesOptions> features_of(const McpOptionsText& text,
                                                const NetworkOptions& network,
                                                SandboxService& service) {
  mcp::SandboxFeaturesOptions options;
  SandboxRequest& sandbox = options.sandbox;
  sandbox.timeout = kLifetime;
  sandbox.limits = GB_TRY(parse_limits(text.limits));
  sandbox.env = GB_TRY(parse_environment(text));
  sandbox.tier = {.exactly = text.tier, .at_least = text.min_tier};
  sandbox.network = network.rules.value_or(NetworkRules());
  options.time = GB_TRY(parse_time(text.time, "--time")).value_or(options.time);
  options.most_time = std::max(options.time, options.most_time);
  options.packages = !text.package_sources.empty() || !text.package_indexes.empty();
  std::vector<FileToCopy> files;
  for (const std::string& each : text.files) {
    files.push_back(GB_TRY(parse_file_to_copy(each)));
  }
  if (!text.packages.empty() && !options.packages) {
    return Error(ErrorCode::kInvalid, "--packages needs a source to install from",
                 "name a directory of wheels or npm tarballs with --package-source, or an index "
                 "with --package-index");
  }
  options.prepare = [&service, files = std::move(files), packages = text.packages](
                        const Caller& caller, const std::string& id) -> Result<void> {
    if (!files.empty()) {
      GB_TRY(copy_files(GB_TRY(service.files(caller, id, FileAccess::kUse)), files));
    }
    return packages.empty() ? Result<void>() : install(service, caller, id, packages);
  };
  return options;
}

Result<int> serve(const McpOptionsText& text) {
  // Report mistakes in the options before starting anything.
  const NetworkOptions network = GB_TRY(parse_network(text));
  (void)GB_TRY(parse_packages(text.packages));
  std::vector<PackageIndex> indexes = GB_TRY(parse_package_indexes(text.package_indexes));
  PolicyOptions policy_options = GB_TRY(policies_of(text));
  sigset_t signals;
  (void)::sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) {
    (void)::sigaddset(&signals, each);
  }
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!text.fixtures.empty()) {
    GB_TRY(serve_mcp_fixtures(text.fixtures, stop.get()));
    return 0;
  }
  Log log(STDERR_FILENO);
  const auto service = GB_TRY(
      PrivateService::start({.package_sources = text.package_sources,
                             .package_indexes = std::move(indexes),
                             .network = network.rules ? NetworkPolicy::kAny : NetworkPolicy::kNone},
                            log));
  GB_TRY(store(service->service(), network.secrets));
  PolicyGate policies(service->service(), std::move(policy_options));
  GuardedService guarded(service->service(), policies);
  mcp::SandboxFeaturesOptions options = GB_TRY(features_of(text, network, guarded));
  options.approvals = &guarded;
  options.others_approve = false;
  mcp::SandboxFeatures features(guarded, std::move(options));
  mcp::Server server(features);
  GB_TRY(mcp::serve_stdio(server, service->service().unix_peer(), STDIN_FILENO, STDOUT_FILENO,
                          stop.get()));
  return 0;
}

}  // namespace

void add_mcp(CLI::App& app, bool described, Action* action) {
  auto* const command = app.add_subcommand(kMcp.name, kMcp.description);
  if (!described) {
    return;
  }
  command->footer(kMcpFooter);
  auto text = std::make_shared<McpOptionsText>();
  add_shared_options(*command, *text, {{"cpu_time", "CPU time limit for each call"}});
  // The service has no such limit.
  command->remove_option(command->get_option("--io-rate"));
  command->add_option("--time", text->time, "Wall-clock time of a call that names none")
      ->type_name("TIME")
      ->group(kLimitOptions)
      ->capture_default_str();
  add_network_options(*command, *text);
  command
      ->add_option("--packages", text->packages,
                   "Packages to install in each sandbox: pip:NAME[==VERSION],npm:NAME[@VERSION]")
      ->type_name("LIST")
      ->group(kFileOptions);
  command
      ->add_option("--package-source", text->package_sources,
                   "Directory of wheels or npm tarballs to install from, for --packages and for "
                   "the client; repeatable")
      ->type_name("DIR")
      ->group(kFileOptions);
  command
      ->add_option("--package-index", text->package_indexes,
                   "Package index on a Unix socket to install from, likewise: pip:SOCKET or "
                   "npm:SOCKET")
      ->type_name("KIND:SOCKET")
      ->group(kFileOptions);
  command
      ->add_option("--policy", text->policies,
                   "Policy file, or the name of a shipped policy, that checks what runs; what it "
                   "asks about, the client's user decides; repeatable")
      ->type_name("FILE")
      ->group(kIsolationOptions);
  // For tests/mcp.
  command->add_option("--conformance-fixtures", text->fixtures)->type_name("HOST:PORT")->group("");
  forbid_empty_values(*command);
  command->callback([action, text] { *action = [text] { return ended(serve(*text)); }; });
}

}  // namespace glovebox::cli
