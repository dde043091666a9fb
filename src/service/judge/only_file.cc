// SPDX-License-Identifier: Apache-2.0
#include "service/judge/only_file.h"

#include <algorithm>
#include <charconv>

namespace glovebox::judge {
namespace {

// The header of an entry (pax(1), "ustar Interchange Format").
constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameSize = 100;
constexpr std::size_t kModeAt = 100;
constexpr std::size_t kModeSize = 8;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeSize = 12;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;

std::optional<std::uint64_t> octal(std::string_view field) {
  field = field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number, 8);
  return error == std::errc() && end == field.data() + field.size() ? std::optional(number)
                                                                    : std::nullopt;
}

struct Entry {
  char type = 0;
  std::string_view name;
  std::uint32_t mode = 0;
  std::string_view content;
};

// Takes the first entry off the archive.
std::optional<Entry> take_entry(std::string_view& archive) {
  if (archive.size() < kBlock || archive.substr(kMagicAt, 5) != "ustar" ||
      archive[kPrefixAt] != '\0') {
    return std::nullopt;
  }
  const auto mode = octal(archive.substr(kModeAt, kModeSize));
  const auto size = octal(archive.substr(kSizeAt, kSizeSize));
  if (!mode || !size || *size > archive.size() - kBlock) {
    return std::nullopt;
  }
  const std::string_view name = archive.substr(0, kNameSize);
  Entry entry{.type = archive[kTypeAt],
              .name = name.substr(0, name.find('\0')),
              .mode = static_cast<std::uint32_t>(*mode & 0777),
              .content = archive.substr(kBlock, *size)};
  const std::size_t padded = (*size + kBlock - 1) / kBlock * kBlock;
  archive.remove_prefix(std::min(kBlock + padded, archive.size()));
  return entry;
}

// Whether an extended header has one record, "SIZE KEY=VALUE\n", which changes neither the name of
// the file nor its content: its time, or that names may have any bytes.
bool is_harmless(std::string_view records) {
  const std::string size = std::to_string(records.size()) + " ";
  if (!records.starts_with(size) || records.find('\n') != records.size() - 1) {
    return false;
  }
  const std::string_view record = records.substr(size.size());
  return record.starts_with("mtime=") || record == "hdrcharset=BINARY\n";
}

}  // namespace

std::optional<OnlyFile> only_file(std::string_view archive) {
  auto entry = take_entry(archive);
  if (entry && entry->type == 'x' && is_harmless(entry->content)) {
    entry = take_entry(archive);
  }
  const bool is_file = entry && entry->type == '0' && !entry->name.empty() && entry->name != "." &&
                       entry->name != ".." && entry->name.find('/') == std::string_view::npos;
  // Two blocks of zeros are the end.
  if (!is_file || archive.size() < 2 * kBlock ||
      !std::ranges::all_of(archive, [](char c) { return c == '\0'; })) {
    return std::nullopt;
  }
  return OnlyFile{.name = std::string(entry->name), .mode = entry->mode, .bytes = entry->content};
}

}  // namespace glovebox::judge
