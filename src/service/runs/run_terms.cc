// SPDX-License-Identifier: Apache-2.0
#include "service/runs/run_terms.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/bytes.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// A compiler needs more than most programs, and its time is not the guest's.
constexpr int kCompilePatience = 3;
constexpr Limits kCompileLimits{.wall = 60s, .memory = 1_GiB, .cpus = 2.0};

}  // namespace

Result<TierWish> tier_for(const Language& language, const TierWish& wish, bool deterministic) {
  const bool open = wish.exactly.empty() || wish.exactly == "auto";
  TierWish tier = wish;
  if (const std::string& only = language.tier; !only.empty()) {
    if (!open && wish.exactly != only) {
      return Error(ErrorCode::kUnsupported,
                   language.title + ": only the " + only + " tier can run it",
                   "use --tier " + only);
    }
    tier.exactly = only;
  } else if (open && deterministic) {
    tier.exactly = tier_that(&TierTraits::is_deterministic).exactly;
  }
  return tier;
}

Limits run_limits(const Language& language, const LimitWishes& wishes) {
  return wishes.over(language.run_limits.over(Limits{}));
}

Limits compile_limits(const Language& language, const LimitWishes& wishes) {
  Limits limits = language.compile_limits.over(kCompileLimits);
  if (!language.compile_limits.cpu_time) {
    // What a compiler can use in that time. On a loaded machine it gets less, and correct code must
    // not become a compile error; so the wall clock only ends a compiler that waits.
    limits.cpu_time = std::chrono::duration_cast<std::chrono::milliseconds>(
        limits.wall * std::max(1.0, limits.cpus));
    limits.wall *= kCompilePatience;
  }
  return wishes.over(limits);
}

}  // namespace glovebox
