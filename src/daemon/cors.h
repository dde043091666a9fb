// SPDX-License-Identifier: Apache-2.0
// Which pages of other origins may read our answers (Fetch standard, 3.2, "CORS protocol").
//
// Off by default. Keys are headers and never cookies, so a page can do only what its own key may.
// A guest decides for itself about the answers on its ports.
#pragma once

#include <string>
#include <vector>

#include "doors/transport/http.h"

namespace glovebox {

class Cors {
 public:
  // As browsers write origins: "https://app.example.com"; "*" is any.
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // Answers a preflight request. For any other, headers() has what to add to the answer's own.
  [[nodiscard]] bool answers(const http::Request& request, http::Response& response) const;
  [[nodiscard]] http::Headers headers(const http::Request& request) const;

 private:
  [[nodiscard]] std::string allowed(const http::Request& request) const;

  std::vector<std::string> origins_;
};

// Adds headers to every answer that is sent through it.
class WithHeaders final : public http::Response {
 public:
  WithHeaders(http::Response& inner, http::Headers more) : inner_(inner), more_(std::move(more)) {}

  Result<void> send(int status, const http::Headers& headers, std::string_view body) override {
    return inner_.send(status, joined(headers), body);
  }
  Result<void> start(int status, const http::Headers& headers) override {
    return inner_.start(status, joined(headers));
  }
  Result<void> write(std::string_view piece) override { return inner_.write(piece); }
  Result<void> write_file(int fd, std::uint64_t offset, std::uint64_t length) override {
    return inner_.write_file(fd, offset, length);
  }
  Result<void> finish() override { return inner_.finish(); }
  Result<void> follow(int status,
                      const http::Headers& headers,
                      std::unique_ptr<http::PieceSource> source) override {
    return inner_.follow(status, joined(headers), std::move(source));
  }
  void abort() override { inner_.abort(); }
  Result<std::unique_ptr<http::WebSocket>> upgrade(std::string_view protocol) override {
    return inner_.upgrade(protocol);
  }
  Result<void> relay(UniqueFd peer, std::string_view first) override {
    return inner_.relay(std::move(peer), first);
  }

 private:
  [[nodiscard]] http::Headers joined(http::Headers headers) const {
    headers.insert(headers.end(), more_.begin(), more_.end());
    return headers;
  }

  http::Response& inner_;
  http::Headers more_;
};

}  // namespace glovebox
