// SPDX-License-Identifier: Apache-2.0
#include "egress/tls.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/certificate/certificate.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kBlock = 16UL * 1024;
constexpr std::chrono::hours kLasts{24};
// A protocol's name in the form that OpenSSL expects: preceded by its length.
constexpr std::array<unsigned char, 9> kHttp11 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

using openssl::Certificate;
using openssl::Key;
using openssl::Memory;
using openssl::memory_of;
using Context = std::unique_ptr<SSL_CTX, openssl::Deleter<SSL_CTX_free>>;

Error failed(const char* what) {
  ERR_clear_error();
  return {ErrorCode::kInvalid, std::string("TLS: ") + what};
}

int choose_protocol(SSL* /*ssl*/,
                    const unsigned char** chosen,
                    unsigned char* size,
                    const unsigned char* offered,
                    unsigned offered_size,
                    void* /*none*/) {
  unsigned char* match = nullptr;
  const int found =
      SSL_select_next_proto(&match, size, kHttp11.data(), kHttp11.size(), offered, offered_size);
  *chosen = match;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Context new_context(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return nullptr;
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                         SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace

void SslDeleter::operator()(SSL* ssl) const { SSL_free(ssl); }

struct TlsAuthority::Parts {
  Context to_guests;
  Context to_servers;
  Certificate authority;
  Key authority_key;
  Key own_key;  // For all certificates that we make.

  [[nodiscard]] Certificate certify(const Place& place) const;
};

// A place is a host name, or an address in its one form, so nothing in it has a meaning in
// OpenSSL's notation.
Certificate TlsAuthority::Parts::certify(const Place& place) const {
  return openssl::make_certificate(
      {.name = "Glovebox",
       .lasts = kLasts,
       .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                      {NID_key_usage, "critical,digitalSignature"},
                      {NID_ext_key_usage, "serverAuth"},
                      {NID_authority_key_identifier, "keyid:always"},
                      {NID_subject_alt_name, (place.address ? "IP:" : "DNS:") + place.host}}},
      own_key.get(), authority.get(), authority_key.get());
}

TlsAuthority::TlsAuthority(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TlsAuthority::~TlsAuthority() = default;

Result<std::unique_ptr<TlsAuthority>> TlsAuthority::make(const Credentials& credentials,
                                                         const std::string& trust) {
  // Without the host's configuration, which is a file and could load others.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);
  auto parts = std::make_unique<Parts>();
  parts->to_guests = new_context(TLS_server_method());
  parts->to_servers = new_context(TLS_client_method());
  parts->own_key = Key(EVP_EC_gen("P-256"));
  if (!parts->to_guests || !parts->to_servers || !parts->own_key) {
    return failed("OpenSSL could not start");
  }
  const Memory certificate = memory_of(credentials.authority_certificate);
  const Memory key = memory_of(credentials.authority_key);
  parts->authority = Certificate(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
  parts->authority_key =
      Key(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, const_cast<char*>("")));
  if (!parts->authority || !parts->authority_key) {
    return failed("the authority of the sandbox is damaged");
  }
  SSL_CTX_set_alpn_select_cb(parts->to_guests.get(), choose_protocol, nullptr);
  SSL_CTX_set_verify(parts->to_servers.get(), SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_set_alpn_protos(parts->to_servers.get(), kHttp11.data(), kHttp11.size()) != 0) {
    return failed("OpenSSL could not start");
  }
  X509_STORE* const store = SSL_CTX_get_cert_store(parts->to_servers.get());
  const Memory bundle = memory_of(trust);
  std::size_t trusted = 0;
  while (const Certificate one{PEM_read_bio_X509_AUX(bundle.get(), nullptr, nullptr, nullptr)}) {
    trusted += X509_STORE_add_cert(store, one.get()) == 1 ? 1 : 0;
  }
  ERR_clear_error();  // Reaching the end of the bundle counts as an error.
  if (trusted == 0) {
    return failed("no certificate to check servers against could be read");
  }
  // Whatever OpenSSL loads for this must be loaded now.
  std::unique_ptr<TlsAuthority> made(new TlsAuthority(std::move(parts)));
  const Place place{.host = "none.invalid", .port = 443};
  if (!made->serve(place) || !made->ask(place)) {
    return failed("OpenSSL could not make a connection");
  }
  return made;
}

Ssl TlsAuthority::serve(const Place& place) const {
  const Certificate certificate = parts_->certify(place);
  Ssl ssl(SSL_new(parts_->to_guests.get()));
  if (!certificate || !ssl || SSL_use_certificate(ssl.get(), certificate.get()) != 1 ||
      SSL_use_PrivateKey(ssl.get(), parts_->own_key.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_accept_state(ssl.get());
  return ssl;
}

Ssl TlsAuthority::ask(const Place& place) const {
  Ssl ssl(SSL_new(parts_->to_servers.get()));
  if (!ssl) {
    ERR_clear_error();
    return nullptr;
  }
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool named =
      place.address
          ? X509_VERIFY_PARAM_set1_ip_asc(wanted, place.host.c_str()) == 1
          : X509_VERIFY_PARAM_set1_host(wanted, place.host.data(), place.host.size()) == 1 &&
                SSL_set_tlsext_host_name(ssl.get(), place.host.c_str()) == 1;
  if (!named) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_connect_state(ssl.get());
  return ssl;
}

TlsStream::TlsStream(Socket& socket, Ssl ssl, std::string_view first)
    : socket_(socket), ssl_(std::move(ssl)), turn_(socket.get_executor()) {
  turn_.expires_at(asio::steady_timer::time_point::max());
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(in, -1);
  BIO_set_mem_eof_return(out, -1);
  SSL_set_bio(ssl_.get(), in, out);  // Takes ownership of both.
  if (!first.empty()) {
    BIO_write(in, first.data(), static_cast<int>(first.size()));
  }
}

// Gives OpenSSL what the peer sends next. False at the end of the connection.
asio::awaitable<bool> TlsStream::feed() {
  std::array<char, kBlock> block{};
  error_code error;
  const std::size_t got = co_await socket_.async_read_some(asio::buffer(block), with(error));
  co_return !error && got > 0 &&
      BIO_write(SSL_get_rbio(ssl_.get()), block.data(), static_cast<int>(got)) ==
          static_cast<int>(got);
}

// Sends what OpenSSL has for the peer. A coroutine that comes while another one sends waits for its
// turn, so that nothing piles up.
asio::awaitable<bool> TlsStream::flush() {
  while (writing_) {
    error_code woken;
    co_await turn_.async_wait(with(woken));
  }
  BIO* const out = SSL_get_wbio(ssl_.get());
  error_code error;
  while (!error && BIO_ctrl_pending(out) > 0) {
    std::string bytes(BIO_ctrl_pending(out), '\0');
    BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    writing_ = true;
    co_await asio::async_write(socket_, asio::buffer(bytes), with(error));
    writing_ = false;
    turn_.cancel();
  }
  co_return !error;
}

asio::awaitable<bool> TlsStream::handshake() {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    const int why = SSL_get_error(ssl_.get(), done);
    const unsigned long reason = ERR_peek_error();
    const bool sent = co_await flush();
    if (done == 1 && sent) {
      co_return true;
    }
    if (why == SSL_ERROR_WANT_READ && sent) {
      const bool more = co_await feed();
      if (more) {
        continue;
      }
      failure_ = "the connection ended during the TLS handshake";
      co_return false;
    }
    const long verified = SSL_get_verify_result(ssl_.get());
    const char* const text = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                                   : ERR_reason_error_string(reason);
    failure_ = std::string(verified != X509_V_OK ? "its certificate is not accepted: "
                                                 : "the TLS handshake failed: ") +
               (text == nullptr ? "the connection was cut" : text);
    co_return false;
  }
}

asio::awaitable<std::size_t> TlsStream::read(std::span<char> into) {
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size()));
    const int why = SSL_get_error(ssl_.get(), got);
    if (got > 0) {
      co_return static_cast<std::size_t>(got);
    }
    if (why != SSL_ERROR_WANT_READ) {
      ended_ = why == SSL_ERROR_ZERO_RETURN;
      co_return 0;
    }
    // An answer to a change of keys. If somebody is writing, it goes out with that: a peer that
    // does not read must not keep us from reading.
    if (!writing_ && BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) > 0) {
      const bool sent = co_await flush();
      if (!sent) {
        co_return 0;
      }
    }
    const bool more = co_await feed();
    if (!more) {
      co_return 0;
    }
  }
}

asio::awaitable<bool> TlsStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ERR_clear_error();
    const int put = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (put <= 0) {
      co_return false;  // It writes to memory, so there is nothing to wait for.
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
    const bool sent = co_await flush();
    if (!sent) {
      co_return false;
    }
  }
  co_return true;
}

asio::awaitable<void> TlsStream::finish() {
  ERR_clear_error();
  (void)SSL_shutdown(ssl_.get());
  (void)co_await flush();
}

}  // namespace glovebox::egress
