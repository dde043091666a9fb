// SPDX-License-Identifier: Apache-2.0
// HeldNetwork: the way out of one living sandbox (service/network/egress.h), whose rules may
// change.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "service/api/sandbox_service.h"
#include "service/network/egress.h"
#include "spec/network_rules.h"

namespace glovebox::keeper {

// How a sandbox is let out.
struct NetworkOrder {
  NetworkRules rules{};
  bool public_only = true;  // As egress::Order's.
  SecretValues secrets{};   // Those that the rules name.
};

// Safe to use from several threads.
class HeldNetwork {
 public:
  // Starts the proxy of a sandbox that Egress::prepare() prepared, before anything runs there.
  static Result<std::unique_ptr<HeldNetwork>> start(Sandbox& sandbox,
                                                    const NetworkOrder& order,
                                                    EdgeCredentials credentials);

  // Replaces the proxy, dead or alive: its connections are cut. If the new one does not start,
  // there is none; if the rules are not possible (kConflict, kInvalid and kNotFound of
  // EdgeCredentials::changed()), the old one stays.
  Result<void> change(const NetworkOrder& order);

  // Replaces the proxy with one that lets nothing out, whatever the rules say, and records what is
  // tried.
  Result<void> close();
  // Ends the proxy, after its last records: later connections are refused, and not recorded.
  void shut();
  // After any of these: replaces what is there by a proxy with the sandbox's own rules.
  Result<void> reopen();

  // Cuts every connection, without waiting; nothing is let out from then on.
  void cut();

  [[nodiscard]] SandboxConnections connections() const;

  // Whether it reads requests within TLS, with a certificate that only this sandbox trusts.
  [[nodiscard]] bool reads_tls();

 private:
  HeldNetwork(WayOut way_out, std::uint32_t identity, EdgeCredentials credentials)
      : way_out_(std::move(way_out)), identity_(identity), credentials_(std::move(credentials)) {}
  Result<void> replace(const NetworkRules& rules,
                       bool public_only,
                       const EdgeCredentials& credentials);
  void end_proxy();

  const WayOut way_out_;
  const std::uint32_t identity_;
  std::mutex changing_;          // Taken before mutex_; held while a proxy ends or starts.
  EdgeCredentials credentials_;  // Of the rules; with changing_.
  NetworkRules rules_;           // Likewise.
  bool public_only_ = true;
  mutable std::mutex mutex_;  // Of what follows; held for a moment only.
  std::unique_ptr<Egress> egress_;
  SandboxConnections before_;  // Of the proxies that came before it.
  bool over_ = false;
};

}  // namespace glovebox::keeper
