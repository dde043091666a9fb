// SPDX-License-Identifier: Apache-2.0
#include "audit/segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "audit/record.h"

namespace glovebox::audit {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::string_view kEnding = ".jsonl";
constexpr std::size_t kBlock = 64UL << 10;
// Bounds a directory that somebody fills with names.
constexpr std::size_t kMostSegments = 100'000;

std::optional<std::uint64_t> number_of(std::string_view name) {
  std::uint64_t number = 0;
  if (name.size() != kDigits + kEnding.size() || !name.ends_with(kEnding)) {
    return std::nullopt;
  }
  const char* const end = name.data() + kDigits;
  const auto [after, wrong] = std::from_chars(name.data(), end, number);
  return wrong == std::errc() && after == end && number > 0 ? std::optional(number) : std::nullopt;
}

struct CloseDirectory {
  void operator()(DIR* entries) const { (void)::closedir(entries); }
};

}  // namespace

std::string segment_name(std::uint64_t first) {
  const std::string digits = std::to_string(first);
  return std::string(kDigits - digits.size(), '0') + digits + std::string(kEnding);
}

Result<std::vector<std::uint64_t>> list_segments(int directory) {
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> entries(copy ? ::fdopendir(copy.get()) : nullptr);
  if (!entries) {
    return Error::from_errno("list the audit journal");
  }
  (void)copy.release();
  std::vector<std::uint64_t> found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries.get())) {
    if (const auto number = number_of(entry->d_name)) {
      if (found.size() == kMostSegments) {
        return Error(ErrorCode::kInvalid, "the audit journal has too many segments");
      }
      found.push_back(*number);
    }
  }
  std::ranges::sort(found);
  return found;
}

Result<UniqueFd> open_regular(int directory, const std::string& name, int flags) {
  UniqueFd file(::openat(directory, name.c_str(),
                         flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat status {};
  if (!file) {
    const int error = errno;
    return error == ENOENT
               ? Error(ErrorCode::kNotFound, "the audit journal has no file '" + name + "'")
               : Error::from_errno("open the audit journal's " + name, error);
  }
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kInvalid, "the audit journal's '" + name + "' is not a regular file");
  }
  return file;
}

Result<void> replace_file(int directory,
                          const std::string& name,
                          std::string_view text,
                          unsigned mode) {
  const std::string draft = name + ".new";
  (void)::unlinkat(directory, draft.c_str(), 0);
  const UniqueFd file(::openat(directory, draft.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 ||
      ::renameat(directory, draft.c_str(), directory, name.c_str()) != 0 ||
      ::fsync(directory) != 0) {
    const int error = errno;
    (void)::unlinkat(directory, draft.c_str(), 0);
    return Error::from_errno("write the audit journal's " + name, error);
  }
  return {};
}

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory) {
    const int error = errno;
    if (error == ENOENT) {
      return Error(ErrorCode::kNotFound, "there is no audit journal in " + path,
                   "pass the daemon's data directory with --data");
    }
    return Error::from_errno("open " + path, error)
        .with_hint("run this command as the user who runs the daemon");
  }
  return directory;
}

Result<std::uint64_t> written_end(int file, std::uint64_t from) {
  std::string block(kBlock, '\0');
  std::uint64_t end = from;
  for (std::uint64_t at = from;;) {
    const ssize_t got = ::pread(file, block.data(), block.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read the audit journal");
    }
    if (got == 0) {
      return end;
    }
    const std::string_view read(block.data(), static_cast<std::size_t>(got));
    if (const std::size_t last = read.find_last_not_of('\0'); last != read.npos) {
      end = at + last + 1;
    }
    at += read.size();
  }
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  std::size_t searched = at_;
  bool again = false;
  for (;;) {
    const std::size_t found = held_.find('\n', searched);
    if (const std::size_t zero = std::string_view(held_).substr(0, found).find('\0', searched);
        zero != std::string_view::npos) {
      if (again) {
        const Line line{.text = std::string_view(held_).substr(at_, zero - at_),
                        .offset = offset_,
                        .whole = false};
        at_ = zero;
        offset_ += line.text.size();
        return line.text.empty() ? std::optional<Line>() : std::optional(line);
      }
      // Room when the block was read may be a record by now.
      again = true;
      held_.resize(at_);
      end_ = offset_;
      ended_ = false;
      searched = at_;
      continue;
    }
    const bool whole = found != std::string::npos && found - at_ <= kMostLine;
    if (whole || held_.size() - at_ > kMostLine || (ended_ && held_.size() > at_)) {
      const std::size_t size = whole ? found - at_ : std::min(held_.size() - at_, kMostLine);
      const Line line{.text = std::string_view(held_).substr(at_, size),
                      .offset = offset_,
                      .whole = whole};
      at_ += size + (whole ? 1 : 0);
      offset_ += size + (whole ? 1 : 0);
      return std::optional(line);
    }
    if (ended_) {
      return std::optional<Line>();
    }
    held_.erase(0, at_);
    at_ = 0;
    searched = held_.size();
    held_.resize(searched + kBlock);
    ssize_t got = 0;
    do {
      got = ::pread(file_.get(), held_.data() + searched, kBlock, static_cast<off_t>(end_));
    } while (got < 0 && errno == EINTR);
    const int error = errno;
    held_.resize(searched + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0) {
      return Error::from_errno("read the audit journal", error);
    }
    end_ += static_cast<std::uint64_t>(got);
    ended_ = got == 0;
  }
}

}  // namespace glovebox::audit
