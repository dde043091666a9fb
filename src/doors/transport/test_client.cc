// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/test_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "doors/transport/status.h"

namespace glovebox::http {
namespace {

constexpr int kPatience = 10'000;  // Milliseconds, for what must come.

}  // namespace

std::string Answer::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_names(key, name)) {
      return value;
    }
  }
  return {};
}

TestClient TestClient::tcp(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  const int on = 1;
  (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return TestClient(std::move(fd));
}

TestClient TestClient::unix_socket(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  return TestClient(std::move(fd));
}

bool TestClient::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool TestClient::fill() {
  pollfd watched{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&watched, 1, kPatience) != 1) {
    return false;
  }
  std::array<char, 64 * 1024> piece{};
  const ssize_t count = ::recv(fd_.get(), piece.data(), piece.size(), 0);
  in_.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

std::string TestClient::read_some() {
  if (in_.empty()) {
    (void)fill();
  }
  return std::exchange(in_, {});
}

std::string TestClient::read_exactly(std::size_t count) {
  while (in_.size() < count && fill()) {
  }
  std::string taken = in_.substr(0, count);
  in_.erase(0, taken.size());
  return taken;
}

bool TestClient::is_at_end() {
  if (!in_.empty()) {
    return false;
  }
  pollfd watched{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&watched, 1, kPatience) == 1 && ::recv(fd_.get(), &byte, 1, 0) <= 0;
}

void TestClient::end_writing() { (void)::shutdown(fd_.get(), SHUT_WR); }

Answer TestClient::read_answer(bool head_only) {
  Answer answer;
  std::size_t end = 0;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) {
      return answer;
    }
  }
  const std::string head = in_.substr(0, end + 2);
  in_.erase(0, end + 4);
  answer.status = std::stoi(head.substr(9, 3));
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const std::size_t stop = head.find("\r\n", at);
    const std::size_t colon = head.find(": ", at);
    answer.headers.emplace_back(head.substr(at, colon - at),
                                head.substr(colon + 2, stop - colon - 2));
    at = stop + 2;
  }
  if (head_only || answer.status < 200 || answer.status == 204 || answer.status == 304) {
    answer.whole = true;
    return answer;
  }
  if (!answer.header("content-length").empty()) {
    const std::size_t length = std::stoull(answer.header("content-length"));
    answer.body = read_exactly(length);
    answer.whole = answer.body.size() == length;
    return answer;
  }
  if (answer.header("transfer-encoding").empty()) {
    while (fill()) {
    }
    answer.body = std::exchange(in_, {});
    answer.whole = true;
    return answer;
  }
  while (true) {
    while ((end = in_.find("\r\n")) == std::string::npos) {
      if (!fill()) {
        return answer;
      }
    }
    const std::size_t size = std::stoull(in_.substr(0, end), nullptr, 16);
    in_.erase(0, end + 2);
    const std::string chunk = read_exactly(size + 2);
    if (chunk.size() != size + 2) {
      return answer;
    }
    answer.body.append(chunk, 0, size);
    if (size == 0) {
      answer.whole = true;
      return answer;
    }
  }
}

Answer TestClient::request(std::string_view method,
                           std::string_view target,
                           const std::vector<std::pair<std::string, std::string>>& headers,
                           std::string_view body) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: test\r\n");
  for (const auto& [name, value] : headers) {
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!body.empty()) {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  text.append("\r\n").append(body);
  if (!write(text)) {
    return {};
  }
  return read_answer(method == "HEAD");
}

bool TestClient::open_websocket(std::string_view target,
                                const std::vector<std::pair<std::string, std::string>>& headers) {
  std::vector<std::pair<std::string, std::string>> all = headers;
  all.emplace_back("Connection", "Upgrade");
  all.emplace_back("Upgrade", "websocket");
  all.emplace_back("Sec-WebSocket-Version", "13");
  all.emplace_back("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  const Answer answer = request("GET", target, all);
  // The key and its answer are those of RFC 6455, 1.3.
  return answer.status == 101 &&
         answer.header("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
}

bool TestClient::write_frame(int opcode, std::string_view payload) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    // RFC 6455, 5.2: the shortest form.
    const bool two_bytes = payload.size() < 65'536;
    frame += two_bytes ? '\xfe' : '\xff';
    for (int shift = two_bytes ? 8 : 56; shift >= 0; shift -= 8) {
      frame += static_cast<char>((payload.size() >> static_cast<unsigned>(shift)) & 0xffU);
    }
  }
  frame.append(4, '\0');  // A mask that changes nothing.
  frame += payload;
  return write(frame);
}

std::optional<std::pair<int, std::string>> TestClient::read_frame() {
  while (true) {
    const std::string head = read_exactly(2);
    if (head.size() < 2) {
      return std::nullopt;
    }
    std::size_t size = static_cast<unsigned char>(head[1]) & 0x7fU;
    if (size >= 126) {
      const std::string length = read_exactly(size == 126 ? 2 : 8);
      size = 0;
      for (const char byte : length) {
        size = size << 8U | static_cast<unsigned char>(byte);
      }
    }
    std::string payload = read_exactly(size);
    const int opcode = head[0] & 0x0f;
    if (opcode != 9) {
      return std::pair(opcode, std::move(payload));
    }
  }
}

}  // namespace glovebox::http
