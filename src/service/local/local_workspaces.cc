// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_workspaces.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/json/json.h"
#include "spec/json/guest_rules_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::string_view kSuffix = ".img";
constexpr std::string_view kSavedSuffix = ".saved";

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

std::string encode_kept(const SandboxInfo& info) {
  json volumes = json::array();
  for (const VolumeMount& mount : info.volumes) {
    volumes.push_back(
        {{"volume", mount.volume}, {"path", mount.path}, {"read_only", mount.read_only}});
  }
  return json{{"disk", info.storage == Storage::kDisk},
              {"shares_copies", info.shares_copies},
              {"volumes", std::move(volumes)},
              {"restarted", info.restarted},
              {"saved", info.saved.count},
              {"as_root", info.as_root},
              {"nested", info.nested},
              {"run_as", info.run_as},
              {"sudo", info.sudo},
              {"policies", info.policies},
              {"rules", to_json(info.rules)},
              {"base", info.base}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

void decode_kept(std::string_view text, SandboxInfo& info) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return;
  }
  info.storage = flag_of(object, "disk") ? Storage::kDisk : Storage::kMemory;
  info.shares_copies = flag_of(object, "shares_copies");
  info.restarted = flag_of(object, "restarted");
  const auto saved = object.find("saved");
  info.saved = {saved != object.end() && saved->is_number_unsigned() ? saved->get<std::uint64_t>()
                                                                     : 0};
  info.as_root = flag_of(object, "as_root");
  info.nested = flag_of(object, "nested");
  info.run_as = text_of(object, "run_as");
  info.sudo = flag_of(object, "sudo");
  info.base = text_of(object, "base");
  info.rules = read_stored_guest_rules(text_of(object, "rules"));
  info.policies.clear();
  if (const auto policies = object.find("policies");
      policies != object.end() && policies->is_array()) {
    for (const json& name : *policies) {
      // A name that nobody can read is a policy that nobody can meet.
      info.policies.push_back(name.is_string() ? name.get<std::string>() : std::string());
    }
  }
  info.volumes.clear();
  const auto volumes = object.find("volumes");
  if (volumes == object.end() || !volumes->is_array()) {
    return;
  }
  for (const json& mount : *volumes) {
    if (mount.is_object()) {
      info.volumes.push_back({.volume = text_of(mount, "volume"),
                              .path = text_of(mount, "path"),
                              .read_only = flag_of(mount, "read_only")});
    }
  }
}

std::string LocalWorkspaces::path(std::string_view sandbox) const {
  return directory_ + "/" + std::string(sandbox) + std::string(kSuffix);
}

std::string LocalWorkspaces::saved(std::string_view sandbox) const {
  return directory_ + "/" + std::string(sandbox) + std::string(kSavedSuffix);
}

bool LocalWorkspaces::has(const SandboxInfo& info) const {
  return has_saved(info) ||
         (info.storage == Storage::kDisk && ::access(path(info.id).c_str(), F_OK) == 0);
}

bool LocalWorkspaces::has_saved(const SandboxInfo& info) const {
  return info.saved.count > 0 && ::access(saved(info.id).c_str(), F_OK) == 0;
}

Result<bool> LocalWorkspaces::make(std::string_view sandbox,
                                   const Limits& limits,
                                   const std::string& image,
                                   bool in_use) {
  const json made = GB_TRY(
      image.empty() ? keeper_.call("make_image", {{"image", path(sandbox)},
                                                  {"size", limits.disk.count},
                                                  {"inodes", limits.inodes}})
                    : keeper_.call("copy_image",
                                   {{"image", image}, {"to", path(sandbox)}, {"idle", !in_use}}));
  return flag_of(made, "shares_copies");
}

void LocalWorkspaces::remove(std::string_view sandbox) const {
  if (!sandbox.empty()) {
    (void)keeper_.call("remove_image", {{"image", path(sandbox)}});
  }
}

void LocalWorkspaces::remove_saved(std::string_view sandbox) const {
  (void)keeper_.call("remove_saved", {{"saved", saved(sandbox)}});
}

// In this order: a file that only represents an image in the keeper's pool can be unlinked, too.
void remove_snapshot(keeper::KeeperClient& keeper, const std::string& path) {
  if (!keeper.call("remove_image", {{"image", path}})) {
    (void)::unlink(path.c_str());
  }
}

std::optional<SandboxEntry> LocalWorkspaces::left_of(const SandboxRecord& record) const {
  SandboxEntry entry{.tenant = record.tenant, .claim = {}, .filling = false, .info = {}};
  SandboxInfo& info = entry.info;
  decode_kept(record.storage, info);
  info.id = record.id;
  if (!has(info)) {
    return std::nullopt;
  }
  info.template_name = record.template_name;
  info.tier = record.tier;
  info.state = SandboxState::kPaused;
  info.created = record.created;
  info.expires = record.expires;
  info.on_timeout = record.pause_on_timeout ? OnTimeout::kPause : OnTimeout::kKill;
  info.auto_resume = record.auto_resume;
  info.limits = record.limits;
  info.env = record.env;
  info.metadata = record.metadata;
  info.network = record.network;
  info.extra = record.extra;
  info.walls = record.walls;
  info.restarted = info.restarted || !has_saved(info);
  return entry;
}

void LocalWorkspaces::sweep(const std::set<std::string, std::less<>>& sandboxes) const {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, none)) {
    const std::string kind = entry.path().extension();
    const bool is_known = sandboxes.contains(entry.path().stem().string());
    if (kind.starts_with(kSavedSuffix)) {  // Or the draft of one.
      if (kind != kSavedSuffix || !is_known) {
        (void)keeper_.call("remove_saved", {{"saved", entry.path().string()}});
      }
    } else if (kind != kSuffix || !is_known) {
      (void)keeper_.call("remove_image", {{"image", entry.path().string()}});
    }
  }
}

}  // namespace glovebox
