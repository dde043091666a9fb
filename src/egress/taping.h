// SPDX-License-Identifier: Apache-2.0
// Tape: writes a recording of what passes through the proxy. TapedExchange: one request and its
// answer, or one connection that is not read.
//
// It gets what the guest sends before secrets are filled in, and what the guest is told after they
// are hidden. Of requests it keeps method, target and a hash; neither headers nor bodies, which may
// hold what only the guest should know.
//
// One thread: that of the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/digest/digest.h"
#include "egress/credentials.h"
#include "egress/recording.h"

namespace glovebox::egress {

class Tape {
 public:
  // `keep` gets whole frames. `full` is called once, when the next frame would exceed `room` bytes;
  // neither that frame nor anything after it is recorded.
  Tape(std::uint64_t room,
       std::function<void(std::string_view bytes)> keep,
       std::function<void()> full)
      : room_(room), keep_(std::move(keep)), full_(std::move(full)) {}

  void opened(const RecordedOpening& opening);

  // For TapedExchange.
  std::uint32_t next_number() { return ++numbers_; }
  void add(RecordedPart part, std::uint32_t number, std::string_view payload);

 private:
  std::uint64_t room_;
  std::function<void(std::string_view bytes)> keep_;
  std::function<void()> full_;
  std::uint32_t numbers_ = 0;
};

class TapedExchange {
 public:
  // For a request that was read, with an answer in which the filler's secrets are hidden. The tape
  // and the filler, which may be null, outlive it.
  TapedExchange(Tape& tape,
                const CredentialFiller* filler,
                const Place& place,
                bool secure,
                const http::Head& head);
  // For a connection that is not read.
  TapedExchange(Tape& tape, const Place& place);
  TapedExchange(const TapedExchange&) = delete;
  TapedExchange& operator=(const TapedExchange&) = delete;

  void sent(std::string_view bytes);  // Bytes of the body without framing, or of the connection.
  void asked();                       // The request is whole.
  void answered(std::string_view bytes);
  void end(RecordedExchange::End how);  // Only the first call counts.

 private:
  void tell_sent();
  void tell_answered(std::size_t held);

  Tape& tape_;
  const std::uint32_t number_;
  const Place place_;
  const bool secure_ = false;
  const bool raw_;
  const CredentialFiller* hiding_ = nullptr;  // Null if no secret can come back.
  std::unique_ptr<BytesHash> hash_;
  std::uint64_t sent_ = 0;  // Bytes of a connection that are in the hash.
  std::string answer_;      // What is not written yet.
  bool ended_ = false;
};

// The hash of a request, to which its body is added.
[[nodiscard]] BytesHash asked_hash(const http::Head& head);

}  // namespace glovebox::egress
