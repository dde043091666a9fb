// SPDX-License-Identifier: Apache-2.0
// The streams of one process: the guest's ends, and our ends of those that are relayed in frames.
//
// Nothing here grows without bound: output waits in the kernel while nobody takes it
// (kOutputWindow), or while there is too much to be sent (Outgoing); input is bounded by a window
// that the sender keeps to (kInputWindow).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"
#include "warden/buffers.h"
#include "warden/starter.h"

namespace glovebox::warden {

// To the guest. What it has not taken yet waits here, as much as the sender's window allows.
struct Inlet {
  UniqueFd fd;
  std::string waiting;
  bool ended = false;      // Nothing comes after what waits.
  std::size_t unsaid = 0;  // Bytes that were passed on, of which the sender has not been told.
};

// From the guest.
struct Outlet {
  UniqueFd fd;
  std::size_t window = kOutputWindow;  // How much may be read before some is acknowledged.
  // At most this much of what an ended process has written itself is unread.
  std::size_t owed = 0;
};

class RelayedStreams {
 public:
  // Of standard input and descriptor 3; and of standard output and error and descriptor 3.
  static constexpr std::array<Stream, 2> kInlets = {Stream::kIn, Stream::kToChannel};
  static constexpr std::array<Stream, 3> kOutlets = {Stream::kOut, Stream::kErr,
                                                     Stream::kFromChannel};

  // In the order of kInlets and kOutlets. Those without a descriptor have ended.
  std::array<Inlet, kInlets.size()> in;
  std::array<Outlet, kOutlets.size()> out;

  std::uint32_t channel = 0;  // Of their frames.
  bool beside = false;        // Not of a run: they may outlive their process.

  // Null for a stream of the other direction.
  Inlet* inlet(Stream stream);
  Outlet* outlet(Stream stream);

  // Bytes for the guest, which come after what waits.
  void take_input(Stream stream, std::string_view bytes, Outgoing& outgoing);
  // The outside no longer sends into this stream, or no longer takes what comes from it.
  void end_stream(Stream stream, Outgoing& outgoing);
  // That much of what came from it has been taken. False for a stream of the other direction.
  bool acknowledge(Stream stream, std::size_t bytes);

  // `index` is an index into `in` or `out`.
  // Gives the guest what it takes now, first from what waits; the rest of `more` then waits.
  void pass_input(std::size_t index, Outgoing& outgoing, std::string_view more = {});
  // Sends what there is, as far as it may be sent. If no more is awaited, an empty stream has
  // ended.
  void pass_output(std::size_t index, bool more_is_awaited, Outgoing& outgoing);

  // Whether something may still come from the guest.
  [[nodiscard]] bool open() const;
  // Likewise, of what the ended process has written itself.
  [[nodiscard]] bool owing() const;
  // What the process has written to its standard output and error is in the kernel's buffers now.
  void owe_output();
  // The process has ended: the same for all that it had written, and a run takes no more input.
  void end_process();

 private:
  void say(Reply type, const StreamReport& report, Outgoing& outgoing) const;
};

// Resizes a terminal that is relayed; nothing happens to other streams.
void resize(const RelayedStreams& streams, TerminalSize size);

struct MadeStreams {
  GuestStdio guest;
  RelayedStreams ours;
};

// Takes the descriptors that the request brings from the front of `passed`; kInvalid if they are
// not there. A terminal that is not brought is one of the sandbox's own devpts (pty(7)).
Result<MadeStreams> make_streams(const StartRequest& request, std::vector<UniqueFd>& passed);

}  // namespace glovebox::warden
