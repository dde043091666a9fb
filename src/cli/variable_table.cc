// SPDX-License-Identifier: Apache-2.0
#include "cli/variable_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

using Json = nlohmann::json;

constexpr std::array kHeads = {"name", "type", "size", "value"};
using Row = std::array<std::string, kHeads.size()>;

// A column grows no wider than this for one long entry; the last column takes what is left.
constexpr std::size_t kWidest = 32;
constexpr std::string_view kGap = "  ";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) {
    return text;
  }
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && ++seen == width) {
      break;
    }
  }
  return text.substr(0, end) + "…";
}

Row row_of(const Json& variable) {
  Row row;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto field = variable.find(kHeads.at(i));
    if (field != variable.end() && field->is_string()) {
      row.at(i) = printable(field->get_ref<const std::string&>());
    }
  }
  return row;
}

}  // namespace

std::string variable_table(std::string_view reply, std::size_t columns) {
  const Json parsed = Json::parse(reply, nullptr, false);
  const auto list = parsed.is_object() ? parsed.find("variables") : parsed.end();
  if (!parsed.is_object() || list == parsed.end() || !list->is_array() || list->empty()) {
    return {};
  }
  Row heads;
  std::ranges::copy(kHeads, heads.begin());
  std::vector<Row> rows = {std::move(heads)};
  bool sizes = false;
  for (const Json& variable : *list) {
    if (variable.is_object()) {
      rows.push_back(row_of(variable));
      sizes = sizes || !rows.back()[2].empty();
    }
  }
  std::array<std::size_t, kHeads.size()> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths.at(i) = std::min(kWidest, std::max(widths.at(i), width_of(row.at(i))));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 2 && !sizes) {
        continue;  // Not every language reports sizes.
      }
      const bool last = i + 1 == row.size();
      const std::string entry = last ? row.at(i) : cut(row.at(i), widths.at(i));
      line += entry;
      line += last ? "" : std::string(widths.at(i) - width_of(entry), ' ').append(kGap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (columns > 0 ? cut(line, columns) : line) + "\n";
  }
  return text;
}

}  // namespace glovebox::cli
