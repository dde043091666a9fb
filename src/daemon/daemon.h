// SPDX-License-Identifier: Apache-2.0
// The daemon: a service, its doors, and a server in front of them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/journal.h"
#include "base/result.h"
#include "daemon/trace_exporter.h"
#include "doors/transport/http.h"
#include "service/guarded/policy_gate.h"
#include "service/packages/package_index.h"
#include "spec/network_rules.h"
#include "store/keeping.h"

namespace glovebox {

// What is recorded of what callers do (audit/journal.h).
struct AuditOptions {
  bool on = true;
  audit::Durability durability = audit::Durability::kRequests;
  bool code = false;          // Code in full, not only its hash.
  bool inputs = false;        // What runs are given and print, too.
  std::uint64_t network = 0;  // Bytes of each tenant's recordings; 0: none is made.
  bool files = false;         // Which files cells of contexts have changed, too.
  std::optional<std::chrono::seconds> keep{};  // Nothing: for ever.
  std::string witness{};                       // A file that gets each head too; empty: none.
};

struct DaemonOptions {
  http::ServerOptions server;
  std::string directory;  // Of everything that lasts (data_directory.h).
  std::string program;    // Our own file, which is the keeper too.
  // The user as whom root's daemon runs (daemon_user.h); empty: root.
  std::string user{};
  std::string domain;  // Names of ports are PORT-ID.DOMAIN; empty: whatever clients say.
  bool access_log = false;
  bool e2b_root = false;                        // As E2bOptions::root.
  std::vector<std::string> cors{};              // Origins whose pages may read answers (cors.h).
  std::vector<std::string> package_sources{};   // Directories of packages, for every sandbox.
  std::vector<PackageIndex> package_indexes{};  // Indexes on sockets, likewise.
  // How long records of sandboxes are kept that have ended.
  std::chrono::milliseconds keep_records{std::chrono::hours(30 * 24)};
  // How long requests under way may take when the daemon is told to end.
  std::chrono::milliseconds drain{10'000};
  // What sandboxes may reach at most.
  NetworkPolicy network = NetworkPolicy::kNone;
  bool allow_nested = false;  // Sandboxes may contain sandboxes of their own.
  // What is checked before it runs, whoever asks for it.
  PolicyOptions policies{};
  AuditOptions audit{};
  TraceOptions traces{};
  // At the end the sandboxes live on with their keeper, for the next daemon.
  bool leave_sandboxes = false;
  // The built-in templates of which sandboxes are made ahead; none: all of them.
  std::vector<std::string> warm{};
  // The keeper and the sandboxes end with this process, even if it is killed.
  bool keeper_ends_too = false;
  // A signalfd(2): each signal that it tells is an emergency stop of everything. -1: none.
  int emergency_fd = -1;
  // What is written need not outlive this process, or the keeper.
  Keeping keeping = Keeping::kLasting;
};

// Serves until `stop_fd` becomes readable; then what is under way is finished. `ready` is told the
// port once requests are answered.
Result<void> run_daemon(DaemonOptions options,
                        int stop_fd,
                        const std::function<void(std::uint16_t port)>& ready);

}  // namespace glovebox
