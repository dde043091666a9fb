// SPDX-License-Identifier: Apache-2.0
// Tools for the files of a sandbox. They are read and written inside it (files/file_client.h).
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "doors/mcp/tools.h"

namespace glovebox::mcp {
namespace {

constexpr std::uint64_t kMostImage = 4UL << 20;
constexpr std::size_t kMostEdited = 4UL << 20;
constexpr std::size_t kMostListed = 500;
constexpr std::size_t kMostPath = 4'096;

struct ImageMark {
  std::string_view begins;
  std::string_view type;
};
constexpr std::array<ImageMark, 3> kImageMarks = {
    {{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"}}};

std::string_view image_type(std::string_view bytes) {
  for (const ImageMark& mark : kImageMarks) {
    if (bytes.starts_with(mark.begins)) {
      return mark.type;
    }
  }
  return bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP"
             ? "image/webp"
             : std::string_view();
}

Result<void> check_path(const std::string& path) {
  if (path.empty() || path.size() > kMostPath || path.find('\0') != std::string::npos) {
    return Error(ErrorCode::kInvalid,
                 "argument 'path' must be a path of at most 4,096 bytes without NUL");
  }
  return {};
}

Page finish(std::string bytes, std::uint64_t offset, std::uint64_t size) {
  Page page{.bytes = std::move(bytes), .size = size, .next = std::nullopt};
  if (offset + page.bytes.size() < size) {
    // Without what is left of a character that the end of the page cut in two.
    const std::size_t whole = page.bytes.size() - unfinished_character(page.bytes);
    if (is_utf8(std::string_view(page.bytes).substr(0, whole)) && whole > 0) {
      page.bytes.resize(whole);
    }
    if (!page.bytes.empty()) {
      page.next = offset + page.bytes.size();
    }
  }
  return page;
}

void put_page(ToolResult& result, const Page& page) {
  result.data()["size"] = page.size;
  if (is_utf8(page.bytes)) {
    result.data()["text"] = page.bytes;
    result.add_text(page.bytes);
  } else {
    result.data()["base64"] = to_base64(page.bytes);
    result.add_text("[" + std::to_string(page.bytes.size()) +
                    " bytes that are not text, as base64]\n" + to_base64(page.bytes));
  }
  if (page.next) {
    result.data()["next_offset"] = *page.next;
    result.add_text("[" + std::to_string(page.size - *page.next) +
                    " bytes follow; go on with offset " + std::to_string(*page.next) + "]");
  }
}

std::string_view name_of(FileEntry::Type type) {
  switch (type) {
    case FileEntry::Type::kFile:
      return "file";
    case FileEntry::Type::kDirectory:
      return "directory";
    case FileEntry::Type::kSymlink:
      return "link";
    case FileEntry::Type::kOther:
      break;
  }
  return "other";
}

Result<void> write_whole(FileClient& files,
                         const std::string& path,
                         std::string_view bytes,
                         bool append,
                         std::uint32_t mode) {
  std::size_t at = 0;
  GB_TRY(files.write(path, {.mode = mode, .append = append},
                     [&](std::span<char> into) -> Result<std::size_t> {
                       const std::size_t count = std::min(into.size(), bytes.size() - at);
                       std::memcpy(into.data(), bytes.data() + at, count);
                       at += count;
                       return count;
                     }));
  return {};
}

Result<std::string> read_whole(FileClient& files, const std::string& path, std::uint64_t most) {
  const auto file = GB_TRY(files.open(path));
  if (file.entry.size > most) {
    return Error(ErrorCode::kInvalid, path + " is too large to be edited",
                 "edit it with run_command");
  }
  std::string bytes;
  GB_TRY(files.read(file, 0, most, [&](std::string_view piece) -> Result<void> {
    bytes += piece;
    return {};
  }));
  return bytes;
}

}  // namespace

Page page_of(std::string_view bytes, std::uint64_t offset, std::uint64_t limit) {
  const std::size_t from = std::min<std::uint64_t>(offset, bytes.size());
  return finish(std::string(bytes.substr(from, limit)), from, bytes.size());
}

Result<Page> read_page(FileClient& files,
                       const std::string& path,
                       std::uint64_t offset,
                       std::uint64_t limit) {
  const auto file = GB_TRY(files.open(path));
  std::string bytes;
  GB_TRY(files.read(file, offset, limit, [&](std::string_view piece) -> Result<void> {
    bytes += piece;
    return {};
  }));
  return finish(std::move(bytes), offset, file.entry.size);
}

Result<ToolResult> read_file(ToolCall& call) {
  const std::string path = call.arguments.required_text("path");
  const std::uint64_t offset = call.arguments.count("offset", std::uint64_t{1} << 50).value_or(0);
  const std::uint64_t limit = call.arguments.count("limit", Page::kMost).value_or(Page::kMost);
  ToolResult result;
  if (path.starts_with(KeptOutputs::kScheme)) {
    (void)call.arguments.text("sandbox");
    GB_TRY(call.arguments.done());
    const auto kept = call.outputs.find(call.call.caller().tenant, path);
    if (!kept) {
      return Error(ErrorCode::kNotFound, "this output is no longer kept", "run the code again");
    }
    put_page(result, page_of(kept->bytes, offset, limit));
    return result;
  }
  const std::string sandbox = GB_TRY(call.sandbox());
  GB_TRY(check_path(path));
  FileClient files = GB_TRY(call.service.files(call.call.caller(), sandbox, FileAccess::kRead));
  const Page page = GB_TRY(read_page(files, path, offset, limit));
  const std::string_view type = offset == 0 ? image_type(page.bytes) : std::string_view();
  if (!type.empty() && page.size <= kMostImage) {
    const std::string image = GB_TRY(read_whole(files, path, kMostImage));
    result.data()["size"] = image.size();
    result.add_image(to_base64(image), type);
  } else {
    put_page(result, page);
  }
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> write_file(ToolCall& call) {
  const std::string path = call.arguments.required_text("path");
  std::string content = call.arguments.required_text("content");
  const bool is_base64 = call.arguments.flag("base64");
  const bool append = call.arguments.flag("append");
  const std::string sandbox = GB_TRY(call.sandbox());
  GB_TRY(check_path(path));
  if (is_base64) {
    auto bytes = from_base64(content);
    if (!bytes) {
      return Error(ErrorCode::kInvalid, "argument 'content' is not base64");
    }
    content = *std::move(bytes);
  }
  FileClient files = GB_TRY(call.service.files(call.call.caller(), sandbox, FileAccess::kUse));
  GB_TRY(write_whole(files, path, content, append, 0644));
  ToolResult result;
  result.data()["bytes"] = content.size();
  result.add_text("wrote " + std::to_string(content.size()) + " bytes to " + path);
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> edit_file(ToolCall& call) {
  const std::string path = call.arguments.required_text("path");
  const std::string old_text = call.arguments.required_text("old");
  const std::string new_text = call.arguments.required_text("new");
  const bool all = call.arguments.flag("all");
  const std::string sandbox = GB_TRY(call.sandbox());
  GB_TRY(check_path(path));
  if (old_text.empty()) {
    return Error(ErrorCode::kInvalid, "argument 'old' is empty", "create files with write_file");
  }
  FileClient files = GB_TRY(call.service.files(call.call.caller(), sandbox, FileAccess::kUse));
  const FileEntry entry = GB_TRY(files.stat(path));
  const std::string before = GB_TRY(read_whole(files, path, kMostEdited));
  std::string after;
  std::size_t count = 0;
  std::size_t from = 0;
  for (std::size_t at = before.find(old_text); at != std::string::npos;
       at = before.find(old_text, from)) {
    after += before.substr(from, at - from) + new_text;
    from = at + old_text.size();
    ++count;
    if (after.size() > 4 * kMostEdited) {
      return Error(ErrorCode::kInvalid, path + " would become too large");
    }
  }
  after += before.substr(from);
  if (count == 0) {
    return Error(ErrorCode::kNotFound, "the text in 'old' does not occur in " + path,
                 "read the file; white space and line ends count");
  }
  if (count > 1 && !all) {
    return Error(ErrorCode::kConflict,
                 "the text in 'old' occurs " + std::to_string(count) + " times in " + path,
                 "give more of the lines around it, or set all to true");
  }
  GB_TRY(write_whole(files, path, after, false, entry.mode));
  ToolResult result;
  result.data()["replaced"] = count;
  result.add_text("replaced " + std::to_string(count) +
                  (count == 1 ? " occurrence" : " occurrences") + " in " + path);
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> list_files(ToolCall& call) {
  std::string path = call.arguments.text("path");
  const std::uint64_t depth = call.arguments.count("depth", 16).value_or(1);
  const std::string sandbox = GB_TRY(call.sandbox());
  path = path.empty() ? "." : path;
  GB_TRY(check_path(path));
  FileClient files = GB_TRY(call.service.files(call.call.caller(), sandbox, FileAccess::kRead));
  const std::vector<FileEntry> entries =
      GB_TRY(files.list(path, static_cast<std::uint32_t>(std::max<std::uint64_t>(depth, 1))));
  ToolResult result;
  Json list = Json::array();
  std::string text;
  for (const FileEntry& entry : entries) {
    if (list.size() >= kMostListed) {
      break;
    }
    const std::string name =
        to_utf8(entry.path.starts_with("./") ? std::string_view(entry.path).substr(2)
                                             : std::string_view(entry.path));
    list.push_back({{"path", name}, {"type", name_of(entry.type)}, {"size", entry.size}});
    text += name + (entry.type == FileEntry::Type::kDirectory
                        ? "/\n"
                        : "  " + std::to_string(entry.size) + "\n");
  }
  const bool truncated = entries.size() > kMostListed;
  if (truncated) {
    text += "(" + std::to_string(entries.size() - kMostListed) + " more)\n";
  }
  result.add_text(text.empty() ? "(empty)" : text);
  result.data()["entries"] = std::move(list);
  result.data()["truncated"] = truncated;
  call.tell_sandbox(result, sandbox);
  return result;
}

}  // namespace glovebox::mcp
