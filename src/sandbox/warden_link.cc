// SPDX-License-Identifier: Apache-2.0
#include "sandbox/warden_link.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/sys/descriptors.h"
#include "base/sys/send_now.h"

namespace glovebox {
namespace {

// Without a descriptor to be woken by, a channel looks this often.
constexpr std::chrono::milliseconds kLookEvery{20};

Error gone() { return {ErrorCode::kUnavailable, "the warden is gone"}; }

}  // namespace

WardenLink::Channel::Channel(WardenLink& link) : Channel(link, link.unused_number()) {}

WardenLink::Channel::Channel(WardenLink& link, std::uint32_t number)
    : link_(link), number_(number), key_(number) {
  const std::scoped_lock lock(link_.mutex_);
  link_.last_channel_ = std::max(link_.last_channel_, number);
  link_.channels_.emplace(key_, this);
}

WardenLink::Channel::Channel(const Channel& other)
    : link_(other.link_), number_(other.number_), key_(other.link_.unused_number()) {
  const std::scoped_lock lock(link_.mutex_);
  link_.channels_.emplace(key_, this);
}

WardenLink::Channel::~Channel() {
  const std::scoped_lock lock(link_.mutex_);
  link_.channels_.erase(key_);
}

std::uint32_t WardenLink::unused_number() {
  const std::scoped_lock lock(mutex_);
  return ++last_channel_;
}

Result<std::optional<Frame>> WardenLink::Channel::poll() {
  const std::scoped_lock lock(link_.mutex_);
  link_.flush();
  if (std::exchange(woken_, false) && wake_) {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
  }
  if (waiting_.empty() && link_.listener_ < 0) {
    link_.hear_for(this);
  }
  if (!waiting_.empty()) {
    const std::uint8_t type = waiting_.front().type;
    waiting_bytes_ -= waiting_.front().size();
    current_ = std::move(waiting_.front().payload);
    waiting_.pop_front();
    return std::optional(Frame{.type = type, .channel = number_, .payload = current_});
  }
  if (overflowed_) {
    return Error(ErrorCode::kInvalid, "the warden sent too much data");
  }
  if (link_.lost_) {
    return *link_.lost_;
  }
  return std::optional<Frame>();
}

std::array<pollfd, 2> WardenLink::Channel::watch() {
  const std::scoped_lock lock(link_.mutex_);
  if (!wake_) {
    wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    wake_fd_ = wake_.get();
  }
  if (!waiting_.empty() || overflowed_ || link_.lost_) {
    wake(*this);
  }
  const pollfd socket = link_.listener_ < 0 ? link_.watched() : pollfd{-1, 0, 0};
  return {{socket, {wake_.get(), POLLIN, 0}}};
}

void WardenLink::Channel::wake_by(int eventfd) {
  const std::scoped_lock lock(link_.mutex_);
  wake_fd_ = eventfd;
  if (!waiting_.empty() || link_.lost_) {
    wake(*this);
  }
}

Result<Frame> WardenLink::Channel::receive(Clock::time_point deadline) {
  for (;;) {
    if (auto frame = GB_TRY(poll()); frame) {
      return *frame;
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return Error(ErrorCode::kUnavailable, "the warden does not respond");
    }
    auto polled = watch();
    if (polled[1].fd < 0) {
      left = std::min(left, kLookEvery);
    }
    (void)::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
  }
}

void WardenLink::send(warden::Request type,
                      std::uint32_t channel,
                      std::string_view payload,
                      std::span<const int> passed) {
  const std::scoped_lock lock(mutex_);
  if (holding_) {
    held_.push_back(kept(type, channel, payload, passed));
  } else if (!resting_) {
    queue(type, channel, payload, passed);
  }
}

void WardenLink::rest(std::uint32_t channel) {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(resting_, true)) {
    queue(warden::Request::kRest, channel, {}, {});
  }
}

void WardenLink::rest_a_while(std::uint32_t channel) {
  const std::scoped_lock lock(mutex_);
  if (!resting_ && !std::exchange(holding_, true)) {
    queue(warden::Request::kRest, channel, {}, {});
  }
}

void WardenLink::go_on() {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(holding_, false)) {
    return;
  }
  queue(warden::Request::kGoOn, 0, {}, {});
  for (Outgoing& frame : held_) {
    outgoing_.push_back(std::move(frame));
  }
  held_.clear();
  flush_or_tell();
}

WardenLink::Together::Together(WardenLink& link) : link_(link) {
  const std::scoped_lock lock(link_.mutex_);
  ++link_.together_;
}

WardenLink::Together::~Together() {
  const std::scoped_lock lock(link_.mutex_);
  if (--link_.together_ == 0) {
    link_.flush_or_tell();
  }
}

WardenLink::Outgoing WardenLink::kept(warden::Request type,
                                      std::uint32_t channel,
                                      std::string_view payload,
                                      std::span<const int> passed) {
  Outgoing frame;
  append_frame(frame.bytes, static_cast<std::uint8_t>(type), channel, payload);
  // Copies: descriptors leave with the first byte, and must still be open then.
  for (const int fd : passed) {
    frame.passed.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  return frame;
}

void WardenLink::queue(warden::Request type,
                       std::uint32_t channel,
                       std::string_view payload,
                       std::span<const int> passed) {
  flush();
  // An entry that has begun to leave is dropped once it has left: it must not grow meanwhile.
  if (!outgoing_.empty() && outgoing_.back().sent == 0 && passed.empty()) {
    append_frame(outgoing_.back().bytes, static_cast<std::uint8_t>(type), channel, payload);
    return;
  }
  if (together_ > 0) {
    outgoing_.push_back(kept(type, channel, payload, passed));
    return;
  }
  Outgoing frame;
  append_frame(frame.bytes, static_cast<std::uint8_t>(type), channel, payload);
  if (outgoing_.empty() && send_some(frame, passed)) {
    return;
  }
  if (frame.sent == 0) {
    frame = kept(type, channel, payload, passed);
  }
  outgoing_.push_back(std::move(frame));
  if (listener_ >= 0) {
    (void)::eventfd_write(listener_, 1);
  }
}

void WardenLink::listen_by(int eventfd) {
  const std::scoped_lock lock(mutex_);
  listener_ = eventfd;
}

pollfd WardenLink::watch() const {
  const std::scoped_lock lock(mutex_);
  return watched();
}

pollfd WardenLink::watched() const {
  return {socket_.get(), static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT)), 0};
}

void WardenLink::hand_on(std::uint32_t key, warden::Reply type, std::string_view payload) {
  const std::scoped_lock lock(mutex_);
  deliver({.type = static_cast<std::uint8_t>(type), .channel = key, .payload = payload}, nullptr);
}

void WardenLink::flush_or_tell() {
  flush();
  if (!outgoing_.empty() && listener_ >= 0) {
    (void)::eventfd_write(listener_, 1);
  }
}

void WardenLink::flush() {
  while (together_ == 0 && !outgoing_.empty()) {
    std::vector<int> passed;
    for (const UniqueFd& fd : outgoing_.front().passed) {
      passed.push_back(fd.get());
    }
    if (!send_some(outgoing_.front(), passed)) {
      return;
    }
    outgoing_.pop_front();
  }
}

// Returns true when nothing of it is left to be sent.
bool WardenLink::send_some(Outgoing& next, std::span<const int> passed) {
  const std::string_view left = std::string_view(next.bytes).substr(next.sent);
  const auto sent =
      sys::send_now(socket_.get(), left, next.sent == 0 ? passed : std::span<const int>());
  next.sent += sent.value_or(0);
  return !sent || *sent == left.size();  // If the warden is gone, the listener learns so.
}

void WardenLink::hear() {
  const std::scoped_lock lock(mutex_);
  flush();
  hear_for(nullptr);
}

void WardenLink::hear_for(const Channel* reader) {
  if (lost_) {
    return;
  }
  const ssize_t got = ::recv(socket_.get(), received_.get(), kReceiveSize, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    lose(got == 0 || errno == ECONNRESET ? gone() : Error::from_errno("receive from the warden"));
    return;
  }
  parser_.feed({received_.get(), static_cast<std::size_t>(got)});
  // To the last frame: nobody would look for frames that stayed in the parser.
  for (;;) {
    Frame frame;
    auto more = parser_.next(frame);
    if (!more) {
      lose(std::move(more).error());
      return;
    }
    if (!more.value()) {
      return;
    }
    deliver(frame, reader);
  }
}

void WardenLink::deliver(const Frame& frame, const Channel* reader) {
  const auto found = channels_.find(frame.channel);
  if (found == channels_.end()) {
    return;  // About something that nobody asks about any more.
  }
  Channel& channel = *found->second;
  Channel::Waiting waiting{.type = frame.type, .payload = std::string(frame.payload)};
  if (channel.waiting_bytes_ + waiting.size() > Channel::kMostWaiting) {
    channel.overflowed_ = true;
  } else {
    channel.waiting_bytes_ += waiting.size();
    channel.waiting_.push_back(std::move(waiting));
  }
  if (&channel != reader) {
    wake(channel);
  }
}

void WardenLink::lose(Error why) {
  lost_ = std::move(why);
  for (const auto& [number, channel] : channels_) {
    wake(*channel);
  }
}

void WardenLink::wake(Channel& channel) {
  if (channel.wake_fd_ >= 0 && !std::exchange(channel.woken_, true)) {
    (void)::eventfd_write(channel.wake_fd_, 1);
  }
}

bool WardenLink::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_.has_value();
}

}  // namespace glovebox
