// SPDX-License-Identifier: Apache-2.0
// Templates, snapshots of workspaces, and sandboxes made from those.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/build_json.h"
#include "service/local/disk_budget.h"
#include "service/local/local_service.h"
#include "service/local/own_disk.h"
#include "service/templates/recipe.h"
#include "volume/image_pool.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr const char* kSnapshots = "/snapshots";
constexpr std::size_t kMostCopies = 100;
// It is twice in JSON in a column of 64 KiB.
constexpr std::size_t kMaxDescription = 16UL * 1024;

}  // namespace

Result<LocalService::Base> LocalService::base_of(const Caller& caller,
                                                 const std::string& template_name) {
  if (auto kind = find_kind(template_name)) {
    return Base{.name = template_name, .kind = *std::move(kind), .archive = {}};
  }
  const TemplateRecord record = GB_TRY(template_records_.find(caller.tenant, template_name));
  const auto parts = LocalTemplates::parts_of(record);
  if (parts && record.source != "snapshot") {
    return Base{.name = template_name,
                .kind = {.home = parts->home, .user = parts->user},
                .archive = templates_.archive(*parts),
                .parts = parts};
  }
  auto kind = find_kind(record.made_from);
  if (parts) {
    kind = Kind{.home = parts->home, .user = parts->user};
  }
  if (!kind) {
    return Error(ErrorCode::kNotFound, "template '" + template_name + "' is based on '" +
                                           record.made_from + "', which no longer exists");
  }
  Base base{.name = record.made_from, .kind = *std::move(kind), .archive = {}, .parts = parts};
  const std::string content = directory_ + kSnapshots + "/" + record.content_hash;
  const json settings = json::parse(record.settings, nullptr, false);
  if (settings.is_object() && settings.contains("disk") && settings["disk"].is_number_unsigned() &&
      settings.contains("inodes") && settings["inodes"].is_number_unsigned()) {
    base.image = content;
    base.image_limits.emplace();
    base.image_limits->disk = Bytes{settings["disk"].get<std::uint64_t>()};
    base.image_limits->inodes = settings["inodes"].get<std::uint32_t>();
  } else {
    base.archive = content;
  }
  return base;
}

std::string LocalService::describe(std::string_view template_name, const Base& base) {
  if (find_kind(template_name)) {
    return {};
  }
  json object = {{"name", base.name}, {"home", base.kind.home}, {"user", base.kind.user}};
  if (base.parts) {
    TemplateParts parts = *base.parts;
    parts.image = {.user = parts.image.user, .directory = parts.image.directory};
    object["parts"] = parts_json(parts);
  }
  std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  // A larger text has no room in a record: such sandboxes depend on the template that they name.
  return text.size() <= kMaxDescription ? text : std::string();
}

Result<LocalService::Base> LocalService::base_of(const Caller& caller, const SandboxInfo& info) {
  const json object = json::parse(info.base, nullptr, false);
  if (!object.is_object()) {
    Base base = GB_TRY(base_of(caller, info.template_name));
    base.archive.clear();
    base.image.clear();
    base.image_limits.reset();
    return base;
  }
  return Base{.name = object.value("name", std::string()),
              .kind = {.home = object.value("home", std::string()),
                       .user = object.value("user", std::string())},
              .archive = {},
              .parts = object.contains("parts") ? to_parts(object["parts"]) : std::nullopt};
}

std::set<std::string> LocalService::content_in_use() const {
  std::set<std::string> used;
  for (const SandboxEntry& entry : book_.all()) {
    const json object = json::parse(entry.info.base, nullptr, false);
    const auto parts =
        object.is_object() && object.contains("parts") ? to_parts(object["parts"]) : std::nullopt;
    if (!parts) {
      continue;
    }
    for (const std::string& key : parts->keys()) {
      // The files that its workspace began with are its own by now.
      if (key != parts->files) {
        used.insert(key);
      }
    }
  }
  return used;
}

// What may still be taken back goes into no copy. A sandbox that sleeps on its disk has none.
Result<void> LocalService::check_settled(const SandboxInfo& info) {
  if (!sleeps_on_disk(info)) {
    (void)GB_TRY(call("settled", {{"sandbox", info.id}}));
  }
  return {};
}

Result<void> LocalService::make_snapshots_directory() const {
  return ::mkdir((directory_ + kSnapshots).c_str(), 0700) == 0 || errno == EEXIST
             ? Result<void>()
             : own_disk_error("create the directory for snapshots");
}

std::string LocalService::own_file() const { return directory_ + kSnapshots + "/" + random_name(); }

Result<QuotaLease> LocalService::keep_workspace(const Caller& caller,
                                                const SandboxInfo& info,
                                                const std::string& path) {
  GB_TRY(check_settled(info));
  GB_TRY(make_snapshots_directory());
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  if (info.storage == Storage::kMemory) {
    return pack_workspace(caller, info, path, std::move(budget));
  }
  // The keeper writes the copy, and no more than the image may hold.
  GB_TRY(budget.spend(info.limits.disk.count));
  (void)GB_TRY(call("copy_image", {{"image", workspaces_.path(info.id)}, {"to", path}}));
  return std::move(budget).settle(image_use(path));
}

Result<std::vector<std::string>> LocalService::templates(const Caller& caller) {
  std::vector<std::string> names = kind_names();
  for (const TemplateRecord& record : GB_TRY(template_records_.visible_to(caller.tenant))) {
    names.push_back(record.name);
  }
  return names;
}

// The most an archive of it can hold: holes take nothing; hard links may double what is on disk.
std::uint64_t LocalService::most_packed(const Caller& caller, const SandboxInfo& info) {
  constexpr std::uint64_t kHead = 2'048;
  std::uint64_t most = 2 * info.limits.disk.count + info.limits.inodes * kHead;
  for (const VolumeMount& mount : info.volumes) {
    if (const auto volume = volumes_.find(caller, mount.volume)) {
      most += 2 * volume->size.count + volume->inodes * kHead;
    }
  }
  return most;
}

Result<QuotaLease> LocalService::pack_workspace(const Caller& caller,
                                                const SandboxInfo& info,
                                                const std::string& path,
                                                DiskBudget budget) {
  FileClient client = GB_TRY(files(caller, info.id, FileAccess::kRead));
  CountedFile file =
      GB_TRY(CountedFile::create(path, std::move(budget), most_packed(caller, info)));
  auto packed = client.pack(".", FileClient::ArchiveFormat::kTar,
                            [&](std::string_view bytes) { return file.write(bytes); });
  if (packed) {
    packed = file.flush();
  }
  if (!packed) {
    (void)::unlink(path.c_str());
    return std::move(packed).error().within("save the workspace of '" + info.id + "'");
  }
  return std::move(file).settle().second;
}

Result<void> LocalService::unpack_workspace(const Caller& caller,
                                            std::string_view id,
                                            const std::string& archive) {
  const SandboxInfo info = GB_TRY(find(caller, id));
  if (!info.rules.read.closed.empty() || !info.rules.write.closed.empty()) {
    // A file server finds these places closed, too.
    (void)GB_TRY(call("fill", {{"sandbox", info.id}, {"archive", archive}}));
    return {};
  }
  FileClient client = GB_TRY(files(caller, id, FileAccess::kUse));
  const UniqueFd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return Error::from_errno("open a snapshot");
  }
  return client.unpack(".", [&](std::span<char> into) -> Result<std::size_t> {
    const ssize_t got = ::read(file.get(), into.data(), into.size());
    if (got < 0) {
      return Error::from_errno("read a snapshot");
    }
    return static_cast<std::size_t>(got);
  });
}

// Removes those of a daemon that died while it wrote them, or before it had recorded them.
void LocalService::sweep_snapshots() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + kSnapshots, error)) {
    templates_.remove_unused_snapshot(entry.path().filename().string());
  }
}

Result<std::string> LocalService::snapshot(const Caller& caller,
                                           std::string_view id,
                                           std::string_view name) {
  if (!name.empty()) {
    GB_TRY(check_template_name(name));
  }
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  const Base base = GB_TRY(base_of(caller, info));
  if (find_kind(without_tag(name))) {
    return Error(ErrorCode::kConflict,
                 "'" + std::string(without_tag(name)) + "' is a built-in template",
                 "choose another name");
  }
  const std::string content = random_name();
  std::vector<std::pair<std::string, QuotaLease>> counted;
  counted.emplace_back(
      content, GB_TRY(keep_workspace(caller, info, directory_ + kSnapshots + "/" + content)));
  json settings = info.storage == Storage::kMemory
                      ? json::object()
                      : json{{"disk", info.limits.disk.count}, {"inodes", info.limits.inodes}};
  if (base.parts) {
    settings.update(LocalTemplates::settings_of_snapshot(*base.parts));
  }
  settings["policies"] = info.policies;
  const std::string known = name.empty() ? "snapshot-" + content : std::string(name);
  const auto before = template_records_.find(caller.tenant, known);
  auto put = templates_.put({.tenant = caller.tenant,
                             .name = known,
                             .source = "snapshot",
                             .content_hash = content,
                             .made_from = base.name,
                             .settings = settings.dump(),
                             .created = std::chrono::system_clock::now()},
                            std::move(counted));
  if (!put) {
    templates_.remove_unused_snapshot(content);
    return std::move(put).error();
  }
  if (before) {
    templates_.remove_unused_snapshot(before->content_hash);
    templates_.sweep();
  }
  return known;
}

Result<std::vector<SandboxInfo>> LocalService::fork(const Caller& caller,
                                                    std::string_view id,
                                                    const ForkRequest& fork) {
  if (fork.count == 0 || fork.count > kMostCopies) {
    return Error(ErrorCode::kInvalid, "count must be from 1 to " + std::to_string(kMostCopies));
  }
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  Base base = GB_TRY(base_of(caller, info));
  if (fork.memory) {
    const std::string name = random_name();
    base.copied = workspaces_.saved(name);
    const QuotaLease counted = GB_TRY(copy_memory(caller, info, base.copied));
    auto copies = make_copies(caller, info, fork, base);
    workspaces_.remove_saved(name);
    return copies;
  }
  // A single copy of a disk needs no intermediate copy; several must be of the same moment.
  if (info.storage == Storage::kDisk && fork.count == 1) {
    GB_TRY(check_settled(info));
    base.image = workspaces_.path(info.id);
    base.image_in_use = true;
    return make_copies(caller, info, fork, base);
  }
  const std::string archive = own_file();
  const QuotaLease counted = GB_TRY(keep_workspace(caller, info, archive));
  (info.storage == Storage::kDisk ? base.image : base.archive) = archive;
  auto copies = make_copies(caller, info, fork, base);
  remove_snapshot(keeper_, archive);
  return copies;
}

Result<std::vector<SandboxInfo>> LocalService::make_copies(const Caller& caller,
                                                           const SandboxInfo& info,
                                                           const ForkRequest& fork,
                                                           const Base& base) {
  SandboxRequest request{.template_name = base.name};
  request.storage = info.storage;
  request.volumes = info.volumes;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      info.expires - std::chrono::system_clock::now());
  // A sandbox that slept beyond its time has none to pass on.
  request.timeout = fork.timeout.value_or(left.count() > 0 ? left : request.timeout);
  request.tier = {.exactly = info.tier, .at_least = {}};
  request.on_timeout = info.on_timeout;
  request.auto_resume = info.auto_resume;
  if (info.run_as.empty() || info.sudo) {  // Else its template's image says so again.
    request.as_root = info.as_root;
    request.nested = info.nested;
    request.run_as = info.run_as;
    request.sudo = info.sudo;
  }
  request.policies = info.policies;
  request.rules = info.rules;
  request.limits = {.memory = info.limits.memory,
                    .cpus = info.limits.cpus,
                    .pids = info.limits.pids,
                    .disk = info.limits.disk,
                    .inodes = info.limits.inodes};
  request.env = info.env;
  request.metadata = info.metadata;
  request.network = info.network;
  request.extra = info.extra;
  std::vector<SandboxInfo> copies;
  Result<void> made;
  while (made && copies.size() < fork.count) {
    auto copy = create_from(caller, request, {}, base);
    if (copy) {
      copies.push_back(std::move(copy).value());
    } else {
      made = std::move(copy).error();
    }
  }
  if (!made) {
    for (const SandboxInfo& copy : copies) {
      (void)kill(caller, copy.id);
    }
    return std::move(made).error();
  }
  return copies;
}

}  // namespace glovebox
