// SPDX-License-Identifier: Apache-2.0
// Trial: an execution whose changes, and whose output, wait until a person agrees to them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/sandbox_service.h"

namespace glovebox {

// A dry run that only the holder of this object can commit. Discarded when this goes, unless it was
// committed. One thread at a time; service and caller outlive it.
class Trial {
 public:
  static constexpr std::size_t kMostHeld = 4UL << 20;  // Bytes of what it printed and returned.

  struct Place {
    SandboxService& service;
    const Caller& caller;
    std::string sandbox{};
    std::string context{};
  };

  // Why a request can have none; empty: it can.
  [[nodiscard]] static std::string why_not(const ExecuteRequest& request);

  // Executes the request to its end, as a dry run that is discarded after `patience` at the latest.
  // A seal is chosen here, unless the request has one. `sink` is told nothing; it is only asked
  // whether anybody still wants the execution, which is interrupted otherwise. Fails as an
  // execution does, with kUnsupported or kConflict if the sandbox can have no dry run, or none now;
  // kExhausted if it prints more than is held.
  static Result<std::unique_ptr<Trial>> run(const Place& place,
                                            ExecuteRequest request,
                                            std::chrono::milliseconds patience,
                                            const EventSink& sink);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  // Its name, for as long as the sandbox exists.
  [[nodiscard]] const std::string& id() const { return id_; }
  // What it changed, as in docs/dry-run.md.
  [[nodiscard]] const std::string& report() const { return report_; }
  // The SHA-256 of that, without what differs between two runs that do the same: names and times.
  [[nodiscard]] std::string digest() const;

  // Keeps what it changed. kConflict if that is no longer what report() says.
  Result<void> commit();
  // It was committed before: an execution that is asked for again is not executed again.
  void was_committed() { decided_ = true; }
  [[nodiscard]] bool is_decided() const { return decided_; }
  // Tells what happened, after it was committed.
  void tell(const EventSink& sink) const;

 private:
  friend class KeptTrials;

  Trial(const Place& place, const ExecuteRequest& request)
      : place_(place), key_(request.idempotency_key), seal_(request.dry_run_seal) {}
  void keep(std::string_view event);
  Result<void> read_verdict();

  const Place place_;
  const std::string key_;  // Under which the keeper knows the execution.
  const std::string seal_;
  std::string id_;
  std::string report_;
  std::string verdict_;
  std::vector<std::string> events_;
  std::size_t held_ = 0;
  bool overflowed_ = false;
  bool decided_ = false;
};

// Which executions were committed, by their idempotency keys: a client that asks for one again gets
// what it has missed. Any thread. Nothing survives the daemon.
class KeptTrials {
 public:
  static constexpr std::size_t kMost = 1'000;  // The oldest is forgotten first.

  struct Kept {
    std::string key{};   // Under which the keeper knows the execution,
    std::string seal{};  // with which it was requested,
    std::string id{};    // and the name of its dry run.
  };
  [[nodiscard]] std::optional<Kept> find(const Trial::Place& place,
                                         std::string_view client_key) const;
  // Does nothing if the client has no key.
  void add(const Trial& trial, std::string_view client_key);

 private:
  static std::string name_of(const Trial::Place& place, std::string_view client_key);

  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;
  std::deque<std::string> order_;
};

}  // namespace glovebox
