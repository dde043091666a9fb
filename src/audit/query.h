// SPDX-License-Identifier: Apache-2.0
// Reads records of a journal that may be written at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/record.h"
#include "base/result.h"

namespace glovebox::audit {

struct Query {
  static constexpr std::size_t kMostLimit = 1000;

  std::uint64_t after = 0;              // Records with greater numbers,
  std::optional<std::size_t> newest{};  // or this many of the last ones.
  std::size_t limit = 100;              // At most kMostLimit.
  std::string tenant{};                 // Only those of this tenant; empty: of all.
  // Only those with this action; "key" also matches "key.create" and so on.
  std::string action{};
  std::string sandbox{};
};

struct Page {
  std::vector<Record> records{};        // In their order.
  std::optional<std::uint64_t> next{};  // `after` of the next page; nothing: no more for now.
};

[[nodiscard]] bool matches(const Query& query, const Entry& entry);

// A page may be short, or even empty, and still have a next one: the bytes that a page reads are
// bounded, too. Lines that are not records are left out; verify() reports them. Safe to use from
// any thread.
Result<Page> read_page(int directory, const Query& query);

// Passes all records after `after`, in order, as lines, until the sink returns false.
Result<void> read_lines(int directory,
                        std::uint64_t after,
                        const std::function<bool(std::string_view line)>& sink);

}  // namespace glovebox::audit
