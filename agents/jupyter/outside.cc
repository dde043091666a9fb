// SPDX-License-Identifier: Apache-2.0
#include "outside.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace glovebox::jupyter {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;

}  // namespace

Result<Outside> Outside::open(UniqueFd socket) {
  const int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return Error::from_errno("fcntl on descriptor " + std::to_string(socket.get()));
  }
  return Outside(std::move(socket));
}

Result<bool> Outside::receive(std::vector<Request>& requests) {
  std::string bytes(kReadSize, '\0');
  const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return true;
  }
  // Reset: closed while something of ours was unread.
  if (got == 0 || (got < 0 && errno == ECONNRESET)) {
    return false;
  }
  if (got < 0) {
    return Error::from_errno("recv");
  }
  parser_.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)));
  Frame frame;
  while (GB_TRY(parser_.next(frame))) {
    if (frame.type == static_cast<std::uint8_t>(FrameType::kPart)) {
      parts_size_ += frame.payload.size();
      if (parts_size_ > kMaxJoined) {
        return Error(ErrorCode::kInvalid, "a multi-part message exceeds the size limit");
      }
      parts_[frame.channel] += frame.payload;
      continue;
    }
    Request request{static_cast<FrameType>(frame.type), frame.channel, {}};
    if (auto begun = parts_.extract(frame.channel)) {
      parts_size_ -= begun.mapped().size();
      request.payload = std::move(begun.mapped());
    }
    request.payload += frame.payload;
    requests.push_back(std::move(request));
  }
  return true;
}

void Outside::send(FrameType type, std::uint32_t channel, const Json& payload) {
  const std::string text = to_text(payload);
  if (text.size() > kMaxJoined) {
    note(channel, "a message of " + std::to_string(text.size()) + " bytes was dropped");
    return;
  }
  std::string_view rest = text;
  while (rest.size() > kMaxFramePayload) {
    append_frame(out_, static_cast<std::uint8_t>(FrameType::kPart), channel,
                 rest.substr(0, kMaxFramePayload));
    rest.remove_prefix(kMaxFramePayload);
  }
  append_frame(out_, static_cast<std::uint8_t>(type), channel, rest);
}

void Outside::send_bytes(FrameType type, std::uint32_t channel, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMaxFramePayload);
    append_frame(out_, static_cast<std::uint8_t>(type), channel, piece);
    bytes.remove_prefix(piece.size());
  }
}

void Outside::note(std::uint32_t channel, std::string_view text) {
  send(FrameType::kNote, channel, {{"text", text}});
}

Result<void> Outside::flush() {
  while (queued() > 0) {
    const ssize_t sent =
        ::send(socket_.get(), out_.data() + written_, queued(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0 && errno == EAGAIN) {
      break;
    }
    if (sent < 0) {
      return Error::from_errno("send");
    }
    written_ += static_cast<std::size_t>(sent);
  }
  // Moving the rest to the front costs as much as was written, so it is not done for a few bytes.
  if (written_ == out_.size() || written_ > out_.size() / 2) {
    out_.erase(0, written_);
    written_ = 0;
  }
  return {};
}

void Outside::drain(int milliseconds) {
  while (flush() && queued() > 0) {
    pollfd item{socket_.get(), POLLOUT, 0};
    if (poll(&item, 1, milliseconds) <= 0) {
      return;
    }
  }
}

}  // namespace glovebox::jupyter
