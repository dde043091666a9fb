// SPDX-License-Identifier: Apache-2.0
#include "base/certificate/certificate.h"

#include <openssl/bn.h>
#include <openssl/x509v3.h>

namespace glovebox::openssl {
namespace {

using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

constexpr int kVersion3 = 2;
constexpr int kSerialBits = 127;
constexpr std::chrono::hours kBefore{1};

long seconds(std::chrono::seconds time) { return static_cast<long>(time.count()); }

bool set_serial(X509* certificate) {
  const Number serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

}  // namespace

Certificate make_certificate(const CertificateOrder& order,
                             EVP_PKEY* key,
                             X509* issuer,
                             EVP_PKEY* issuer_key) {
  Certificate certificate(X509_new());
  X509* const made = certificate.get();
  X509* const signer = issuer != nullptr ? issuer : made;
  bool done = made != nullptr && X509_set_version(made, kVersion3) == 1 && set_serial(made) &&
              set_name(made, order.name) &&
              X509_set_issuer_name(made, X509_get_subject_name(signer)) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(made), -seconds(kBefore)) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(made), seconds(order.lasts)) != nullptr &&
              X509_set_pubkey(made, key) == 1;
  for (const auto& [kind, value] : order.extensions) {
    done = done && add_extension(made, signer, kind, value);
  }
  done = done && X509_sign(made, issuer != nullptr ? issuer_key : key, EVP_sha256()) > 0;
  return done ? std::move(certificate) : nullptr;
}

Memory memory_of(std::string_view text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace glovebox::openssl
