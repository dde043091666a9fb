// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/cbor.h"

#include "base/json/json.h"
#include "spec/json/bounded_json.h"

namespace glovebox::keeper {

using nlohmann::json;

std::string pack(const json& value) {
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

json unpack(std::string_view bytes) {
  auto value = parse_cbor(bytes, {.values = kMostValues, .depth = kMostNested});
  return value ? *std::move(value) : json();
}

}  // namespace glovebox::keeper
