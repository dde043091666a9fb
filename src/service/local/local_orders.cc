// SPDX-License-Identifier: Apache-2.0
// What the keeper is told to make.
#include "service/local/local_service.h"

namespace glovebox {

keeper::CreateOrder LocalService::order_of(const Caller& caller, const Base& base) const {
  keeper::CreateOrder order;
  order.tenant = caller.tenant;
  order.home = base.kind.home;
  order.user = base.kind.user;
  if (base.parts) {
    order.shows = templates_.order(caller.tenant, *base.parts);
  }
  return order;
}

keeper::CreateOrder LocalService::order_of(const Caller& caller,
                                           const Base& base,
                                           const SandboxInfo& info) const {
  keeper::CreateOrder order = order_of(caller, base);
  order.as_root = info.as_root;
  order.nested = info.nested;
  order.run_as = info.run_as;
  order.sudo = info.sudo;
  order.limits = info.limits;
  order.env = info.env;
  order.lifetime = {.expires = info.expires, .on_timeout = info.on_timeout};
  order.id = info.id;
  order.lists_files = list_files_;
  order.rules = info.rules;
  packages_.add_to(order);
  return order;
}

}  // namespace glovebox
