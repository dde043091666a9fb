// SPDX-License-Identifier: Apache-2.0
// Reading records of a journal that may be written meanwhile.
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
  std::optional<std::size_t> newest{};  // or the last ones, as many as this.
  std::size_t limit = 100;              // At most kMostLimit.
  std::string tenant{};                 // Of these, those of this tenant; empty: of all.
  // Of these, those with this action; "key" also stands for "key.create" and its like.
  std::string action{};
  std::string sandbox{};
};

struct Page {
  std::vector<Record> records{};        // In their order.
  std::optional<std::uint64_t> next{};  // `after` of the next page; nothing: no more for now.
};

[[nodiscard]] bool matches(const Query& query, const Entry& entry);

// A page may be short, and even empty, and yet have a next one: the bytes that a page reads are
// bounded too. What is not a record is left out; verify() tells of that. Safe to use from any
// thread.
Result<Page> read_page(int directory, const Query& query);

// All records after `after`, in order, as lines; until the sink says no.
Result<void> read_lines(int directory,
                        std::uint64_t after,
                        const std::function<bool(std::string_view line)>& sink);

}  // namespace glovebox::audit
