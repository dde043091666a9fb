// SPDX-License-Identifier: Apache-2.0
#include "service/network/edge_credentials.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/certificate/certificate.h"

namespace glovebox {
namespace {

constexpr const char* kBundle = "ca-certificates.crt";
constexpr const char* kOwn = "sandbox-ca.crt";
constexpr std::size_t kMostTrust = 900UL * 1024;  // It has to fit a frame.
// A sandbox may live for long; its authority goes with it.
constexpr std::chrono::hours kLasts{90 * 24};

Error failed() {
  ERR_clear_error();
  return {ErrorCode::kInternal, "the certificate authority of the sandbox could not be made"};
}

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(std::max<long>(size, 0))};
}

std::string mask_of(const IpBlock& block) {
  IpAddress mask{.v4 = block.address.v4};
  for (unsigned bit = 0; bit < block.bits; ++bit) {
    mask.bytes[bit / 8] |= static_cast<std::uint8_t>(0x80U >> (bit % 8));
  }
  return mask.to_text();
}

// "permitted;DNS:…" for each host. A kind of name without any constraint would be open, so it is
// closed, unless any name may lead to an address.
std::string constraints_of(const std::vector<NetworkRule>& places, bool any_name = false) {
  std::string text = "critical";
  bool names = any_name;
  bool addresses = false;
  for (const NetworkRule& place : places) {
    if (!place.name.empty()) {
      // Also covers the names below it; the proxy makes certificates for its rules' hosts only.
      text += any_name ? "" : ",permitted;DNS:" + place.name;
      names = true;
    } else {
      text += ",permitted;IP:" + place.block.address.to_text() + "/" + mask_of(place.block);
      addresses = true;
    }
  }
  if (!names) {
    text += ",permitted;DNS:none.invalid";
  }
  if (!addresses) {
    text += ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0";
  }
  return text;
}

// `constraints` comes from constraints_of(); if it is empty, the authority may vouch for any host.
Result<EdgeAuthority> make_authority(const std::string& constraints) {
  const openssl::Key key(EVP_EC_gen("P-256"));
  openssl::CertificateOrder order{
      .name = "Glovebox, for one sandbox",
      .lasts = kLasts,
      .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                     {NID_key_usage, "critical,keyCertSign"},
                     {NID_subject_key_identifier, "hash"}}};
  if (!constraints.empty()) {
    order.extensions.emplace_back(NID_name_constraints, constraints);
  }
  const openssl::Certificate made =
      key ? openssl::make_certificate(order, key.get(), nullptr, nullptr) : nullptr;
  if (!made) {
    return failed();
  }
  const openssl::Memory certificate_text(BIO_new(BIO_s_mem()));
  const openssl::Memory key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), made.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1) {
    return failed();
  }
  return EdgeAuthority{.certificate = text_of(certificate_text.get()),
                       .key = text_of(key_text.get())};
}

bool is_covered(const NetworkRule& place, const CredentialRules& by) {
  return std::ranges::any_of(places_of(by), [&](const NetworkRule& other) {
    return place.name == other.name && place.block == other.block;
  });
}

void set_if_absent(Environment& env, std::string_view name, std::string value) {
  const bool set =
      std::ranges::any_of(env, [&](const auto& variable) { return variable.first == name; });
  if (!set) {
    env.emplace_back(name, std::move(value));
  }
}

}  // namespace

Result<std::string> machine_authorities() {
  std::vector<std::string> paths;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const own = std::getenv("SSL_CERT_FILE"); own != nullptr && *own != '\0') {
    paths.emplace_back(own);
  } else {
    paths = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
             "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"};
  }
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::array<char, 64 * 1024> block{};
    while (file && text.size() <= kMostTrust) {
      file.read(block.data(), block.size());
      text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    }
    if (text.size() > kMostTrust) {
      return Error(ErrorCode::kUnavailable, "'" + path + "' has too many certificates",
                   "set SSL_CERT_FILE to a smaller bundle");
    }
    if (!text.empty()) {
      return text;
    }
  }
  return Error(ErrorCode::kUnavailable, "this machine has no certificates of authorities",
               "install ca-certificates, or set SSL_CERT_FILE to a bundle");
}

Result<EdgeCredentials> EdgeCredentials::make(const CredentialRules& rules,
                                              const SecretValues& secrets) {
  EdgeCredentials made;
  made.rules_ = rules;
  made.credentials_ = GB_TRY(egress::make_credentials(rules, secrets));
  if (needs_authority(rules)) {
    made.covered_ = rules;
    GB_TRY(made.add_authority(constraints_of(places_of(rules))));
  }
  return made;
}

Result<EdgeCredentials> EdgeCredentials::make(const NetworkRules& rules,
                                              const SecretValues& secrets,
                                              const NetworkTape& tape) {
  if (!tape.runs()) {
    return make(rules.credentials, secrets);
  }
  EdgeCredentials made;
  made.rules_ = rules.credentials;
  if (!tape.recording) {
    made.credentials_ = GB_TRY(egress::make_credentials(rules.credentials, secrets));
  }
  std::vector<NetworkRule> places = places_of(rules.credentials);
  places.insert(places.end(), rules.allow.begin(), rules.allow.end());
  const bool any_name =
      std::ranges::any_of(places, [](const NetworkRule& place) { return place.name.empty(); });
  GB_TRY(made.add_authority(
      rules.otherwise == NetworkRules::Otherwise::kAllow ? "" : constraints_of(places, any_name)));
  return made;
}

Result<void> EdgeCredentials::add_authority(const std::string& constraints) {
  trust_ = GB_TRY(machine_authorities());
  EdgeAuthority authority = GB_TRY(make_authority(constraints));
  credentials_.authority_certificate = std::move(authority.certificate);
  credentials_.authority_key = std::move(authority.key);
  return {};
}

Result<EdgeCredentials> EdgeCredentials::changed(const CredentialRules& rules,
                                                 const SecretValues& secrets) const {
  if (needs_authority(rules)) {
    for (const NetworkRule& place : places_of(rules)) {
      if (!is_covered(place, covered_)) {
        return Error(ErrorCode::kConflict,
                     "the sandbox was created without secrets for '" + place.to_text() + "'",
                     "create a sandbox with them: what it trusts is settled then");
      }
    }
  }
  EdgeCredentials made = *this;
  made.rules_ = rules;
  made.credentials_ = GB_TRY(egress::make_credentials(rules, secrets));
  made.credentials_.authority_certificate = credentials_.authority_certificate;
  made.credentials_.authority_key = credentials_.authority_key;
  return made;
}

void EdgeCredentials::add_to(SandboxSpec& spec) const {
  if (!credentials_.authority_certificate.empty()) {
    spec.own_files.push_back({.name = kBundle,
                              .content = trust_ + "\n" + credentials_.authority_certificate,
                              .shown_at = "/etc/ssl/certs/ca-certificates.crt"});
    spec.own_files.push_back({.name = kOwn, .content = credentials_.authority_certificate});
  }
  announce(spec.env);
}

void EdgeCredentials::announce(Environment& env) const {
  for (const PlaceholderRule& rule : rules_.placeholders) {
    set_if_absent(env, rule.variable, rule.placeholder);
  }
  if (credentials_.authority_certificate.empty()) {
    return;
  }
  const std::string directory = std::string(SandboxSpec::kOwnFiles) + "/";
  // OpenSSL and with it Python, Ruby and PHP, and Go; then those that have a name of their own.
  for (const char* const name :
       {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
        "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE"}) {
    set_if_absent(env, name, directory + kBundle);
  }
  for (const char* const name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"}) {
    set_if_absent(env, name, directory + kOwn);
  }
}

}  // namespace glovebox
