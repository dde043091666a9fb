// SPDX-License-Identifier: Apache-2.0
// GuestHttp: one request to an HTTP/1.1 server of a guest's (RFC 9112). All that it answers is
// hostile: its head is bounded and checked, and its body is given on in our own framing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

class GuestHttp {
 public:
  struct Head {
    int status = 0;
    http::Headers headers;                // Without those that are about the connection.
    std::optional<std::uint64_t> length;  // Of the body, when it was told.
    bool has_body = true;
  };

  // `stop_fd` becomes readable when nobody wants the answer any more.
  GuestHttp(UniqueFd connection, int stop_fd);
  ~GuestHttp();
  GuestHttp(const GuestHttp&) = delete;
  GuestHttp& operator=(const GuestHttp&) = delete;

  Result<void> write(std::string_view bytes);

  // `for_head` when the request was a HEAD: its answer has no body.
  Result<Head> read_head(bool for_head);
  // The next bytes of the body; 0 at its end.
  Result<std::size_t> read_body(std::span<char> into);

 private:
  Result<void> wait(short events);
  // Reads more into the buffer; false at the end of the connection.
  Result<bool> fill();
  Result<std::string> take_line(std::size_t most);
  Result<std::size_t> take(std::span<char> into, std::uint64_t most);
  Result<bool> next_chunk();

  enum class Framing { kNone, kLength, kChunks, kUntilClosed };

  UniqueFd connection_;
  int stop_fd_;
  std::string buffer_;
  Framing framing_ = Framing::kNone;
  std::uint64_t left_ = 0;  // Of the body, or of the chunk.
  bool within_chunks_ = false;
};

}  // namespace glovebox::e2b
