// SPDX-License-Identifier: Apache-2.0
#include "store/secret_box.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "base/hex.h"
#include "base/random.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

// A sealed value: the form, the key's id, the nonce, the bytes, the tag.
constexpr char kForm = '\1';
constexpr std::size_t kNonceSize = 12;
constexpr std::size_t kTagSize = 16;
constexpr std::size_t kHeadSize = 1 + kSecretKeyIdSize + kNonceSize;
constexpr std::size_t kMostKeys = 16;
constexpr std::size_t kLine = 2 * (kSecretKeyIdSize + kSecretKeySize) + 2;

struct ContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { ::EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, ContextDeleter>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

bool from_hex(std::string_view text, std::span<unsigned char> into) {
  const auto bytes = glovebox::from_hex(text.substr(0, 2 * into.size()));
  if (!bytes || bytes->size() != into.size()) {
    return false;
  }
  std::ranges::copy(*bytes, into.begin());
  return true;
}

Error damaged() {
  return {ErrorCode::kUnavailable, "a secret cannot be decrypted",
          "restore the key file that belongs to the database"};
}

}  // namespace

Result<SecretKey> SecretKey::random() {
  SecretKey key;
  fill_random(key.id);
  fill_random(key.bytes);
  return key;
}

bool is_sealed_with(const SecretKey& key, std::string_view sealed) {
  return sealed.size() >= kHeadSize + kTagSize && sealed[0] == kForm &&
         std::equal(key.id.begin(), key.id.end(), bytes_of(sealed) + 1);
}

Result<std::string> seal(const SecretKey& key,
                         std::string_view value,
                         std::string_view belongs_to) {
  std::string sealed(kHeadSize + value.size() + kTagSize, '\0');
  unsigned char* const out = bytes_of(sealed);
  sealed[0] = kForm;
  std::copy(key.id.begin(), key.id.end(), out + 1);
  unsigned char* const nonce = out + 1 + kSecretKeyIdSize;
  fill_random({nonce, kNonceSize});
  const Context context(::EVP_CIPHER_CTX_new());
  int size = 0;
  const bool done =
      context != nullptr &&
      ::EVP_EncryptInit_ex(context.get(), ::EVP_aes_256_gcm(), nullptr, key.bytes.data(), nonce) ==
          1 &&
      // The form and the key's id are bound too.
      ::EVP_EncryptUpdate(context.get(), nullptr, &size, out, 1 + kSecretKeyIdSize) == 1 &&
      ::EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(belongs_to),
                          static_cast<int>(belongs_to.size())) == 1 &&
      ::EVP_EncryptUpdate(context.get(), out + kHeadSize, &size, bytes_of(value),
                          static_cast<int>(value.size())) == 1 &&
      ::EVP_EncryptFinal_ex(context.get(), out + kHeadSize + value.size(), &size) == 1 &&
      ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagSize,
                            out + kHeadSize + value.size()) == 1;
  return done ? Result<std::string>(std::move(sealed))
              : Error(ErrorCode::kInternal, "a secret cannot be encrypted");
}

Result<std::string> unseal(const std::vector<SecretKey>& keys,
                           std::string_view sealed,
                           std::string_view belongs_to) {
  const auto key = std::ranges::find_if(
      keys, [sealed](const SecretKey& each) { return is_sealed_with(each, sealed); });
  if (key == keys.end()) {
    return damaged();
  }
  const std::string_view content = sealed.substr(kHeadSize, sealed.size() - kHeadSize - kTagSize);
  std::string tag(sealed.substr(sealed.size() - kTagSize));
  std::string value(content.size(), '\0');
  const Context context(::EVP_CIPHER_CTX_new());
  int size = 0;
  const bool opened =
      context != nullptr &&
      ::EVP_DecryptInit_ex(context.get(), ::EVP_aes_256_gcm(), nullptr, key->bytes.data(),
                           bytes_of(sealed) + 1 + kSecretKeyIdSize) == 1 &&
      ::EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(sealed), 1 + kSecretKeyIdSize) ==
          1 &&
      ::EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(belongs_to),
                          static_cast<int>(belongs_to.size())) == 1 &&
      ::EVP_DecryptUpdate(context.get(), bytes_of(value), &size, bytes_of(content),
                          static_cast<int>(content.size())) == 1 &&
      ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagSize, bytes_of(tag)) == 1 &&
      ::EVP_DecryptFinal_ex(context.get(), bytes_of(value) + value.size(), &size) == 1;
  if (!opened) {
    ::OPENSSL_cleanse(value.data(), value.size());
    return damaged();
  }
  return value;
}

Result<std::vector<SecretKey>> SecretKeyFile::read() const {
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return Error::from_errno("open the secrets key file");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_mode & 077U) != 0) {
    return Error(ErrorCode::kRefused, "other users can read the secrets key file",
                 "run 'chmod 600 " + path_ + "'");
  }
  std::string text(kMostKeys * kLine + 1, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<SecretKey> keys;
  bool whole = !text.empty() && text.size() % kLine == 0;
  for (std::size_t at = 0; whole && at < text.size(); at += kLine) {
    const std::string_view line = std::string_view(text).substr(at, kLine);
    SecretKey& key = keys.emplace_back();
    whole = line[2 * kSecretKeyIdSize] == ' ' && line.back() == '\n' && from_hex(line, key.id) &&
            from_hex(line.substr(2 * kSecretKeyIdSize + 1), key.bytes);
  }
  ::OPENSSL_cleanse(text.data(), text.size());
  if (!whole) {
    return Error(ErrorCode::kInvalid, "the secrets key file is damaged",
                 "restore it from a backup");
  }
  return keys;
}

Result<void> SecretKeyFile::write(const std::vector<SecretKey>& keys) const {
  std::string text;
  for (const SecretKey& key : keys) {
    text += to_hex(key.id) + " " + to_hex(key.bytes) + "\n";
  }
  const std::string draft = path_ + ".new";
  (void)::unlink(draft.c_str());
  const UniqueFd file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written =
      file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0 && ::rename(draft.c_str(), path_.c_str()) == 0;
  const int error = errno;
  ::OPENSSL_cleanse(text.data(), text.size());
  if (!written) {
    (void)::unlink(draft.c_str());
    return Error::from_errno("write the secrets key file", error);
  }
  const std::string above = path_.substr(0, path_.rfind('/') + 1);
  const UniqueFd directory(
      ::open(above.empty() ? "." : above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && ::fsync(directory.get()) == 0
             ? Result<void>()
             : Error::from_errno("flush the secrets key file");
}

}  // namespace glovebox
