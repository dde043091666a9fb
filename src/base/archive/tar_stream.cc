// SPDX-License-Identifier: Apache-2.0
#include "base/archive/tar_stream.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace glovebox {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kPiece = 256UL * 1024;
// Each takes memory here, and in the reader of the archive.
constexpr std::size_t kMostSegments = 1'000'000;
constexpr std::uint64_t kMostInOctal = (1ULL << 33U) - 1;  // Eleven digits.

// POSIX.1-2017, pax(1), "ustar Interchange Format".
struct Ustar {
  std::array<char, 100> name;
  std::array<char, 8> mode;
  std::array<char, 8> uid;
  std::array<char, 8> gid;
  std::array<char, 12> size;
  std::array<char, 12> mtime;
  std::array<char, 8> checksum;
  char type;
  std::array<char, 100> target;
  std::array<char, 6> magic;
  std::array<char, 2> version;
  std::array<char, 247> rest;  // Names of owners, devices, a prefix: all empty.
};
static_assert(sizeof(Ustar) == kBlock);

template <std::size_t Size>
void set_octal(std::array<char, Size>& field, std::uint64_t value) {
  for (std::size_t i = Size - 1; i-- > 0; value >>= 3U) {
    field[i] = static_cast<char>('0' + (value & 7U));
  }
}

template <std::size_t Size>
void set_text(std::array<char, Size>& field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), Size), field.begin());
}

// "LENGTH KEY=VALUE\n", where the length counts itself.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t size = rest + 1;
  while (std::to_string(size).size() + rest != size) {
    ++size;
  }
  records.append(std::to_string(size)).append(" ").append(key).append("=").append(value) += '\n';
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string decimal_time(const timespec& time) {
  std::string nanoseconds = std::to_string(time.tv_nsec);
  nanoseconds.insert(0, 9 - std::min<std::size_t>(nanoseconds.size(), 9), '0');
  return std::to_string(time.tv_sec) + "." + nanoseconds;
}

// What comes before the data of a sparse file: how many segments, and where each is.
std::string map_of(const std::vector<Segment>& segments) {
  std::string map = std::to_string(segments.size()) + "\n";
  for (const Segment& segment : segments) {
    map.append(std::to_string(segment.offset)).append("\n");
    map.append(std::to_string(segment.size)).append("\n");
  }
  return map;
}

}  // namespace

struct TarStream::Head {
  std::string_view path;
  const struct stat& status;
  char type;
  std::uint64_t size = 0;  // Of what follows in the archive.
  std::string_view target{};
  bool sparse = false;
};

Result<std::vector<Segment>> segments_of(int fd, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  std::vector<Segment> segments;
  if (static_cast<std::uint64_t>(status.st_blocks) * kBlock >= size) {
    segments.push_back({0, size});
    return segments;
  }
  for (off_t at = 0; at < status.st_size;) {
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      break;  // Nothing but a hole.
    }
    const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
    if (data < at || hole <= data) {  // A file system that knows no holes, or a file that shrinks.
      segments.assign(1, {0, size});
      return segments;
    }
    if (data >= status.st_size) {
      break;
    }
    if (segments.size() == kMostSegments) {
      return Error(ErrorCode::kInvalid,
                   "a file is in more than " + std::to_string(kMostSegments) + " pieces");
    }
    const off_t end = std::min(hole, status.st_size);
    segments.push_back({static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(end - data)});
    at = end;
  }
  return segments;
}

Result<void> TarStream::put_block(std::string_view name,
                                  char type,
                                  std::uint64_t size,
                                  const Head& head) {
  Ustar block{};
  set_text(block.name, name);
  set_octal(block.mode, head.status.st_mode & 01777U);
  set_octal(block.uid, 0);
  set_octal(block.gid, 0);
  set_octal(block.size, std::min(size, kMostInOctal));
  const auto seconds = static_cast<std::uint64_t>(std::max<time_t>(head.status.st_mtim.tv_sec, 0));
  set_octal(block.mtime, std::min(seconds, kMostInOctal));
  block.type = type;
  set_text(block.target, head.target);
  set_text(block.magic, std::string_view("ustar\0", 6));
  set_text(block.version, "00");
  block.checksum.fill(' ');
  std::array<char, kBlock> bytes{};
  std::memcpy(bytes.data(), &block, bytes.size());
  std::uint64_t sum = 0;
  for (const char c : bytes) {
    sum += static_cast<unsigned char>(c);
  }
  block.checksum.fill('\0');
  std::array<char, 7> digits{};
  set_octal(digits, sum);
  std::copy_n(digits.begin(), 6, block.checksum.begin());
  block.checksum[7] = ' ';
  std::memcpy(bytes.data(), &block, bytes.size());
  return put_({bytes.data(), bytes.size()});
}

Result<void> TarStream::put_head(const Head& head) {
  std::string records;
  const bool long_name = head.path.size() > sizeof(Ustar::name);
  const bool long_target = head.target.size() > sizeof(Ustar::target);
  if (head.sparse) {
    add_record(records, "GNU.sparse.major", "1");
    add_record(records, "GNU.sparse.minor", "0");
    add_record(records, "GNU.sparse.realsize", std::to_string(head.status.st_size));
  }
  if (((long_name || head.sparse) && !is_ascii(head.path)) ||
      (long_target && !is_ascii(head.target))) {
    // Names are bytes, and no reader should convert them.
    add_record(records, "hdrcharset", "BINARY");
  }
  if (long_name || head.sparse) {
    add_record(records, head.sparse ? "GNU.sparse.name" : "path", head.path);
  }
  if (long_target) {
    add_record(records, "linkpath", head.target);
  }
  if (head.size > kMostInOctal) {
    add_record(records, "size", std::to_string(head.size));
  }
  if (!records.empty()) {
    add_record(records, "mtime", decimal_time(head.status.st_mtim));
    GB_TRY(put_block("PaxHeader", 'x', records.size(), head));
    GB_TRY(put_(records));
    GB_TRY(fill_block(records.size()));
  }
  return put_block(head.sparse ? "GNUSparseFile" : head.path, head.type, head.size, head);
}

Result<void> TarStream::fill_block(std::uint64_t size) {
  static constexpr std::array<char, kBlock> kZeros{};
  const std::size_t over = size % kBlock;
  return over == 0 ? Result<void>() : put_({kZeros.data(), kBlock - over});
}

Result<void> TarStream::put_content(int fd, Segment segment) {
  piece_.resize(kPiece);
  for (std::uint64_t done = 0; done < segment.size;) {
    const std::size_t wanted = std::min<std::uint64_t>(segment.size - done, piece_.size());
    ssize_t got = ::pread(fd, piece_.data(), wanted, static_cast<off_t>(segment.offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      std::fill_n(piece_.begin(), wanted, '\0');
      got = static_cast<ssize_t>(wanted);
    }
    GB_TRY(put_(std::string_view(piece_).substr(0, static_cast<std::size_t>(got))));
    done += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> TarStream::add_directory(const std::string& path, const struct stat& status) {
  return put_head({.path = path, .status = status, .type = '5'});
}

Result<void> TarStream::add_link(const std::string& path,
                                 const struct stat& status,
                                 std::string_view target) {
  return put_head({.path = path, .status = status, .type = '2', .target = target});
}

Result<void> TarStream::add_file(const std::string& path, const struct stat& status, int fd) {
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  std::vector<Segment> segments = GB_TRY(segments_of(fd, status));
  if (size == 0 || (segments.size() == 1 && segments[0].size == size)) {
    GB_TRY(put_head({.path = path, .status = status, .type = '0', .size = size}));
    GB_TRY(put_content(fd, {0, size}));
    return fill_block(size);
  }
  segments.push_back({size, 0});  // Tells old readers how long the last hole is.
  std::string map = map_of(segments);
  map.resize((map.size() + kBlock - 1) / kBlock * kBlock, '\0');
  std::uint64_t stored = 0;
  for (const Segment& segment : segments) {
    stored += segment.size;
  }
  GB_TRY(put_head(
      {.path = path, .status = status, .type = '0', .size = map.size() + stored, .sparse = true}));
  GB_TRY(put_(map));
  for (const Segment& segment : segments) {
    GB_TRY(put_content(fd, segment));
  }
  return fill_block(stored);
}

Result<void> TarStream::add_hard_link(const std::string& path,
                                      const struct stat& status,
                                      std::string_view target) {
  return put_head({.path = path, .status = status, .type = '1', .target = target});
}

Result<void> TarStream::begin_file(const std::string& path, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  return put_head({.path = path, .status = status, .type = '0', .size = size});
}

Result<void> TarStream::end_file(const struct stat& status) {
  return fill_block(static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0)));
}

Result<void> TarStream::finish() {
  static constexpr std::array<char, 2 * kBlock> kEnd{};
  return put_({kEnd.data(), kEnd.size()});
}

}  // namespace glovebox
