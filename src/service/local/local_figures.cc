// SPDX-License-Identifier: Apache-2.0
// What the service counts.
#include <map>

#include "base/json/json.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;

ServiceFigures::Keeper to_keeper(const json& said) {
  ServiceFigures::Keeper keeper{.threads = said.value("threads", std::uint64_t{0}),
                                .descriptors = said.value("descriptors", std::uint64_t{0}),
                                .pool_failures = said.value("pool_failures", std::uint64_t{0})};
  std::map<std::string, ServiceFigures::Pool> pools;
  // Pools that could be there are shown even while they are not.
  for (const std::string& name : kind_names()) {
    pools.try_emplace(std::string(pool_name(find_kind(name)->home)));
  }
  for (const json& each : said.value("pools", json::array())) {
    const bool built = each.value("of_template", false);
    const std::string home = each.value("home", std::string());
    // Pools whose home is not a path are for our own use: the analysers of code.
    const std::string tier = each.value("tier", std::string());
    const std::string name = (built                   ? "(built)"
                              : home.starts_with('/') ? std::string(pool_name(home))
                                                      : "(" + home + ")") +
                             (tier.empty() ? "" : " (" + tier + ")");
    ServiceFigures::Pool& pool = pools[name];
    pool.ready += each.value("ready", std::uint64_t{0});
    pool.wanted += each.value("wanted", std::uint64_t{0});
  }
  for (auto& [name, pool] : pools) {
    pool.template_name = name;
    keeper.pools.push_back(std::move(pool));
  }
  return keeper;
}

}  // namespace

ServiceFigures LocalService::figures() {
  ServiceFigures figures;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    figures.ends[i] = ends_[i];
  }
  {
    const std::scoped_lock lock(mutex_);
    figures.creation = creation_;
  }
  for (const TenantRecord& tenant : tenants_->tenants()) {
    figures.tenants.push_back({.name = tenant.name, .use = quotas_.used(tenant.name)});
  }
  if (const auto said = keeper_.call("figures", json::object()); said && said->is_object()) {
    figures.keeper = to_keeper(*said);
  }
  return figures;
}

}  // namespace glovebox
