// SPDX-License-Identifier: Apache-2.0
// For tests: a client that can also misbehave, over real sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::http {

struct Answer {
  int status = 0;  // 0: the connection ended before a head was whole.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool whole = false;  // All that was announced has come.
  [[nodiscard]] std::string header(std::string_view name) const;
};

class TestClient {
 public:
  static TestClient tcp(std::uint16_t port);
  static TestClient unix_socket(const std::string& path);
  explicit TestClient(UniqueFd fd) : fd_(std::move(fd)) {}

  // False when the server has closed.
  bool write(std::string_view bytes);
  Answer read_answer(bool head_only = false);
  // A small request and its answer.
  Answer request(std::string_view method,
                 std::string_view target,
                 const std::vector<std::pair<std::string, std::string>>& headers = {},
                 std::string_view body = {});
  // Some bytes; empty at the end, or when nothing comes in 10 seconds.
  std::string read_some();
  std::string read_exactly(std::size_t count);
  // Nothing more comes: the server has closed.
  bool is_at_end();
  void end_writing();
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // WebSocket frames. The handshake first; false when it was refused.
  bool open_websocket(std::string_view target,
                      const std::vector<std::pair<std::string, std::string>>& headers = {});
  bool write_frame(int opcode, std::string_view payload);
  // The next frame that is not a ping; its opcode and payload.
  std::optional<std::pair<int, std::string>> read_frame();

 private:
  bool fill();
  UniqueFd fd_;
  std::string in_;
};

}  // namespace glovebox::http
