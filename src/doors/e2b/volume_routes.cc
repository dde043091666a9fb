// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/volume_routes.h"

#include <array>
#include <charconv>

#include "base/text.h"
#include "doors/e2b/answers.h"
#include "doors/e2b/entry_json.h"
#include "doors/e2b/times.h"
#include "doors/e2b/tokens.h"
#include "doors/file_content.h"
#include "spec/guest.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMostMounts = 32;
constexpr std::size_t kLongestPath = 4'096;
constexpr std::uint32_t kDeepest = 64;

Json volume_json(const Caller& caller, const VolumeInfo& info) {
  Json json{{"volumeID", info.id}, {"name", info.name}, {"domain", nullptr}};
  // The service shows it only to callers who may use the volume.
  if (!info.secret.empty()) {
    json["token"] = token_of(caller.tenant, info.secret);
  }
  return json;
}

// The file server knows owners by name.
std::uint64_t number_of(std::string_view owner) {
  if (owner == "root") {
    return 0;
  }
  std::uint64_t number = kGuestUid;
  (void)std::from_chars(owner.data(), owner.data() + owner.size(), number);
  return number;
}

Json stat_json(const FileEntry& entry) {
  const std::string path = "/" + (entry.path == "." ? std::string() : entry.path);
  const std::string modified = to_rfc3339_ns(entry.modified_ns);
  const char* type = "unknown";
  switch (entry.type) {
    case FileEntry::Type::kFile:
      type = "file";
      break;
    case FileEntry::Type::kDirectory:
      type = "directory";
      break;
    case FileEntry::Type::kSymlink:
      type = "symlink";
      break;
    case FileEntry::Type::kOther:
      break;
  }
  // Only one time is known, and is used for all three.
  Json json{{"name", to_utf8(last_name(path))},
            {"type", type},
            {"path", to_utf8(path)},
            {"size", entry.size},
            {"mode", entry.mode},
            {"uid", number_of(entry.owner)},
            {"gid", number_of(entry.group)},
            {"atime", modified},
            {"mtime", modified},
            {"ctime", modified}};
  if (!entry.target.empty()) {
    json["target"] = to_utf8(entry.target);
  }
  return json;
}

// Relative to the top of the volume, which a guest's links may leave, but no request by name.
Result<std::string> path_of(const Target& target) {
  const auto given = target.parameter("path");
  if (!given || given->empty() || given->size() > kLongestPath) {
    return Error(ErrorCode::kInvalid, "'path' is missing or too long");
  }
  const std::size_t first = given->find_first_not_of('/');
  std::string path = first == std::string::npos ? "." : given->substr(first);
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  if (("/" + path + "/").find("/../") != std::string::npos ||
      path.find('\0') != std::string::npos) {
    return Error(ErrorCode::kInvalid, "the path is outside the volume");
  }
  return path;
}

Result<std::optional<std::uint32_t>> number(const Target& target, const char* name) {
  const auto text = target.parameter(name);
  if (!text) {
    return std::optional<std::uint32_t>();
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) {
    return Error(ErrorCode::kInvalid, "'" + std::string(name) + "' is not a number");
  }
  return std::optional(value);
}

// All files of a volume belong to the one user of its sandboxes.
Result<void> check_owner(std::optional<std::int64_t> uid, std::optional<std::int64_t> gid) {
  if (uid.value_or(kGuestUid) != kGuestUid || gid.value_or(kGuestGid) != kGuestGid) {
    return Error(ErrorCode::kUnsupported,
                 "files of a volume can only belong to user " + std::to_string(kGuestUid));
  }
  return {};
}

Result<void> check_owner(const Target& target) {
  return check_owner(GB_TRY(number(target, "uid")), GB_TRY(number(target, "gid")));
}

Result<void> check_parent(FileClient& files, const Target& target, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || target.parameter("force") == "true") {
    return {};
  }
  const FileEntry parent = GB_TRY(files.stat(path.substr(0, slash)));
  if (parent.type != FileEntry::Type::kDirectory) {
    return Error(ErrorCode::kInvalid, "the parent is not a directory");
  }
  return {};
}

}  // namespace

// One request about one path.
struct VolumeRoutes::Content {
  FileClient files;
  std::string path;
  const Target& target;
  http::Request& request;
  http::Response& response;

  Result<void> list() {
    const auto depth = GB_TRY(number(target, "depth")).value_or(1);
    if (depth < 1 || depth > kDeepest) {
      return Error(ErrorCode::kInvalid, "'depth' must be between 1 and 64");
    }
    Json entries = Json::array();
    for (FileEntry entry : GB_TRY(files.list(path, depth))) {
      entry.path.erase(0, entry.path.starts_with("./") ? 2 : 0);
      entries.push_back(stat_json(entry));
    }
    answer(response, 200, entries);
    return {};
  }

  Result<void> make_directory() {
    constexpr std::uint32_t kUsual = 0755;
    GB_TRY(check_owner(target));
    if (GB_TRY(number(target, "mode")).value_or(kUsual) != kUsual) {
      return Error(ErrorCode::kUnsupported, "directories are always created with mode 0755");
    }
    GB_TRY(check_parent(files, target, path));
    auto made = files.make_directory(path);
    if (!made && made.error().code() == ErrorCode::kConflict &&
        target.parameter("force") == "true") {
      made = files.stat(path);
    }
    answer(response, 201, stat_json(GB_TRY(std::move(made))));
    return {};
  }

  Result<void> stat() {
    answer(response, 200, stat_json(GB_TRY(files.stat(path))));
    return {};
  }

  Result<void> change() {
    constexpr std::size_t kMaxBody = 4'096;
    const Json body = GB_TRY(read_object(request, kMaxBody));
    const auto uid = GB_TRY(number_member(body, "uid"));
    const auto gid = GB_TRY(number_member(body, "gid"));
    GB_TRY(check_owner(uid, gid));
    const FileEntry entry = GB_TRY(files.stat(path));
    if (GB_TRY(number_member(body, "mode")).value_or(entry.mode) != entry.mode) {
      return Error(ErrorCode::kUnsupported,
                   "the mode of a file cannot be changed from outside the sandbox");
    }
    answer(response, 200, stat_json(entry));
    return {};
  }

  Result<void> remove() {
    if (path == ".") {
      return Error(ErrorCode::kInvalid,
                   "the volume's root cannot be removed; delete the volume instead");
    }
    (void)GB_TRY(files.stat(path));
    GB_TRY(files.remove(path));
    answer_empty(response, 204);
    return {};
  }

  Result<void> read() {
    const FileClient::OpenFile file = GB_TRY(files.open(path));
    const http::Headers headers{{"Content-Type", "application/octet-stream"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Content-Length", std::to_string(file.entry.size)}};
    if (!response.start(200, headers)) {
      return {};
    }
    if (file.entry.size > 0 && !write_content(response, files, file, 0, file.entry.size)) {
      response.abort();
      return {};
    }
    (void)response.finish();
    return {};
  }

  Result<void> write() {
    constexpr std::uint32_t kMostMode = 07777;
    GB_TRY(check_owner(target));
    WriteOptions options;
    options.mode = GB_TRY(number(target, "mode")).value_or(options.mode);
    if (options.mode > kMostMode || path == ".") {
      return Error(ErrorCode::kInvalid, "invalid file mode or path");
    }
    const FileEntry entry = GB_TRY(
        files.write(path, options, [this](std::span<char> into) { return request.read(into); }));
    answer(response, 201, stat_json(entry));
    return {};
  }
};

void VolumeRoutes::add_to(Routes& routes) {
  const auto handler = [this](auto method) {
    return [this, method](ControlCall& call) { return (this->*method)(call); };
  };
  routes.add("POST", "volumes", handler(&VolumeRoutes::create));
  routes.add("GET", "volumes", handler(&VolumeRoutes::list));
  routes.add("GET", "volumes/*", handler(&VolumeRoutes::show));
  routes.add("DELETE", "volumes/*", handler(&VolumeRoutes::remove));
}

Result<void> VolumeRoutes::create(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  VolumeRequest request;
  request.name = GB_TRY(text_member(body, "name")).value_or("");
  const VolumeInfo info = GB_TRY(service_.volumes().create(call.caller, request));
  answer(call.response, 201, volume_json(call.caller, info));
  return {};
}

Result<void> VolumeRoutes::list(ControlCall& call) {
  Json volumes = Json::array();
  for (const VolumeInfo& info : GB_TRY(service_.volumes().list(call.caller))) {
    volumes.push_back({{"volumeID", info.id}, {"name", info.name}});
  }
  answer(call.response, 200, volumes);
  return {};
}

Result<void> VolumeRoutes::show(ControlCall& call) {
  const VolumeInfo info = GB_TRY(service_.volumes().find(call.caller, call.arguments[0]));
  answer(call.response, 200, volume_json(call.caller, info));
  return {};
}

Result<void> VolumeRoutes::remove(ControlCall& call) {
  GB_TRY(service_.volumes().remove(call.caller, call.arguments[0]));
  answer_empty(call.response, 204);
  return {};
}

Result<void> VolumeRoutes::content(const Target& target,
                                   http::Request& request,
                                   http::Response& response) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = request.header("Authorization").value_or("");
  const std::string_view token =
      header.starts_with(kScheme) ? header.substr(kScheme.size()) : std::string_view();
  const Error wrong(ErrorCode::kRefused, "missing or invalid volume token");
  const auto tenant = tenant_of_token(token);
  if (!tenant || target.segments.size() != 3) {
    return tenant ? Error(ErrorCode::kNotFound, "no such route") : wrong;
  }
  const auto bearer = service_.volumes().bearer(*tenant, target.segments[1]);
  // Without its token, nobody learns that a volume exists.
  if (!bearer || bearer->info.secret.empty() ||
      !equal_secrets(token, token_of(*tenant, bearer->info.secret))) {
    return !bearer && bearer.error().code() != ErrorCode::kNotFound ? bearer.error() : wrong;
  }
  GB_TRY(service_.renew(bearer->caller));
  const std::string& what = target.segments[2];
  const std::string_view method = request.method();
  using Handler = Result<void> (Content::*)();
  struct Known {
    std::string_view what;
    std::string_view method;
    Handler handler;
  };
  constexpr std::array<Known, 7> kKnown = {{{"dir", "GET", &Content::list},
                                            {"dir", "POST", &Content::make_directory},
                                            {"path", "GET", &Content::stat},
                                            {"path", "PATCH", &Content::change},
                                            {"path", "DELETE", &Content::remove},
                                            {"file", "GET", &Content::read},
                                            {"file", "PUT", &Content::write}}};
  for (const Known& known : kKnown) {
    if (known.what == what && known.method == method) {
      std::string path = GB_TRY(path_of(target));
      Content content{.files = GB_TRY(service_.volumes().files(bearer->caller, bearer->info.id,
                                                               FileAccess::kUse)),
                      .path = std::move(path),
                      .target = target,
                      .request = request,
                      .response = response};
      return (content.*known.handler)();
    }
  }
  return Error(ErrorCode::kNotFound, "no such route");
}

void VolumeRoutes::serve_content(const Target& target,
                                 http::Request& request,
                                 http::Response& response) {
  if (const auto done = content(target, request, response); !done) {
    const ErrorCode code = done.error().code();
    refuse(response,
           code == ErrorCode::kRefused     ? 401
           : code == ErrorCode::kExhausted ? 507
                                           : http_status(code),
           done.error().message());
  }
}

Result<std::vector<VolumeMount>> volume_mounts(const Json& body) {
  std::vector<VolumeMount> mounts;
  const Json* const given = member(body, "volumeMounts");
  if (given == nullptr) {
    return mounts;
  }
  if (!given->is_array() || given->size() > kMostMounts) {
    return Error(ErrorCode::kInvalid, "'volumeMounts' must be a list of at most 32");
  }
  for (const Json& each : *given) {
    if (!each.is_object()) {
      return Error(ErrorCode::kInvalid, "'volumeMounts' must be a list of objects");
    }
    const std::string volume = GB_TRY(text_member(each, "name")).value_or("");
    const std::string path = GB_TRY(text_member(each, "path")).value_or("");
    mounts.push_back({.volume = volume, .path = path, .read_only = false});
  }
  return mounts;
}

}  // namespace glovebox::e2b
