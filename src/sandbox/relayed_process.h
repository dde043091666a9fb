// SPDX-License-Identifier: Apache-2.0
// RelayedProcess: the streams of one guest process, between descriptors of ours and the frames in
// which a warden relays them.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Bytes that the warden has already, and a process that was loaded has not.
struct UntakenInput {
  std::size_t in = 0;
  std::size_t to_channel = 0;
};

// The memory that it holds is bounded by the windows of spec/warden_protocol.h. It never waits.
// For one thread, in which SIGPIPE must be blocked or ignored.
class RelayedProcess {
 public:
  using Send = std::function<void(warden::Request type, std::string_view payload)>;

  // `descriptors` are the guest's ends of its streams, as descriptors_of() has them, and become
  // non-blocking. `send` goes to the warden, on the channel of the process.
  RelayedProcess(warden::Streams streams,
                 std::vector<UniqueFd> descriptors,
                 Send send,
                 UntakenInput untaken = {});

  // Takes what the warden says. kInvalid for what an honest warden never says.
  Result<void> take(const Frame& frame);

  // What to wait for until pass() has something to do; pass() is given what poll(2) has found.
  static constexpr std::size_t kWatched = 5;
  [[nodiscard]] std::array<pollfd, kWatched> watch() const;
  void pass(std::span<const pollfd, kWatched> found);

  // The payload of kEnded, once what the process wrote before that has been passed on or nobody
  // wants it.
  [[nodiscard]] const std::string* ended() const;

  // True once for each kSettled, when what came before it on standard output and error has been
  // passed on or nobody wants it.
  bool take_settled();

  // Nothing more can come from it or go to it.
  [[nodiscard]] bool over() const;

 private:
  // What we read for the guest.
  struct Source {
    UniqueFd fd;
    warden::Stream stream{};
    warden::Request type{};
    std::optional<warden::Stream> answers;  // What is written to the same socket.
    std::size_t window = warden::kInputWindow;
  };
  // Where we write what came from it.
  struct Sink {
    UniqueFd fd;
    warden::Stream stream{};
    std::string waiting;
    std::size_t taken = 0;  // Passed on, and not acknowledged yet.
    std::size_t owed = 0;   // Of `waiting`, what came before kEnded or kSettled.
    bool ended = false;     // Nothing comes after what waits.
  };

  [[nodiscard]] bool owing() const;
  void add_source(UniqueFd fd, warden::Stream stream, std::optional<warden::Stream> answers);
  void add_sink(UniqueFd fd, warden::Stream stream);
  Result<void> take_bytes(warden::Stream stream, std::string_view bytes);
  void say(warden::Request type, const warden::StreamReport& report) const;
  void read_from(Source& source, bool hung_up);
  void write_to(Sink& sink);
  // Nobody reads it any more, and its writer must learn so.
  void give_up(Sink& sink);
  static void end(Sink& sink);

  Send send_;
  std::vector<Source> sources_;
  std::vector<Sink> sinks_;
  std::optional<std::string> ended_;
  bool settling_ = false;  // A kSettled came.
};

}  // namespace glovebox
