// SPDX-License-Identifier: Apache-2.0
// What an image says of how it is run, beside its environment: the `config` of the OCI image
// specification 1.1. Anybody writes it, so everything in it is bounded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/command.h"

namespace glovebox {

struct ImageConfig {
  std::string user{};       // As USER has it: a name or a number, also with ":GROUP"; empty: root.
  std::string directory{};  // WORKDIR, absolute; empty: none.
  std::vector<std::string> entrypoint{};
  std::vector<std::string> cmd{};
  std::vector<std::string> ports{};    // "80/tcp"
  std::vector<std::string> volumes{};  // Paths.
  Environment labels{};
  std::string stop_signal{};
  bool has_healthcheck = false;  // It is not kept.

  // `user`, if that is not root; otherwise empty.
  [[nodiscard]] std::string other_than_root() const;
  // What the image runs, with `arguments` in place of CMD if there are any; empty: nothing.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& arguments) const;

  friend bool operator==(const ImageConfig&, const ImageConfig&) = default;
};

// Reads the `config` object of an image, or what to_json() has written; null is an image that says
// nothing. kInvalid for a field that is not what the specification says, and for one that is larger
// than any image needs.
Result<ImageConfig> parse_image_config(const nlohmann::json& config);
Result<ImageConfig> read_image_config(std::string_view text);

nlohmann::json to_json(const ImageConfig& config);

// kInvalid if all of it together is longer than 48 KiB, since it goes into a template's record.
Result<void> check_size(const ImageConfig& config);

}  // namespace glovebox
