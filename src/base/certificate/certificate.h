// SPDX-License-Identifier: Apache-2.0
// X.509 certificates that we make, and OpenSSL objects that free themselves.
//
// If OpenSSL fails, the result is null and OpenSSL's error queue has the reason. Any thread.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::openssl {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free>>;

struct CertificateOrder {
  std::string name;            // Of its subject.
  std::chrono::hours lasts{};  // From now; valid since an hour ago, for clocks that are slow.
  // Kinds (NID_…) and values in OpenSSL's notation; the caller must keep them clean.
  std::vector<std::pair<int, std::string>> extensions;
};

// For `key`, signed by the issuer with its key; self-signed if the issuer is null.
Certificate make_certificate(const CertificateOrder& order,
                             EVP_PKEY* key,
                             X509* issuer,
                             EVP_PKEY* issuer_key);

// A stream that reads as this text; the text must outlive it.
Memory memory_of(std::string_view text);

}  // namespace glovebox::openssl
