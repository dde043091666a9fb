// SPDX-License-Identifier: Apache-2.0
#include "sandbox/saved_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
// A tier writes a handful.
constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kMostSealBytes = 64UL << 10;

Error damaged(const std::string& what) {
  return {ErrorCode::kInvalid, "the saved sandbox is damaged: " + what,
          "it cannot be continued; delete it"};
}

// The files as they are, without the seal.
Result<json> look_at(const std::string& directory, bool flush) {
  json files = json::object();
  std::error_code error;
  std::filesystem::directory_iterator at(directory, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const auto& entry = *at;
    const std::string name = entry.path().filename();
    if (name == kSealOfSavedFiles) {
      continue;
    }
    const UniqueFd file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
      return Error::from_errno("open " + entry.path().string());
    }
    if (!S_ISREG(status.st_mode) || files.size() == kMostFiles) {
      return damaged("it holds more than its files");
    }
    const std::string hash = GB_TRY(hash_of_file(file.get()));
    files[printable(name)] = {{"size", status.st_size}, {"sha256", hash}};
    if (flush && ::fdatasync(file.get()) != 0) {
      return Error::from_errno("write " + entry.path().string());
    }
  }
  if (error) {
    return Error::from_errno("read " + directory, error.value());
  }
  return files;
}

Result<json> read_seal(const std::string& directory) {
  const std::string path = directory + "/" + std::string(kSealOfSavedFiles);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) {
    return Error(ErrorCode::kNotFound, "no sandbox was saved in " + directory);
  }
  std::string text(kMostSealBytes, '\0');
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (got < 0) {
    return Error::from_errno("read " + path);
  }
  text.resize(static_cast<std::size_t>(got));
  return json::parse(text, nullptr, false);
}

}  // namespace

Result<void> seal_saved_files(const std::string& directory, std::string_view tier) {
  const json files = GB_TRY(look_at(directory, /*flush=*/true));
  const json seal = {{"format", kFormat}, {"tier", tier}, {"files", files}};
  const std::string path = directory + "/" + std::string(kSealOfSavedFiles);
  const std::string text = seal.dump();
  const UniqueFd file(
      ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  const UniqueFd parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || !parent || !sys::write_all(file.get(), text) || ::fsync(file.get()) != 0 ||
      ::fsync(parent.get()) != 0) {
    return Error::from_errno("write " + path);
  }
  return {};
}

Result<void> check_saved_files(const std::string& directory, std::string_view tier) {
  const json seal = GB_TRY(read_seal(directory));
  if (!seal.is_object() || seal.value("format", json()) != kFormat ||
      seal.value("tier", json()) != tier) {
    return damaged("its seal is of another kind");
  }
  const json files = GB_TRY(look_at(directory, /*flush=*/false));
  return files == seal.value("files", json()) ? Result<void>()
                                              : damaged("its files are not what was saved");
}

}  // namespace glovebox
