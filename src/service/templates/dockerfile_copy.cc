// SPDX-License-Identifier: Apache-2.0
#include "service/templates/dockerfile_copy.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/digest/digest.h"
#include "base/text.h"

namespace glovebox {
namespace {

// Of one instruction: each is an open file.
constexpr std::size_t kMostItems = 64;

bool is_pattern(std::string_view source) {
  return source.find_first_of("*?[") != std::string_view::npos;
}

// Without empty names and "."; an error if it climbs.
Result<std::string> plain(std::string_view source) {
  std::string path;
  std::string_view rest = source;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "..") {
      return Error(ErrorCode::kInvalid,
                   "'" + printable(source.substr(0, 200)) + "' is outside the build context",
                   "build in the directory that contains all the files");
    }
    if (!name.empty() && name != ".") {
      path += (path.empty() ? "" : "/") + std::string(name);
    }
  }
  return path;
}

bool is_archive(std::string_view name) {
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

bool is_other_archive(std::string_view name) {
  constexpr std::array<std::string_view, 6> kEndings = {".tar.xz", ".tar.bz2", ".tar.zst",
                                                        ".txz",    ".tbz2",    ".tar.Z"};
  return std::ranges::any_of(kEndings, [name](auto ending) { return name.ends_with(ending); });
}

std::string below(const std::string& top, const std::string& path) {
  return path.empty() ? top : (top == "/" ? "" : top) + "/" + path;
}

Error missing(const std::string& source) {
  return {ErrorCode::kInvalid, "'" + printable(source.substr(0, 200)) + "' does not exist",
          "check the path, and whether .dockerignore excludes it"};
}

class Collector {
 public:
  Collector(BuildSandbox& from, FileClient client, const CopyRequest& request)
      : from_(from), client_(std::move(client)), request_(request) {}

  Result<std::vector<CopiedItem>> run() {
    for (const std::string& source : request_.sources) {
      GB_TRY(take_source(source));
    }
    return std::move(items_);
  }

 private:
  Result<void> take_source(const std::string& source) {
    const std::string path = GB_TRY(plain(source));
    if (!is_pattern(path)) {
      auto entry = client_.stat(below(request_.top, path));
      if (!entry) {
        return entry.error().code() == ErrorCode::kNotFound ? missing(source)
                                                            : std::move(entry).error();
      }
      return take(*entry, source);
    }
    const auto depth = static_cast<std::uint32_t>(1 + std::ranges::count(path, '/'));
    const std::size_t skipped = below(request_.top, "x").size() - 1;
    bool any = false;
    for (const FileEntry& entry : GB_TRY(client_.list(request_.top, depth))) {
      const std::string relative = entry.path.substr(std::min(skipped, entry.path.size()));
      if (::fnmatch(path.c_str(), relative.c_str(), FNM_PATHNAME) == 0) {
        GB_TRY(take(entry, relative));
        any = true;
      }
    }
    return any ? Result<void>() : missing(source);
  }

  Result<void> take(const FileEntry& entry, const std::string& source) {
    if (items_.size() == kMostItems) {
      return Error(ErrorCode::kInvalid,
                   "more than " + std::to_string(kMostItems) + " sources in an instruction",
                   "copy the directory that contains them");
    }
    CopiedItem item{.name = entry.path.substr(entry.path.rfind('/') + 1),
                    .mode = entry.mode,
                    .content = {}};
    if (entry.type == FileEntry::Type::kDirectory) {
      if (entry.path == "/") {
        return Error(ErrorCode::kUnsupported, "the whole root cannot be copied",
                     "name the directories that you need");
      }
      item.kind = CopiedItem::Kind::kTree;
      item.content = GB_TRY(from_.spool_directory(client_, entry.path));
    } else if (entry.type == FileEntry::Type::kFile) {
      if (request_.unpacks && is_other_archive(item.name)) {
        return Error(ErrorCode::kUnsupported, "'" + printable(item.name) + "' cannot be unpacked",
                     "use tar, plain or gzip; or COPY it and unpack it with RUN");
      }
      item.kind = request_.unpacks && is_archive(item.name) ? CopiedItem::Kind::kArchive
                                                            : CopiedItem::Kind::kFile;
      item.content = GB_TRY(from_.spool_file(client_, entry.path));
    } else {
      return Error(ErrorCode::kUnsupported,
                   "'" + printable(source.substr(0, 200)) + "' is neither a file nor a directory",
                   "copy what the link leads to, or the directory that contains it");
    }
    items_.push_back(std::move(item));
    return {};
  }

  BuildSandbox& from_;
  FileClient client_;
  const CopyRequest& request_;
  std::vector<CopiedItem> items_;
};

}  // namespace

Result<std::vector<CopiedItem>> collect(BuildSandbox& from, const CopyRequest& request) {
  return Collector(from, GB_TRY(from.files()), request).run();
}

Result<std::string> hash_of(const std::vector<CopiedItem>& items) {
  ContentHash hash;
  for (const CopiedItem& item : items) {
    if (::lseek(item.content.fd.get(), 0, SEEK_SET) != 0) {
      return Error::from_errno("read a file of the build");
    }
    hash.add(static_cast<std::uint64_t>(item.kind)).add(item.name).add(item.mode);
    hash.add(GB_TRY(hash_of_file(item.content.fd.get())));
  }
  return hash.hex();
}

Result<void> place(BuildSandbox& into,
                   const std::vector<CopiedItem>& items,
                   const std::string& target) {
  bool inside = target.ends_with('/') || items.size() > 1;
  if (!inside) {
    FileClient client = GB_TRY(into.files());
    const auto there = client.stat(target);
    inside = there && (there->type == FileEntry::Type::kDirectory ||
                       there->target_type == FileEntry::Type::kDirectory);
  }
  const std::string directory = target.substr(0, target.find_last_not_of('/') + 1);
  for (const CopiedItem& item : items) {
    const int content = item.content.fd.get();
    GB_TRY(item.kind == CopiedItem::Kind::kFile
               ? into.write(inside ? directory + "/" + item.name : target, item.mode, content)
               : into.unpack(directory.empty() ? "/" : directory, content));
  }
  return {};
}

}  // namespace glovebox
