// SPDX-License-Identifier: Apache-2.0
// Templates, snapshots of workspaces, and sandboxes made from those.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr const char* kSnapshots = "/snapshots";
constexpr std::size_t kMostCopies = 100;

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) {
      return Error::from_errno("write a snapshot");
    }
    bytes.remove_prefix(put > 0 ? static_cast<std::size_t>(put) : 0);
  }
  return {};
}

}  // namespace

Result<LocalService::Base> LocalService::base_of(const Caller& caller,
                                                 const std::string& template_name) {
  if (auto kind = find_kind(template_name)) {
    return Base{.name = template_name, .kind = *std::move(kind), .archive = {}};
  }
  const TemplateRecord record = GB_TRY(template_records_.find(caller.tenant, template_name));
  auto kind = find_kind(record.made_from);
  if (!kind) {
    return Error(ErrorCode::kNotFound, "template '" + template_name + "' is made from '" +
                                           record.made_from + "', which is no more");
  }
  return Base{.name = record.made_from,
              .kind = *std::move(kind),
              .archive = directory_ + kSnapshots + "/" + record.content_hash};
}

Result<std::vector<std::string>> LocalService::templates(const Caller& caller) {
  std::vector<std::string> names = kind_names();
  for (const TemplateRecord& record : GB_TRY(template_records_.visible_to(caller.tenant))) {
    names.push_back(record.name);
  }
  return names;
}

Result<void> LocalService::pack_workspace(const Caller& caller,
                                          std::string_view id,
                                          const std::string& path) {
  FileClient client = GB_TRY(files(caller, id));
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    return Error::from_errno("make a snapshot");
  }
  auto packed = client.pack(".", FileClient::ArchiveFormat::kTar,
                            [&](std::string_view bytes) { return write_all(file.get(), bytes); });
  if (packed && ::fsync(file.get()) != 0) {
    packed = Error::from_errno("flush a snapshot");
  }
  if (!packed) {
    (void)::unlink(path.c_str());
  }
  return packed;
}

Result<void> LocalService::unpack_workspace(const Caller& caller,
                                            std::string_view id,
                                            const std::string& archive) {
  FileClient client = GB_TRY(files(caller, id));
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

Result<std::string> LocalService::snapshot(const Caller& caller,
                                           std::string_view id,
                                           std::string_view name) {
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  const Base base = GB_TRY(base_of(caller, info.template_name));
  if (find_kind(name)) {
    return Error(ErrorCode::kConflict, "'" + std::string(name) + "' is a template of ours",
                 "choose another name");
  }
  if (::mkdir((directory_ + kSnapshots).c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make the directory of snapshots");
  }
  const std::string content = random_name();
  GB_TRY(pack_workspace(caller, id, directory_ + kSnapshots + "/" + content));
  const std::string known = name.empty() ? "snapshot-" + content : std::string(name);
  GB_TRY(template_records_.put({.tenant = caller.tenant,
                                .name = known,
                                .source = "snapshot",
                                .content_hash = content,
                                .made_from = base.name,
                                .settings = "{}",
                                .created = std::chrono::system_clock::now()}));
  return known;
}

Result<std::vector<SandboxInfo>> LocalService::fork(
    const Caller& caller,
    std::string_view id,
    std::size_t count,
    std::optional<std::chrono::milliseconds> timeout) {
  if (count == 0 || count > kMostCopies) {
    return Error(ErrorCode::kInvalid, "count must be from 1 to " + std::to_string(kMostCopies));
  }
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  const Base base = GB_TRY(base_of(caller, info.template_name));
  if (::mkdir((directory_ + kSnapshots).c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make the directory of snapshots");
  }
  const std::string archive = directory_ + kSnapshots + "/" + random_name();
  GB_TRY(pack_workspace(caller, id, archive));
  SandboxRequest request{.template_name = base.name};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      info.expires - std::chrono::system_clock::now());
  // One that slept beyond its time has none to give.
  request.timeout = timeout.value_or(left.count() > 0 ? left : request.timeout);
  request.tier = {.exactly = info.tier, .at_least = {}};
  request.on_timeout = info.on_timeout;
  request.auto_resume = info.auto_resume;
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
  while (made && copies.size() < count) {
    auto copy = create(caller, request);
    made = copy ? unpack_workspace(caller, copy->id, archive) : std::move(copy).error();
    if (copy) {
      copies.push_back(std::move(copy).value());
    }
  }
  (void)::unlink(archive.c_str());
  if (!made) {
    for (const SandboxInfo& copy : copies) {
      (void)kill(caller, copy.id);
    }
    return std::move(made).error();
  }
  return copies;
}

}  // namespace glovebox
