// SPDX-License-Identifier: Apache-2.0
#include "analyser/facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace glovebox::analyser {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {"module", "name",  "attribute", "host",
                                                    "read",   "write", "pattern",   "unparsed"};

// With what separates fields and lines escaped.
void append_field(std::string& lines, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) {
    lines += text;
    return;
  }
  for (const char c : to_utf8(text)) {
    switch (c) {
      case '\\':
        lines += "\\\\";
        break;
      case '\t':
        lines += "\\t";
        break;
      case '\n':
        lines += "\\n";
        break;
      default:
        lines += c;
    }
  }
}

void append_number(std::string& lines, std::uint32_t number) {
  std::array<char, 10> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  lines.append(digits.begin(), end);
}

}  // namespace

bool Facts::SameLine::operator()(const Line& one, const Line& other) const {
  return one.hash == other.hash && std::string_view(*lines).substr(one.begin, one.size) ==
                                       std::string_view(*lines).substr(other.begin, other.size);
}

void Facts::add(Kind kind, std::string_view name, Place place) {
  begin_line(kKinds.at(static_cast<std::size_t>(kind)), name, place);
  end_line(place);
}

void Facts::add_command(std::string_view name, const std::vector<std::string>& argv, Place place) {
  GB_CHECK(!argv.empty());
  begin_line("command", name, place);
  for (std::size_t i = 0; i < argv.size() && i < kMostWords; ++i) {
    lines_ += '\t';
    append_field(lines_, cut_at_character(argv[i], kMostName));
  }
  end_line(place);
}

void Facts::begin_line(std::string_view kind, std::string_view name, Place place) {
  lines_.resize(begun_);  // An exception may have left a part of one.
  lines_ += kind;
  lines_ += '\t';
  append_field(lines_, cut_at_character(name, kMostName));
  lines_ += '\t';
  append_number(lines_, place.line);
  lines_ += '\t';
  append_number(lines_, place.column);
}

void Facts::end_line(Place place) {
  lines_ += '\n';
  if (full_ || seen_.contains(last_line())) {
    lines_.resize(begun_);
    return;
  }
  if (seen_.size() >= kMost || lines_.size() > kMostBytes) {
    full_ = true;
    lines_.resize(begun_);
    begin_line("unparsed", "there is too much in it to follow", place);
    lines_ += '\n';
  }
  seen_.insert(last_line());
  begun_ = lines_.size();
}

Facts::Line Facts::last_line() const {
  const std::string_view text = std::string_view(lines_).substr(begun_);
  return {.begin = begun_, .size = text.size(), .hash = std::hash<std::string_view>()(text)};
}

}  // namespace glovebox::analyser
