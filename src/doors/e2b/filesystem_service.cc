// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/filesystem_service.h"

#include <algorithm>

#include "base/text.h"
#include "doors/e2b/entry_json.h"
#include "doors/e2b/users.h"

namespace glovebox::e2b {
namespace {

constexpr std::int64_t kMaxDepth = 1'000;

Result<std::string> path_of(const Json& message, const char* name, const User& user) {
  const auto path = GB_TRY(text_member(message, name));
  return resolve_path(path.value_or(""), user.home);
}

const char* event_name(FileEvent::Kind kind) {
  switch (kind) {
    case FileEvent::Kind::kCreate:
      return "EVENT_TYPE_CREATE";
    case FileEvent::Kind::kWrite:
      return "EVENT_TYPE_WRITE";
    case FileEvent::Kind::kRemove:
      return "EVENT_TYPE_REMOVE";
    case FileEvent::Kind::kRename:
      return "EVENT_TYPE_RENAME";
    case FileEvent::Kind::kChmod:
      return "EVENT_TYPE_CHMOD";
  }
  return "EVENT_TYPE_UNSPECIFIED";
}

Json with_entry(Json entry) { return {{"entry", std::move(entry)}}; }

}  // namespace

Json file_event_json(const FileEvent& event, const std::string& directory, FileClient* entry) {
  Json json{{"name", to_utf8(event.name)}, {"type", event_name(event.kind)}};
  const bool there =
      event.kind != FileEvent::Kind::kRemove && event.kind != FileEvent::Kind::kRename;
  if (entry != nullptr && there) {
    if (const auto found = entry->stat(directory + "/" + event.name)) {
      json["entry"] = resolved_entry_json(*entry, *found);
    }
  }
  return json;
}

void FilesystemService::serve(std::string_view method,
                              const Visit& visit,
                              http::Request& request,
                              http::Response& response) {
  const bool streams = method == "WatchDir";
  const auto user = user_of_call(service_, visit, request);
  if (!user) {
    const RpcError error = refused_user(user.error());
    streams ? refuse_streaming(response, error) : refuse_unary(response, error);
    return;
  }
  if (streams) {
    watch(visit, *user, request, response);
    return;
  }
  const auto answered = [&]() -> Result<Json> {
    const Json message = GB_TRY(read_unary(request));
    return call(method, visit, *user, message);
  }();
  if (answered) {
    answer_unary(response, *answered);
    return;
  }
  RpcError error = rpc_error(answered.error());
  if (answered.error().code() == ErrorCode::kConflict) {
    error.code = "already_exists";
  }
  refuse_unary(response, error);
}

Result<Json> FilesystemService::call(std::string_view method,
                                     const Visit& visit,
                                     const User& user,
                                     const Json& message) {
  if (method == "CreateWatcher") {
    const std::string path = GB_TRY(path_of(message, "path", user));
    const bool recursive = GB_TRY(flag_member(message, "recursive")) == true;
    const bool with_entries = GB_TRY(flag_member(message, "includeEntry")) == true;
    const std::string id = GB_TRY(watchers_.create(visit, path, recursive, with_entries));
    return Json{{"watcherId", id}};
  }
  const auto watcher = GB_TRY(text_member(message, "watcherId")).value_or("");
  if (method == "GetWatcherEvents") {
    Json events = GB_TRY(watchers_.take(visit, watcher));
    return Json{{"events", std::move(events)}};
  }
  if (method == "RemoveWatcher") {
    if (auto removed = watchers_.remove(visit, watcher); !removed) {
      return removed.error();
    }
    return Json::object();
  }
  FileClient files =
      GB_TRY(service_.files_of(visit.caller, visit.info.id, FileAccess::kUse, user.name));
  if (method == "Stat") {
    return stat(files, user, message);
  }
  if (method == "ListDir") {
    return list(files, user, message);
  }
  if (method == "MakeDir") {
    return make_directory(files, user, message);
  }
  if (method == "Move") {
    return move(files, user, message);
  }
  if (method == "Remove") {
    return remove(files, user, message);
  }
  return Error(ErrorCode::kUnsupported, "unknown method");
}

Result<Json> FilesystemService::stat(FileClient& files, const User& user, const Json& message) {
  const std::string path = GB_TRY(path_of(message, "path", user));
  const FileEntry entry = GB_TRY(files.stat(path));
  return with_entry(resolved_entry_json(files, entry));
}

Result<Json> FilesystemService::list(FileClient& files, const User& user, const Json& message) {
  const std::string path = GB_TRY(path_of(message, "path", user));
  const std::int64_t depth = GB_TRY(number_member(message, "depth")).value_or(1);
  if (depth < 0) {
    return Error(ErrorCode::kInvalid, "depth should be at least one");
  }
  Json entries = Json::array();
  const auto levels = static_cast<std::uint32_t>(std::clamp<std::int64_t>(depth, 1, kMaxDepth));
  for (const FileEntry& entry : GB_TRY(files.list(path, levels))) {
    entries.push_back(resolved_entry_json(files, entry));
  }
  return Json{{"entries", std::move(entries)}};
}

Result<Json> FilesystemService::make_directory(FileClient& files,
                                               const User& user,
                                               const Json& message) {
  const std::string path = GB_TRY(path_of(message, "path", user));
  const auto made = files.make_directory(path);
  if (!made && made.error().code() == ErrorCode::kConflict) {
    const auto there = files.stat(path);
    if (there && there->type == FileEntry::Type::kFile) {
      return Error(ErrorCode::kInvalid, "path already exists but it is not a directory: " + path);
    }
  }
  if (!made) {
    return made.error();
  }
  return with_entry(resolved_entry_json(files, *made));
}

Result<Json> FilesystemService::move(FileClient& files, const User& user, const Json& message) {
  const std::string source = GB_TRY(path_of(message, "source", user));
  const std::string destination = GB_TRY(path_of(message, "destination", user));
  const FileEntry entry = GB_TRY(files.move(source, destination));
  return with_entry(resolved_entry_json(files, entry));
}

Result<Json> FilesystemService::remove(FileClient& files, const User& user, const Json& message) {
  const std::string path = GB_TRY(path_of(message, "path", user));
  if (auto removed = files.remove(path); !removed) {
    return removed.error();
  }
  return Json::object();
}

void FilesystemService::watch(const Visit& visit,
                              const User& user,
                              http::Request& request,
                              http::Response& response) {
  struct Wish {
    std::string path;
    bool recursive = false;
    bool with_entry = false;
  };
  const auto wish = [&]() -> Result<Wish> {
    const Json message = GB_TRY(read_streaming(request));
    Wish made;
    made.path = GB_TRY(path_of(message, "path", user));
    made.recursive = GB_TRY(flag_member(message, "recursive")) == true;
    made.with_entry = GB_TRY(flag_member(message, "includeEntry")) == true;
    return made;
  }();
  auto files = service_.files(visit.caller, visit.info.id, FileAccess::kUse);
  // While one client watches, another one looks.
  auto looking = wish && wish->with_entry
                     ? service_.files(visit.caller, visit.info.id, FileAccess::kUse)
                     : Result<FileClient>(Error(ErrorCode::kUnavailable, "not requested"));
  if (!wish || !files || (wish->with_entry && !looking)) {
    const Error& error = !wish ? wish.error() : !files ? files.error() : looking.error();
    refuse_streaming(response, rpc_error(error));
    return;
  }
  RpcStream stream(request, response, {{"keepalive", Json::object()}});
  const IdleTicks ticks(stream.answer());
  const auto done = files->watch(
      wish->path, wish->recursive, request.gone_fd(),
      [&] {
        stream.send({{"start", Json::object()}});
      },
      [&](const FileEvent& event) {
        return stream.send(
            {{"filesystem",
              file_event_json(event, wish->path, wish->with_entry ? &*looking : nullptr)}});
      });
  if (done) {
    stream.end();
  } else if (!service_.find(visit.caller, visit.info.id)) {
    stream.abort();
  } else {
    stream.fail(rpc_error(done.error()));
  }
}

}  // namespace glovebox::e2b
