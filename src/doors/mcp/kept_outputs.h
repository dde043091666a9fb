// SPDX-License-Identifier: Apache-2.0
// KeptOutputs: outputs that were too long for a result, to be read later in pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::mcp {

// Safe to use from several threads. The oldest go when there is no room: each tenant has a bound,
// and so have all together.
class KeptOutputs {
 public:
  static constexpr std::string_view kScheme = "glovebox://output/";
  static constexpr std::size_t kMostOfTenant = 16UL << 20;
  static constexpr std::size_t kMost = 128UL << 20;
  static constexpr std::size_t kMostEntries = 64;  // Of a tenant.

  struct Output {
    std::string uri;
    std::string name;  // For people: "stdout of run_code".
    std::string type;  // MIME.
    std::string bytes;
  };

  // Returns its URI, which nobody can guess. Empty if it is too large to be kept.
  std::string keep(std::string_view tenant, std::string name, std::string type, std::string bytes);
  // Null when it is gone, or is another tenant's.
  [[nodiscard]] std::shared_ptr<const Output> find(std::string_view tenant,
                                                   std::string_view uri) const;
  // A different number whenever all() has changed.
  [[nodiscard]] std::uint64_t changes(std::string_view tenant) const;
  // Oldest first.
  [[nodiscard]] std::vector<std::shared_ptr<const Output>> all(std::string_view tenant) const;

 private:
  struct Kept {
    std::string tenant;
    std::shared_ptr<const Output> output;
  };
  // Removes the oldest of a tenant, or of all when it is nothing. Requires the mutex.
  void drop_oldest(std::optional<std::string_view> tenant);

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  // Oldest first.
  struct Use {
    std::size_t bytes = 0;
    std::size_t entries = 0;
    std::uint64_t changes = 0;
  };
  std::map<std::string, Use, std::less<>> used_;
  std::size_t total_ = 0;
};

}  // namespace glovebox::mcp
