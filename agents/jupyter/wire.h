// SPDX-License-Identifier: Apache-2.0
// The Jupyter wire protocol, version 5.3: how a message becomes the parts of one ZeroMQ message.
//
//   routing ids…  <IDS|MSG>  signature  header  parent_header  metadata  content  buffers…
//
// The signature is the HMAC-SHA256, in hexadecimal, of the four JSON parts. Buffers serve widgets
// only, and are dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json_guard.h"

struct evp_mac_ctx_st;  // OpenSSL's EVP_MAC_CTX.

namespace glovebox::jupyter {

inline constexpr std::string_view kProtocolVersion = "5.3";

// ZeroMQ cuts a connection on which a larger part comes.
inline constexpr std::size_t kMaxPart = 64U << 20;
inline constexpr std::size_t kMaxParts = 64;

struct Message {
  Json header = Json::object();
  Json parent = Json::object();
  Json content = Json::object();

  [[nodiscard]] std::string type() const { return string_at(header, "msg_type"); }
  [[nodiscard]] std::string id() const { return string_at(header, "msg_id"); }
  // The request to which this message belongs, or empty.
  [[nodiscard]] std::string parent_id() const { return string_at(parent, "msg_id"); }
};

// Signs and checks with the key of one connection.
class Signer {
 public:
  // Requires: the key is not empty.
  explicit Signer(std::string_view key);

  // `parts` are header, parent_header, metadata and content, as they are sent.
  [[nodiscard]] std::string sign(const std::vector<std::string_view>& parts) const;

  // Takes the same time wherever a wrong signature differs.
  [[nodiscard]] bool verify(std::string_view signature,
                            const std::vector<std::string_view>& parts) const;

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const noexcept;
  };
  // Keyed and never updated: each message works on a copy.
  std::unique_ptr<evp_mac_ctx_st, Free> keyed_;
};

// Makes requests of one session; no two have the same header.
class RequestMaker {
 public:
  explicit RequestMaker(std::string session) : session_(std::move(session)) {}

  [[nodiscard]] Message make(std::string_view type, Json content);

 private:
  std::string session_;
  std::uint64_t count_ = 0;
};

// The parts to send, without routing ids.
[[nodiscard]] std::vector<std::string> serialise(const Message& message, const Signer& signer);

// Fails with kRefused on a wrong signature, and with kInvalid on what is not a message.
Result<Message> parse_message(const std::vector<std::string_view>& parts, const Signer& signer);

}  // namespace glovebox::jupyter
