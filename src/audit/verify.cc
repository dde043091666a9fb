// SPDX-License-Identifier: Apache-2.0
#include "audit/verify.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "audit/head.h"
#include "audit/record.h"
#include "audit/record_hash.h"
#include "audit/segments.h"
#include "base/digest/digest.h"
#include "base/json/json.h"
#include "spec/json/bounded_json.h"

namespace glovebox::audit {
namespace {

// More than a journal without a checkpoint can have (Journal::Options), even on a slow disk.
constexpr std::uint64_t kMostUnsigned = 100'000;
constexpr std::size_t kMostKnown = 1'000'000;
constexpr std::size_t kMostRemovals = 100'000;

std::string number_text(std::uint64_t number) { return std::to_string(number); }

class Verifier {
 public:
  Verifier(int directory, const PublicKey& key, const std::vector<KnownHead>& known)
      : directory_(directory), key_(key) {
    for (const KnownHead& each : known) {
      if (each.number) {
        known_.emplace(*each.number, each.hash);
      } else {
        anywhere_.push_back(each.hash);
      }
    }
  }

  Result<Report> run() {
    report_.signer = key_.id();
    report_.hash = no_hash();
    // Read before the records: a journal that is being written only gets more of them.
    auto head = read_head(directory_, key_);
    if (!head) {
      add({.segment = kHeadFile, .what = head.error().message()});
    } else {
      head_ = *head;
    }
    const std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory_));
    for (std::size_t i = 0; i < segments.size() && !enough(); ++i) {
      GB_TRY(read_segment(segments[i], i + 1 == segments.size()));
    }
    report_.segments = segments.size();
    if (!enough()) {
      judge_beginning();
      judge_end(head.has_value());
      judge_known();
    }
    return std::move(report_);
  }

 private:
  struct Place {
    std::string segment;
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] bool enough() const { return report_.problems.size() >= Report::kMostProblems; }

  void add(Problem problem) {
    if (!enough()) {
      report_.problems.push_back(std::move(problem));
    }
  }

  void add(const Place& at, std::uint64_t record, std::string what) {
    add({.segment = at.segment,
         .line = at.line,
         .offset = at.offset,
         .record = record,
         .what = std::move(what)});
  }

  Result<void> read_segment(std::uint64_t first, bool last_segment) {
    Place at{.segment = segment_name(first)};
    auto file = open_regular(directory_, at.segment, O_RDONLY);
    if (!file) {
      if (file.error().code() == ErrorCode::kNotFound) {
        return {};  // Removed by retention meanwhile; a record that is missing shows.
      }
      if (file.error().code() == ErrorCode::kInvalid) {
        add(at, 0, file.error().message());
        return {};
      }
      return std::move(file).error();
    }
    const int opened = file->get();
    LineReader lines(*std::move(file));
    while (!enough()) {
      const auto line = GB_TRY(lines.next());
      const std::uint64_t begin = line ? line->offset : lines.offset();
      const bool whole = line && line->whole;
      const std::uint64_t left = whole ? 0 : GB_TRY(written_end(opened, begin)) - begin;
      if (!whole && left == 0) {
        break;
      }
      ++at.line;
      at.offset = begin;
      end_ = at;
      if (!whole) {
        torn(at, left, last_segment);
        break;
      }
      read_line(at, line->text, at.line == 1 ? first : 0);
    }
    return {};
  }

  // A line without an end: it is being written, or was when the program died.
  void torn(const Place& at, std::uint64_t bytes, bool last_segment) {
    if (last_segment && bytes < kMostLine) {
      report_.unfinished = bytes;
    } else {
      add(at, report_.last + 1, "the file ends in the middle of a record");
    }
  }

  void read_line(const Place& at, std::string_view text, std::uint64_t named) {
    const auto link = parse_link(text);
    if (named != 0 && report_.first == 0 && lost_ == 0) {
      report_.last = named - 1;
    }
    const std::uint64_t expected = report_.last + 1;
    if (!link) {
      add(at, expected + lost_, "this line was changed: " + link.error().message());
      // Its number and hash are unknown: the next line is believed about them.
      ++lost_;
      return;
    }
    if (named != 0 && link->number != named) {
      add(at, link->number,
          "the first record of a segment named for record " + number_text(named) + " is record " +
              number_text(link->number));
    }
    judge_order(at, *link, expected);
    if (sha256_hex(link->hashed) != link->hash) {
      add(at, link->number, "this record was changed: its hash does not match its bytes");
    }
    read_record(at, text, *link);
    if (report_.first == 0) {
      report_.first = link->number;
      before_first_ = link->previous;
    }
    report_.last = link->number;
    report_.hash = link->hash;
    lost_ = 0;
    note_known(*link);
    if (head_ && link->number == head_->number) {
      head_seen_ = link->hash == head_->hash;
    }
  }

  void judge_order(const Place& at, const Link& link, std::uint64_t expected) {
    if (report_.first == 0 && lost_ == 0) {
      return;  // judge_beginning() says whether this record may be the first one.
    }
    if (lost_ > 0) {
      if (link.number != expected + lost_) {
        add(at, link.number,
            "record " + number_text(link.number) + " stands where record " +
                number_text(expected + lost_) + " belongs");
      }
    } else if (link.number > expected) {
      add(at, link.number,
          expected + 1 == link.number
              ? "record " + number_text(expected) + " in front of this one is missing"
              : "records " + number_text(expected) + " to " + number_text(link.number - 1) +
                    " in front of this one are missing");
    } else if (link.number < expected) {
      add(at, link.number,
          "record " + number_text(link.number) + " stands where record " + number_text(expected) +
              " belongs: the order was changed");
    } else if (link.previous != report_.hash) {
      add(at, link.number,
          "this record does not follow record " + number_text(report_.last) +
              ": one of the two was replaced");
    }
  }

  void read_record(const Place& at, std::string_view text, const Link& link) {
    const auto record = parse_record(text);
    if (!record) {
      add(at, link.number, record.error().message());
      return;
    }
    const Entry& entry = record->entry;
    if (entry.action == kCheckpoint) {
      if (link.signature.empty() ||
          !key_.verifies(kCheckpointPurpose, link.signed_part, link.signature)) {
        add(at, link.number,
            "the signature of this checkpoint is wrong: records " +
                number_text(report_.signed_through + 1) + " to " + number_text(link.number) +
                " may be forged, or another key signed them");
      } else {
        ++report_.checkpoints;
      }
      report_.signed_through = link.number;
    } else if (!link.signature.empty()) {
      add(at, link.number, "this record is signed, but is not a checkpoint");
    } else if (link.number - std::max(report_.signed_through, report_.first) == kMostUnsigned) {
      add(at, link.number, "no checkpoint covers the records in front of this one");
    }
    if (entry.action == "audit.clock") {
      ++report_.clock_changes;
    }
    if (entry.action == kRetention) {
      note_removal(entry.details);
    }
  }

  void note_removal(const std::string& details) {
    const auto parsed = parse_json(details);
    if (!parsed || !parsed->is_object() || removals_.size() == kMostRemovals) {
      return;
    }
    const auto through = parsed->find("through");
    const auto hash = parsed->find("hash");
    if (through != parsed->end() && through->is_number_unsigned() && hash != parsed->end() &&
        hash->is_string()) {
      removals_[through->get<std::uint64_t>()] = hash->get<std::string>();
    }
  }

  void judge_beginning() {
    if (report_.first == 0) {
      return;
    }
    const std::uint64_t gone = report_.first - 1;
    const auto removal = removals_.find(gone);
    if (gone == 0 ? before_first_ == no_hash()
                  : removal != removals_.end() && removal->second == before_first_) {
      report_.removed_through = gone;
      return;
    }
    std::string what = "the journal does not begin with its first record";
    if (gone > 0) {
      what = "records 1 to " + number_text(gone) + " are missing";
      what += removal == removals_.end() ? ", and no record says that retention removed them"
                                         : ", and are not what retention removed";
    }
    problem_in_front(
        {.segment = segment_name(report_.first), .line = 1, .record = report_.first, .what = what});
  }

  void problem_in_front(Problem problem) {
    report_.problems.insert(report_.problems.begin(), std::move(problem));
  }

  void judge_end(bool head_is_whole) {
    if (head_ && head_->number > report_.last) {
      add(end_, report_.last,
          "the journal ends with record " + number_text(report_.last) +
              ", but its head says that there were " + number_text(head_->number) +
              ": the end was cut off");
    } else if (head_ && !head_seen_) {
      add({.segment = segment_name(head_->segment),
           .record = head_->number,
           .what =
               "record " + number_text(head_->number) + " is not the one that the head covers"});
    } else if (!head_ && head_is_whole && report_.checkpoints > 1) {
      add({.segment = kHeadFile, .what = "the head of the audit journal was emptied"});
    }
  }

  void note_known(const Link& link) {
    if (const auto found = known_.find(link.number);
        found != known_.end() && found->second == link.hash) {
      known_.erase(found);
    }
    if (!anywhere_.empty()) {
      std::erase(anywhere_, std::string(link.hash));
    }
  }

  // The known heads that are left were not found.
  void judge_known() {
    for (const auto& [number, hash] : known_) {
      if (number > report_.removed_through) {
        add({.segment = {},
             .record = number,
             .what = number > report_.last
                         ? "record " + number_text(number) +
                               ", whose hash is known from elsewhere, is missing: the journal was "
                               "set back"
                         : "record " + number_text(number) +
                               " is not the one whose hash is known from elsewhere"});
      }
    }
    for (const std::string& hash : anywhere_) {
      add({.segment = {},
           .what = "no record has the hash " + hash.substr(0, kHashSize) +
                   ", which is known from elsewhere: the journal was set back or replaced"});
    }
  }

  const int directory_;
  const PublicKey& key_;
  std::map<std::uint64_t, std::string> known_;
  std::vector<std::string> anywhere_;
  Report report_;
  std::optional<Head> head_;
  bool head_seen_ = false;
  Place end_;               // The last line.
  std::uint64_t lost_ = 0;  // Lines just before that could not be read.
  std::string before_first_;
  std::map<std::uint64_t, std::string> removals_;  // Last record to its hash.
};

}  // namespace

Result<std::vector<KnownHead>> parse_witness(std::string_view text) {
  std::vector<KnownHead> known;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::uint64_t number = 0;
    const char* const end = line.data() + line.size();
    const auto [after, wrong] = std::from_chars(line.data(), end, number);
    if (wrong != std::errc() || after == end || *after != ' ' ||
        !is_hash({after + 1, static_cast<std::size_t>(end - after - 1)}) ||
        known.size() == kMostKnown) {
      return Error(ErrorCode::kInvalid, "the witness has a line that is not a head",
                   "a line is the number of a record, a space, and its hash");
    }
    known.push_back({.number = number, .hash = std::string(after + 1, end)});
  }
  return known;
}

Result<Report> verify(int directory, const PublicKey& key, const std::vector<KnownHead>& known) {
  return Verifier(directory, key, known).run();
}

}  // namespace glovebox::audit
