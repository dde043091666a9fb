// SPDX-License-Identifier: Apache-2.0
#include "audit/recovery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/record.h"
#include "audit/record_hash.h"
#include "audit/segments.h"
#include "base/digest/digest.h"

namespace glovebox::audit {
namespace {

Error changed(const std::string& what) {
  return {ErrorCode::kUnavailable, "the audit journal was changed: " + what,
          "run 'glovebox audit verify' to see where; to start a new journal, move its directory "
          "away and keep it as evidence"};
}

struct Scan {
  Recovered found{};
  bool any = false;
  bool covered = false;  // The segment has the head's record.
};

// Reads a segment as far as its records are whole and follow each other.
Result<Scan> scan(int directory, std::uint64_t segment, const std::optional<Head>& head) {
  Scan scan;
  Recovered& found = scan.found;
  found.segment = segment;
  LineReader lines(GB_TRY(open_regular(directory, segment_name(segment), O_RDONLY)));
  std::uint64_t expected = segment;
  std::string last_line;
  while (const auto line = GB_TRY(lines.next())) {
    const auto link = line->whole ? parse_link(line->text) : Result<Link>(changed("a line"));
    if (!link || link->number != expected || (scan.any && link->previous != found.hash) ||
        sha256_hex(link->hashed) != link->hash) {
      break;
    }
    scan.any = true;
    found.number = expected++;
    found.hash = link->hash;
    found.size = line->offset + line->text.size() + 1;
    found.unsigned_records = link->signature.empty() ? found.unsigned_records + 1 : 0;
    last_line = line->text;
    scan.covered = scan.covered || (head && head->number == found.number &&
                                    head->hash == found.hash && head->size == found.size);
  }
  if (scan.any) {
    found.time = GB_TRY(parse_record(last_line)).time;
  }
  return scan;
}

}  // namespace

Result<Recovered> recover_journal(int directory, const std::optional<Head>& head) {
  std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory));
  while (!segments.empty()) {
    const std::uint64_t last = segments.back();
    const bool in_last = head && head->segment == last;
    if (head && head->segment > last) {
      break;
    }
    Scan seen = GB_TRY(scan(directory, last, head));
    if (in_last && !seen.covered) {
      return changed("record " + std::to_string(head->number) + ", which its head covers, is not " +
                     "in " + segment_name(last));
    }
    const std::string name = segment_name(last);
    if (seen.any) {
      const UniqueFd file = GB_TRY(open_regular(directory, name, O_RDONLY));
      struct stat status {};
      if (::fstat(file.get(), &status) != 0) {
        return Error::from_errno("look at " + name);
      }
      Recovered& found = seen.found;
      found.has_more = static_cast<std::uint64_t>(status.st_size) > found.size;
      found.cut = GB_TRY(written_end(file.get(), found.size)) - found.size;
      return found;
    }
    // The program died when it had just begun this one.
    if (::unlinkat(directory, name.c_str(), 0) != 0) {
      return Error::from_errno("remove " + name);
    }
    segments.pop_back();
  }
  if (head) {
    return changed("the segment with record " + std::to_string(head->number) +
                   ", which its head covers, is missing");
  }
  return Recovered{.hash = no_hash()};
}

}  // namespace glovebox::audit
