// SPDX-License-Identifier: Apache-2.0
#include "sandbox/relayed_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace glovebox {
namespace {

using warden::Reply;
using warden::Request;
using warden::Stream;
using warden::StreamReport;

// One read; others have their turn after it.
constexpr std::size_t kPiece = 64UL << 10;

Error nonsense() {
  return {ErrorCode::kInvalid, "the warden broke the protocol of relayed streams"};
}

UniqueFd second(const UniqueFd& fd) { return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

bool would_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

RelayedProcess::RelayedProcess(warden::Streams streams,
                               std::vector<UniqueFd> descriptors,
                               Send send,
                               UntakenInput untaken)
    : send_(std::move(send)) {
  GB_CHECK(streams != warden::Streams::kRun && descriptors.size() == descriptors_of(streams));
  switch (streams) {
    case warden::Streams::kRun:
      break;
    case warden::Streams::kAgent:
      add_source(second(descriptors[2]), Stream::kToChannel, Stream::kFromChannel);
      add_sink(std::move(descriptors[0]), Stream::kOut);
      add_sink(std::move(descriptors[1]), Stream::kErr);
      add_sink(std::move(descriptors[2]), Stream::kFromChannel);
      break;
    case warden::Streams::kProcess:
      add_source(std::move(descriptors[0]), Stream::kIn, {});
      add_sink(std::move(descriptors[1]), Stream::kOut);
      add_sink(std::move(descriptors[2]), Stream::kErr);
      break;
    case warden::Streams::kTerminal:
      add_source(second(descriptors[0]), Stream::kIn, Stream::kOut);
      add_sink(std::move(descriptors[0]), Stream::kOut);
      break;
  }
  for (Source& source : sources_) {
    const std::size_t used = source.stream == Stream::kIn ? untaken.in : untaken.to_channel;
    source.window -= std::min(source.window, used);
  }
}

void RelayedProcess::add_source(UniqueFd fd, Stream stream, std::optional<Stream> answers) {
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  sources_.push_back({.fd = std::move(fd),
                      .stream = stream,
                      .type = stream == Stream::kIn ? Request::kStdin : Request::kToChannel,
                      .answers = answers});
}

void RelayedProcess::add_sink(UniqueFd fd, Stream stream) {
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  sinks_.push_back({.fd = std::move(fd), .stream = stream, .waiting = {}});
}

Result<void> RelayedProcess::take(const Frame& frame) {
  switch (static_cast<Reply>(frame.type)) {
    case Reply::kStdout:
      return take_bytes(Stream::kOut, frame.payload);
    case Reply::kStderr:
      return take_bytes(Stream::kErr, frame.payload);
    case Reply::kFromChannel:
      return take_bytes(Stream::kFromChannel, frame.payload);
    case Reply::kTaken: {
      const StreamReport report = GB_TRY(StreamReport::decode(frame.payload));
      for (Source& source : sources_) {
        if (source.stream == report.stream) {
          source.window = std::min<std::size_t>(warden::kInputWindow, source.window + report.bytes);
        }
      }
      return {};
    }
    case Reply::kStreamEnd: {
      const StreamReport report = GB_TRY(StreamReport::decode(frame.payload));
      for (Source& source : sources_) {
        if (source.stream == report.stream) {
          source.fd.reset();
        }
      }
      for (Sink& sink : sinks_) {
        if (sink.stream == report.stream) {
          sink.ended = true;
          write_to(sink);
        }
      }
      return {};
    }
    case Reply::kEnded:
      if (ended_) {
        return nonsense();
      }
      ended_ = frame.payload;
      for (Sink& sink : sinks_) {
        sink.owed = sink.waiting.size();
      }
      return {};
    case Reply::kSettled:
      settling_ = true;
      for (Sink& sink : sinks_) {
        if (sink.stream != Stream::kFromChannel) {
          sink.owed = sink.waiting.size();
        }
      }
      return {};
    default:
      return nonsense();
  }
}

Result<void> RelayedProcess::take_bytes(Stream stream, std::string_view bytes) {
  const auto sink = std::ranges::find(sinks_, stream, &Sink::stream);
  if (sink == sinks_.end() || sink->ended ||
      bytes.size() > warden::kOutputWindow - sink->taken - sink->waiting.size()) {
    return nonsense();
  }
  if (sink->fd) {
    sink->waiting += bytes;
    write_to(*sink);
  }
  return {};
}

void RelayedProcess::say(Request type, const StreamReport& report) const {
  send_(type, report.encode());
}

std::array<pollfd, RelayedProcess::kWatched> RelayedProcess::watch() const {
  std::array<pollfd, kWatched> polled;
  polled.fill({-1, 0, 0});
  auto next = polled.begin();
  for (const Source& source : sources_) {
    *next++ = {source.window > 0 ? source.fd.get() : -1, POLLIN, 0};
  }
  for (const Sink& sink : sinks_) {
    *next++ = {sink.waiting.empty() ? -1 : sink.fd.get(), POLLOUT, 0};
  }
  return polled;
}

void RelayedProcess::pass(std::span<const pollfd, kWatched> found) {
  auto next = found.begin();
  for (Source& source : sources_) {
    const short events = (next++)->revents;
    if (events != 0) {
      read_from(source, (events & POLLHUP) != 0);
    }
  }
  for (Sink& sink : sinks_) {
    if ((next++)->revents != 0) {
      write_to(sink);
    }
  }
}

void RelayedProcess::read_from(Source& source, bool hung_up) {
  std::array<char, kPiece> bytes;
  const ssize_t got = ::read(source.fd.get(), bytes.data(), std::min(bytes.size(), source.window));
  if (got > 0) {
    source.window -= static_cast<std::size_t>(got);
    send_(source.type, {bytes.data(), static_cast<std::size_t>(got)});
  } else if (got == 0 || !would_wait()) {
    source.fd.reset();
    say(Request::kStreamEnd, {.stream = source.stream});
    // Only for a socket that is closed, not for one whose owner has only shut down writing.
    const auto answers =
        hung_up ? std::ranges::find(sinks_, source.answers, &Sink::stream) : sinks_.end();
    if (answers != sinks_.end() && answers->fd) {
      give_up(*answers);
    }
  }
}

void RelayedProcess::give_up(Sink& sink) {
  say(Request::kStreamEnd, {.stream = sink.stream});
  sink.waiting.clear();
  sink.owed = 0;
  end(sink);
}

void RelayedProcess::write_to(Sink& sink) {
  std::size_t written = 0;
  while (sink.fd && written < sink.waiting.size()) {
    const ssize_t put =
        ::write(sink.fd.get(), sink.waiting.data() + written, sink.waiting.size() - written);
    if (put > 0) {
      written += static_cast<std::size_t>(put);
    } else if (put < 0 && would_wait()) {
      break;
    } else {
      give_up(sink);
      return;
    }
  }
  sink.waiting.erase(0, written);
  sink.owed -= std::min(sink.owed, written);
  sink.taken += written;
  if (sink.taken >= warden::kAcknowledged) {
    say(Request::kTaken,
        {.stream = sink.stream, .bytes = static_cast<std::uint32_t>(std::exchange(sink.taken, 0))});
  }
  if (sink.ended && sink.waiting.empty()) {
    end(sink);
  }
}

void RelayedProcess::end(Sink& sink) {
  // A socket may be a source as well; the source's descriptor would keep it open.
  (void)::shutdown(sink.fd.get(), SHUT_WR);
  sink.fd.reset();
}

bool RelayedProcess::owing() const {
  return std::ranges::any_of(sinks_, [](const Sink& sink) { return sink.owed > 0; });
}

const std::string* RelayedProcess::ended() const { return ended_ && !owing() ? &*ended_ : nullptr; }

bool RelayedProcess::take_settled() {
  return settling_ && !owing() && std::exchange(settling_, false);
}

bool RelayedProcess::over() const {
  return ended() != nullptr &&
         std::ranges::none_of(sinks_, [](const Sink& sink) { return static_cast<bool>(sink.fd); });
}

}  // namespace glovebox
