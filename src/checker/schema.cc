// SPDX-License-Identifier: Apache-2.0
// Without this, the library prints what is wrong, and aborts.
#define VALIJSON_USE_EXCEPTIONS 1
#include "checker/schema.h"

#include <exception>
#include <string>
#include <utility>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox::checker {
namespace {

using nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

constexpr JsonBounds kSchemaBounds{.values = 10'000, .depth = 32};
constexpr JsonBounds kDocumentBounds{.values = 100'000, .depth = 64};
constexpr std::size_t kMostWords = 512;

Error wrong(const std::string& what, const std::string& hint = "") {
  return {ErrorCode::kInvalid, printable(to_utf8(what.substr(0, kMostWords))), hint};
}

// "<root>", "[items]", "[3]" as "items[3]".
std::string place_of(const std::vector<std::string>& context) {
  std::string place;
  for (std::size_t i = 1; i < context.size(); ++i) {
    place += context[i];
  }
  return place.empty() ? "the document" : place;
}

Result<void> compile(const json& text, valijson::Schema& schema) {
  try {
    // Without a function that fetches documents, references to other documents are errors.
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(text), schema);
  } catch (const std::exception& failure) {
    return wrong("the schema cannot be used: " + std::string(failure.what()),
                 "write a JSON Schema of draft 4, 6 or 7, with references into itself alone");
  }
  return {};
}

Result<void> compare(const valijson::Schema& schema, const json& document) {
  valijson::ValidationResults results;
  try {
    if (valijson::Validator().validate(schema, Adapter(document), &results)) {
      return {};
    }
  } catch (const std::exception& failure) {  // Such as a pattern that is not a regular expression.
    return wrong("the schema cannot be used: " + std::string(failure.what()));
  }
  // The first error is the deepest one.
  valijson::ValidationResults::Error first;
  return results.popError(first) ? wrong(place_of(first.context) + ": " + first.description)
                                 : wrong("the document does not conform");
}

}  // namespace

Result<void> conforms(std::string_view schema, std::string_view document) {
  auto text = parse_json(schema, kSchemaBounds);
  if (!text) {
    return std::move(text).error().within("the schema");
  }
  GB_TRY(check_keywords(*text));
  auto parsed = parse_json(document, kDocumentBounds);
  if (!parsed) {
    return wrong("it is not JSON: " + parsed.error().message());
  }
  valijson::Schema compiled;
  GB_TRY(compile(*text, compiled));
  return compare(compiled, *parsed);
}

}  // namespace glovebox::checker
