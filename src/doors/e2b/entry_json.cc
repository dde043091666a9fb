// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/entry_json.h"

#include "base/text.h"
#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

constexpr std::uint32_t kPermissionBits = 0777;

const char* type_name(FileEntry::Type type) {
  switch (type) {
    case FileEntry::Type::kFile:
      return "FILE_TYPE_FILE";
    case FileEntry::Type::kDirectory:
      return "FILE_TYPE_DIRECTORY";
    case FileEntry::Type::kSymlink:
    case FileEntry::Type::kOther:
      break;
  }
  return "FILE_TYPE_UNSPECIFIED";
}

// As Go writes them: a link is an "L", a file a "-".
std::string permissions(const FileEntry& entry) {
  std::string text = entry.type == FileEntry::Type::kDirectory ? "d"
                     : entry.type == FileEntry::Type::kSymlink ? "L"
                                                               : "-";
  for (int bit = 8; bit >= 0; --bit) {
    constexpr std::string_view kLetters = "xwr";
    text += (entry.mode >> bit & 1) != 0 ? kLetters[static_cast<std::size_t>(bit % 3)] : '-';
  }
  return text;
}

}  // namespace

std::string_view last_name(std::string_view path) {
  return path.size() <= 1 ? path : path.substr(path.rfind('/') + 1);
}

Json entry_json(const FileEntry& entry, std::uint32_t target_mode) {
  const bool link = entry.type == FileEntry::Type::kSymlink;
  Json json{{"name", to_utf8(last_name(entry.path))},
            {"type", type_name(link ? entry.target_type : entry.type)},
            {"path", to_utf8(entry.path)},
            {"size", std::to_string(entry.size)},
            {"mode", (link ? target_mode : entry.mode) & kPermissionBits},
            {"permissions", permissions(entry)},
            {"owner", to_utf8(entry.owner)},
            {"group", to_utf8(entry.group)},
            {"modifiedTime", to_rfc3339_ns(entry.modified_ns)}};
  if (link && !entry.target.empty()) {
    json["symlinkTarget"] = to_utf8(entry.target);
  }
  if (!entry.metadata.empty()) {
    Json metadata = Json::object();
    for (const auto& [name, value] : entry.metadata) {
      metadata[to_utf8(name)] = to_utf8(value);
    }
    json["metadata"] = std::move(metadata);
  }
  return json;
}

Json resolved_entry_json(FileClient& files, const FileEntry& entry) {
  std::uint32_t mode = 0;
  if (entry.type == FileEntry::Type::kSymlink && !entry.target.empty()) {
    if (const auto target = files.stat(entry.target)) {
      mode = target->mode;
    }
  }
  return entry_json(entry, mode);
}

}  // namespace glovebox::e2b
