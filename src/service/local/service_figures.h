// SPDX-License-Identifier: Apache-2.0
// ServiceFigures: what the service and its keeper count, for metrics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "service/api/ending.h"
#include "service/tenants/quota_book.h"

namespace glovebox {

struct ServiceFigures {
  struct Tenant {
    std::string name;
    QuotaUse use;
  };
  struct Pool {
    // A shipped one, or "(built)" for all others together; with the tier if not that of realms.
    std::string template_name;
    std::uint64_t ready = 0;   // Sandboxes that wait,
    std::uint64_t wanted = 0;  // and how many should.
  };
  struct Keeper {
    std::uint64_t threads = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t pool_failures = 0;  // Pools that could not be started, so far.
    std::vector<Pool> pools{};
  };

  std::array<std::uint64_t, kEndReasons> ends{};  // Sandboxes that ended, by EndReason.
  Histogram creation{};                           // Of sandboxes that could be created.
  std::vector<Tenant> tenants{};
  std::optional<Keeper> keeper{};  // Nothing when it does not answer.
};

}  // namespace glovebox
