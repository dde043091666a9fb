// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/guarded_parts.h"

#include <utility>

#include "service/guarded/deeds.h"

namespace glovebox {
namespace {

using enum Need;

void hide_token(const Caller& caller, VolumeInfo& info) {
  if (!caller.may(kScopeRun)) {
    info.secret.clear();
  }
}

Result<VolumeInfo> shown(const Caller& caller, Result<VolumeInfo> found) {
  if (found) {
    hide_token(caller, *found);
  }
  return found;
}

Result<std::vector<VolumeInfo>> shown(const Caller& caller, Result<std::vector<VolumeInfo>> found) {
  if (found) {
    for (VolumeInfo& info : *found) {
      hide_token(caller, info);
    }
  }
  return found;
}

}  // namespace

Result<VolumeInfo> GuardedVolumes::create(const Caller& caller, const VolumeRequest& request) {
  return recorder_.act(
      caller, deed_about("volume.create", request.name), guard_.tenant(caller, kRun),
      [&] { return inner_.create(caller, request); },
      [](const auto& made, Deed& deed) { deed.details["volume"] = made->id; });
}

Result<std::vector<VolumeInfo>> GuardedVolumes::list(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("volume.list"), guard_.tenant(caller, kRead)));
  return shown(caller, inner_.list(caller));
}

Result<VolumeInfo> GuardedVolumes::find(const Caller& caller, std::string_view volume) {
  GB_TRY(recorder_.allowed(caller, deed("volume.read"), guard_.volume(caller, kLook, volume)));
  return shown(caller, inner_.find(caller, volume));
}

Result<void> GuardedVolumes::remove(const Caller& caller, std::string_view volume) {
  return recorder_.act(caller, freeing(deed_about("volume.remove", volume)),
                       guard_.tenant(caller, kRun), [&] { return inner_.remove(caller, volume); });
}

Result<FileClient> GuardedVolumes::files(const Caller& caller,
                                         std::string_view volume,
                                         FileAccess access) {
  const auto may = guard_.volume(caller, of(access), volume);
  if (access != FileAccess::kUse) {
    GB_TRY(recorder_.allowed(caller, deed_about("volume.read", volume), may));
    return limited(access, inner_.files(caller, volume, access));
  }
  const Deed opening = deed_about("volume.open", volume);
  return recorder_.follow(caller, opening, recorder_.act(caller, opening, may, [&] {
    return inner_.files(caller, volume, access);
  }));
}

Result<SecretInfo> GuardedSecrets::create(const Caller& caller, const SecretRequest& request) {
  return recorder_.act(
      caller, deed_about("secret.create", request.name), guard_.tenant(caller, kRun),
      [&] { return inner_.create(caller, request); },
      [](const auto& made, Deed& deed) { deed.details["secret"] = made->id; });
}

Result<std::vector<SecretInfo>> GuardedSecrets::list(const Caller& caller,
                                                     std::string_view after,
                                                     std::size_t limit) {
  GB_TRY(recorder_.allowed(caller, deed("secret.list"), guard_.tenant(caller, kRead)));
  return inner_.list(caller, after, limit);
}

Result<SecretInfo> GuardedSecrets::find(const Caller& caller, std::string_view secret) {
  GB_TRY(recorder_.allowed(caller, deed("secret.read"), guard_.tenant(caller, kRead)));
  return inner_.find(caller, secret);
}

Result<SecretInfo> GuardedSecrets::change(const Caller& caller,
                                          std::string_view secret,
                                          std::string_view value,
                                          const std::optional<SecretMetadata>& metadata) {
  return recorder_.act(
      caller, deed_about("secret.change", secret), guard_.tenant(caller, kRun),
      [&] { return inner_.change(caller, secret, value, metadata); },
      [](const auto& made, Deed& deed) { deed.details["version"] = made->version; });
}

Result<void> GuardedSecrets::remove(const Caller& caller, std::string_view secret) {
  return recorder_.act(caller, freeing(deed_about("secret.remove", secret)),
                       guard_.tenant(caller, kRun), [&] { return inner_.remove(caller, secret); });
}

Result<std::vector<TenantStatus>> GuardedTenants::tenants(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("tenant.list"), guard_.tenant(caller, kAdmin)));
  return inner_.tenants(caller);
}

Result<TenantStatus> GuardedTenants::tenant(const Caller& caller, std::string_view name) {
  GB_TRY(recorder_.allowed(caller, deed("tenant.read"), guard_.tenant(caller, kAdmin)));
  return inner_.tenant(caller, name);
}

Result<TenantStatus> GuardedTenants::create_tenant(const Caller& caller,
                                                   const std::string& name,
                                                   const TenantQuotas& quotas) {
  return recorder_.act(caller, deed_about("tenant.create", name), guard_.tenant(caller, kAdmin),
                       [&] { return inner_.create_tenant(caller, name, quotas); });
}

Result<TenantStatus> GuardedTenants::set_quotas(const Caller& caller,
                                                const std::string& name,
                                                const TenantQuotas& quotas) {
  return recorder_.act(caller, deed_about("tenant.change", name), guard_.tenant(caller, kAdmin),
                       [&] { return inner_.set_quotas(caller, name, quotas); });
}

Result<void> GuardedTenants::remove_tenant(const Caller& caller, std::string_view name) {
  return recorder_.act(caller, freeing(deed_about("tenant.remove", name)),
                       guard_.tenant(caller, kAdmin),
                       [&] { return inner_.remove_tenant(caller, name); });
}

Result<std::vector<KeyStatus>> GuardedTenants::keys(const Caller& caller, std::string_view tenant) {
  GB_TRY(recorder_.allowed(caller, deed("key.list"), guard_.tenant(caller, kAdmin)));
  return inner_.keys(caller, tenant);
}

Result<KeyGrant> GuardedTenants::create_key(const Caller& caller,
                                            const std::string& tenant,
                                            const std::vector<std::string>& scopes,
                                            std::optional<std::chrono::milliseconds> lifetime) {
  Deed creating = deed("key.create");
  creating.details = {{"of", tenant}, {"scopes", scopes}};
  return recorder_.act(
      caller, std::move(creating), guard_.tenant(caller, kAdmin),
      [&] { return inner_.create_key(caller, tenant, scopes, lifetime); },
      [](const auto& made, Deed& deed) { deed.subject = made->status.record.id; });
}

Result<KeyGrant> GuardedTenants::rotate_key(const Caller& caller,
                                            const std::string& id,
                                            std::chrono::seconds overlap) {
  return recorder_.act(
      caller, deed_about("key.rotate", id), guard_.tenant(caller, kAdmin),
      [&] { return inner_.rotate_key(caller, id, overlap); },
      [](const auto& made, Deed& deed) { deed.details["made"] = made->status.record.id; });
}

Result<void> GuardedTenants::revoke_key(const Caller& caller, const std::string& id) {
  return recorder_.act(caller, freeing(deed_about("key.revoke", id)), guard_.tenant(caller, kAdmin),
                       [&] { return inner_.revoke_key(caller, id); });
}

Result<TemplateBuilt> GuardedTemplates::build(const Caller& caller,
                                              const Recipe& recipe,
                                              const BuildSink& sink) {
  return recorder_.act(
      caller, deed_of(recipe), guard_.recipe(caller, recipe),
      [&]() -> Result<TemplateBuilt> {
        GB_TRY(policies_.recipe(caller, recipe));
        return inner_.build(caller, recipe, sink);
      },
      [](const auto& made, Deed& deed) { deed.details["content"] = made->info.content; });
}

Result<TemplateBuilt> GuardedTemplates::import(const Caller& caller,
                                               const std::string& name,
                                               ImageFormat format,
                                               const FileClient::Source& source,
                                               const BuildSink& sink) {
  return recorder_.act(
      caller, deed_about("template.import", name), guard_.work(caller),
      [&] { return inner_.import(caller, name, format, source, sink); },
      [](const auto& made, Deed& deed) { deed.details["content"] = made->info.content; });
}

Result<void> GuardedTemplates::export_archive(const Caller& caller,
                                              const std::string& name,
                                              const ArchiveSink& sink) {
  GB_TRY(recorder_.allowed(caller, deed("template.export"), guard_.tenant(caller, kRead)));
  return inner_.export_archive(caller, name, sink);
}

Result<TemplateInfo> GuardedTemplates::find(const Caller& caller, std::string_view name) {
  GB_TRY(recorder_.allowed(caller, deed("template.read"), guard_.tenant(caller, kRead)));
  return inner_.find(caller, name);
}

Result<std::vector<TemplateInfo>> GuardedTemplates::list(const Caller& caller) {
  GB_TRY(recorder_.allowed(caller, deed("template.list"), guard_.tenant(caller, kRead)));
  return inner_.list(caller);
}

Result<TemplateInfo> GuardedTemplates::tag(const Caller& caller,
                                           std::string_view name,
                                           const std::vector<std::string>& tags) {
  return recorder_.act(caller, deed_of_tags(name, tags), guard_.tenant(caller, kRun),
                       [&] { return inner_.tag(caller, name, tags); });
}

Result<void> GuardedTemplates::remove(const Caller& caller, std::string_view name) {
  return recorder_.act(caller, freeing(deed_about("template.remove", name)),
                       guard_.tenant(caller, kRun), [&] { return inner_.remove(caller, name); });
}

Result<std::shared_ptr<const UniqueFd>> GuardedTemplates::keep_files(
    const Caller& caller, const FileClient::Source& source) {
  return recorder_.act(caller, deed("template.upload"), guard_.tenant(caller, kRun),
                       [&] { return inner_.keep_files(caller, source); });
}

Result<void> GuardedTemplates::keep_upload(const Caller& caller,
                                           const std::string& name,
                                           const FileClient::Source& source) {
  return recorder_.act(caller, deed("template.upload"), guard_.tenant(caller, kRun),
                       [&] { return inner_.keep_upload(caller, name, source); });
}

Result<UniqueFd> GuardedTemplates::open_upload(const Caller& caller, const std::string& name) {
  GB_TRY(recorder_.allowed(caller, deed("template.read"), guard_.tenant(caller, kRun)));
  return inner_.open_upload(caller, name);
}

Result<void> GuardedTemplates::keep_build(const Caller& caller, const BuildState& state) {
  GB_TRY(recorder_.allowed(caller, deed("template.build"), guard_.tenant(caller, kRun)));
  return inner_.keep_build(caller, state);
}

Result<BuildState> GuardedTemplates::find_build(const Caller& caller, std::string_view id) {
  GB_TRY(recorder_.allowed(caller, deed("template.read"), guard_.tenant(caller, kLook)));
  return inner_.find_build(caller, id);
}

}  // namespace glovebox
