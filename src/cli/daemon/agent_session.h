// SPDX-License-Identifier: Apache-2.0
// AgentSession: the sandbox of a coding agent, with a copy of a checkout in it.
#pragma once

#include <string>
#include <vector>

#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"
#include "cli/agent/profile.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/remote_options.h"
#include "cli/daemon/sandbox_process.h"

namespace glovebox::cli {

struct AgentOrder {
  DaemonOptionsText daemon;
  AgentProfile profile;
  std::vector<std::string> words;  // The caller's own, after the profile's.
  std::string template_name;
  std::string timeout;
  std::vector<std::string> env;
  RemoteNetworkText network;
  LimitsText limits;
  bool with_keys = true;
  bool with_history = true;
  bool events = false;  // JSON lines of what the agent does, on standard output.
};

class AgentSession {
 public:
  // Creates the sandbox and copies the checkout, which must outlive this, into it. The keys of the
  // profile come from our environment and are stored at the daemon only until the sandbox has its
  // proxy. kInvalid if a key is missing. A signal that would end us ends this call instead: it
  // leaves nothing behind, and stores the signal in `ended_by`, which is 0 otherwise.
  static Result<AgentSession> start(const AgentOrder& order, Checkout& checkout, int& ended_by);

  AgentSession(AgentSession&& other) noexcept;
  AgentSession& operator=(AgentSession&&) = delete;
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;
  // Ends the sandbox, unless it is kept.
  ~AgentSession();

  // Runs the agent, in our terminal if we have one. Returns its exit status.
  Result<int> run();
  // Runs the agent without a terminal, and stores what it said: a glovebox.command/1, or null if
  // the agent did not end.
  Result<int> run_for_program(Json& said);
  // What the agent changed.
  Result<Changes> changes();
  // The sandbox stays, until its timeout.
  void keep() { kept_ = true; }

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const CheckoutFiles& before() const { return before_; }

 private:
  AgentSession(const AgentOrder& order, const Checkout& checkout, DaemonClient daemon)
      : order_(order), checkout_(checkout), daemon_(std::move(daemon)) {}

  Result<void> create();
  Result<void> copy_in(Checkout& checkout, int& ended_by);
  Result<void> make_repository(bool bundled);
  Result<int> run(const ProcessOrder& process, bool terminal);
  [[nodiscard]] ProcessOrder agent_process() const;
  Result<Json> run_script(const char* script, std::vector<std::string> words);
  Result<std::set<std::string>> names_in(const char* file);

  const AgentOrder& order_;
  const Checkout& checkout_;
  DaemonClient daemon_;
  std::string id_;
  std::string sandbox_;  // Its path.
  CheckoutFiles before_;
  bool kept_ = false;
};

}  // namespace glovebox::cli
