// SPDX-License-Identifier: Apache-2.0
#include "warden/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <span>
#include <utility>

namespace glovebox::warden {
namespace {

// Of the streams in RelayedStreams::kOutlets.
constexpr std::array<Reply, 3> kOutputReplies = {Reply::kStdout, Reply::kStderr,
                                                 Reply::kFromChannel};

// More than the kernel keeps of a pipe (64 KiB) or a socket of ours (208 KiB).
constexpr std::size_t kMostBuffered = 256UL << 10;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

void make_nonblocking(const UniqueFd& fd) { (void)::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

void set_size(const Outlet& terminal, TerminalSize size) {
  const winsize wanted{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  (void)::ioctl(terminal.fd.get(), TIOCSWINSZ, &wanted);
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> pipe_to_guest(Inlet& inlet) {
  Pipe pipe = GB_TRY(make_pipe());
  make_nonblocking(pipe.write);
  inlet.fd = std::move(pipe.write);
  return std::move(pipe.read);
}

Result<UniqueFd> pipe_from_guest(Outlet& outlet) {
  Pipe pipe = GB_TRY(make_pipe());
  make_nonblocking(pipe.read);
  outlet.fd = std::move(pipe.read);
  return std::move(pipe.write);
}

Result<UniqueFd> socket_to_guest(Inlet& inlet, Outlet& outlet) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  outlet.fd = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  make_nonblocking(outlet.fd);
  inlet.fd = UniqueFd(::fcntl(outlet.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!inlet.fd) {
    return Error::from_errno("dup");
  }
  return theirs;
}

// By number: gVisor has no TIOCGPTPEER (ioctl_tty(2)).
Result<UniqueFd> terminal_of_guest(TerminalSize size, Inlet& inlet, Outlet& outlet) {
  outlet.fd = UniqueFd(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  const int locked = 0;
  unsigned number = 0;
  if (!outlet.fd || ::ioctl(outlet.fd.get(), TIOCSPTLCK, &locked) != 0 ||
      ::ioctl(outlet.fd.get(), TIOCGPTN, &number) != 0) {
    return Error::from_errno("open a terminal");
  }
  const std::string name = "/dev/pts/" + std::to_string(number);
  UniqueFd theirs(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  inlet.fd = UniqueFd(::fcntl(outlet.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!theirs || !inlet.fd) {
    return Error::from_errno("open a terminal");
  }
  set_size(outlet, size);
  return theirs;
}

// Standard output and error, and descriptor 3 of an agent; or one terminal.
Result<void> relay(const StartRequest& request, MadeStreams& made) {
  if (request.streams == Streams::kTerminal) {
    made.guest.terminal =
        GB_TRY(terminal_of_guest(request.terminal, made.ours.in[0], made.ours.out[0]));
    return {};
  }
  made.guest.out = GB_TRY(pipe_from_guest(made.ours.out[0]));
  made.guest.err = GB_TRY(pipe_from_guest(made.ours.out[1]));
  if (request.streams == Streams::kAgent) {
    made.guest.channel = GB_TRY(socket_to_guest(made.ours.in[1], made.ours.out[2]));
  }
  return {};
}

Result<void> take_passed(Streams streams, std::vector<UniqueFd>& passed, GuestStdio& guest) {
  const std::size_t count = descriptors_of(streams);
  if (passed.size() < count) {
    return Error(ErrorCode::kInvalid, "file descriptors are missing");
  }
  // Descriptors of the next frame may have come with the end of this one.
  auto next = passed.begin();
  if (streams == Streams::kTerminal) {
    guest.terminal = std::move(*next++);
  } else {
    if (streams == Streams::kProcess) {
      guest.in = std::move(*next++);
    }
    guest.out = std::move(*next++);
    guest.err = std::move(*next++);
    if (streams == Streams::kAgent) {
      guest.channel = std::move(*next++);
    }
  }
  passed.erase(passed.begin(), next);
  return {};
}

// The process at the other end learns that it is closed, although we hold both directions. For a
// pipe, closing it is enough.
void end(Inlet& inlet) {
  (void)::shutdown(inlet.fd.get(), SHUT_WR);
  inlet.fd.reset();
}

void end(Outlet& outlet) {
  (void)::shutdown(outlet.fd.get(), SHUT_RD);
  outlet.fd.reset();
}

// Puts into it what it takes now, and returns how much that is. Bytes that can no longer be taken
// count as taken: they are dropped, as a shell would.
std::size_t put(Inlet& inlet, std::string_view bytes) {
  std::size_t taken = 0;
  while (inlet.fd && taken < bytes.size()) {
    const ssize_t now = ::write(inlet.fd.get(), bytes.data() + taken, bytes.size() - taken);
    if (now >= 0) {
      taken += static_cast<std::size_t>(now);
    } else if (errno == EAGAIN) {
      return taken;
    } else if (errno != EINTR) {
      end(inlet);  // It reads no more.
    }
  }
  return inlet.fd ? taken : bytes.size();
}

template <typename Streams>
std::size_t index_of(const Streams& streams, Stream stream) {
  return static_cast<std::size_t>(std::ranges::find(streams, stream) - streams.begin());
}

}  // namespace

Inlet* RelayedStreams::inlet(Stream stream) {
  const std::size_t index = index_of(kInlets, stream);
  return index < in.size() ? &in[index] : nullptr;
}

Outlet* RelayedStreams::outlet(Stream stream) {
  const std::size_t index = index_of(kOutlets, stream);
  return index < out.size() ? &out[index] : nullptr;
}

bool RelayedStreams::open() const {
  return std::ranges::any_of(out,
                             [](const Outlet& outlet) { return static_cast<bool>(outlet.fd); });
}

bool RelayedStreams::owing() const {
  return std::ranges::any_of(out,
                             [](const Outlet& outlet) { return outlet.fd && outlet.owed > 0; });
}

void RelayedStreams::owe_output() {
  out[0].owed = kMostBuffered;
  out[1].owed = kMostBuffered;
}

void RelayedStreams::end_process() {
  for (Outlet& outlet : out) {
    outlet.owed = kMostBuffered;
  }
  if (!beside) {
    end(in[0]);
  }
}

void RelayedStreams::take_input(Stream stream, std::string_view bytes, Outgoing& outgoing) {
  const std::size_t index = index_of(kInlets, stream);
  if (in[index].fd) {
    pass_input(index, outgoing, bytes);
  }
}

void RelayedStreams::end_stream(Stream stream, Outgoing& outgoing) {
  if (Inlet* const ended = inlet(stream); ended != nullptr) {
    ended->ended = true;
    pass_input(index_of(kInlets, stream), outgoing);
  } else {
    end(*outlet(stream));
  }
}

bool RelayedStreams::acknowledge(Stream stream, std::size_t bytes) {
  Outlet* const acknowledged = outlet(stream);
  if (acknowledged != nullptr) {
    acknowledged->window = std::min<std::size_t>(kOutputWindow, acknowledged->window + bytes);
  }
  return acknowledged != nullptr;
}

void RelayedStreams::pass_input(std::size_t index, Outgoing& outgoing, std::string_view more) {
  Inlet& inlet = in[index];
  const bool was_open = static_cast<bool>(inlet.fd);
  std::size_t taken = put(inlet, inlet.waiting);
  inlet.waiting.erase(0, taken);
  if (inlet.waiting.empty()) {
    const std::size_t at_once = put(inlet, more);
    more.remove_prefix(at_once);
    taken += at_once;
  }
  inlet.waiting += more;
  const bool refused = was_open && !inlet.fd;
  const Stream stream = kInlets.at(index);
  inlet.unsaid += taken;
  if (inlet.unsaid >= (beside ? 1 : kAcknowledged)) {
    say(Reply::kTaken,
        {.stream = stream, .bytes = static_cast<std::uint32_t>(std::exchange(inlet.unsaid, 0))},
        outgoing);
  }
  if (refused && beside) {
    say(Reply::kStreamEnd, {.stream = stream}, outgoing);
  }
  if (inlet.fd && inlet.ended && inlet.waiting.empty()) {
    end(inlet);
  }
}

void RelayedStreams::pass_output(std::size_t index, bool more_is_awaited, Outgoing& outgoing) {
  Outlet& outlet = out[index];
  const std::span<char> bytes = read_buffer;
  while (outlet.fd && outlet.window > 0 && outgoing.has_room()) {
    const ssize_t got =
        ::read(outlet.fd.get(), bytes.data(), std::min(bytes.size(), outlet.window));
    if (got > 0) {
      const auto size = static_cast<std::size_t>(got);
      outgoing.add(kOutputReplies[index], channel, {bytes.data(), size});
      outlet.window -= size;
      outlet.owed -= std::min(outlet.owed, size);
      continue;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN && more_is_awaited) {
      outlet.owed = 0;  // If its process has ended, that was all.
      return;
    }
    end(outlet);
    if (beside) {
      say(Reply::kStreamEnd, {.stream = kOutlets.at(index)}, outgoing);
    }
  }
}

void RelayedStreams::say(Reply type, const StreamReport& report, Outgoing& outgoing) const {
  outgoing.add(type, channel, report.encode());
}

void resize(const RelayedStreams& streams, TerminalSize size) { set_size(streams.out[0], size); }

Result<MadeStreams> make_streams(const StartRequest& request, std::vector<UniqueFd>& passed) {
  MadeStreams made;
  made.ours.beside = request.streams != Streams::kRun;
  if (request.relayed || request.streams == Streams::kRun) {
    GB_TRY(relay(request, made));
  } else {
    GB_TRY(take_passed(request.streams, passed, made.guest));
  }
  if (!made.guest.in && !made.guest.terminal) {
    made.guest.in = request.with_stdin || request.streams == Streams::kProcess
                        ? GB_TRY(pipe_to_guest(made.ours.in[0]))
                        : UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  return made;
}

}  // namespace glovebox::warden
