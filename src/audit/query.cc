// SPDX-License-Identifier: Apache-2.0
#include "audit/query.h"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "audit/segments.h"

namespace glovebox::audit {
namespace {

// How many bytes a page reads from the disk before it ends.
constexpr std::uint64_t kMostRead = 64UL << 20;
// How many bytes its records may take together, as lines.
constexpr std::size_t kMostPageText = 4UL << 20;

// The index of the segment in which the record may be, or of the first one.
std::size_t segment_of(const std::vector<std::uint64_t>& segments, std::uint64_t number) {
  const auto after = std::ranges::upper_bound(segments, number);
  return after == segments.begin()
             ? 0
             : static_cast<std::size_t>(std::distance(segments.begin(), after) - 1);
}

// Passes the complete lines of a segment, until the sink returns false.
Result<bool> each_line(int directory,
                       std::uint64_t segment,
                       const std::function<bool(std::string_view)>& sink) {
  auto file = open_regular(directory, segment_name(segment), O_RDONLY);
  if (!file) {
    // Retention may have removed it just now.
    return file.error().code() == ErrorCode::kNotFound ? Result<bool>(true)
                                                       : std::move(file).error();
  }
  LineReader lines(*std::move(file));
  while (const auto line = GB_TRY(lines.next())) {
    if (!line->whole) {
      break;
    }
    if (!sink(line->text)) {
      return false;
    }
  }
  return true;
}

// Whether parsing the line is worth it: most lines are not asked for.
bool may_match(const Query& query, std::string_view line) {
  return (query.tenant.empty() || line.find(query.tenant) != std::string_view::npos) &&
         (query.action.empty() || line.find(query.action) != std::string_view::npos) &&
         (query.sandbox.empty() || line.find(query.sandbox) != std::string_view::npos);
}

std::optional<Record> record_for(const Query& query, std::string_view line) {
  if (!may_match(query, line)) {
    return std::nullopt;
  }
  auto record = parse_record(line);
  return record && matches(query, record->entry) ? std::optional(*std::move(record)) : std::nullopt;
}

Result<Page> read_newest(int directory, const Query& query) {
  const std::size_t wanted = std::min(*query.newest, Query::kMostLimit);
  const std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory));
  std::deque<Record> found;
  std::uint64_t read = 0;
  for (auto segment = segments.rbegin();
       segment != segments.rend() && found.size() < wanted && read < kMostRead; ++segment) {
    std::deque<Record> here;
    std::size_t text = 0;
    (void)GB_TRY(each_line(directory, *segment, [&](std::string_view line) {
      read += line.size();
      if (auto record = record_for(query, line)) {
        text += record->entry.details.size();
        here.push_back(*std::move(record));
        while (here.size() > wanted - found.size() || text > kMostPageText) {
          text -= here.front().entry.details.size();
          here.pop_front();
        }
      }
      return true;
    }));
    found.insert(found.begin(), std::make_move_iterator(here.begin()),
                 std::make_move_iterator(here.end()));
  }
  return Page{
      .records = {std::make_move_iterator(found.begin()), std::make_move_iterator(found.end())}};
}

}  // namespace

bool matches(const Query& query, const Entry& entry) {
  const bool action =
      query.action.empty() || entry.action == query.action ||
      (entry.action.starts_with(query.action) && entry.action[query.action.size()] == '.');
  return action && (query.tenant.empty() || entry.tenant == query.tenant) &&
         (query.sandbox.empty() || entry.sandbox == query.sandbox);
}

Result<Page> read_page(int directory, const Query& query) {
  if (query.newest) {
    return read_newest(directory, query);
  }
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, Query::kMostLimit);
  const std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory));
  Page page;
  std::uint64_t read = 0;
  std::size_t text = 0;
  for (std::size_t i = segment_of(segments, query.after + 1); i < segments.size(); ++i) {
    const bool went_on = GB_TRY(each_line(directory, segments[i], [&](std::string_view line) {
      const auto link = parse_link(line);
      if (!link || link->number <= query.after) {
        return true;
      }
      if (page.records.size() == limit || read > kMostRead || text > kMostPageText) {
        page.next = link->number - 1;
        return false;
      }
      read += line.size();
      if (auto record = record_for(query, line)) {
        text += line.size();
        page.records.push_back(*std::move(record));
      }
      return true;
    }));
    if (!went_on) {
      break;
    }
  }
  return page;
}

Result<void> read_lines(int directory,
                        std::uint64_t after,
                        const std::function<bool(std::string_view line)>& sink) {
  const std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory));
  for (std::size_t i = segment_of(segments, after + 1); i < segments.size(); ++i) {
    const bool went_on = GB_TRY(each_line(directory, segments[i], [&](std::string_view line) {
      const auto link = parse_link(line);
      return !link || link->number <= after || sink(line);
    }));
    if (!went_on) {
      break;
    }
  }
  return {};
}

}  // namespace glovebox::audit
