// SPDX-License-Identifier: Apache-2.0
// CellHistory: the code that live interpreters have executed, so that the analysis of a cell knows
// what the cells before it named: `s = os.system` in one, `s("id")` in the next.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox {

// Any thread. What does not fit is forgotten, and the context is known from then on as one whose
// history is not whole.
class CellHistory {
 public:
  static constexpr std::size_t kMostOfContext = 512UL * 1024;
  static constexpr std::size_t kMostOfTenant = 8UL * 1024 * 1024;
  static constexpr std::size_t kMostContexts = 10'000;  // Of a tenant.

  struct Known {
    std::string code{};  // Whole lines.
    bool whole = true;
  };

  [[nodiscard]] Known of(std::string_view tenant,
                         std::string_view sandbox,
                         std::string_view context) const;

  // Adds a cell. `lives` says whether a sandbox is still there; it is asked when the tenant has too
  // many contexts here, without a lock held.
  void add(std::string_view tenant,
           std::string_view sandbox,
           std::string_view context,
           std::string_view cell,
           const std::function<bool(const std::string& sandbox)>& lives);

  // The context `fork` begins where `context` of the same sandbox is.
  void copy(std::string_view tenant,
            std::string_view sandbox,
            std::string_view context,
            std::string_view fork);

  // The contexts of `copy` begin where those of `sandbox` are, under the same names.
  void copy_all(std::string_view tenant, std::string_view sandbox, std::string_view copy);

 private:
  using Key = std::pair<std::string, std::string>;  // Sandbox and context.
  struct OfTenant {
    std::map<Key, Known> contexts{};
    std::size_t bytes = 0;
  };

  static void put(OfTenant& own, Key key, Known known);
  void drop_dead(const std::string& tenant,
                 const std::function<bool(const std::string& sandbox)>& lives);

  mutable std::mutex mutex_;
  std::map<std::string, OfTenant> tenants_;
};

}  // namespace glovebox
