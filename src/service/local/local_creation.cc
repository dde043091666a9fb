// SPDX-License-Identifier: Apache-2.0
// How LocalService creates a sandbox.
#include <chrono>
#include <utility>

#include "base/json/json.h"
#include "base/random.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"
#include "service/local/sandbox_facts.h"

namespace glovebox {
namespace {

// Our own files and directories on the disk of a root guest.
constexpr Bytes kRootBytes = 4_MiB;
constexpr std::uint32_t kRootInodes = 512;

}  // namespace

Result<SandboxInfo> LocalService::create_once(const Caller& caller,
                                              const SandboxRequest& request,
                                              const std::string& claim) {
  const auto begun = std::chrono::steady_clock::now();
  GB_TRY(check_network(request.network, request.network_optional));
  auto found = base_of(caller, request.template_name);
  if (!found) {
    return request.archive ? std::move(found).error().with_hint(
                                 "the archived sandbox was created from it: transfer it with "
                                 "'glovebox template export'")
                           : std::move(found).error();
  }
  Base base = std::move(found).value();
  if (request.archive) {
    GB_TRY(continue_archive(*request.archive, request.template_name, base));
  }
  SandboxInfo made = GB_TRY(create_from(caller, request, claim, std::move(base)));
  const auto took = std::chrono::steady_clock::now() - begun;
  const std::scoped_lock lock(mutex_);
  creation_.add(took);
  return made;
}

Result<SandboxInfo> LocalService::create_from(const Caller& caller,
                                              const SandboxRequest& request,
                                              const std::string& claim,
                                              Base base) {
  GB_TRY(check_nested(request.nested));
  SandboxEntry entry{.tenant = caller.tenant,
                     .claim = claim,
                     .filling = !base.archive.empty(),
                     .info = {}};
  SandboxInfo& info = entry.info;
  info.template_name = request.template_name;
  info.base = describe(request.template_name, base);
  // As precise as it is stored.
  info.created = keeper::to_time(keeper::to_ms(std::chrono::system_clock::now()));
  info.expires = info.created + request.timeout;
  info.on_timeout = request.on_timeout;
  info.auto_resume = request.auto_resume;
  info.as_root = request.as_root;
  info.nested = request.nested;
  info.run_as = request.run_as;
  info.sudo = request.sudo;
  info.policies = request.policies;
  info.rules = request.rules;
  info.limits = request.limits.over(Limits{});
  info.env = request.env;
  if (base.parts) {
    info.limits = request.limits.over(base.parts->limits.over(Limits{}));
    info.env = templates_.environment(*base.parts);
    info.env.insert(info.env.end(), request.env.begin(), request.env.end());
  }
  info.metadata = request.metadata;
  info.network = request.network;
  GB_TRY(choose_placeholders(info.network.credentials));
  info.extra = request.extra;
  info.volumes = request.volumes;
  for (const VolumeMount& mount : info.volumes) {
    // What is mounted there is the sandbox's own, and goes with it.
    if (mount.path == base.kind.home) {
      return Error(ErrorCode::kInvalid, "the workspace is mounted at '" + mount.path + "'",
                   "mount the volume at another path, such as /volumes/data");
    }
  }
  std::vector<keeper::ImageOrder> images = GB_TRY(volumes_.order(caller, info.volumes));
  info.storage = base.image.empty() ? request.storage.value_or(Storage::kMemory) : Storage::kDisk;
  if (!base.image.empty() && request.storage == Storage::kMemory) {
    return Error(ErrorCode::kInvalid,
                 "template '" + request.template_name + "' requires a workspace on disk",
                 "leave out 'storage', or set it to 'disk'");
  }
  if (base.image_limits) {
    info.limits.disk = base.image_limits->disk;
    info.limits.inodes = base.image_limits->inodes;
  }
  GB_TRY(validate(info.limits));
  GB_TRY(pressure_.check());
  QuotaLease lease = GB_TRY(quotas_.reserve(caller.tenant, use_of(info)));
  auto network = GB_TRY(way_out(caller.tenant, info.network));
  std::string own_id;  // The keeper chooses it, unless the workspace is there first.
  if (info.storage == Storage::kDisk) {
    own_id = random_name();
    Limits room = info.limits;
    if (info.as_root) {
      room.disk = {room.disk.count + kRootBytes.count};
      room.inodes += kRootInodes;
    }
    info.shares_copies = GB_TRY(workspaces_.make(own_id, room, base.image, base.image_in_use));
    images.push_back({.image = workspaces_.path(own_id), .target = base.kind.home});
  }
  keeper::CreateOrder order = order_of(caller, base, info);
  order.image_user = LocalTemplates::user(base.parts, request);
  order.tier = request.tier;
  order.id = own_id;
  order.images = std::move(images);
  order.network = std::move(network);
  order.saved = base.copied;
  order.copied = !base.copied.empty();
  auto made =
      keeper_.call("create", {{"order", keeper::to_json(order)}, {"record", encode(entry)}});
  if (!made) {
    workspaces_.remove(own_id);
    return std::move(made).error();
  }
  refresh(info, made.value());
  if (info.storage == Storage::kDisk) {
    // The sandbox survives the keeper, so we wait for the record.
    if (auto recorded = records_.insert(record_of(entry), Durability::kPower); !recorded) {
      (void)keeper_.call("kill", {{"sandbox", info.id}});
      return std::move(recorded).error();
    }
  } else {
    // Not waited for: the keeper knows it too, and a daemon that starts asks the keeper.
    records_.leave_insert(record_of(entry), Durability::kProcess);
  }
  const std::string id = info.id;
  book_.put(entry, std::move(lease));
  if (!base.archive.empty()) {
    if (auto filled = unpack_workspace(caller, id, base.archive); !filled) {
      (void)kill(caller, id);
      return std::move(filled).error().within("fill the sandbox from its template");
    }
    entry.filling = false;
    if (auto told = store(entry); !told) {
      (void)kill(caller, id);
      return told;
    }
  }
  if (base.parts && base.copied.empty()) {
    if (auto begun = begin_template(caller, id, *base.parts); !begun) {
      (void)kill(caller, id);
      return std::move(begun).error().within("run the template's start command");
    }
  }
  return info;
}

}  // namespace glovebox
