// SPDX-License-Identifier: Apache-2.0
// KeptStreams: what the event streams of one session have said, so that a client that lost its
// connection can continue where it was.
//
// Each response of a session that becomes an event stream is one of these streams. Its events are
// kept as far as there is room, whether somebody reads them or not; the id of an event names its
// stream and its place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/transport/fair_shares.h"

namespace glovebox::mcp {

// Safe to use from several threads.
class KeptStreams {
 public:
  // Of one session. The oldest events go first, whatever stream they are of.
  static constexpr std::size_t kMostEvents = 1'024;
  static constexpr std::size_t kMostBytes = 4UL << 20;

  // `room` is for the events of all sessions of the tenant, and outlives this.
  KeptStreams(std::string tenant, http::FairShares& room)
      : tenant_(std::move(tenant)), room_(room) {}

  // A new stream; its number.
  std::uint64_t open();

  struct Added {
    std::string event;  // As it goes over the wire, with its id.
    bool taken_over;    // Somebody else reads the stream by now: do not send it.
  };
  // Adds an event. `fields` are the lines of an event without its id, as "data: x\n".
  Added add(std::uint64_t stream, std::string_view fields);
  // No event follows.
  void finish(std::uint64_t stream);
  // The session is over: what reads any of its streams ends.
  void end();

  // One reader of a stream.
  struct Reader {
    std::uint64_t stream = 0;
    std::uint64_t place = 0;  // Of the last event that it has had.
    UniqueFd changed{};       // Readable when next() may have something.
    bool over = false;        // Another one reads the stream, or the session has ended.
  };
  // A reader that continues after the event `last_id`; the stream's previous reader is over.
  // kNotFound if there was no such event, kExhausted if what came after it is no longer kept.
  Result<std::shared_ptr<Reader>> resume(std::string_view last_id);

  enum class State { kGoesOn, kEnd, kBroken };
  // Fills in the next event, which is empty before; leaves it empty if there is none now.
  State next(Reader& reader, std::string& event);

 private:
  struct Event {
    std::uint64_t stream;
    std::uint64_t place;
    std::string text;
    http::FairShares::Share share;
  };
  struct Stream {
    std::uint64_t last = 0;     // The place of its newest event; they count from 1.
    std::uint64_t dropped = 0;  // The place of the newest one that is no longer kept.
    bool finished = false;
    bool taken_over = false;
    std::weak_ptr<Reader> reader{};
  };
  // These require the mutex.
  void drop_oldest();
  void drop_all_of(std::uint64_t stream);
  static void wake(const Stream& stream);
  static void end_reader(const Stream& stream);

  const std::string tenant_;
  http::FairShares& room_;
  std::mutex mutex_;
  std::uint64_t last_stream_ = 0;
  // A finished one goes with the last of its events.
  std::map<std::uint64_t, Stream> streams_;
  std::deque<Event> events_;
  std::size_t bytes_ = 0;
  bool over_ = false;
};

}  // namespace glovebox::mcp
