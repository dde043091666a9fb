// SPDX-License-Identifier: Apache-2.0
// The parts of a GuardedService: volumes, secrets, tenants and templates.
#pragma once

#include "service/api/sandbox_service.h"
#include "service/api/secret_service.h"
#include "service/api/template_service.h"
#include "service/api/tenant_service.h"
#include "service/api/volume_service.h"
#include "service/guarded/guard.h"
#include "service/guarded/policy_gate.h"
#include "service/guarded/recorder.h"

namespace glovebox {

class GuardedVolumes final : public VolumeService {
 public:
  GuardedVolumes(SandboxService& service, const Guard& guard, const Recorder& recorder)
      : inner_(service.volumes()), guard_(guard), recorder_(recorder) {}

  Result<VolumeInfo> create(const Caller& caller, const VolumeRequest& request) override;
  Result<std::vector<VolumeInfo>> list(const Caller& caller) override;
  Result<VolumeInfo> find(const Caller& caller, std::string_view volume) override;
  Result<void> remove(const Caller& caller, std::string_view volume) override;
  Result<FileClient> files(const Caller& caller,
                           std::string_view volume,
                           FileAccess access) override;
  Result<VolumeBearer> bearer(std::string_view tenant, std::string_view volume) override {
    return inner_.bearer(tenant, volume);
  }

 private:
  VolumeService& inner_;
  const Guard& guard_;
  const Recorder& recorder_;
};

class GuardedSecrets final : public SecretService {
 public:
  GuardedSecrets(SandboxService& service, const Guard& guard, const Recorder& recorder)
      : inner_(service.secrets()), guard_(guard), recorder_(recorder) {}

  Result<SecretInfo> create(const Caller& caller, const SecretRequest& request) override;
  Result<std::vector<SecretInfo>> list(const Caller& caller,
                                       std::string_view after,
                                       std::size_t limit) override;
  Result<SecretInfo> find(const Caller& caller, std::string_view secret) override;
  Result<SecretInfo> change(const Caller& caller,
                            std::string_view secret,
                            std::string_view value,
                            const std::optional<SecretMetadata>& metadata) override;
  Result<void> remove(const Caller& caller, std::string_view secret) override;

 private:
  SecretService& inner_;
  const Guard& guard_;
  const Recorder& recorder_;
};

class GuardedTenants final : public TenantService {
 public:
  GuardedTenants(SandboxService& service, const Guard& guard, const Recorder& recorder)
      : inner_(service.tenants()), guard_(guard), recorder_(recorder) {}

  Result<std::vector<TenantStatus>> tenants(const Caller& caller) override;
  Result<TenantStatus> tenant(const Caller& caller, std::string_view name) override;
  Result<TenantStatus> create_tenant(const Caller& caller,
                                     const std::string& name,
                                     const TenantQuotas& quotas) override;
  Result<TenantStatus> set_quotas(const Caller& caller,
                                  const std::string& name,
                                  const TenantQuotas& quotas) override;
  Result<void> remove_tenant(const Caller& caller, std::string_view name) override;
  Result<std::vector<KeyStatus>> keys(const Caller& caller, std::string_view tenant) override;
  Result<KeyGrant> create_key(const Caller& caller,
                              const std::string& tenant,
                              const std::vector<std::string>& scopes,
                              std::optional<std::chrono::milliseconds> lifetime) override;
  Result<KeyGrant> rotate_key(const Caller& caller,
                              const std::string& id,
                              std::chrono::seconds overlap) override;
  Result<void> revoke_key(const Caller& caller, const std::string& id) override;

 private:
  TenantService& inner_;
  const Guard& guard_;
  const Recorder& recorder_;
};

class GuardedTemplates final : public TemplateService {
 public:
  GuardedTemplates(SandboxService& service,
                   const Guard& guard,
                   PolicyGate& policies,
                   const Recorder& recorder)
      : inner_(service.template_service()),
        guard_(guard),
        policies_(policies),
        recorder_(recorder) {}

  Result<TemplateBuilt> build(const Caller& caller,
                              const Recipe& recipe,
                              const BuildSink& sink) override;
  Result<TemplateBuilt> import(const Caller& caller,
                               const std::string& name,
                               ImageFormat format,
                               const FileClient::Source& source,
                               const BuildSink& sink) override;
  Result<void> export_archive(const Caller& caller,
                              const std::string& name,
                              const ArchiveSink& sink) override;
  Result<TemplateInfo> find(const Caller& caller, std::string_view name) override;
  Result<std::vector<TemplateInfo>> list(const Caller& caller) override;
  Result<TemplateInfo> tag(const Caller& caller,
                           std::string_view name,
                           const std::vector<std::string>& tags) override;
  Result<void> remove(const Caller& caller, std::string_view name) override;
  Result<void> keep_upload(const Caller& caller,
                           const std::string& name,
                           const FileClient::Source& source) override;
  Result<UniqueFd> open_upload(const Caller& caller, const std::string& name) override;
  Result<std::shared_ptr<const UniqueFd>> keep_files(const Caller& caller,
                                                     const FileClient::Source& source) override;
  Result<void> keep_build(const Caller& caller, const BuildState& state) override;
  Result<BuildState> find_build(const Caller& caller, std::string_view id) override;

 private:
  TemplateService& inner_;
  const Guard& guard_;
  PolicyGate& policies_;
  const Recorder& recorder_;
};

}  // namespace glovebox
