// SPDX-License-Identifier: Apache-2.0
#include "sandbox/used_since.h"

namespace glovebox {

using std::chrono::microseconds;

UsedSince::UsedSince(const Sandbox& sandbox, bool unused) : sandbox_(sandbox) {
  if (!unused) {
    const Meter& meter = sandbox.meter();
    cpu_ = meter.cpu_time().value_or(microseconds(0));
    oom_kills_ = meter.oom_kills();
    pids_refusals_ = meter.pids_refusals();
    hoards_ = sandbox.hoard_kills();
  }
}

std::optional<microseconds> UsedSince::cpu() const {
  const auto now = sandbox_.meter().cpu_time();
  return now ? std::optional(*now - cpu_) : std::nullopt;
}

bool UsedSince::ran_out_of_memory() const { return sandbox_.meter().oom_kills() > oom_kills_; }

bool UsedSince::ran_out_of_pids() const {
  return sandbox_.meter().pids_refusals() > pids_refusals_;
}

std::vector<std::string_view> UsedSince::hoards() const {
  const HoardWatch::Kills now = sandbox_.hoard_kills();
  std::vector<std::string_view> found;
  for (const Hoard hoard : kHoards) {
    const auto at = static_cast<std::size_t>(hoard);
    if (now[at] > hoards_[at]) {
      found.push_back(limit_of(hoard));
    }
  }
  return found;
}

}  // namespace glovebox
