// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox. What a path means is decided inside it, by its own file server.
#include <charconv>

#include "base/text.h"
#include "doors/rest/event_stream.h"
#include "doors/rest/file_answer.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "service/api/volume_service.h"

namespace glovebox::rest {
namespace {

bool is_on(const Call& call, const char* name) {
  const std::string value = call.parameter(name);
  return value == "1" || value == "true";
}

Result<std::uint32_t> read_number(
    const Call& call, const char* name, int base, std::uint32_t fallback, std::uint32_t most) {
  if (!call.has_parameter(name)) {
    return fallback;
  }
  const std::string text = call.parameter(name);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > most) {
    return Error(ErrorCode::kInvalid, "'" + std::string(name) + "' is not a valid number");
  }
  return value;
}

// Of the sandbox or the volume that the path names.
Result<FileClient> open_files(Call& call, FileAccess access) {
  const std::string& id = call.parameters[0];
  const bool of_volume = call.target.segments.size() > 1 && call.target.segments[1] == "volumes";
  return of_volume ? call.service.volumes().files(call.caller, id, access)
                   : call.service.files(call.caller, id, access);
}

// An empty path names the workspace itself.
std::string path_of(const std::string& text) { return text.empty() ? "." : text; }

Result<void> send_archive(Call& call, FileClient& files, const std::string& path) {
  const std::string name = call.parameter("archive");
  FileClient::ArchiveFormat format = FileClient::ArchiveFormat::kTar;
  std::string_view type = "application/x-tar";
  if (name == "tar.gz") {
    format = FileClient::ArchiveFormat::kTarGzip;
    type = "application/gzip";
  } else if (name == "zip") {
    format = FileClient::ArchiveFormat::kZip;
    type = "application/zip";
  } else if (name != "tar") {
    return Error(ErrorCode::kInvalid, "'archive' must be tar, tar.gz or zip");
  }
  // It goes out as it is packed, at the pace of its reader.
  GB_TRY(call.request.count_for(call.caller.tenant, http::Pace::kLong));
  bool started = false;
  auto packed = files.pack(path, format, [&](std::string_view piece) -> Result<void> {
    if (!started) {
      started = true;
      GB_TRY(call.start(200, {{"Content-Type", std::string(type)}}));
    }
    return call.response.write(piece);
  });
  if (!started) {
    GB_TRY(std::move(packed));
    call.send(200, type, "");
  } else if (packed) {
    (void)call.response.finish();
  } else {
    call.response.abort();
  }
  return {};
}

}  // namespace

Result<void> list_files(Call& call) {
  GB_TRY(call.only_parameters({"list", "depth"}));
  const auto depth = GB_TRY(read_number(call, "depth", 10, 1, 64));
  FileClient files = GB_TRY(open_files(call, FileAccess::kRead));
  Json entries = Json::array();
  for (const FileEntry& entry : GB_TRY(files.list(path_of(call.parameter("list")), depth))) {
    entries.push_back(to_json(entry));
  }
  call.send_json(200, "files", {{"entries", std::move(entries)}});
  return {};
}

Result<void> change_files(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const auto action = fields.choice("action", {"make_directory", "move"});
  if (!action) {
    fields.refuse("action", "expected 'make_directory' or 'move'");
  }
  const std::string path = fields.required_text("path", 4'096);
  const bool moves = action == "move";
  const std::string to = moves ? fields.required_text("to", 4'096) : "";
  GB_TRY(fields.done());
  FileClient files = GB_TRY(open_files(call, FileAccess::kUse));
  const FileEntry entry = GB_TRY(moves ? files.move(path, to) : files.make_directory(path));
  call.send_json(moves ? 200 : 201, "file", to_json(entry));
  return {};
}

Result<void> watch_files(Call& call) {
  GB_TRY(call.only_parameters({"path", "recursive"}));
  FileClient files = GB_TRY(open_files(call, FileAccess::kRead));
  EventFormat format = wanted_format(call);
  format = format == EventFormat::kVerdict ? EventFormat::kLines : format;
  EventStream stream(call, format);
  auto watched = files.watch(
      path_of(call.parameter("path")), is_on(call, "recursive"), call.request.gone_fd(),
      [&] { (void)stream.pass(R"({"type":"started"})"); },
      [&](const FileEvent& event) {
        constexpr std::string_view kNames[] = {"create", "write", "remove", "rename", "chmod"};
        // It may go on for days, and ends with the key.
        return call.service.admit(call.caller, kScopeRead).has_value() &&
               stream.pass(to_line(Json{{"type", kNames[static_cast<std::size_t>(event.kind)]},
                                        {"path", to_utf8(event.name)}}));
      });
  return stream.end(std::move(watched));
}

Result<void> read_file(Call& call) {
  GB_TRY(call.only_parameters({"stat", "archive"}));
  const std::string path = path_of(call.parameters[1]);
  FileClient files = GB_TRY(open_files(call, FileAccess::kRead));
  if (is_on(call, "stat")) {
    call.send_json(200, "file", to_json(GB_TRY(files.stat(path))));
    return {};
  }
  if (call.has_parameter("archive")) {
    return send_archive(call, files, path);
  }
  const FileClient::OpenFile file = GB_TRY(files.open(path));
  return send_file(call, files, file);
}

Result<void> write_file(Call& call) {
  GB_TRY(call.only_parameters({"mode", "append", "flush", "unpack"}));
  const std::string& path = call.parameters[1];
  FileClient files = GB_TRY(open_files(call, FileAccess::kUse));
  const FileClient::Source body = [&](std::span<char> into) { return call.request.read(into); };
  if (is_on(call, "unpack")) {
    GB_TRY(files.unpack(path_of(path), body));
    call.send_nothing();
    return {};
  }
  if (path.empty()) {
    return Error(ErrorCode::kInvalid, "a file needs a name");
  }
  WriteOptions options;
  options.mode = GB_TRY(read_number(call, "mode", 8, 0644, 07777));
  options.append = is_on(call, "append");
  options.flush = is_on(call, "flush");
  const FileEntry entry = GB_TRY(files.write(path, options, body));
  call.send_json(200, "file", to_json(entry), {{"ETag", entity_tag(entry)}});
  return {};
}

Result<void> remove_file(Call& call) {
  if (call.parameters[1].empty()) {
    return Error(ErrorCode::kInvalid, "the workspace itself cannot be removed");
  }
  FileClient files = GB_TRY(open_files(call, FileAccess::kUse));
  GB_TRY(files.remove(call.parameters[1]));
  call.send_nothing();
  return {};
}

}  // namespace glovebox::rest
