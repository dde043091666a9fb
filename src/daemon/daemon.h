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

// What the journal records about callers' actions (audit/journal.h).
struct AuditOptions {
  bool on = true;
  audit::Durability durability = audit::Durability::kRequests;
  bool code = false;          // Code in full, not only its hash.
  bool inputs = false;        // Also what runs are given and print.
  std::uint64_t network = 0;  // Bytes of each tenant's recordings; 0: none are made.
  bool files = false;         // Also which files the cells of contexts changed.
  std::optional<std::chrono::seconds> keep{};  // Nothing: for ever.
  std::string witness{};                       // A file that gets each head too; empty: none.
};

struct DaemonOptions {
  http::ServerOptions server;
  std::string directory;  // For everything that lasts (data_directory.h).
  std::string program;    // Our own file, which is the keeper too.
  // The user that root's daemon runs as (daemon_user.h); empty: root.
  std::string user{};
  std::string domain;  // Ports are named PORT-ID.DOMAIN; empty: whatever clients say.
  bool access_log = false;
  bool e2b_root = false;                        // As E2bOptions::root.
  std::vector<std::string> cors{};              // Origins whose pages may read answers (cors.h).
  std::vector<std::string> package_sources{};   // Directories of packages, for every sandbox.
  std::vector<PackageIndex> package_indexes{};  // Indexes on sockets, likewise.
  // How long records of ended sandboxes are kept.
  std::chrono::milliseconds keep_records{std::chrono::hours(30 * 24)};
  // How long requests under way may take when the daemon is told to end.
  std::chrono::milliseconds drain{10'000};
  // What sandboxes may reach at most.
  NetworkPolicy network = NetworkPolicy::kNone;
  bool allow_nested = false;  // Sandboxes may contain sandboxes of their own.
  // The policies that code is checked against before it runs, whoever asks for it.
  PolicyOptions policies{};
  AuditOptions audit{};
  TraceOptions traces{};
  // When the daemon ends, the sandboxes live on with their keeper, for the next daemon.
  bool leave_sandboxes = false;
  // The built-in templates to make sandboxes from ahead of time; none: all of them.
  std::vector<std::string> warm{};
  // The keeper and the sandboxes end with this process, even if it is killed.
  bool keeper_ends_too = false;
  // A signalfd(2): each signal read from it stops everything in an emergency. -1: none.
  int emergency_fd = -1;
  // Whether what is written must outlive this process and the keeper.
  Keeping keeping = Keeping::kLasting;
};

// Serves until `stop_fd` becomes readable, then finishes what is under way. Calls `ready` with the
// port once requests are answered.
Result<void> run_daemon(DaemonOptions options,
                        int stop_fd,
                        const std::function<void(std::uint16_t port)>& ready);

}  // namespace glovebox
