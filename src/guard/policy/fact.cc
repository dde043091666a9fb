// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/fact.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "spec/json/bounded_json.h"

namespace glovebox::policy {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFacts = 50'000;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::size_t kMaxWords = 256;

std::optional<std::string> text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return std::nullopt;
  }
  const auto& text = found->get_ref<const std::string&>();
  return text.size() > kMaxText ? std::nullopt : std::optional(text);
}

std::uint32_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned()
             ? static_cast<std::uint32_t>(
                   std::clamp<std::uint64_t>(found->get<std::uint64_t>(), 1, 1'000'000'000))
             : 1;
}

std::optional<FactKind> kind_of(const Json& object) {
  constexpr std::array<std::pair<std::string_view, FactKind>, 7> kKinds = {{
      {"module", FactKind::kModule},
      {"name", FactKind::kName},
      {"attribute", FactKind::kAttribute},
      {"command", FactKind::kCommand},
      {"host", FactKind::kHost},
      {"pattern", FactKind::kPattern},
      {"unparsed", FactKind::kUnparsed},
  }};
  const std::string kind = text_of(object, "kind").value_or("");
  if (kind == "file") {
    return text_of(object, "mode") == "read" ? FactKind::kFileRead : FactKind::kFileWrite;
  }
  const auto* const known =
      std::ranges::find(kKinds, kind, &std::pair<std::string_view, FactKind>::first);
  return known == kKinds.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Fact> fact_of(const Json& object) {
  const std::optional<FactKind> kind = object.is_object() ? kind_of(object) : std::nullopt;
  std::optional<std::string> name = kind ? text_of(object, "name") : std::nullopt;
  if (!name) {
    return std::nullopt;
  }
  Fact fact{.kind = *kind,
            .name = *std::move(name),
            .line = number_of(object, "line"),
            .column = number_of(object, "column")};
  if (fact.kind == FactKind::kCommand) {
    const auto words = object.find("argv");
    if (words == object.end() || !words->is_array() || words->empty() ||
        words->size() > kMaxWords) {
      return std::nullopt;
    }
    for (const Json& word : *words) {
      if (!word.is_string()) {
        return std::nullopt;
      }
      fact.argv.push_back(word.get<std::string>());
    }
  }
  return fact;
}

}  // namespace

Result<std::vector<Fact>> parse_facts(std::string_view line) {
  const Error strange(ErrorCode::kUnavailable, "the analysis printed something unexpected");
  const auto parsed = parse_json(line, {.values = kMaxValues, .depth = 4});
  if (!parsed || !parsed->is_array() || parsed->size() > kMaxFacts) {
    return strange;
  }
  const Json& list = *parsed;
  std::vector<Fact> facts;
  for (const Json& each : list) {
    std::optional<Fact> fact = fact_of(each);
    if (!fact) {
      return strange;
    }
    facts.push_back(*std::move(fact));
  }
  return facts;
}

}  // namespace glovebox::policy
