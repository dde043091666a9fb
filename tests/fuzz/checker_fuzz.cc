// SPDX-License-Identifier: Apache-2.0
// What glovebox-checker reads: a request, its schema and its document. Whatever a schema leaves
// unchecked is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "checker/request.h"
#include "checker/schema.h"
#include "require.h"

namespace {

// Patterns and references can ask for endless work and for endless stack, which the checker's
// process ends of by design; so can comparisons of many values with each other.
constexpr std::size_t kMostInput = 4096;

bool is_bounded(const nlohmann::json& schema) {
  const std::string text = schema.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.find("pattern") == std::string::npos && text.find("$ref") == std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  if (size > kMostInput) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = checker::parse_request(text);
  if (!request) {
    return 0;
  }
  const auto [schema, document] = *request;
  require(text.ends_with(std::string(schema) + std::string(document)));
  auto parsed = nlohmann::json::parse(schema, nullptr, false);
  if (parsed.is_discarded()) {
    require(!checker::conforms(schema, document));
    return 0;
  }
  if (!is_bounded(parsed)) {
    (void)checker::check_keywords(parsed);
    return 0;
  }
  const auto done = checker::conforms(schema, document);
  require(done || done.error().code() == ErrorCode::kInvalid);
  require(!done || nlohmann::json::accept(document));
  if (done && parsed.is_object()) {
    parsed["prefixItems"] = nlohmann::json::array();
    require(!checker::conforms(parsed.dump(), document));
  }
  return 0;
}
