// SPDX-License-Identifier: Apache-2.0
// glovebox serve: the daemon; and glovebox keeper, which it starts.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/sys/wait_set.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/data_directory.h"
#include "cli/policy_files.h"
#include "daemon/daemon.h"
#include "daemon/keeper_process.h"
#include "daemon/private_directory.h"
#include "daemon/service_manager.h"
#include "doors/transport/listener.h"
#include "embed/handshake.h"
#include "sandbox/tiers/tier.h"
#include "service/keeper/builder.h"
#include "service/packages/package_index.h"
#include "service/tenants/tenants.h"

namespace glovebox::cli {
namespace {

constexpr const char* kServeFooter = R"(Examples:
  glovebox serve                                  listen on 127.0.0.1:8440
  glovebox serve --listen 0.0.0.0:8440 --certificate cert.pem --key key.pem
  glovebox serve --unix /run/glovebox.sock --listen ''
  glovebox serve --cors https://app.example.com --drain 1m
  glovebox serve --network public                 sandboxes with network rules may use them
  glovebox serve --user glovebox                  as root: only the keeper stays root
The first API key is written to DIR/api-key.)";

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

struct ServeOptionsText {
  DaemonOptions daemon;
  std::string drain = "10s";
  std::string keep_records = "30d";
  std::string network = "none";
  std::vector<std::string> policies;
  std::vector<std::string> tenant_policies;
  std::string approval_time = "5m";
  std::vector<std::string> package_indexes;
  std::string audit = "requests";
  std::string audit_keep;
  std::string audit_network;
  std::string otlp_endpoint;
  std::string trace_ratio;
  bool listen_given = false;
  bool unix_given = false;
  bool data_given = false;
  bool for_host_program = false;
};

// TENANT=POLICY
Result<void> add_tenant_policy(const std::string& text, PolicyOptions& policies) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Error(ErrorCode::kInvalid, "expected TENANT=POLICY, not '" + printable(text) + "'",
                 "write it as --tenant-policy lab=untrusted");
  }
  const std::string tenant = text.substr(0, equals);
  GB_TRY(check_tenant_name(tenant));
  policies.of_tenants[tenant].push_back(GB_TRY(load_policy(text.substr(equals + 1))));
  return {};
}

Result<DaemonOptions> options_of(const ServeOptionsText& text) {
  DaemonOptions options = text.daemon;
  const auto drain = parse_duration(text.drain);
  if (!drain) {
    return Error(drain.error()).within("--drain");
  }
  options.drain = *drain;
  const auto keep = parse_duration(text.keep_records);
  if (!keep) {
    return Error(keep.error()).within("--keep-records");
  }
  options.keep_records = *keep;
  const auto approval_time = parse_duration(text.approval_time);
  if (!approval_time || *approval_time < std::chrono::seconds(1)) {
    return Error(ErrorCode::kInvalid, "--approval-time must be at least a second",
                 "write it as 30s or 5m");
  }
  options.policies.approval_time = std::chrono::duration_cast<std::chrono::seconds>(*approval_time);
  for (const std::string& each : text.policies) {
    options.policies.always.push_back(GB_TRY(load_policy(each)));
  }
  for (const std::string& each : text.tenant_policies) {
    auto added = add_tenant_policy(each, options.policies);
    if (!added) {
      return std::move(added).error().within("--tenant-policy");
    }
  }
  if (!options.policies.tier.empty()) {
    if (const auto tier = tier_named(options.policies.tier); !tier) {
      return Error(tier.error()).within("--tier");
    }
  }
  options.network = parse_network_policy(text.network).value_or(NetworkPolicy::kNone);
  options.package_indexes = GB_TRY(parse_package_indexes(text.package_indexes));
  options.audit.on = text.audit != "off";
  options.audit.durability = text.audit == "durable"   ? audit::Durability::kAll
                             : text.audit == "relaxed" ? audit::Durability::kRelaxed
                                                       : audit::Durability::kRequests;
  if (!text.audit_keep.empty()) {
    options.audit.keep =
        std::chrono::duration_cast<std::chrono::seconds>(GB_TRY(parse_duration(text.audit_keep)));
  }
  if (!text.audit_network.empty()) {
    const auto size = parse_bytes(text.audit_network);
    if (!size || size->count == 0) {
      return Error(ErrorCode::kInvalid,
                   "invalid size '" + printable(text.audit_network) + "' of --audit-network",
                   "write it as 512M or 10G");
    }
    options.audit.network = size->count;
    options.audit.inputs = true;
  }
  if (!text.for_host_program) {  // A host program's environment is about its own traces.
    options.traces =
        GB_TRY(read_trace_options(text.otlp_endpoint, text.trace_ratio, [](const char* name) {
          const char* const value = ::getenv(name);
          return std::string(value != nullptr ? value : "");
        }));
  }
  options.server.inherited = take_inherited_sockets();
  // A program that passes sockets has decided where we listen.
  const bool passed = !options.server.inherited.empty() || text.for_host_program;
  if (passed && !text.listen_given) {
    options.server.listen.clear();
  }
  if (!options.server.listen.empty()) {
    // Report a typing mistake before a keeper has started.
    (void)GB_TRY(http::parse_address(options.server.listen));
  }
  if (!passed && !text.unix_given) {
    options.server.unix_path = daemon_socket(options.directory);
  }
  GB_TRY(http::check_unix_path(options.server.unix_path));
  return options;
}

// Blocks these signals, and returns a descriptor that they make readable.
UniqueFd block_signals(std::initializer_list<int> numbers) {
  sigset_t signals;
  (void)::sigemptyset(&signals);
  for (const int number : numbers) {
    (void)::sigaddset(&signals, number);
  }
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC));
}

int serve(const ServeOptionsText& text) {
  auto read = options_of(text);
  if (!read) {
    return report(read.error());
  }
  DaemonOptions options = *std::move(read);
  const UniqueFd stop = block_signals({SIGTERM, SIGINT});
  const UniqueFd emergency = block_signals({SIGUSR1});
  options.emergency_fd = emergency.get();
  const std::string scheme = options.server.certificate_file.empty() ? "http" : "https";
  const auto served = run_daemon(options, stop.get(), [&](std::uint16_t port) {
    const std::string& listen = options.server.listen;
    const std::string host = listen.substr(0, listen.rfind(':'));
    const std::string where = !listen.empty() ? scheme + "://" + host + ":" + std::to_string(port)
                              : options.server.unix_path.empty()
                                  ? std::string("the inherited sockets")
                                  : "unix:" + options.server.unix_path;
    (void)std::printf("glovebox is listening on %s; API key in %s/api-key\n", where.c_str(),
                      options.directory.c_str());
    (void)std::fflush(stdout);
  });
  return served ? 0 : report(served.error());
}

// One program has few connections, and its requests come one after the other: each costs one hop
// less if a thread already waits for it.
constexpr std::chrono::seconds kHostLinger{60};

// Serves the program that started us (embed/): it ends us, and so does its own end.
Result<void> serve_host_program(const ServeOptionsText& text) {
  DaemonOptions options = GB_TRY(options_of(text));
  const UniqueFd signals = block_signals({SIGTERM, SIGINT});
  const UniqueFd process(embed::kHostProcess);
  (void)::fcntl(process.get(), F_SETFD, FD_CLOEXEC);
  const UniqueFd stop = GB_TRY(
      sys::readable_with(std::array{signals.get(), process.get()}, std::array{embed::kSocket}));
  std::optional<PrivateDirectory> own;
  if (!text.data_given) {
    own.emplace(GB_TRY(PrivateDirectory::make()));
    options.directory = own->path();
    options.audit.durability = audit::Durability::kRelaxed;  // Its journal ends with it.
    options.keeping = Keeping::kUntilEnd;
  }
  // The server closes its copy once nothing more comes; the host waits until the last copy closes.
  options.server.passing = ::fcntl(embed::kSocket, F_DUPFD_CLOEXEC, 0);
  options.warm = {"default"};
  options.drain = {};  // A program that closes an engine waits for no requests.
  options.server.linger = kHostLinger;
  options.keeper_ends_too = true;
  return run_daemon(std::move(options), stop.get(), [](std::uint16_t) {
    const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U)));
    (void)embed::send_packet(embed::kSocket, embed::outcome_packet(std::nullopt), self.get());
  });
}

int serve_host_program_or_say_why(const ServeOptionsText& text) {
  (void)::fcntl(embed::kSocket, F_SETFD, FD_CLOEXEC);
  const auto served = serve_host_program(text);
  if (!served) {
    (void)embed::send_packet(embed::kSocket, embed::outcome_packet(served.error()), -1);
  }
  return served ? 0 : report(served.error());
}

}  // namespace

void add_serve(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand(kServe.name, kServe.description);
  command->footer(kServeFooter);
  auto text = std::make_shared<ServeOptionsText>();
  DaemonOptions& options = text->daemon;
  options.directory = default_data_directory();
  options.program = own_program();
  auto* const listen = command
                           ->add_option("--listen", options.server.listen,
                                        "HOST:PORT to listen on; port 0 picks a free port")
                           ->type_name("HOST:PORT")
                           ->capture_default_str();
  auto* const at_unix =
      command
          ->add_option("--unix", options.server.unix_path,
                       "Unix socket to listen on as well, without a key, for this user only; "
                       "'' for none [default: DIR/api.sock]")
          ->type_name("PATH");
  auto* const data = command
                         ->add_option("--data", options.directory,
                                      std::string("Data directory, for everything that persists") +
                                          kDefaultDataDirectory)
                         ->type_name("DIR");
  // Used by the library (embed/handshake.h).
  command->add_flag("--for-host-program", text->for_host_program)->group("");
  command
      ->add_option("--user", options.user,
                   "As root: run the daemon as this user, and only the keeper as root")
      ->type_name("NAME");
  command
      ->add_option("--certificate", options.server.certificate_file,
                   "PEM file with the TLS certificate")
      ->type_name("FILE");
  command
      ->add_option("--key", options.server.key_file, "PEM file with the certificate's private key")
      ->type_name("FILE");
  command->add_option("--domain", options.domain, "Serve sandbox ports as PORT-ID.DOMAIN")
      ->type_name("NAME");
  command->add_flag("--e2b-root", options.e2b_root,
                    "Sandboxes made with E2B's SDKs have root inside: their users are 'user', who "
                    "may use sudo, and 'root'");
  command
      ->add_option("--cors", options.cors,
                   "Allow web pages from this origin: https://app.example.com; repeatable")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  command->add_option("--drain", text->drain, "How long to wait for running requests at shutdown")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--keep-records", text->keep_records,
                   "How long to keep records of ended sandboxes")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--network", text->network,
                   "What network rules of sandboxes may reach: none, public (public addresses "
                   "that are not this machine's), or any")
      ->type_name("REACH")
      ->check(CLI::IsMember({"none", "public", "any"}))
      ->capture_default_str();
  command
      ->add_option("--tier", options.policies.tier,
                   "Isolation tier of sandboxes and runs whose request names none "
                   "[default: native, or the next stronger one that works]")
      ->type_name("TIER");
  command->add_flag("--allow-nested", options.allow_nested,
                    "Let sandboxes contain sandboxes of their own; this opens more of the kernel "
                    "to them");
  command
      ->add_option("--audit", text->audit,
                   "Record what callers do in DIR/audit: requests (on the disk before the answer; "
                   "a power failure may take how the last executions ended), durable (that is on "
                   "the disk, too), relaxed (a power failure may take the last second), or off")
      ->type_name("MODE")
      ->check(CLI::IsMember({"requests", "durable", "relaxed", "off"}))
      ->capture_default_str();
  command->add_flag("--audit-code", options.audit.code,
                    "Record code and commands in full, not only their hashes");
  command->add_flag("--audit-inputs", options.audit.inputs,
                    "Record what runs are given and print, too, for 'glovebox replay'");
  command
      ->add_option("--audit-network", text->audit_network,
                   "Record what the network answers to runs as well, in at most so many bytes for "
                   "each tenant; implies --audit-inputs, and TLS is read for it")
      ->type_name("SIZE");
  command->add_flag("--audit-files", options.audit.files,
                    "Record which files each execution in a context changed, too; it takes longer "
                    "the more files there are");
  command
      ->add_option("--audit-keep", text->audit_keep,
                   "How long to keep audit records: 90d [default: forever]")
      ->type_name("TIME");
  command
      ->add_option("--audit-witness", options.audit.witness,
                   "File, on another machine's disk, that gets each head of the journal too")
      ->type_name("FILE");
  command
      ->add_option("--package-source", options.package_sources,
                   "Directory of wheels and npm tarballs that sandboxes may install from; "
                   "repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command
      ->add_option("--policy", text->policies,
                   "Policy file, or the name of a shipped policy, that checks every program of "
                   "every tenant before it runs; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--tenant-policy", text->tenant_policies,
                   "Likewise for every program of one tenant; repeatable")
      ->type_name("TENANT=FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--approval-time", text->approval_time,
                   "How long a program waits for a person when a policy asks for one")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--package-index", text->package_indexes,
                   "Package index on a Unix socket that sandboxes may install from: pip:SOCKET or "
                   "npm:SOCKET")
      ->type_name("KIND:SOCKET")
      ->allow_extra_args(false);
  command
      ->add_option("--otlp-endpoint", text->otlp_endpoint,
                   "Send traces to this OpenTelemetry collector, which takes OTLP over HTTP "
                   "[default: $OTEL_EXPORTER_OTLP_ENDPOINT]")
      ->type_name("URL");
  command
      ->add_option("--trace-ratio", text->trace_ratio,
                   "Part of the traces that begin here and are sent, from 0 to 1 [default: 1]")
      ->type_name("RATIO");
  command->add_flag("--access-log", options.access_log,
                    "Log each request as a JSON line on stderr");
  command->add_flag("--leave-sandboxes", options.leave_sandboxes,
                    "At shutdown, leave sandboxes running for the next daemon");
  command->callback([action, text, listen, at_unix, data] {
    text->listen_given = listen->count() > 0;
    text->unix_given = at_unix->count() > 0;
    text->data_given = data->count() > 0;
    *action = [text] {
      return text->for_host_program ? serve_host_program_or_say_why(*text) : serve(*text);
    };
  });

  // Started by the daemon, or as a service of its own.
  auto* const keeper = app.add_subcommand("keeper", "")->group("");
  auto directory = std::make_shared<std::string>();
  auto user = std::make_shared<std::string>();
  auto service = std::make_shared<bool>(false);
  auto lifeline = std::make_shared<bool>(false);
  keeper->add_option("--data", *directory)->type_name("DIR")->required();
  keeper->add_option("--user", *user)->type_name("NAME");
  // For a service manager, which is notified when it is ready; without sandboxes it does not end.
  keeper->add_flag("--service", *service);
  keeper->add_flag("--lifeline", *lifeline);
  keeper->callback([action, directory, user, service, lifeline] {
    *action = [directory, user, service, lifeline] {
      const auto kept =
          run_keeper(*directory, *user, *lifeline ? kKeeperLifeline : -1, {.stays = *service});
      if (!kept) {
        // Into the log that the daemon or a service manager keeps.
        const Error& error = kept.error();
        Log(STDERR_FILENO)
            .error(error.message() + (error.hint().empty() ? "" : "; hint: " + error.hint()));
      }
      return kept ? 0 : kExitFailed;
    };
  });

  // Started by the keeper.
  auto* const builder = app.add_subcommand("builder", "")->group("");
  auto built_in = std::make_shared<std::string>();
  builder->add_option("--data", *built_in)->type_name("DIR")->required();
  builder->callback(
      [action, built_in] { *action = [built_in] { return keeper::run_builder(*built_in); }; });
}

}  // namespace glovebox::cli
