// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <mutex>
#include <utility>

#include "audit/journal.h"
#include "base/log.h"
#include "base/sys/pipe.h"
#include "daemon/cors.h"
#include "daemon/daemon_user.h"
#include "daemon/data_directory.h"
#include "daemon/descriptor_limit.h"
#include "daemon/directory_lock.h"
#include "daemon/exposure.h"
#include "daemon/gauges.h"
#include "daemon/keeper_process.h"
#include "daemon/keeper_starter.h"
#include "daemon/mcp_doors.h"
#include "daemon/service_manager.h"
#include "daemon/trace_exporter.h"
#include "doors/e2b/e2b_door.h"
#include "doors/rest/door.h"
#include "doors/transport/request_log.h"
#include "sandbox/cgroup_host.h"
#include "service/guarded/audit_trail.h"
#include "service/guarded/guarded_service.h"
#include "service/local/kinds.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

// Descriptors that connections do not get, and connections that there is always room for.
constexpr std::size_t kOwnDescriptors = 2'048;
constexpr std::size_t kLeastConnections = 256;
// Connections that followers do not get.
constexpr std::size_t kOthersConnections = 1'024;

// How long to wait for the lock of a daemon that was killed.
constexpr std::chrono::seconds kHandover{2};

// How the daemon gets a keeper, and ends it.
struct KeeperControl {
  std::function<Result<bool>()> ensure;  // True when it started one.
  std::function<Result<void>()> stop;
};

// A daemon that cannot start leaves behind no keeper that it has started.
class NewKeeper {
 public:
  explicit NewKeeper(const KeeperControl& control) : control_(control) {}
  NewKeeper(const NewKeeper&) = delete;
  NewKeeper& operator=(const NewKeeper&) = delete;
  ~NewKeeper() {
    if (started_ && !kept_) {
      (void)control_.stop();
    }
  }
  void started() { started_ = true; }
  void keep() { kept_ = true; }

 private:
  const KeeperControl& control_;
  bool started_ = false;
  bool kept_ = false;
};

// Gives up root, and returns a starter that keeps it. `started`: whether it started a keeper.
Result<std::shared_ptr<KeeperStarter>> give_up_root(const DaemonOptions& options, bool& started) {
  if (::geteuid() != 0) {
    return Error(ErrorCode::kRefused, "only root can run the daemon as another user",
                 "leave out --user, or start the daemon as root");
  }
  const DaemonUser user = GB_TRY(find_user(options.user));
  if (::mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + options.directory)
        .with_hint("create its parent directory, or choose another directory with --data");
  }
  auto starter = std::make_shared<KeeperStarter>(
      GB_TRY(KeeperStarter::start(options.program, options.directory, options.user)));
  // It makes the directory ready for us.
  started = GB_TRY(starter->ensure());
  GB_TRY(become(user));
  return starter;
}

// `lifeline` is for keepers that end with this process; else it is invalid.
KeeperControl control_of(const DaemonOptions& options,
                         Sharing sharing,
                         const std::shared_ptr<KeeperStarter>& starter,
                         const UniqueFd& lifeline) {
  if (starter) {
    return {.ensure = [starter] { return starter->ensure(); },
            .stop = [starter] { return starter->stop(); }};
  }
  if (sharing == Sharing::kShared) {  // The keeper is root's, who alone starts and ends it.
    return {.ensure = [directory = options.directory]() -> Result<bool> {
              GB_TRY(find_keeper(directory));
              return false;
            },
            .stop = [] { return Result<void>(); }};
  }
  return {.ensure = [program = options.program, directory = options.directory,
                     line = lifeline.get()] { return ensure_keeper(program, directory, {}, line); },
          .stop = [directory = options.directory] { return stop_keeper(directory); }};
}

// Null if it is off.
Result<std::unique_ptr<audit::Journal>> open_journal(const DaemonOptions& options) {
  if (!options.audit.on) {
    return std::unique_ptr<audit::Journal>();
  }
  auto opened = audit::Journal::open(audit::journal_directory(options.directory),
                                     {.durability = options.audit.durability,
                                      .keep = options.audit.keep,
                                      .witness = options.audit.witness});
  return opened ? std::move(opened) : std::move(opened).error().within("open the audit journal");
}

// One write(2) for a line, so that lines of several threads stay whole.
void write_log(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

// Ordered by someone who may signal this process: the user who runs it, or root.
void stop_everything(int emergency_fd, GuardedService& guarded, Log& log) {
  signalfd_siginfo told{};
  if (::read(emergency_fd, &told, sizeof told) != sizeof told) {
    return;
  }
  const std::string who = "signal " + std::to_string(told.ssi_signo) + " of process " +
                          std::to_string(told.ssi_pid) + " of user " + std::to_string(told.ssi_uid);
  const auto stopped = guarded.emergency_stop(guarded.unix_peer(), {});
  if (stopped) {
    log.warning("emergency stop by " + who + "; sandboxes ended: " + std::to_string(*stopped) +
                "; hint: 'glovebox emergency-stop --resume' lifts it");
  } else {
    log.error("the emergency stop by " + who + " failed: " + stopped.error().message());
  }
}

void drain(http::Server& server, std::chrono::milliseconds patience, Log& log) {
  tell_service_manager("STOPPING=1");
  log.info("shutting down; waiting up to " + std::to_string(patience.count()) +
           " ms for running requests");
  server.drain(patience);
  if (const std::size_t left = server.connections(); left > 0) {
    log.info("shutting down; open connections closed: " + std::to_string(left));
  }
}

}  // namespace

Result<void> run_daemon(DaemonOptions options,
                        int stop_fd,
                        const std::function<void(std::uint16_t port)>& ready) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  // Large bodies go back to the system as soon as they are freed, in whatever order.
  (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  const std::size_t descriptors = raise_descriptor_limit();
  // While we are alone in our cgroup: the keeper will run beside us, and could make no room.
  (void)cgroup_host();
  std::shared_ptr<KeeperStarter> starter;
  bool started = false;
  if (!options.user.empty()) {
    starter = GB_TRY(give_up_root(options, started));
  }
  const Sharing sharing = GB_TRY(open_data_directory(options.directory));
  // A daemon that was killed may be about to release the lock.
  const UniqueFd own_directory = GB_TRY(lock_directory(options.directory, "daemon", kHandover));
  Log log(STDERR_FILENO);
  std::mutex keeper_mutex;
  bool keeper_ends = false;
  // Nothing is ever written: what matters is that our end is closed, at the latest when this
  // process ends.
  const sys::Pipe lifeline = options.keeper_ends_too ? GB_TRY(sys::make_pipe()) : sys::Pipe();
  const KeeperControl control = control_of(options, sharing, starter, lifeline.read);
  NewKeeper new_keeper(control);
  if (started) {
    new_keeper.started();
  }
  std::atomic<std::uint64_t> keepers = started ? 1 : 0;
  bool serves = false;
  const auto revive = [&]() -> Result<void> {
    const std::scoped_lock lock(keeper_mutex);
    if (keeper_ends) {
      return Error(ErrorCode::kUnavailable, "the daemon is shutting down");
    }
    if (GB_TRY(control.ensure())) {
      new_keeper.started();
      ++keepers;
      if (serves) {
        log.error(
            "the keeper died, and all sandboxes without disk storage with it; "
            "started another one");
      }
    }
    return {};
  };
  // Before anything can happen that would have to be recorded.
  const auto journal = GB_TRY(open_journal(options));
  std::unique_ptr<audit::Recordings> recordings;
  std::optional<AuditTrail> trail;
  if (journal) {
    if (options.audit.network > 0) {
      recordings = GB_TRY(audit::Recordings::open(journal->directory(), options.audit.network));
    }
    trail.emplace(*journal, AuditTrail::Options{.code_in_full = options.audit.code,
                                                .inputs = options.audit.inputs,
                                                .recordings = recordings.get()});
  }
  AuditTrail* const recorded = trail ? &*trail : nullptr;
  const auto service = GB_TRY(LocalService::open(
      options.directory, keeper_socket(options.directory), revive, log,
      {.package_sources = options.package_sources,
       .package_indexes = options.package_indexes,
       .keep_records = options.keep_records,
       .keeping = options.keeping,
       .network = options.network,
       .allow_nested = options.allow_nested,
       .list_files = recorded != nullptr && options.audit.files,
       .warm = options.warm.empty() ? kind_names() : options.warm,
       .ended =
           [recorded](std::string_view tenant, std::string_view id, const Ending& ending) {
             if (recorded != nullptr) {
               recorded->note_ending(tenant, id, ending);
             }
           },
       .happened =
           recorded == nullptr
               ? std::function<void(const Happening&)>()
               : [recorded](const Happening& happening) { recorded->note_happening(happening); }}));
  PolicyGate policies(*service, options.policies);
  GuardedService guarded(*service, policies, recorded, "rest");
  GuardedService guarded_for_e2b(*service, policies, recorded, "e2b");
  GuardedService guarded_for_mcp(*service, policies, recorded, "mcp");
  e2b::E2bDoor e2b_door(guarded_for_e2b, {.domain = options.domain,
                                          .tls = !options.server.certificate_file.empty(),
                                          .root = options.e2b_root});
  rest::RestOptions rest_options;
  rest_options.approvals = &guarded;
  rest_options.tls = !options.server.certificate_file.empty();
  const std::unique_ptr<trace::Tracer> tracer = start_tracer(options.traces, log);
  http::RequestLog requests(
      options.access_log ? write_log : std::function<void(std::string_view)>(), tracer.get());
  rest_options.metrics =
      [&, gauges = GaugeSources{.service = *service,
                                .directory = options.directory,
                                .most_descriptors = descriptors}](const Caller& caller) {
        return requests.text() + gauges_text(gauges, keepers, caller) +
               (tracer ? trace_counters_text(tracer->counts()) : std::string());
      };
  rest::RestDoor rest_door(guarded, rest_options);
  McpDoors mcp_doors(
      *service, guarded_for_mcp, guarded_for_mcp,
      {.packages = !options.package_sources.empty() || !options.package_indexes.empty(),
       .domain = options.domain,
       .origins = options.cors});
  // A request goes to the first door that claims it. The last one claims any.
  const std::array<Door*, 4> doors{&e2b_door, &mcp_doors.http(), &mcp_doors.sse(), &rest_door};
  const Cors cors(options.cors);
  // Some descriptors are for the requests themselves: a way to the keeper, to files, to a port. A
  // follower holds another one for as long as its connection lasts, and all followers together
  // leave connections to others.
  const std::size_t left =
      std::max(descriptors, kOwnDescriptors + 2 * kLeastConnections) - kOwnDescriptors;
  http::ServerOptions& server_options = options.server;
  server_options.max_followers =
      std::min(server_options.max_followers,
               left / 2 - std::min<std::size_t>(left / 4, kOthersConnections / 2));
  server_options.max_connections =
      std::min(server_options.max_connections, left - server_options.max_followers);
  const auto serve = [&](Door& door, const Arrival& arrival, http::Response& response) {
    if (arrival.request.target() == "*") {
      // What may be asked of the server as a whole (RFC 9110, 9.3.7).
      (void)response.send(204, {{"Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}}, "");
    } else {
      door.handle(arrival, response);
    }
  };
  std::vector<std::string> warnings = exposure_warnings(options.server);
  for (const auto& [tenant, own] : options.policies.of_tenants) {
    if (!service->tenants().tenant(service->unix_peer(), tenant)) {
      warnings.push_back(
          "--tenant-policy names '" + tenant +
          "', a tenant that does not exist yet; hint: glovebox tenant ls shows those that do");
    }
  }
  {
    const std::scoped_lock lock(keeper_mutex);
    serves = true;
  }
  const auto server = GB_TRY(http::Server::start(
      std::move(options.server), [&](http::Request& request, http::Response& response) {
        requests.watch(request, response, [&](http::Response& watched) {
          const Arrival arrival(request);
          Door& door = **std::ranges::find_if(
              doors, [&](const Door* each) { return each->claims(arrival); });
          const http::Headers more =
              door.is_for_guest(arrival) ? http::Headers() : cors.headers(request);
          if (more.empty()) {
            serve(door, arrival, watched);
          } else if (!cors.answers(request, watched)) {
            WithHeaders answer(watched, more);
            serve(door, arrival, answer);
          }
        });
      }));
  new_keeper.keep();
  for (const std::string& warning : warnings) {
    log.warning(warning);
  }
  ready(server->port());
  tell_service_manager("READY=1");
  GuardedService guarded_for_signals(*service, policies, recorded, "signal");
  std::array<pollfd, 2> polled{{{stop_fd, POLLIN, 0}, {options.emergency_fd, POLLIN, 0}}};
  while (polled[0].revents == 0) {
    if (::poll(polled.data(), polled.size(), -1) > 0 && (polled[1].revents & POLLIN) != 0) {
      stop_everything(options.emergency_fd, guarded_for_signals, log);
    }
  }
  drain(*server, options.drain, log);
  if (options.leave_sandboxes) {
    return {};
  }
  {
    // Whatever still looks after sandboxes must not mistake the keeper's end for a crash.
    const std::scoped_lock lock(keeper_mutex);
    keeper_ends = true;
  }
  return control.stop();
}

}  // namespace glovebox
