// SPDX-License-Identifier: Apache-2.0
// ExportKey: tells saved memory that a keeper has written from memory that somebody made up.
//
// The memory of a sandbox is the state of its kernel. One that a client made up could have anything
// in it that gVisor or QEMU does not expect, so a keeper continues only what a keeper with the same
// key has signed. The key is in `keys/export-key` of the data directory, for the keeper alone; the
// operator copies it to the machines that should trust each other.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::keeper {

// Does not change; any number of threads may use it.
class ExportKey {
 public:
  static constexpr std::string_view kDirectory = "keys";

  // The key of a data directory, whose `keys` directory is the keeper's. Made at the first call.
  static Result<ExportKey> open(const std::string& data_directory);

  // HMAC-SHA256, as 64 hexadecimal digits.
  [[nodiscard]] std::string sign(std::string_view text) const;
  // Takes equally long for every wrong signature of that length.
  [[nodiscard]] bool has_signed(std::string_view text, std::string_view signature) const;

 private:
  explicit ExportKey(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace glovebox::keeper
