// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/table.h"

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "base/utf8.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostCharacters = 48;

std::string cut(const std::string& text) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!continues_character(text[i]) && ++seen > kMostCharacters) {
      return text.substr(0, i) + "…";
    }
  }
  return text;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (std::string& value : row) {
    value = cut(printable(value));
  }
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], count_characters(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      line += row[i] + std::string(widths[i] - count_characters(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string short_time(long long seconds) {
  seconds = std::max(seconds, 0LL);
  if (seconds < 120) {
    return std::to_string(seconds) + "s";
  }
  if (seconds < 120 * 60) {
    return std::to_string(seconds / 60) + "m";
  }
  return seconds < 48 * 3600 ? std::to_string(seconds / 3600) + "h"
                             : std::to_string(seconds / 86'400) + "d";
}

long long seconds_of(const std::string& time) {
  std::tm parts{};
  const char* const rest = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  return rest == nullptr ? 0 : static_cast<long long>(::timegm(&parts));
}

}  // namespace glovebox::cli
