// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
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

  // Of the peer's certificate: X509_V_OK, or what is wrong with it.
  [[nodiscard]] long verified() const { return SSL_get_verify_result(ssl_.get()); }

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
          "use PEM files: the certificate with its chain, and its private key"};
}

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                       const std::string& key_file) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return tls_error("set up TLS");
  }
  // TLS 1.3 has nothing else; of TLS 1.2 only what keeps past traffic secret and has no padding.
  if (SSL_CTX_set_cipher_list(context.get(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    return tls_error("choose cipher suites");
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

Result<std::unique_ptr<Channel>> tls_client_channel(UniqueFd fd,
                                                    const std::string& host,
                                                    const std::string& authorities) {
  ERR_clear_error();
  const std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return tls_error("set up TLS");
  }
  const int trusted = authorities.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                          : SSL_CTX_load_verify_locations(
                                                context.get(), authorities.c_str(), nullptr);
  if (trusted != 1) {
    return tls_error("read the certificate authorities " + authorities);
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  std::unique_ptr<SSL, Free> ssl(SSL_new(context.get()));
  if (!ssl || SSL_set_fd(ssl.get(), fd.get()) != 1) {
    return tls_error("set up TLS");
  }
  // A certificate names hosts and addresses in different fields (RFC 6125, RFC 5280 4.2.1.6).
  in6_addr ignored{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  const int named = is_address
                        ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str())
                        : SSL_set1_host(ssl.get(), host.c_str());
  if (named != 1 || (!is_address && SSL_set_tlsext_host_name(ssl.get(), host.c_str()) != 1)) {
    return tls_error("set the host name " + host);
  }
  SSL_set_connect_state(ssl.get());
  return std::unique_ptr<Channel>(std::make_unique<TlsChannel>(std::move(fd), std::move(ssl)));
}

Error tls_failure(const Channel& channel, const std::string& where) {
  const auto* const tls = dynamic_cast<const TlsChannel*>(&channel);
  const long verified = tls == nullptr ? X509_V_OK : tls->verified();
  if (verified != X509_V_OK) {
    return {ErrorCode::kRefused,
            "the certificate of " + where +
                " is not trusted: " + X509_verify_cert_error_string(verified),
            "pass its authority's PEM file with --cacert"};
  }
  return {ErrorCode::kUnavailable, "TLS handshake failed with " + where,
          "if the daemon does not use TLS, use http:// instead of https://"};
}

}  // namespace glovebox::http
