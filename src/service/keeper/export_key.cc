// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/export_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/hex.h"
#include "base/random.h"
#include "base/sys/write_all.h"
#include "base/unique_fd.h"

namespace glovebox::keeper {
namespace {

constexpr std::size_t kKeyBytes = 32;

// Complete, or not there: two calls at once leave the key of one of them.
Result<void> make_key(const std::string& path) {
  const std::string draft = path + "." + random_name();
  const UniqueFd file(
      ::open(draft.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written =
      file && sys::write_all(file.get(), random_hex(kKeyBytes) + "\n") && ::fsync(file.get()) == 0;
  const bool named = written && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  (void)::unlink(draft.c_str());
  return named ? Result<void>() : Error::from_errno("write the export key", error);
}

}  // namespace

Result<ExportKey> ExportKey::open(const std::string& data_directory) {
  const std::string path = data_directory + "/" + std::string(kDirectory) + "/export-key";
  if (::access(path.c_str(), F_OK) != 0) {
    GB_TRY(make_key(path));
  }
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  std::array<char, 2 * kKeyBytes + 1> text{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Error::from_errno("open the export key");
  }
  const bool is_closed =
      S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  const bool is_whole =
      ::read(file.get(), text.data(), text.size()) >= static_cast<ssize_t>(2 * kKeyBytes);
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!is_closed || !is_whole || !std::all_of(text.begin(), text.end() - 1, is_hex)) {
    return Error(ErrorCode::kUnavailable,
                 "'" + path + "' must hold 64 hexadecimal digits and be readable by its owner only",
                 "copy it again from the other machine, and set its mode to 0600");
  }
  return ExportKey(std::string(text.data(), 2 * kKeyBytes));
}

std::string ExportKey::sign(std::string_view text) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  GB_CHECK(::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                  reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                  &size) != nullptr);
  return to_hex({digest.data(), size});
}

bool ExportKey::has_signed(std::string_view text, std::string_view signature) const {
  const std::string expected = sign(text);
  return signature.size() == expected.size() &&
         ::CRYPTO_memcmp(expected.data(), signature.data(), expected.size()) == 0;
}

}  // namespace glovebox::keeper
