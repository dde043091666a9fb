// SPDX-License-Identifier: Apache-2.0
// What a snapshot knows of a workspace: its names, and what each of them is.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warden/contents.h"

namespace glovebox::warden {

// The first entry is the workspace itself. The entries of one directory are together, ordered by
// name. Small and flat, because there may be very many.
struct Manifest {
  struct Entry {
    mode_t mode = 0;           // With the type of the file.
    std::uint32_t name = 0;    // Where it begins in `text`, and its length.
    std::uint32_t length = 0;  // Of the name.
    // Of a directory: its first entry. Of a link: where its target begins in `text`.
    std::uint32_t first = 0;
    // Of a directory: the number of its entries. Of a link: the length of its target. Of a regular
    // file: its content.
    std::uint32_t value = 0;
    std::int64_t modified_ns = 0;
  };
  std::vector<Entry> entries;
  std::string text;

  [[nodiscard]] std::string name_of(const Entry& entry) const {
    return text.substr(entry.name, entry.length);
  }

  // Requires: a symbolic link.
  [[nodiscard]] std::string target_of(const Entry& entry) const {
    return text.substr(entry.first, entry.value);
  }

  // The entry of that name in a directory; null when there is none.
  [[nodiscard]] const Entry* find(const Entry& directory, std::string_view name) const {
    const auto begin = entries.begin() + directory.first;
    const auto end = begin + directory.value;
    const auto found =
        std::lower_bound(begin, end, name, [this](const Entry& entry, std::string_view sought) {
          return std::string_view(text).substr(entry.name, entry.length) < sought;
        });
    return found != end && std::string_view(text).substr(found->name, found->length) == name
               ? &*found
               : nullptr;
  }
};

}  // namespace glovebox::warden
