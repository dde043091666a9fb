// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/checkout.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/archive/tar_stream.h"
#include "base/bytes.h"
#include "base/digest/digest.h"
#include "base/sys/beneath.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "cli/agent/host_git.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kPiece = 256UL << 10;

Error too_many(const CheckoutLimits& limits) {
  return {ErrorCode::kExhausted,
          "the checkout has more than " + std::to_string(limits.files) + " files",
          "name a smaller directory, or ignore what is not needed in .gitignore"};
}

std::string trimmed(std::string text) {
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

// "my project (2)" as "my-project--2-".
std::string name_inside(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  std::ranges::replace_if(
      name,
      [](char c) {
        return !((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' ||
                 c == '_' || c == '-');
      },
      '-');
  name = name.substr(0, 64);
  return name.empty() || name.front() == '.' || name.front() == '-' ? "checkout" : name;
}

// The digest is of the bytes sent, whatever happens to the file meanwhile.
Result<std::string> send_file(TarStream& tar,
                              const std::function<Result<void>(std::string_view)>& put,
                              const std::string& name,
                              const struct stat& status,
                              int fd) {
  GB_TRY(tar.begin_file(name, status));
  BytesHash hash;
  std::string piece(kPiece, '\0');
  for (auto left = static_cast<std::uint64_t>(status.st_size); left > 0;) {
    const std::size_t wanted = std::min<std::uint64_t>(left, piece.size());
    ssize_t got = ::read(fd, piece.data(), wanted);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read " + printable(name));
    }
    if (got == 0) {  // It shrank.
      std::fill_n(piece.begin(), wanted, '\0');
      got = static_cast<ssize_t>(wanted);
    }
    const std::string_view read(piece.data(), static_cast<std::size_t>(got));
    hash.add(read);
    GB_TRY(put(read));
    left -= read.size();
  }
  GB_TRY(tar.end_file(status));
  return hash.hex();
}

}  // namespace

Result<PlaceBelow> place_below(int directory_fd, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  UniqueFd directory = GB_TRY(
      sys::open_beneath(directory_fd, slash == std::string::npos ? "." : path.substr(0, slash),
                        O_RDONLY | O_DIRECTORY));
  return PlaceBelow{.directory = std::move(directory),
                    .name = slash == std::string::npos ? path : path.substr(slash + 1)};
}

Result<std::string> read_link_at(int directory_fd, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(directory_fd, name.c_str(), target.data(), target.size());
  if (size < 0) {
    return Error::from_errno("read the link " + printable(name));
  }
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<Checkout> Checkout::open(const std::string& directory, const CheckoutLimits& limits) {
  Checkout checkout;
  checkout.most_bytes_ = limits.bytes;
  checkout.fd_ = UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!checkout.fd_) {
    return Error(ErrorCode::kInvalid,
                 Error::from_errno("open the checkout '" + printable(directory) + "'").message(),
                 "name a directory");
  }
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(directory, error);
  if (error) {
    return Error(ErrorCode::kInvalid, "cannot resolve '" + printable(directory) + "'");
  }
  checkout.path_ = whole.string();
  checkout.name_ = name_inside(checkout.path_);
  const HostGit git(checkout.path_);
  if (const auto top = git.ask({"rev-parse", "--show-toplevel"}); top) {
    const std::string found = trimmed(*top);
    const std::filesystem::path resolved = std::filesystem::canonical(found, error);
    checkout.is_repository_ = !error && resolved == whole;
    checkout.repository_above_ = checkout.is_repository_ ? "" : found;
  } else if (top.error().code() == ErrorCode::kRefused ||
             ::faccessat(checkout.fd(), ".git", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    // Without git's own list, all ignored files would be copied, too.
    const bool no_git = top.error().code() == ErrorCode::kUnsupported;
    return Error(no_git ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
                 "cannot read the git repository " + printable(checkout.path_) + ": " +
                     top.error().message(),
                 top.error().hint());
  }
  if (!checkout.repository_above_.empty() || checkout.is_repository_) {
    GB_TRY(checkout.list_with_git(limits));
  } else {
    GB_TRY(checkout.list_all(limits));
  }
  return Result<Checkout>(std::move(checkout));
}

Result<void> Checkout::list_with_git(const CheckoutLimits& limits) {
  const HostGit git(path_);
  const std::string listed =
      GB_TRY(git.ask({"ls-files", "-z", "--cached", "--others", "--exclude-standard"}));
  for (std::string_view rest = listed; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    std::string path(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (path.ends_with('/')) {
      left_out_.push_back(std::move(path));
    } else if (!path.empty()) {
      paths_.insert(std::move(path));
    }
    if (paths_.size() > limits.files) {
      return too_many(limits);
    }
  }
  if (is_repository_) {
    if (const auto commit = git.ask({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"})) {
      commit_ = trimmed(*commit);
    }
    if (const auto branch = git.ask({"symbolic-ref", "--quiet", "--short", "HEAD"})) {
      branch_ = trimmed(*branch);
    }
  }
  return {};
}

Result<void> Checkout::list_all(const CheckoutLimits& limits) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto each = fs::recursive_directory_iterator(path_, error);
  for (; !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
    if (each->path().filename() == ".git") {
      each.disable_recursion_pending();
      continue;
    }
    std::error_code unknown;
    if (!each->is_directory(unknown) || each->is_symlink(unknown)) {
      paths_.insert(each->path().lexically_relative(path_).string());
    }
    if (paths_.size() > limits.files) {
      return too_many(limits);
    }
  }
  return error ? Result<void>(Error(ErrorCode::kUnavailable,
                                    "read " + printable(path_) + ": " + error.message()))
               : Result<void>();
}

Result<CheckoutFiles> Checkout::pack(int fd) {
  const auto put = [fd](std::string_view bytes) {
    return sys::write_all(fd, bytes) ? Result<void>() : Error::from_errno("write");
  };
  TarStream tar(put);
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) {
    return Error::from_errno("stat " + printable(path_));
  }
  GB_TRY(tar.add_directory(name_ + "/", status));
  CheckoutFiles files;
  std::uint64_t bytes = 0;
  for (const std::string& path : paths_) {
    const auto place = place_below(fd_.get(), path);
    if (!place ||
        ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;  // Deleted here, and still tracked.
    }
    const std::string name = name_ + "/" + path;
    CheckoutFile file;
    if (S_ISLNK(status.st_mode)) {
      const std::string target = GB_TRY(read_link_at(place->directory.get(), place->name));
      GB_TRY(tar.add_link(name, status, target));
      file.is_link = true;
      file.digest = sha256_hex(target);
    } else if (S_ISREG(status.st_mode)) {
      const UniqueFd opened = GB_TRY(sys::open_beneath(fd_.get(), path, O_RDONLY));
      if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        continue;
      }
      bytes += static_cast<std::uint64_t>(status.st_size);
      if (bytes > most_bytes_) {
        return Error(ErrorCode::kExhausted,
                     "the files of the checkout exceed " + to_string(Bytes{most_bytes_}),
                     "name a smaller directory, or ignore what is not needed in .gitignore");
      }
      file.executable = (status.st_mode & 0100) != 0;
      file.digest = GB_TRY(send_file(tar, put, name, status, opened.get()));
    } else {
      left_out_.push_back(path);
      continue;
    }
    files.emplace(path, std::move(file));
  }
  GB_TRY(tar.finish());
  return files;
}

Result<void> Checkout::bundle(int fd) const {
  return HostGit(path_).run({"bundle", "create", "--quiet", "-", "HEAD"}, fd);
}

}  // namespace glovebox::cli
