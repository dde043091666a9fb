// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_network.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "spec/verdict.h"

namespace glovebox::keeper {
namespace {

// Limits how many connections wait for the proxy, as when the socket was made.
constexpr int kBacklog = 128;

void append(SandboxConnections& all, Egress::Record record) {
  for (ConnectionRecord& connection : record.connections) {
    if (all.connections.size() < Verdict::kMaxConnections) {
      all.connections.push_back(std::move(connection));
    } else {
      ++all.more;
    }
  }
  all.more += record.more;
}

}  // namespace

Result<std::unique_ptr<HeldNetwork>> HeldNetwork::start(Sandbox& sandbox,
                                                        const NetworkOrder& order,
                                                        EdgeCredentials credentials) {
  WayOut way_out = sandbox.take_way_out();
  if (!way_out.listener) {
    return Error(ErrorCode::kInternal, "the sandbox has no socket for its proxy");
  }
  // A closed listener can listen again while earlier connections linger; they inherit this.
  constexpr int kYes = 1;
  if (::setsockopt(way_out.listener.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes) != 0) {
    return Error::from_errno("setsockopt");
  }
  std::unique_ptr<HeldNetwork> network(
      new HeldNetwork(std::move(way_out), sandbox.helper_uid(), std::move(credentials)));
  const std::scoped_lock changing(network->changing_);
  network->rules_ = order.rules;
  network->public_only_ = order.public_only;
  GB_TRY(network->replace(order.rules, order.public_only, network->credentials_));
  return network;
}

Result<void> HeldNetwork::change(const NetworkOrder& order) {
  const std::scoped_lock changing(changing_);
  credentials_ = GB_TRY(credentials_.changed(order.rules.credentials, order.secrets));
  rules_ = order.rules;
  public_only_ = order.public_only;
  return replace(rules_, public_only_, credentials_);
}

Result<void> HeldNetwork::close() {
  const std::scoped_lock changing(changing_);
  return replace({}, true, {});
}

void HeldNetwork::shut() {
  const std::scoped_lock changing(changing_);
  end_proxy();
  (void)::shutdown(way_out_.listener.get(), SHUT_RDWR);
}

Result<void> HeldNetwork::reopen() {
  const std::scoped_lock changing(changing_);
  return replace(rules_, public_only_, credentials_);
}

// Requires: changing_ is held.
void HeldNetwork::end_proxy() {
  std::unique_ptr<Egress> old;
  {
    const std::scoped_lock lock(mutex_);
    old = std::move(egress_);
  }
  if (old) {
    old->end();
    const std::scoped_lock lock(mutex_);
    append(before_, old->record());
  }
}

// Requires: changing_ is held.
Result<void> HeldNetwork::replace(const NetworkRules& rules,
                                  bool public_only,
                                  const EdgeCredentials& credentials) {
  end_proxy();
  // A proxy that died has closed the listener for connections.
  if (::listen(way_out_.listener.get(), kBacklog) != 0) {
    return Error::from_errno("listen in the sandbox");
  }
  auto started = Egress::start({.listener = way_out_.listener.get(),
                                .names = way_out_.names.get(),
                                .identity = identity_,
                                .public_only = public_only},
                               rules, credentials, {});
  if (!started) {
    (void)::shutdown(way_out_.listener.get(), SHUT_RDWR);
    return std::move(started).error();
  }
  const std::scoped_lock lock(mutex_);
  egress_ = std::move(started).value();
  if (over_) {
    egress_->cut();
  }
  return {};
}

void HeldNetwork::cut() {
  const std::scoped_lock lock(mutex_);
  over_ = true;
  if (egress_) {
    egress_->cut();
  }
}

bool HeldNetwork::reads_tls() {
  const std::scoped_lock changing(changing_);
  return !credentials_.credentials().authority_key.empty();
}

SandboxConnections HeldNetwork::connections() const {
  const std::scoped_lock lock(mutex_);
  SandboxConnections all = before_;
  if (egress_) {
    append(all, egress_->record());
  }
  return all;
}

}  // namespace glovebox::keeper
