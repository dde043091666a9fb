// SPDX-License-Identifier: Apache-2.0
// glovebox mcp-wrap: another MCP server on standard input and output, in a sandbox.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "cli/sandbox_options.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "sandbox/slot.h"
#include "service/network/edge_credentials.h"
#include "service/network/egress.h"
#include "service/runs/transfer.h"

namespace glovebox::cli {
namespace {

constexpr const char* kWrapFooter = R"(Examples:
  glovebox mcp-wrap --file ./server -- node server/index.js
  glovebox mcp-wrap --secret API_TOKEN@api.example.com -- python3 -m some_server
The server sees what is installed in /usr, the files that --file copies in, and nothing else. The
standard streams are passed through as they are, so any program that talks over them can be wrapped.)";

// Of all languages: the server may be written in any of them.
std::vector<Mount> language_mounts() {
  std::vector<Mount> mounts;
  for (const Language& language : Registry::load(Registry::user_directories()).all()) {
    for (Mount mount : language.mounts) {
      mount.optional = true;  // It may not be installed here.
      if (std::ranges::find(mounts, mount) == mounts.end()) {
        mounts.push_back(std::move(mount));
      }
    }
  }
  return mounts;
}

Result<Limits> limits_of(const SharedOptionsText& text) {
  Limits limits =
      GB_TRY(with_host_limits(text.limits, GB_TRY(parse_limits(text.limits)).over(Limits())));
  limits.wall = kNoTimeLimit;
  GB_TRY(validate(limits));
  return limits;
}

Result<int> wrap(const SharedOptionsText& text, const std::vector<std::string>& argv) {
  if (argv.empty()) {
    return Error(ErrorCode::kInvalid, "no server given",
                 "name its command: glovebox mcp-wrap -- CMD…");
  }
  const NetworkOptions network = GB_TRY(parse_network(text));
  std::vector<FileToCopy> files;
  for (const std::string& each : text.files) {
    files.push_back(GB_TRY(parse_file_to_copy(each)));
  }
  SandboxSpec spec;
  spec.limits = GB_TRY(limits_of(text));
  spec.env = GB_TRY(parse_environment(text));
  spec.mounts = language_mounts();
  EdgeCredentials credentials;
  if (network.rules) {
    credentials = GB_TRY(EdgeCredentials::make(network.rules->credentials, network.secrets));
    Egress::prepare(spec, credentials);
  }
  Interrupts interrupts;
  (void)sweep_leftovers();
  const auto sandbox =
      GB_TRY(Sandbox::create(spec, {.exactly = text.tier, .at_least = text.min_tier}));
  const auto egress = network.rules
                          ? GB_TRY(Egress::start(*sandbox, *network.rules, credentials, {}))
                          : std::unique_ptr<Egress>();
  if (!files.empty()) {
    GB_TRY(copy_in(*sandbox, files));
  }
  RunOptions options{.limits = spec.limits,
                     .stdin_fd = STDIN_FILENO,
                     .cancel_fd = interrupts.fd(),
                     .cancel_signal = [&interrupts] { return interrupts.take(); }};
  options.observer.out = [](std::string_view bytes) { write_fully(STDOUT_FILENO, bytes); };
  options.observer.err = [](std::string_view bytes) { write_fully(STDERR_FILENO, bytes); };
  const RunOutcome outcome = GB_TRY(sandbox->run({.argv = argv, .env = {}, .cwd = {}}, options));
  if (outcome.status == Status::kOutOfMemory) {
    return Error(ErrorCode::kExhausted, "the server used more memory than its limit",
                 "raise --memory");
  }
  return outcome.exit_code;
}

}  // namespace

void add_mcp_wrap(CLI::App& app, const std::vector<std::string>& guest_words, Action* action) {
  auto* const command =
      app.add_subcommand("mcp-wrap", "Run another MCP server in a sandbox, on stdin and stdout");
  command->footer(kWrapFooter);
  auto text = std::make_shared<SharedOptionsText>();
  add_shared_options(*command, *text, {{"cpu_time", "CPU time limit for each process"}});
  add_network_options(*command, *text);
  forbid_empty_values(*command);
  command->callback([action, text, guest_words] {
    *action = [text, guest_words] { return ended(wrap(*text, guest_words)); };
  });
}

}  // namespace glovebox::cli
