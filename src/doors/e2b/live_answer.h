// SPDX-License-Identifier: Apache-2.0
// LiveAnswer: an answer in pieces that shows signs of life while nothing happens, and notices that
// its reader has gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "doors/transport/http.h"

namespace glovebox::e2b {

// Any thread.
class LiveAnswer {
 public:
  // After response.start(). `beat` goes out after a silence of `beat_every`. Request and response
  // outlive this.
  LiveAnswer(http::Request& request,
             http::Response& response,
             std::chrono::milliseconds beat_every,
             std::string beat);
  LiveAnswer(const LiveAnswer&) = delete;
  LiveAnswer& operator=(const LiveAnswer&) = delete;

  // False: nobody reads any more.
  bool write(std::string_view piece);

  // Call this now and then while nothing happens. False: nobody reads any more.
  bool idle();

  // These end the answer, once; nothing comes after `last`.
  void finish(std::string_view last = {});
  void abort();

 private:
  bool write_locked(std::string_view piece);

  http::Response& response_;
  const std::chrono::milliseconds beat_every_;
  const std::string beat_;
  const int gone_fd_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
  bool gone_ = false;
  bool ended_ = false;
};

// Calls idle() once a second, in a thread of its own that ends with this object: for work that has
// no such rhythm.
class IdleTicks {
 public:
  explicit IdleTicks(LiveAnswer& answer);
  ~IdleTicks();
  IdleTicks(const IdleTicks&) = delete;
  IdleTicks& operator=(const IdleTicks&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace glovebox::e2b
