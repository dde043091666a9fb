// SPDX-License-Identifier: Apache-2.0
// Waiting: a descriptor that the loop waits for on behalf of an owner that takes turns.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

namespace glovebox::http {

// In the loop's thread. The descriptor belongs to somebody else, who closes it after release().
class Waiting {
 public:
  explicit Waiting(boost::asio::io_context& io) : socket_(io) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { release(); }

  // False when the loop cannot wait for it.
  bool assign(int fd) {
    boost::system::error_code error;
    socket_.assign(fd, error);
    return !error;
  }
  void release() {
    if (socket_.is_open()) {
      (void)socket_.release();
    }
  }

  // Calls `owner->turn()` once there is input, or room for output; once for all calls until then.
  // This is a member of the owner.
  template <typename Owner>
  void await(const std::shared_ptr<Owner>& owner, bool input, bool room) {
    if (input) {
      arm(owner, boost::asio::posix::descriptor_base::wait_read, awaits_input_);
    }
    if (room) {
      arm(owner, boost::asio::posix::descriptor_base::wait_write, awaits_room_);
    }
  }

 private:
  template <typename Owner>
  void arm(const std::shared_ptr<Owner>& owner,
           boost::asio::posix::descriptor_base::wait_type what,
           bool& armed) {
    if (armed) {
      return;
    }
    armed = true;
    socket_.async_wait(what, [owner, &armed](const boost::system::error_code& error) {
      armed = false;
      if (!error) {
        owner->turn();
      }
    });
  }

  boost::asio::posix::stream_descriptor socket_;
  bool awaits_input_ = false;
  bool awaits_room_ = false;
};

}  // namespace glovebox::http
