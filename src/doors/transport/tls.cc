// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string_view>

namespace glovebox::http {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class TlsChannel final : public Channel {
 public:
  TlsChannel(UniqueFd fd, std::unique_ptr<SSL, Free> ssl)
      : Channel(std::move(fd)), ssl_(std::move(ssl)) {}

  Outcome handshake() override {
    ERR_clear_error();
    return outcome(SSL_do_handshake(ssl_.get()));
  }

  Outcome read(std::span<char> into) override {
    ERR_clear_error();
    return outcome(SSL_read(ssl_.get(), into.data(), size_of(into.size())));
  }

  Outcome write(std::span<const iovec> pieces) override {
    std::string_view record(static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len);
    // Small pieces go into one record: a head with its body costs one packet.
    std::array<char, kRecord> together{};
    if (pieces.size() > 1 && record.size() < kRecord) {
      std::size_t used = 0;
      for (const iovec& piece : pieces) {
        const std::size_t part = std::min(piece.iov_len, kRecord - used);
        if (part > 0) {
          std::memcpy(together.data() + used, piece.iov_base, part);
        }
        used += part;
      }
      record = std::string_view(together.data(), used);
    }
    if (record.empty()) {
      return {.status = Status::kDone};
    }
    ERR_clear_error();
    return outcome(SSL_write(ssl_.get(), record.data(), size_of(record.size())));
  }

  void end_writing() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) == 1 && !failed_) {
      (void)SSL_shutdown(ssl_.get());
    }
    (void)::shutdown(fd(), SHUT_WR);
  }
  [[nodiscard]] bool has_pending() const override { return SSL_has_pending(ssl_.get()) == 1; }
  [[nodiscard]] bool is_plain() const override { return false; }

 private:
  static constexpr std::size_t kRecord = 16 * 1024;  // RFC 8446, 5.1.

  static int size_of(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
  }

  Outcome outcome(int answer) {
    if (answer > 0) {
      return {.status = Status::kDone, .bytes = static_cast<std::size_t>(answer)};
    }
    switch (SSL_get_error(ssl_.get(), answer)) {
      case SSL_ERROR_WANT_READ:
        return {.status = Status::kWantRead};
      case SSL_ERROR_WANT_WRITE:
        return {.status = Status::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {.status = Status::kEnd};
      default:
        failed_ = true;
        return {.status = Status::kFailed};
    }
  }

  std::unique_ptr<SSL, Free> ssl_;
  bool failed_ = false;
};

class OpenSslIdentity final : public TlsIdentity {
 public:
  explicit OpenSslIdentity(std::unique_ptr<SSL_CTX, Free> context) : context_(std::move(context)) {}

  std::unique_ptr<Channel> wrap(UniqueFd fd) override {
    std::unique_ptr<SSL, Free> ssl(SSL_new(context_.get()));
    if (!ssl || SSL_set_fd(ssl.get(), fd.get()) != 1) {
      return nullptr;
    }
    SSL_set_accept_state(ssl.get());
    return std::make_unique<TlsChannel>(std::move(fd), std::move(ssl));
  }

 private:
  std::unique_ptr<SSL_CTX, Free> context_;
};

Error tls_error(const std::string& attempt) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return {ErrorCode::kInvalid, attempt + ": " + text.data(),
          "give PEM files: the certificate with its chain, and its private key"};
}

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                       const std::string& key_file) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return tls_error("set up TLS");
  }
  // Renegotiation lets a client make us compute; released buffers make idle connections small.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_file.c_str()) != 1) {
    return tls_error("read the certificate " + certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return tls_error("read the key " + key_file);
  }
  return std::shared_ptr<TlsIdentity>(std::make_shared<OpenSslIdentity>(std::move(context)));
}

}  // namespace glovebox::http
