// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/file_routes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "doors/e2b/answers.h"
#include "doors/e2b/byte_range.h"
#include "doors/e2b/entry_json.h"
#include "doors/e2b/gunzip.h"
#include "doors/e2b/multipart.h"
#include "doors/e2b/times.h"
#include "doors/e2b/users.h"
#include "doors/file_content.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMaxSources = 1'000;
constexpr std::size_t kMaxBody = 1 << 20;

// E2B's status for each failure of a file.
int file_status(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kExhausted:
      return 507;
    case ErrorCode::kConflict:
      return 400;
    default:
      return http_status(error.code());
  }
}

void refuse_file(http::Response& response, const Error& error) {
  refuse(response, file_status(error), error.message());
}

// A name that is safe within a header, and the full name as in RFC 6266.
std::string disposition(std::string_view path) {
  constexpr std::string_view kPlain = "-_.~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string plain;
  std::string encoded;
  for (const char c : last_name(path)) {
    const bool simple = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
    plain += simple || c == ' ' ? c : '_';
    if (simple) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[static_cast<unsigned char>(c) >> 4];
      encoded += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return "inline; filename=\"" + plain + "\"; filename*=utf-8''" + encoded;
}

Json written_json(const std::string& path, const std::map<std::string, std::string>& metadata) {
  Json json{{"name", to_utf8(last_name(path))}, {"path", to_utf8(path)}, {"type", "file"}};
  if (!metadata.empty()) {
    json["metadata"] = metadata;
  }
  return json;
}

// One request's uploads: where they go is checked, and no file is written twice.
class Uploads {
 public:
  Uploads(FileClient& files, const User& user, WriteOptions options)
      : files_(files), user_(user), options_(std::move(options)) {}

  Result<void> write(std::string_view wanted, const FileClient::Source& source) {
    const std::string path = GB_TRY(resolve_path(wanted, user_.home));
    if (!paths_.insert(path).second) {
      return Error(ErrorCode::kInvalid, "you cannot upload multiple files to the same path");
    }
    const auto there = files_.stat(path);
    if (there && there->type == FileEntry::Type::kDirectory) {
      return Error(ErrorCode::kInvalid, "path is a directory: " + path);
    }
    (void)GB_TRY(files_.write(path, options_, source));
    written_.push_back(written_json(path, options_.metadata));
    return {};
  }

  [[nodiscard]] const Json& written() const { return written_; }

 private:
  FileClient& files_;
  const User& user_;
  WriteOptions options_;
  std::set<std::string> paths_;
  Json written_ = Json::array();
};

Result<void> write_parts(Uploads& uploads,
                         Multipart& parts,
                         const std::optional<std::string>& path) {
  const FileClient::Source contents = [&parts](std::span<char> into) { return parts.read(into); };
  while (const auto part = GB_TRY(parts.next())) {
    if (part->name != "file") {
      continue;
    }
    if (!path && (!part->filename || part->filename->empty())) {
      return Error(ErrorCode::kInvalid, "a file has no name");
    }
    if (auto done = uploads.write(path ? *path : *part->filename, contents); !done) {
      return done;
    }
  }
  return {};
}

Result<void> write_body(Uploads& uploads,
                        const std::optional<std::string>& path,
                        const http::Request& request,
                        const FileClient::Source& body) {
  const std::string_view type = request.header("Content-Type").value_or("");
  if (const auto boundary = Multipart::boundary_of(type)) {
    Multipart parts(*boundary, body);
    return write_parts(uploads, parts, path);
  }
  if (type.substr(0, type.find(';')) != "application/octet-stream") {
    return Error(ErrorCode::kInvalid, "unsupported content type '" + std::string(type) + "'");
  }
  if (!path) {
    return Error(ErrorCode::kInvalid, "'path' is missing");
  }
  return uploads.write(*path, body);
}

}  // namespace

Result<std::map<std::string, std::string>> metadata_of(const http::Request& request) {
  constexpr std::string_view kPrefix = "x-metadata-";
  constexpr std::size_t kMaxName = 246;
  constexpr std::size_t kMaxTotal = 4096;
  std::map<std::string, std::string> metadata;
  std::size_t total = 0;
  for (const auto& [header, value] : request.headers()) {
    std::string name = header;
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    name.erase(0, kPrefix.size());
    total += name.size() + value.size();
    const bool printable = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
    if (name.empty() || name.size() > kMaxName || total > kMaxTotal || !printable) {
      return Error(ErrorCode::kInvalid, "the metadata is too large or not printable ASCII");
    }
    metadata[name] = value;
  }
  return metadata;
}

void FileRoutes::serve(const Target& target,
                       const Visit& visit,
                       http::Request& request,
                       http::Response& response) {
  const auto user = find_user(service_, visit, target.parameter("username").value_or(""));
  if (!user) {
    const bool unknown = user.error().code() == ErrorCode::kRefused;
    unknown ? refuse(response, 401, user.error().message()) : refuse_file(response, user.error());
  } else if (target.segments.size() == 2 && request.method() == "POST") {
    compose(visit, request, response);
  } else if (target.segments.size() == 1 && request.method() == "GET") {
    download(target, visit, *user, request, response);
  } else if (target.segments.size() == 1 && request.method() == "POST") {
    upload(target, visit, *user, request, response);
  } else {
    refuse(response, 405, "method not allowed");
  }
}

void FileRoutes::download(const Target& target,
                          const Visit& visit,
                          const User& user,
                          http::Request& request,
                          http::Response& response) {
  const auto path = resolve_path(target.parameter("path").value_or(""), user.home);
  if (!path) {
    refuse_file(response, path.error());
    return;
  }
  auto files = service_.files(visit.caller, visit.info.id, FileAccess::kUse);
  if (!files) {
    refuse_file(response, files.error());
    return;
  }
  const auto file = files->open(*path);
  if (!file) {
    refuse_file(response, file.error());
    return;
  }
  const std::int64_t modified = file->entry.modified_ns / kSecond;
  http::Headers headers{{"Content-Disposition", disposition(*path)},
                        {"Last-Modified", to_http_date(modified)},
                        {"Accept-Ranges", "bytes"},
                        // What a guest wrote must not become a page of ours.
                        {"Content-Type", "application/octet-stream"},
                        {"X-Content-Type-Options", "nosniff"}};
  const auto since = from_http_date(request.header("If-Modified-Since").value_or(""));
  if (since && modified <= *since) {
    (void)response.send(304, headers, "");
    return;
  }
  RangeWish wish = parse_range(request.header("Range").value_or(""), file->entry.size);
  if (request.header("If-Range") && from_http_date(*request.header("If-Range")) != modified) {
    wish = parse_range("", file->entry.size);
  }
  const std::string size = std::to_string(file->entry.size);
  if (wish.kind == RangeKind::kUnsatisfiable) {
    answer(response, 416, {{"code", 416}, {"message", "range not satisfiable"}},
           {{"Content-Range", "bytes */" + size}});
    return;
  }
  const auto [first, length] = wish.range;
  if (wish.kind == RangeKind::kPart) {
    headers.emplace_back("Content-Range", "bytes " + std::to_string(first) + "-" +
                                              std::to_string(first + length - 1) + "/" + size);
  }
  headers.emplace_back("Content-Length", std::to_string(length));
  if (!response.start(wish.kind == RangeKind::kPart ? 206 : 200, headers)) {
    return;
  }
  if (length > 0 && !write_content(response, *files, *file, first, length)) {
    response.abort();
    return;
  }
  (void)response.finish();
}

void FileRoutes::upload(const Target& target,
                        const Visit& visit,
                        const User& user,
                        http::Request& request,
                        http::Response& response) {
  auto metadata = metadata_of(request);
  auto files = metadata
                   ? service_.files_of(visit.caller, visit.info.id, FileAccess::kUse, user.name)
                   : Result<FileClient>(metadata.error());
  if (!files) {
    refuse_file(response, files.error());
    return;
  }
  WriteOptions options;
  options.metadata = std::move(*metadata);
  Uploads uploads(*files, user, std::move(options));
  const auto done = [&]() -> Result<void> {
    const FileClient::Source body = [&request](std::span<char> into) { return request.read(into); };
    auto path = target.parameter("path");
    if (path && path->empty()) {
      path.reset();
    }
    const std::string_view coding = request.header("Content-Encoding").value_or("identity");
    if (coding == "gzip") {
      Gunzip plain = GB_TRY(Gunzip::open(body));
      return write_body(uploads, path, request,
                        [&plain](std::span<char> into) { return plain.read(into); });
    }
    if (coding != "identity") {
      return Error(ErrorCode::kInvalid, "unsupported content encoding");
    }
    return write_body(uploads, path, request, body);
  }();
  if (done) {
    answer(response, 200, uploads.written());
  } else {
    refuse_file(response, done.error());
  }
}

void FileRoutes::compose(const Visit& visit, http::Request& request, http::Response& response) {
  const auto composed = [&]() -> Result<Json> {
    const Json body = GB_TRY(read_object(request, kMaxBody));
    const auto sources = GB_TRY(texts_member(body, "sourcePaths"));
    const auto wanted = GB_TRY(text_member(body, "destination")).value_or("");
    const auto named = GB_TRY(text_member(body, "username")).value_or("");
    const User user = GB_TRY(find_user(service_, visit, named));
    const std::string destination = GB_TRY(resolve_path(wanted, user.home));
    if (sources.empty() || sources.size() > kMaxSources) {
      return Error(ErrorCode::kInvalid, "'source_paths' must name between 1 and 1000 files");
    }
    FileClient files = GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse));
    std::vector<FileClient::OpenFile> open;
    std::vector<std::string> paths;
    for (const std::string& each : sources) {
      paths.push_back(GB_TRY(resolve_path(each, user.home)));
      open.push_back(GB_TRY(files.open(paths.back())));
    }
    // A file client does one thing at a time; `files` reads frame by frame while `writer` writes.
    FileClient writer =
        GB_TRY(service_.files_of(visit.caller, visit.info.id, FileAccess::kUse, user.name));
    std::size_t at = 0;
    std::uint64_t offset = 0;
    const auto next = [&](std::span<char> into) -> Result<std::size_t> {
      for (; at < open.size(); ++at, offset = 0) {
        char* to = into.data();
        const auto copy = [&to](std::string_view piece) {
          to = std::ranges::copy(piece, to).out;
          return Result<void>();
        };
        const std::uint64_t got = GB_TRY(files.read(open[at], offset, into.size(), copy));
        if (got > 0) {
          offset += got;
          return static_cast<std::size_t>(got);
        }
      }
      return std::size_t{0};
    };
    const FileEntry entry = GB_TRY(writer.write(destination, {}, next));
    for (const std::string& path : paths) {
      if (path != destination) {
        if (auto removed = files.remove(path); !removed) {
          return removed.error();
        }
      }
    }
    return entry_json(entry);
  }();
  if (composed) {
    answer(response, 200, *composed);
  } else {
    refuse_file(response, composed.error());
  }
}

}  // namespace glovebox::e2b
