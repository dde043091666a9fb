// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_network.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "spec/verdict.h"

namespace glovebox::keeper {
namespace {

// Bounds what waits for the proxy, as the socket had it when it was made.
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
  // One that was closed can listen again while connections of before linger; they inherit this.
  constexpr int kYes = 1;
  if (::setsockopt(way_out.listener.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes) != 0) {
    return Error::from_errno("setsockopt");
  }
  std::unique_ptr<HeldNetwork> network(
      new HeldNetwork(std::move(way_out), sandbox.helper_uid(), std::move(credentials)));
  const std::scoped_lock changing(network->changing_);
  GB_TRY(network->replace(order));
  return network;
}

Result<void> HeldNetwork::change(const NetworkOrder& order) {
  const std::scoped_lock changing(changing_);
  credentials_ = GB_TRY(credentials_.changed(order.rules.credentials, order.secrets));
  return replace(order);
}

// With changing_.
Result<void> HeldNetwork::replace(const NetworkOrder& order) {
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
  // A proxy that died has closed it for connections.
  if (::listen(way_out_.listener.get(), kBacklog) != 0) {
    return Error::from_errno("listen in the sandbox");
  }
  auto started = Egress::start({.listener = way_out_.listener.get(),
                                .names = way_out_.names.get(),
                                .identity = identity_,
                                .public_only = order.public_only},
                               order.rules, credentials_, {});
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

SandboxConnections HeldNetwork::connections() const {
  const std::scoped_lock lock(mutex_);
  SandboxConnections all = before_;
  if (egress_) {
    append(all, egress_->record());
  }
  return all;
}

}  // namespace glovebox::keeper
