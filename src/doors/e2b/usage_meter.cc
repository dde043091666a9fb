// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/usage_meter.h"

#include <algorithm>
#include <cmath>

#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr std::size_t kMaxRemembered = 10'000;
// Two readings closer together than this measure mostly noise.
constexpr std::chrono::milliseconds kShortest{200};

long processors(const SandboxUsage& usage) {
  return std::max(1L, std::lround(std::ceil(usage.cpus)));
}

std::int64_t unix_seconds(SystemTime at) {
  return duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

}  // namespace

Result<UsageMeter::Reading> UsageMeter::read(const Caller& caller, const SandboxInfo& info) {
  Reading reading{.usage = GB_TRY(service_.usage(caller, info.id)), .cpu_percent = 0};
  const SandboxUsage& usage = reading.usage;

  const std::lock_guard lock(mutex_);
  if (before_.size() >= kMaxRemembered) {
    before_.clear();
  }
  const auto [place, fresh] = before_.try_emplace(info.id, Before{.at = info.created});
  Before& before = place->second;
  const auto passed = duration_cast<microseconds>(usage.at - before.at);
  if (!fresh && passed < kShortest) {
    reading.cpu_percent = before.cpu_percent;
    return reading;
  }
  if (passed > microseconds(0) && usage.cpu_used >= before.cpu_used) {
    const double share = static_cast<double>((usage.cpu_used - before.cpu_used).count()) /
                         static_cast<double>(passed.count());
    reading.cpu_percent = std::round(share * 10'000) / 100;
  }
  before = {.at = usage.at, .cpu_used = usage.cpu_used, .cpu_percent = reading.cpu_percent};
  return reading;
}

Json metric_json(const UsageMeter::Reading& reading) {
  const SandboxUsage& usage = reading.usage;
  return {{"timestamp", to_rfc3339(usage.at)},
          {"timestampUnix", unix_seconds(usage.at)},
          {"cpuCount", processors(usage)},
          {"cpuUsedPct", reading.cpu_percent},
          {"memUsed", usage.memory_used.count},
          {"memTotal", usage.memory_limit.count},
          {"memCache", 0},
          {"diskUsed", usage.disk_used.count},
          {"diskTotal", usage.disk_limit.count}};
}

Json envd_metric_json(const UsageMeter::Reading& reading) {
  const SandboxUsage& usage = reading.usage;
  return {{"ts", unix_seconds(usage.at)},
          {"cpu_count", processors(usage)},
          {"cpu_used_pct", reading.cpu_percent},
          {"mem_total", usage.memory_limit.count},
          {"mem_used", usage.memory_used.count},
          {"mem_cache", 0},
          {"mem_total_mib", usage.memory_limit.count >> 20},
          {"mem_used_mib", usage.memory_used.count >> 20},
          {"disk_used", usage.disk_used.count},
          {"disk_total", usage.disk_limit.count}};
}

}  // namespace glovebox::e2b
