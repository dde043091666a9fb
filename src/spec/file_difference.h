// SPDX-License-Identifier: Apache-2.0
// FileDifference: one name in a workspace that is not what it was at a snapshot.
#pragma once

#include <cstdint>
#include <string>

namespace glovebox {

struct FileDifference {
  enum class Kind : std::uint8_t { kAdded, kModified, kDeleted };
  enum class Type : std::uint8_t { kFile, kDirectory, kLink, kOther };

  std::string path{};  // Relative to the workspace; any bytes but zero.
  Kind kind = Kind::kModified;
  Type type = Type::kFile;  // Of what is deleted: what it was.
  // Of regular files, now and at the snapshot.
  std::uint64_t size = 0;
  std::uint64_t size_before = 0;
  // Permission bits; 0 if there is nothing now, or was nothing.
  std::uint32_t mode = 0;
  std::uint32_t mode_before = 0;
  // When a file that is there now was last changed: tells two states of it apart.
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileDifference&, const FileDifference&) = default;
};

}  // namespace glovebox
