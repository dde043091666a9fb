// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "doors/transport/status.h"

namespace glovebox::http {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;
// How long the peer may go on after the client has ended.
constexpr std::chrono::milliseconds kLastWords{10'000};

// Of the connection with the peer (RFC 9110, 7.6.1), and not for the client.
bool is_hop_header(std::string_view name, const Headers& headers) {
  return equal_names(name, "connection") || equal_names(name, "keep-alive") ||
         equal_names(name, "proxy-connection") || equal_names(name, "upgrade") ||
         (has_token(headers, "connection", name) && !equal_names(name, "content-length"));
}

// The peer's answer as it goes to the client: read as strictly as a request of a client, and
// written anew, so that whoever stands between us and the client reads it as we did. kInvalid for
// what can be read in two ways.
struct PeerAnswer {
  int status = 0;
  std::string head;
};
Result<PeerAnswer> read_answer(std::string head) {
  constexpr std::string_view kOld = "HTTP/1.0 ";
  const bool old = head.starts_with(kOld);
  if (old) {
    head.replace(0, kOld.size(), "HTTP/1.1 ");
  }
  const AnswerHead answer = GB_TRY(parse_answer_head(head));
  if (answer.status < 100 || answer.status > 599 || (old && answer.head.chunked)) {
    return Error(ErrorCode::kInvalid, "an answer that HTTP does not know");
  }
  PeerAnswer told{.status = answer.status, .head = {}};
  told.head = "HTTP/1.1 " + std::to_string(answer.status) + " " +
              std::string(reason_phrase(answer.status)) + "\r\n";
  for (const auto& [name, value] : answer.head.headers) {
    if (!is_hop_header(name, answer.head.headers)) {
      told.head += name + ": " + value + "\r\n";
    }
  }
  told.head += answer.head.chunked ? "Transfer-Encoding: chunked\r\n" : "";
  if (answer.status == 101) {
    told.head += "Connection: Upgrade\r\nUpgrade: " +
                 std::string(find_header(answer.head.headers, "upgrade").value_or("")) + "\r\n\r\n";
  } else {
    told.head += "Connection: close\r\n\r\n";
  }
  return told;
}

}  // namespace

Relay::Relay(Channel& client, std::string& in, BodyDecoder& body, const Head& head, UniqueFd peer)
    : client_(client),
      in_(in),
      body_(body),
      head_(head),
      peer_(std::move(peer)),
      body_ended_(body.done()) {
  (void)::fcntl(peer_.get(), F_SETFL, ::fcntl(peer_.get(), F_GETFL) | O_NONBLOCK);
}

Relay::~Relay() {
  // A guest may have made the socket, and closing it can wait for the guest (SO_LINGER, socket(7)):
  // that is for a thread that nobody waits for.
  const int fd = peer_.release();
  try {
    std::thread([fd] { UniqueFd last(fd); }).detach();
  } catch (const std::system_error&) {
    UniqueFd last(fd);
  }
}

// What of in_ may go to the peer.
void Relay::take_from_client() {
  if (mode_ == Mode::kTunnel) {
    to_peer_ += in_;
    in_.clear();
    return;
  }
  std::array<char, 16 * 1024> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!body_ended_ && to_peer_.size() < kBuffer) {
    auto step = body_.decode(in_, piece);
    if (!step) {
      failed_ = true;
      return;
    }
    in_.erase(0, step->consumed);
    if (step->produced > 0) {
      const std::string_view bytes(piece.data(), step->produced);
      to_peer_ += head_.chunked ? chunk_size(bytes.size()) : "";
      to_peer_ += bytes;
      to_peer_ += head_.chunked ? "\r\n" : "";
    }
    body_ended_ = body_.done();
    if (body_ended_ && head_.chunked) {
      to_peer_ += "0\r\n\r\n";
    }
    if (step->consumed == 0 && step->produced == 0) {
      failed_ = failed_ || in_.size() >= kBuffer;
      return;
    }
  }
}

void Relay::read_client() {
  const std::size_t held = in_.size();
  in_.resize(held + kBuffer);
  const Channel::Outcome outcome = client_.read(std::span(in_).subspan(held));
  in_.resize(held + (outcome.status == Channel::Status::kDone ? outcome.bytes : 0));
  client_ended_ = client_ended_ || outcome.status == Channel::Status::kEnd;
  failed_ = failed_ || outcome.status == Channel::Status::kFailed;
  take_from_client();
}

void Relay::read_peer() {
  std::string& into = mode_ == Mode::kHead ? answer_ : to_client_;
  const std::size_t held = into.size();
  into.resize(held + kBuffer);
  const ssize_t count = ::recv(peer_.get(), into.data() + held, kBuffer, 0);
  into.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  peer_ended_ = count == 0 || (count == -1 && errno != EAGAIN && errno != EINTR);
  while (mode_ == Mode::kHead && !bad_answer_ && !answer_.empty()) {
    const std::size_t before = answer_.size();
    head_from_peer();
    if (answer_.size() == before) {
      break;
    }
  }
  bad_answer_ = bad_answer_ || (peer_ended_ && mode_ == Mode::kHead);
}

void Relay::head_from_peer() {
  const auto end = end_of_head(answer_, searched_);
  if (!end) {
    bad_answer_ = answer_.size() > kBuffer;
    return;
  }
  const auto answer = read_answer(answer_.substr(0, *end));
  answer_.erase(0, *end);
  searched_ = 0;
  if (!answer) {
    bad_answer_ = true;
    return;
  }
  if (answer->status == 101 && head_.upgrade) {
    mode_ = Mode::kTunnel;
    to_client_ += answer->head + answer_;
    take_from_client();
  } else if (answer->status < 200) {
    // Ours was sent already, and others mean nothing to a client that asked us.
    return;
  } else {
    mode_ = Mode::kAnswer;
    to_client_ += answer->head + answer_;
  }
  answer_.clear();
}

void Relay::write_client() {
  const iovec piece{.iov_base = to_client_.data(), .iov_len = to_client_.size()};
  const Channel::Outcome outcome = client_.write({&piece, 1});
  to_client_.erase(0, outcome.status == Channel::Status::kDone ? outcome.bytes : 0);
  failed_ = failed_ || outcome.status == Channel::Status::kFailed;
}

void Relay::write_peer() {
  const ssize_t count = ::send(peer_.get(), to_peer_.data(), to_peer_.size(), MSG_NOSIGNAL);
  if (count > 0) {
    to_peer_.erase(0, static_cast<std::size_t>(count));
  } else if (count == -1 && errno != EAGAIN && errno != EINTR) {
    // It may have answered before it stopped listening.
    to_peer_.clear();
    body_ended_ = true;
  }
}

Result<void> Relay::run(std::string_view first, std::chrono::milliseconds patience) {
  to_peer_ = first;
  take_from_client();
  while (!failed_ && !bad_answer_ && !(peer_ended_ && to_client_.empty())) {
    const bool tunnel = mode_ == Mode::kTunnel;
    const bool wants_client =
        !client_ended_ && (tunnel || !body_ended_) && to_peer_.size() < kBuffer;
    if (client_ended_ && tunnel && to_peer_.empty() && !told_peer_) {
      told_peer_ = true;
      (void)::shutdown(peer_.get(), SHUT_WR);
    }
    std::array<pollfd, 2> watched{};
    const auto events = [](bool in, bool out) {
      return static_cast<short>((in ? POLLIN : 0) | (out ? POLLOUT : 0));
    };
    watched[0] = {.fd = client_.fd(),
                  .events = events(wants_client, !to_client_.empty()),
                  .revents = 0};
    if (!client_ended_) {
      watched[0].events = static_cast<short>(watched[0].events | POLLRDHUP);
    } else if (watched[0].events == 0) {
      watched[0].fd = -1;  // Its end would wake us again and again.
    }
    watched[1] = {.fd = peer_.get(),
                  .events = events(!peer_ended_ && to_client_.size() < kBuffer, !to_peer_.empty()),
                  .revents = 0};
    if (watched[1].events == 0) {
      watched[1].fd = -1;
    }
    const bool ready_already = wants_client && client_.has_pending();
    const auto wait = client_ended_ ? std::min(patience, kLastWords) : patience;
    const int ready =
        ::poll(watched.data(), watched.size(), ready_already ? 0 : static_cast<int>(wait.count()));
    if (ready == 0 && !ready_already) {
      break;
    }
    if (ready == -1) {
      if (errno == EINTR) {
        continue;
      }
      return Error::from_errno("poll");
    }
    if (!to_client_.empty() && (watched[0].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
      write_client();
    }
    if (wants_client &&
        (ready_already || (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)) {
      read_client();
    } else if ((watched[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      // It has ended, or will send no more than what still lies there.
      failed_ = failed_ || (watched[0].revents & POLLERR) != 0;
      client_ended_ = client_ended_ || !wants_client;
    }
    if ((watched[1].revents & POLLOUT) != 0) {
      write_peer();
      take_from_client();
    }
    if ((watched[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !peer_ended_) {
      read_peer();
    }
  }
  if (bad_answer_) {
    return Error(ErrorCode::kUnavailable, "what listens on this port does not answer in HTTP");
  }
  return {};
}

}  // namespace glovebox::http
