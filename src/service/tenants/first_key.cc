// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/first_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/unique_fd.h"
#include "service/tenants/api_key.h"

namespace glovebox {
namespace {

Result<std::string> read_key(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    return Error::from_errno("open " + path);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return Error::from_errno("fstat " + path);
  }
  std::array<char, 128> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  std::string_view key(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  if (key.ends_with('\n')) {
    key.remove_suffix(1);
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0 ||
      !id_of_api_key(key)) {
    return Error(ErrorCode::kRefused, path + " must be a key file that only its owner can access",
                 "move it away; the daemon writes a new one on the next start");
  }
  return std::string(key);
}

Result<void> sync_directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path();
  const UniqueFd opened(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) {
    return Error::from_errno("fsync " + directory);
  }
  return {};
}

}  // namespace

Result<std::string> make_key_file(const std::string& path) {
  // A start that only reads needs no space on the disk.
  if (struct stat there{}; ::lstat(path.c_str(), &there) == 0) {
    return read_key(path);
  }
  const std::string key = make_api_key();
  // Written whole under another name first, so that no start finds half a key.
  const std::string draft = path + ".new";
  if (::unlink(draft.c_str()) != 0 && errno != ENOENT) {
    return Error::from_errno("unlink " + draft);
  }
  UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    return Error::from_errno("create " + draft);
  }
  const std::string line = key + "\n";
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(file.get()) != 0) {
    return Error::from_errno("write " + draft);
  }
  // As O_EXCL does for a new file: what is there already is not replaced.
  const int renamed =
      ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  if (renamed != 0) {
    const int reason = errno;
    (void)::unlink(draft.c_str());
    if (reason == EEXIST) {
      return read_key(path);
    }
    return Error::from_errno("rename " + draft, reason);
  }
  GB_TRY(sync_directory_of(path));
  return key;
}

}  // namespace glovebox
