// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/file_answer.h"

#include <array>
#include <charconv>
#include <ctime>

#include "doors/file_content.h"

namespace glovebox::rest {
namespace {

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

std::string http_date(std::int64_t nanoseconds) {
  const std::time_t stamp = nanoseconds / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&stamp, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %T GMT", &parts);
  return {text.data(), size};
}

}  // namespace

std::string entity_tag(const FileEntry& entry) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "\"%llx-%llx\"",
                      static_cast<unsigned long long>(entry.size),
                      static_cast<unsigned long long>(entry.modified_ns));
  return text.data();
}

RangeKind parse_range(std::string_view text, std::uint64_t size, ByteRange& range) {
  constexpr std::string_view kUnit = "bytes=";
  const std::size_t dash = text.find('-');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos ||
      text.find(',') != std::string_view::npos) {
    return RangeKind::kWhole;
  }
  const std::string_view first = text.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view last = text.substr(dash + 1);
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  if (first.empty()) {
    if (!read_number(last, to)) {
      return RangeKind::kWhole;
    }
    range.length = std::min(to, size);
    range.offset = size - range.length;
    return range.length == 0 ? RangeKind::kUnsatisfiable : RangeKind::kPart;
  }
  if (!read_number(first, from) || (!last.empty() && (!read_number(last, to) || to < from))) {
    return RangeKind::kWhole;
  }
  if (from >= size) {
    return RangeKind::kUnsatisfiable;
  }
  range.offset = from;
  range.length = (last.empty() ? size - 1 : std::min(to, size - 1)) - from + 1;
  return RangeKind::kPart;
}

Result<void> send_file(Call& call, FileClient& files, const FileClient::OpenFile& file) {
  const std::uint64_t size = file.entry.size;
  const std::string tag = entity_tag(file.entry);
  // A guest has made it: no browser may take it for a page of ours.
  http::Headers headers = {{"ETag", tag},
                           {"Last-Modified", http_date(file.entry.modified_ns)},
                           {"Accept-Ranges", "bytes"},
                           {"X-Content-Type-Options", "nosniff"}};
  const auto known = call.request.header("if-none-match");
  if (known && (*known == "*" || known->find(tag) != std::string_view::npos)) {
    headers.emplace_back("X-Request-Id", call.request_id);
    (void)call.response.send(304, headers, "");
    return {};
  }
  headers.emplace_back("Content-Type", "application/octet-stream");
  ByteRange range{.offset = 0, .length = size};
  RangeKind kind = RangeKind::kWhole;
  const auto wanted = call.request.header("range");
  const auto only_if = call.request.header("if-range");
  if (wanted && (!only_if || *only_if == tag)) {
    kind = parse_range(*wanted, size, range);
  }
  if (kind == RangeKind::kUnsatisfiable) {
    call.send_problem(416, "invalid", "range not satisfiable",
                      "request bytes below " + std::to_string(size),
                      {{"Content-Range", "bytes */" + std::to_string(size)}});
    return {};
  }
  if (kind == RangeKind::kPart) {
    headers.emplace_back("Content-Range", "bytes " + std::to_string(range.offset) + "-" +
                                              std::to_string(range.offset + range.length - 1) +
                                              "/" + std::to_string(size));
  } else {
    range = {.offset = 0, .length = size};
  }
  headers.emplace_back("Content-Length", std::to_string(range.length));
  const bool begun =
      call.start(kind == RangeKind::kPart ? 206 : 200, std::move(headers)).has_value();
  if (call.request.method() == "HEAD") {
    (void)call.response.finish();
  } else if (begun && write_content(call.response, files, file, range.offset, range.length)) {
    (void)call.response.finish();
  } else {
    call.response.abort();
  }
  return {};
}

}  // namespace glovebox::rest
