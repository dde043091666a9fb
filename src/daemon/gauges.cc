// SPDX-License-Identifier: Apache-2.0
#include "daemon/gauges.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace glovebox {
namespace {

void add(std::string& text,
         std::string_view name,
         std::string_view type,
         std::string_view help,
         std::uint64_t value) {
  const std::string metric(name);
  text += "# HELP " + metric + " " + std::string(help) + "\n# TYPE " + metric + " " +
          std::string(type) + "\n" + metric + " " + std::to_string(value) + "\n";
}

void add_sandboxes(std::string& text, const std::vector<Bearer>& bearers) {
  const auto paused = std::ranges::count_if(
      bearers, [](const Bearer& each) { return each.info.state == SandboxState::kPaused; });
  text +=
      "# HELP glovebox_sandboxes Sandboxes of all tenants.\n"
      "# TYPE glovebox_sandboxes gauge\n"
      "glovebox_sandboxes{state=\"running\"} " +
      std::to_string(std::ssize(bearers) - paused) + "\nglovebox_sandboxes{state=\"paused\"} " +
      std::to_string(paused) + "\n";
}

void begin(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  const std::string metric(name);
  text += "# HELP " + metric + " " + std::string(help) + "\n# TYPE " + metric + " " +
          std::string(type) + "\n";
}

void sample(std::string& text,
            std::string_view name,
            std::string_view label,
            std::string_view value,
            std::uint64_t number) {
  text += std::string(name) + "{" + std::string(label) + "=\"" + std::string(value) + "\"} " +
          std::to_string(number) + "\n";
}

// The tenants with the most sandboxes, and all others together: each label costs whoever stores it.
void add_tenants(std::string& text,
                 std::vector<ServiceFigures::Tenant> tenants,
                 const Caller& caller) {
  constexpr std::size_t kMostTenants = 100;
  if (!caller.may(kScopeAdmin)) {
    std::erase_if(tenants, [&](const auto& each) { return each.name != caller.tenant; });
  }
  std::ranges::stable_sort(tenants, std::greater(),
                           [](const auto& each) { return each.use.sandboxes; });
  if (tenants.size() > kMostTenants) {
    ServiceFigures::Tenant others{.name = "(other)", .use = {}};
    for (auto each = tenants.begin() + kMostTenants; each != tenants.end(); ++each) {
      others.use.sandboxes += each->use.sandboxes;
      others.use.disk.count += each->use.disk.count;
    }
    tenants.resize(kMostTenants);
    tenants.push_back(std::move(others));
  }
  begin(text, "glovebox_tenant_sandboxes", "gauge", "Sandboxes by tenant.");
  for (const auto& each : tenants) {
    sample(text, "glovebox_tenant_sandboxes", "tenant", each.name, each.use.sandboxes);
  }
  begin(text, "glovebox_tenant_disk_bytes", "gauge",
        "What counts against the disk quota of a tenant: limits of sandboxes, and what is stored.");
  for (const auto& each : tenants) {
    sample(text, "glovebox_tenant_disk_bytes", "tenant", each.name, each.use.disk.count);
  }
}

void add_keeper(std::string& text, const std::optional<ServiceFigures::Keeper>& keeper) {
  add(text, "glovebox_keeper_up", "gauge", "1 while the keeper answers.", keeper ? 1 : 0);
  if (!keeper) {
    return;
  }
  add(text, "glovebox_keeper_threads", "gauge", "Threads of the keeper.", keeper->threads);
  add(text, "glovebox_keeper_open_fds", "gauge", "Open descriptors of the keeper.",
      keeper->descriptors);
  add(text, "glovebox_pool_failures_total", "counter",
      "Pools of warm sandboxes that could not be started; keeper.log has the reasons.",
      keeper->pool_failures);
  begin(text, "glovebox_pool_ready", "gauge", "Warm sandboxes that wait to be claimed.");
  for (const auto& pool : keeper->pools) {
    sample(text, "glovebox_pool_ready", "template", pool.template_name, pool.ready);
  }
  begin(text, "glovebox_pool_wanted", "gauge", "How many are to wait.");
  for (const auto& pool : keeper->pools) {
    sample(text, "glovebox_pool_wanted", "template", pool.template_name, pool.wanted);
  }
}

void add_service(std::string& text, const ServiceFigures& figures) {
  begin(text, "glovebox_sandbox_ends_total", "counter", "Sandboxes that have ended, by reason.");
  for (std::size_t i = 0; i < figures.ends.size(); ++i) {
    sample(text, "glovebox_sandbox_ends_total", "reason", to_string(static_cast<EndReason>(i)),
           figures.ends[i]);
  }
  begin(text, "glovebox_sandbox_create_seconds", "histogram",
        "Time to create a sandbox, of those that could be created.");
  text += figures.creation.text("glovebox_sandbox_create_seconds", "");
}

std::uint64_t open_descriptors() {
  std::error_code failure;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", failure), end;
       !failure && each != end; each.increment(failure)) {
    ++count;
  }
  return count;
}

}  // namespace

std::string gauges_text(const GaugeSources& sources, std::uint64_t keepers, const Caller& caller) {
  std::string text =
      "# HELP glovebox_build_info Which version this is.\n"
      "# TYPE glovebox_build_info gauge\n"
      "glovebox_build_info{version=\"" GB_VERSION "\"} 1\n";
  add_sandboxes(text, sources.service.bearers());
  ServiceFigures figures = sources.service.figures();
  add_service(text, figures);
  add_tenants(text, std::move(figures.tenants), caller);
  add_keeper(text, figures.keeper);
  add(text, "glovebox_ready", "gauge", "1 once the interpreters are warm.",
      sources.service.ready() ? 1 : 0);
  add(text, "glovebox_keeper_starts_total", "counter",
      "Keepers started by this daemon: the first one, and one for each that died.", keepers);
  struct statvfs disk {};
  if (::statvfs(sources.directory.c_str(), &disk) == 0) {
    add(text, "glovebox_data_filesystem_size_bytes", "gauge",
        "Size of the file system of the data directory.",
        std::uint64_t{disk.f_blocks} * disk.f_frsize);
    add(text, "glovebox_data_filesystem_avail_bytes", "gauge",
        "What is free there for the daemon's user.", std::uint64_t{disk.f_bavail} * disk.f_frsize);
  }
  add(text, "process_open_fds", "gauge", "Open descriptors of the daemon.", open_descriptors());
  add(text, "process_max_fds", "gauge", "How many descriptors the daemon may open.",
      sources.most_descriptors);
  return text;
}

}  // namespace glovebox
