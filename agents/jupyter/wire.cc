// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/check.h"
#include "base/hex.h"

namespace glovebox::jupyter {
namespace {

constexpr std::string_view kDelimiter = "<IDS|MSG>";
constexpr std::size_t kSignedParts = 4;
constexpr std::size_t kDigestSize = 32;

std::string now_in_iso8601() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  const std::size_t size = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string micros = std::to_string(1'000'000 + now.tv_nsec / 1000).substr(1);
  return std::string(text.data(), size) + "." + micros + "Z";
}

}  // namespace

void Signer::Free::operator()(evp_mac_ctx_st* context) const noexcept { EVP_MAC_CTX_free(context); }

// Unless memory runs out, libcrypto can fail here only for an algorithm that it lacks; without
// HMAC-SHA256 there is nothing to do.
Signer::Signer(std::string_view key) {
  GB_CHECK(!key.empty());
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  GB_CHECK(mac != nullptr);
  keyed_.reset(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);  // The context keeps a reference.
  GB_CHECK(keyed_ != nullptr);
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 2> params{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned.
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  GB_CHECK(EVP_MAC_init(keyed_.get(), bytes, key.size(), params.data()) == 1);
}

std::string Signer::sign(const std::vector<std::string_view>& parts) const {
  const std::unique_ptr<evp_mac_ctx_st, Free> context(EVP_MAC_CTX_dup(keyed_.get()));
  GB_CHECK(context != nullptr);
  for (const std::string_view part : parts) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned.
    const auto* bytes = reinterpret_cast<const unsigned char*>(part.data());
    GB_CHECK(EVP_MAC_update(context.get(), bytes, part.size()) == 1);
  }
  std::array<unsigned char, kDigestSize> digest{};
  std::size_t size = 0;
  GB_CHECK(EVP_MAC_final(context.get(), digest.data(), &size, digest.size()) == 1);
  GB_CHECK(size == digest.size());
  return to_hex(digest);
}

bool Signer::verify(std::string_view signature, const std::vector<std::string_view>& parts) const {
  const std::string expected = sign(parts);
  return signature.size() == expected.size() &&
         CRYPTO_memcmp(signature.data(), expected.data(), expected.size()) == 0;
}

Message RequestMaker::make(std::string_view type, Json content) {
  Message message;
  message.header = {{"msg_id", session_ + "-" + std::to_string(++count_)},
                    {"msg_type", type},
                    {"session", session_},
                    {"username", "glovebox"},
                    {"date", now_in_iso8601()},
                    {"version", kProtocolVersion}};
  message.content = std::move(content);
  return message;
}

std::vector<std::string> serialise(const Message& message, const Signer& signer) {
  std::vector<std::string> parts{std::string(kDelimiter), {},   to_text(message.header),
                                 to_text(message.parent), "{}", to_text(message.content)};
  parts[1] = signer.sign({parts[2], parts[3], parts[4], parts[5]});
  return parts;
}

Result<Message> parse_message(const std::vector<std::string_view>& parts, const Signer& signer) {
  const auto delimiter = std::find(parts.begin(), parts.end(), kDelimiter);
  const auto behind = static_cast<std::size_t>(parts.end() - delimiter);
  if (behind < 2 + kSignedParts) {
    return Error(ErrorCode::kInvalid, "a message with fewer than six parts");
  }
  const auto first = delimiter + 2;
  const std::vector<std::string_view> body(first, first + kSignedParts);
  if (!signer.verify(delimiter[1], body)) {
    return Error(ErrorCode::kRefused, "a message with an invalid signature");
  }
  Message message;
  message.header = GB_TRY(parse_json_object(body[0], kMaxPart));
  message.parent = GB_TRY(parse_json_object(body[1], kMaxPart));
  // Nothing in a message's metadata is used.
  message.content = GB_TRY(parse_json_object(body[3], kMaxPart));
  return message;
}

}  // namespace glovebox::jupyter
