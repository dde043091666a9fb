// SPDX-License-Identifier: Apache-2.0
// Our end of the control socket: frames to a warden, and from it to the threads that wait for them.
//
// A thread that waits for something reads the socket, and hands other threads' frames to their
// channels. So several threads may each wait for an answer of their own; none holds a lock
// meanwhile.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
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

// Safe to use from several threads, but for close().
class WardenLink {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WardenLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // One conversation with the warden: about a process, or a question and its answer. Frames for it
  // wait in it until they are taken, up to kMostWaiting. Any thread may call send(); the rest is
  // for one at a time. Its link must outlive it.
  class Channel {
   public:
    // With a number that no other channel has had.
    explicit Channel(WardenLink& link);
    // With this number: 0 is for what the warden says about itself, others are for processes that a
    // warden had when its sandbox was saved.
    Channel(WardenLink& link, std::uint32_t number);
    // Speaks in the conversation of `other`, and hears only what hand_on() gives it. Either may
    // outlive the other.
    explicit Channel(const Channel& other);
    Channel& operator=(const Channel&) = delete;
    ~Channel();

    // On the wire.
    [[nodiscard]] std::uint32_t number() const { return number_; }
    // For hand_on().
    [[nodiscard]] std::uint32_t key() const { return key_; }

    void send(warden::Request type, std::string_view payload, std::span<const int> passed = {}) {
      link_.send(type, number_, payload, passed);
    }

    // The next frame that is here already, without waiting; nothing when there is none. Fails with
    // kUnavailable when the warden is gone, and with kInvalid when it speaks nonsense. The frame's
    // payload is valid until the next call.
    Result<std::optional<Frame>> poll();

    // Waits for a frame until `deadline`; fails with kUnavailable after it.
    Result<Frame> receive(Clock::time_point deadline);

    // What to pass to poll(2) in order to wait until poll() may have more.
    [[nodiscard]] std::array<pollfd, 2> watch();

    // Instead of watch(): from now on, when another thread has put a frame here, it writes to this
    // eventfd(2), which must stay open.
    void wake_by(int eventfd);

   private:
    friend class WardenLink;

    // More than the warden may say about any one process before it is read.
    static constexpr std::size_t kMostWaiting = 4UL << 20;

    struct Waiting {
      std::uint8_t type = 0;
      std::string payload;

      // A frame without a payload costs memory as well.
      [[nodiscard]] std::size_t size() const { return sizeof *this + payload.size(); }
    };

    WardenLink& link_;
    const std::uint32_t number_;  // On the wire.
    const std::uint32_t key_;     // Among the link's channels: the number, unless others hear it.
    std::string current_;         // The payload of the last frame that was taken.
    // Guarded by the link's mutex.
    std::deque<Waiting> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool overflowed_ = false;
    // Becomes readable when another thread has put a frame here; made for the first wait.
    UniqueFd wake_;
    int wake_fd_ = -1;
    bool woken_ = false;
  };

  // Sends a frame as far as the socket takes it now; the rest leaves with the next call of any
  // kind. `passed` travels with it. The listener notices if the warden is gone.
  void send(warden::Request type,
            std::uint32_t channel,
            std::string_view payload,
            std::span<const int> passed = {});

  // While one lives, frames that are sent wait; then they leave together.
  class Together {
   public:
    explicit Together(WardenLink& link);
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
    ~Together();

   private:
    WardenLink& link_;
  };

  // Sends kRest on this channel, and nothing that anybody sends after it.
  void rest(std::uint32_t channel);

  // The same, but what anybody sends after it waits for go_on().
  void rest_a_while(std::uint32_t channel);
  void go_on();

  // Reads what is there, and hands it to its channels. Does not wait.
  void hear();

  // From now on one thread calls hear() whenever watch() tells it to, and nobody else reads the
  // socket. This eventfd(2), which must stay open, tells it that there is something to send. -1:
  // each thread reads for itself again.
  void listen_by(int eventfd);

  // For the thread that listens.
  [[nodiscard]] pollfd watch() const;

  // As if the warden had said it on the channel with this key, if there is one.
  void hand_on(std::uint32_t key, warden::Reply type, std::string_view payload);

  // The warden is gone, or has spoken nonsense: no channel gets anything more.
  [[nodiscard]] bool lost() const;

  [[nodiscard]] int fd() const { return socket_.get(); }

  // Closing is how a warden is told to end everything. Nobody else may be using the link.
  void close() { socket_.reset(); }

  // The same while other threads may still use the socket.
  void shut_down() const { (void)::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static constexpr std::size_t kReceiveSize = 128UL * 1024;

  // Descriptors travel with the first byte of what they belong to.
  struct Outgoing {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<UniqueFd> passed;
  };

  std::uint32_t unused_number();

  // All require the mutex.
  void queue(warden::Request type,
             std::uint32_t channel,
             std::string_view payload,
             std::span<const int> passed);
  // A frame to send later, with copies of the descriptors.
  static Outgoing kept(warden::Request type,
                       std::uint32_t channel,
                       std::string_view payload,
                       std::span<const int> passed);
  [[nodiscard]] pollfd watched() const;
  void flush();
  // Sends as much of the queue as the socket takes; the listener sends the rest.
  void flush_or_tell();
  bool send_some(Outgoing& next, std::span<const int> passed);
  void hear_for(const Channel* reader);
  void deliver(const Frame& frame, const Channel* reader);
  void lose(Error why);
  static void wake(Channel& channel);

  UniqueFd socket_;
  mutable std::mutex mutex_;  // Guards what follows; never held while waiting.
  FrameParser parser_;
  // On the heap, uninitialized: most sandboxes say little, and pages that nobody touches cost
  // nothing.
  std::unique_ptr<char[]> received_{new char[kReceiveSize]};
  std::deque<Outgoing> outgoing_;
  int listener_ = -1;
  std::map<std::uint32_t, Channel*> channels_;
  std::uint32_t last_channel_ = 0;
  std::optional<Error> lost_;
  int together_ = 0;  // How many Together live.
  bool resting_ = false;
  bool holding_ = false;       // From rest_a_while() to go_on().
  std::deque<Outgoing> held_;  // What was sent meanwhile.
};

}  // namespace glovebox
