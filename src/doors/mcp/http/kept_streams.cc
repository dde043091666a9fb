// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/kept_streams.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace glovebox::mcp {
namespace {

struct EventId {
  std::uint64_t stream = 0;
  std::uint64_t place = 0;
};

std::string id_text(const EventId& id) {
  return std::to_string(id.stream) + "-" + std::to_string(id.place);
}

std::optional<EventId> parse_id(std::string_view text) {
  EventId id;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, id.stream);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 1, end, id.place);
  return second.ec == std::errc() && second.ptr == end ? std::optional(id) : std::nullopt;
}

Error no_longer_kept() {
  return {ErrorCode::kExhausted,
          "what came after this event is no longer kept: a session keeps its last " +
              std::to_string(KeptStreams::kMostEvents) + " events, and at most " +
              std::to_string(KeptStreams::kMostBytes >> 20U) + " MiB",
          "send the request again"};
}

}  // namespace

std::uint64_t KeptStreams::open() {
  const std::scoped_lock lock(mutex_);
  streams_[++last_stream_];
  return last_stream_;
}

void KeptStreams::wake(const Stream& stream) {
  if (const auto reader = stream.reader.lock()) {
    (void)::eventfd_write(reader->changed.get(), 1);
  }
}

// Ends the reader, unless it has had everything.
void KeptStreams::end_reader(const Stream& stream) {
  if (const auto reader = stream.reader.lock()) {
    reader->over = reader->over || !stream.finished || reader->place != stream.last;
    wake(stream);
  }
}

void KeptStreams::drop_oldest() {
  const Event oldest = std::move(events_.front());
  events_.pop_front();
  bytes_ -= oldest.text.size();
  const auto found = streams_.find(oldest.stream);
  found->second.dropped = oldest.place;
  if (found->second.finished && found->second.dropped == found->second.last) {
    end_reader(found->second);
    streams_.erase(found);
  }
}

void KeptStreams::drop_all_of(std::uint64_t stream) {
  std::erase_if(events_, [&](const Event& each) {
    const bool of_it = each.stream == stream;
    bytes_ -= of_it ? each.text.size() : 0;
    return of_it;
  });
}

KeptStreams::Added KeptStreams::add(std::uint64_t stream, std::string_view fields) {
  const std::scoped_lock lock(mutex_);
  Stream& of = streams_.at(stream);
  const std::uint64_t place = ++of.last;
  std::string text = "id: " + id_text({stream, place}) + "\n";
  text.append(fields).append("\n");
  Added added{.event = text, .taken_over = of.taken_over};
  std::optional<http::FairShares::Share> share;
  if (!over_ && text.size() <= kMostBytes) {
    while (!events_.empty() &&
           (events_.size() >= kMostEvents || bytes_ + text.size() > kMostBytes)) {
      drop_oldest();
    }
    share = room_.take(tenant_, text.size());
    // What this session has kept makes room before the tenant's other sessions do without.
    while (!share && !events_.empty()) {
      drop_oldest();
      share = room_.take(tenant_, text.size());
    }
  }
  if (share) {
    bytes_ += text.size();
    events_.push_back(
        {.stream = stream, .place = place, .text = std::move(text), .share = *std::move(share)});
  } else {
    // Nothing before it can be resumed from without a gap.
    drop_all_of(stream);
    of.dropped = place;
  }
  wake(of);
  return added;
}

void KeptStreams::finish(std::uint64_t stream) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  found->second.finished = true;
  wake(found->second);
  if (found->second.dropped == found->second.last) {
    end_reader(found->second);
    streams_.erase(found);
  }
}

void KeptStreams::end() {
  const std::scoped_lock lock(mutex_);
  over_ = true;
  for (auto& [number, stream] : streams_) {
    end_reader(stream);
    stream.dropped = stream.last;
  }
  std::erase_if(streams_, [](const auto& each) { return each.second.finished; });
  events_.clear();
  bytes_ = 0;
}

Result<std::shared_ptr<KeptStreams::Reader>> KeptStreams::resume(std::string_view last_id) {
  const auto id = parse_id(last_id);
  const std::scoped_lock lock(mutex_);
  const auto found = id ? streams_.find(id->stream) : streams_.end();
  if (over_ || found == streams_.end() || id->place > found->second.last) {
    const bool forgotten =
        id && !over_ && id->stream > 0 && id->stream <= last_stream_ && found == streams_.end();
    return forgotten ? no_longer_kept()
                     : Error(ErrorCode::kNotFound,
                             "no event of this session has the id in Last-Event-ID");
  }
  Stream& stream = found->second;
  if (id->place < stream.dropped) {
    return no_longer_kept();
  }
  auto reader = std::make_shared<Reader>();
  reader->stream = id->stream;
  reader->place = id->place;
  reader->changed = UniqueFd(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!reader->changed) {
    return Error(ErrorCode::kUnavailable, "too many open files");
  }
  if (const auto before = stream.reader.lock()) {
    before->over = true;
    wake(stream);
  }
  stream.taken_over = true;
  stream.reader = reader;
  return reader;
}

KeptStreams::State KeptStreams::next(Reader& reader, std::string& event) {
  const std::scoped_lock lock(mutex_);
  if (reader.over) {
    return State::kBroken;
  }
  const auto found = streams_.find(reader.stream);
  if (found == streams_.end()) {
    return State::kEnd;
  }
  Stream& stream = found->second;
  if (reader.place < stream.dropped) {
    return State::kBroken;
  }
  if (reader.place < stream.last) {
    const auto kept = std::ranges::find_if(events_, [&](const Event& each) {
      return each.stream == reader.stream && each.place == reader.place + 1;
    });
    event = kept->text;
    ++reader.place;
  }
  if (reader.place < stream.last) {
    return State::kGoesOn;
  }
  if (stream.finished) {
    return State::kEnd;
  }
  eventfd_t count = 0;
  (void)::eventfd_read(reader.changed.get(), &count);
  return State::kGoesOn;
}

}  // namespace glovebox::mcp
