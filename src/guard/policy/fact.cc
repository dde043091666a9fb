// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/fact.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"

namespace glovebox::policy {
namespace {

constexpr std::size_t kMaxFacts = 50'000;
constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::size_t kMaxWords = 256;
constexpr std::uint32_t kMaxPlace = 1'000'000'000;

constexpr std::array kKinds = std::to_array<std::pair<std::string_view, FactKind>>({
    {"module", FactKind::kModule},
    {"name", FactKind::kName},
    {"attribute", FactKind::kAttribute},
    {"command", FactKind::kCommand},
    {"host", FactKind::kHost},
    {"read", FactKind::kFileRead},
    {"write", FactKind::kFileWrite},
    {"pattern", FactKind::kPattern},
    {"unparsed", FactKind::kUnparsed},
});

// The pieces of a text, with a separator between them.
class Pieces {
 public:
  Pieces(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  [[nodiscard]] bool more() const { return more_; }
  std::string_view next() {
    const std::size_t end = rest_.find(separator_);
    const std::string_view piece = rest_.substr(0, end);
    more_ = end != std::string_view::npos;
    rest_.remove_prefix(more_ ? end + 1 : rest_.size());
    return piece;
  }

 private:
  std::string_view rest_;
  char separator_;
  bool more_ = true;
};

std::optional<std::string> text_of(std::string_view field) {
  if (field.size() > kMaxText) {
    return std::nullopt;
  }
  std::string text;
  text.reserve(field.size());
  while (!field.empty()) {
    const std::size_t end = std::min(field.find('\\'), field.size());
    text += field.substr(0, end);
    field.remove_prefix(end);
    if (field.empty()) {
      break;
    }
    const char escaped = field.size() > 1 ? field[1] : '\0';
    if (escaped != 't' && escaped != 'n' && escaped != '\\') {
      return std::nullopt;
    }
    text += escaped == 't' ? '\t' : escaped == 'n' ? '\n' : '\\';
    field.remove_prefix(2);
  }
  return text;
}

bool read_place(std::string_view field, std::uint32_t& place) {
  const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), place);
  return problem == std::errc() && end == field.data() + field.size() && place > 0 &&
         place <= kMaxPlace;
}

std::optional<Fact> fact_of(std::string_view line) {
  Pieces fields(line, '\t');
  const auto* const kind =
      std::ranges::find(kKinds, fields.next(), &std::pair<std::string_view, FactKind>::first);
  std::optional<std::string> name = text_of(fields.next());
  Fact fact;
  if (kind == kKinds.end() || !name || !read_place(fields.next(), fact.line) ||
      !read_place(fields.next(), fact.column)) {
    return std::nullopt;
  }
  fact.kind = kind->second;
  fact.name = *std::move(name);
  while (fields.more()) {
    std::optional<std::string> word = text_of(fields.next());
    if (!word || fact.argv.size() == kMaxWords) {
      return std::nullopt;
    }
    fact.argv.push_back(*std::move(word));
  }
  // A command has words, and nothing else has.
  return (fact.kind == FactKind::kCommand) == !fact.argv.empty() ? std::optional(std::move(fact))
                                                                 : std::nullopt;
}

}  // namespace

Result<std::vector<Fact>> parse_facts(std::string_view lines) {
  const Error strange(ErrorCode::kUnavailable, "the analysis printed something unexpected");
  if (!is_utf8(lines)) {
    return strange;
  }
  std::vector<Fact> facts;
  Pieces pieces(lines, '\n');
  while (true) {
    const std::string_view line = pieces.next();
    if (!pieces.more()) {
      return line.empty() ? Result<std::vector<Fact>>(std::move(facts)) : strange;
    }
    std::optional<Fact> fact = facts.size() < kMaxFacts ? fact_of(line) : std::nullopt;
    if (!fact) {
      return strange;
    }
    facts.push_back(*std::move(fact));
  }
}

}  // namespace glovebox::policy
