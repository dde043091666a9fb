// SPDX-License-Identifier: Apache-2.0
#include "audit/signing.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "audit/segments.h"
#include "base/digest/digest.h"
#include "base/hex.h"
#include "base/unique_fd.h"

namespace glovebox::audit {
namespace {

constexpr std::size_t kMostPem = 4096;
constexpr std::size_t kRawKey = 32;
constexpr std::size_t kSignature = 64;

struct Free {
  void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { ::BIO_free_all(bio); }
};

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key) {
  return {key, [](EVP_PKEY* each) { ::EVP_PKEY_free(each); }};
}

std::string with_purpose(std::string_view purpose, std::string_view bytes) {
  return std::string(purpose) + "\n" + std::string(bytes);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Result<std::string> read_private(int directory) {
  const UniqueFd file = GB_TRY(open_regular(directory, kPrivateKeyFile, O_RDONLY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      (status.st_mode & 077U) != 0) {
    return Error(ErrorCode::kRefused,
                 "the audit journal's private key must be a file that only its owner can access",
                 "run 'chmod 600 key.pem' in the directory of the journal");
  }
  std::string pem(kMostPem, '\0');
  const ssize_t got = ::read(file.get(), pem.data(), pem.size());
  pem.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return pem;
}

Result<std::shared_ptr<EVP_PKEY>> make_key(int directory) {
  auto key = owned(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const std::unique_ptr<BIO, Free> bio(::BIO_new(::BIO_s_mem()));
  if (!key || !bio ||
      ::PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return Error(ErrorCode::kInternal, "the audit journal's key cannot be made");
  }
  std::string pem = text_of(bio.get());
  auto written = replace_file(directory, kPrivateKeyFile, pem, 0600);
  ::OPENSSL_cleanse(pem.data(), pem.size());
  GB_TRY(std::move(written));
  return key;
}

}  // namespace

Result<PublicKey> PublicKey::of(std::shared_ptr<EVP_PKEY> key) {
  std::array<unsigned char, kRawKey> raw{};
  std::size_t size = raw.size();
  if (!key || ::EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519 ||
      ::EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size) != 1 || size != raw.size()) {
    return Error(ErrorCode::kInvalid, "this is not an Ed25519 key");
  }
  PublicKey made;
  made.id_ = sha256_hex({reinterpret_cast<const char*>(raw.data()), raw.size()}).substr(0, 16);
  made.key_ = std::move(key);
  return made;
}

Result<PublicKey> PublicKey::parse(std::string_view pem) {
  const std::unique_ptr<BIO, Free> bio(
      pem.size() <= kMostPem ? ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))
                             : nullptr);
  auto key = owned(bio ? ::PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!key) {
    return Error(ErrorCode::kInvalid, "this is not a public key in PEM format",
                 "use the output of 'glovebox audit key'");
  }
  return of(std::move(key));
}

bool PublicKey::verifies(std::string_view purpose,
                         std::string_view bytes,
                         std::string_view signature) const {
  const std::string raw = from_hex(signature).value_or("");
  const std::string text = with_purpose(purpose, bytes);
  const std::unique_ptr<EVP_MD_CTX, Free> context(::EVP_MD_CTX_new());
  return raw.size() == kSignature && context &&
         ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
         ::EVP_DigestVerify(context.get(), bytes_of(raw), raw.size(), bytes_of(text),
                            text.size()) == 1;
}

Result<std::string> PublicKey::pem() const {
  const std::unique_ptr<BIO, Free> bio(::BIO_new(::BIO_s_mem()));
  if (!bio || ::PEM_write_bio_PUBKEY(bio.get(), key_.get()) != 1) {
    return Error(ErrorCode::kInternal, "the public key cannot be written");
  }
  return text_of(bio.get());
}

Result<SigningKey> SigningKey::open(int directory, bool create) {
  SigningKey made;
  auto pem = read_private(directory);
  if (!pem && pem.error().code() == ErrorCode::kNotFound && create) {
    made.key_ = GB_TRY(make_key(directory));
  } else if (!pem) {
    return std::move(pem).error();
  } else {
    const std::unique_ptr<BIO, Free> bio(
        ::BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())));
    made.key_ =
        owned(bio ? ::PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr) : nullptr);
    ::OPENSSL_cleanse(pem->data(), pem->size());
  }
  if (!made.key_) {
    return Error(ErrorCode::kInvalid, "the audit journal's private key is damaged",
                 "restore key.pem from a backup");
  }
  made.public_ = GB_TRY(PublicKey::of(made.key_));
  struct stat there {};
  if (::fstatat(directory, kPublicKeyFile, &there, AT_SYMLINK_NOFOLLOW) != 0) {
    GB_TRY(replace_file(directory, kPublicKeyFile, GB_TRY(made.public_.pem()), 0644));
  }
  return made;
}

Result<std::string> SigningKey::sign(std::string_view purpose, std::string_view bytes) const {
  const std::string text = with_purpose(purpose, bytes);
  std::array<unsigned char, kSignature> raw{};
  std::size_t size = raw.size();
  const std::unique_ptr<EVP_MD_CTX, Free> context(::EVP_MD_CTX_new());
  if (!context || ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      ::EVP_DigestSign(context.get(), raw.data(), &size, bytes_of(text), text.size()) != 1) {
    return Error(ErrorCode::kInternal, "the audit journal cannot be signed");
  }
  return to_hex({reinterpret_cast<const char*>(raw.data()), size});
}

}  // namespace glovebox::audit
