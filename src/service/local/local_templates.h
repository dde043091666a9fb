// SPDX-License-Identifier: Apache-2.0
// LocalTemplates: templates in the data directory: records in the database, and their content in
// DIRECTORY/templates.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/api/template_service.h"
#include "service/keeper/client.h"
#include "service/keeper/keeper.h"
#include "service/local/disk_budget.h"
#include "service/local/kept_uploads.h"
#include "service/local/local_secrets.h"
#include "service/local/storage_charges.h"
#include "service/templates/content_store.h"
#include "service/tenants/memory_pressure.h"
#include "service/tenants/quota_book.h"
#include "store/template_build_records.h"
#include "store/template_records.h"

namespace glovebox {

// Safe to use from any thread.
class LocalTemplates final : public TemplateService {
 public:
  // The content that sandboxes are made of. May be called from any thread.
  using InUse = std::function<std::set<std::string>()>;

  LocalTemplates(std::string directory,
                 Database& database,
                 QuotaBook& quotas,
                 MemoryPressure& pressure,
                 LocalSecrets& secrets,
                 keeper::KeeperClient& keeper,
                 NetworkPolicy network,
                 InUse in_use);

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
  Result<std::shared_ptr<const UniqueFd>> keep_files(const Caller& caller,
                                                     const FileClient::Source& source) override;
  Result<void> keep_upload(const Caller& caller,
                           const std::string& name,
                           const FileClient::Source& source) override;
  Result<UniqueFd> open_upload(const Caller& caller, const std::string& name) override;
  Result<void> keep_build(const Caller& caller, const BuildState& state) override;
  Result<BuildState> find_build(const Caller& caller, std::string_view id) override;

  // Of a template that was built, or of a snapshot of a sandbox of one; nothing for others.
  static std::optional<TemplateParts> parts_of(const TemplateRecord& record);
  // The settings to record for a snapshot of a sandbox of this template: the files are the
  // snapshot's own.
  static nlohmann::json settings_of_snapshot(const TemplateParts& parts);

  // What a sandbox of this tenant is made with.
  [[nodiscard]] keeper::TemplateOrder order(std::string_view tenant,
                                            const TemplateParts& parts) const;
  // What its processes have in their environment.
  [[nodiscard]] Environment environment(const TemplateParts& parts) const;
  // The user other than root that its image names, if the request leaves open who runs everything.
  // Empty if there is none, or the request has something that only a guest can have.
  template <typename Request>
  [[nodiscard]] static std::string user(const std::optional<TemplateParts>& parts,
                                        const Request& request) {
    const bool open =
        parts && !request.as_root && !request.as_guest && !request.nested && request.rules.empty();
    return open ? image_user(*parts) : std::string();
  }
  // The archive that its workspace begins with; empty: none.
  [[nodiscard]] std::string archive(const TemplateParts& parts) const;

  // Records a template whose pieces were counted, each by its key; they count as long as a template
  // of the tenant's names them.
  Result<void> put(const TemplateRecord& record,
                   std::vector<std::pair<std::string, QuotaLease>> counted);

  // Removes the files of a snapshot if no name refers to it any more.
  void remove_unused_snapshot(const std::string& content);

  // Call it once, before all else: marks what an earlier daemon was building when it ended as
  // failed, and counts what was uploaded to it.
  Result<void> take_over();

  // Removes content that no template and no sandbox uses, and counts what templates name.
  void sweep();

 private:
  static std::string image_user(const TemplateParts& parts);
  // What a build has before it reads or writes anything.
  struct Begun {
    std::shared_ptr<void> turn;  // Of its tenant's.
    QuotaLease sandbox;
    DiskBudget budget;
  };
  Result<Begun> begin(const Caller& caller, const std::string& name, const QuotaUse& use);
  Result<std::shared_ptr<void>> take_turn(const Caller& caller);
  // Counts what a builder writes and removes. Nothing if `said` is about something else; false if
  // the builder has ended. `room` is whether there is room for what it is about to write.
  static std::optional<bool> count_disk(int fd,
                                        const nlohmann::json& said,
                                        DiskBudget& budget,
                                        Result<void>& room);
  Result<TemplateBuilt> finish(const Caller& caller,
                               const Recipe& recipe,
                               const std::string& source,
                               const BuildSink& sink,
                               Begun begun);
  // Room for the pieces of a template that do not count for its tenant yet.
  Result<std::vector<std::pair<std::string, QuotaLease>>> charge(
      const std::string& tenant, const std::map<std::string, std::uint64_t>& sizes);
  void recount();
  [[nodiscard]] std::uint64_t size_of(const TemplateRecord& record, const std::string& key) const;
  // What a template can be built on, and the policies that it passes on.
  struct BuildBase {
    TemplateParts parts;
    std::vector<std::string> policies{};
  };
  Result<BuildBase> base_of(const Caller& caller, const std::string& name);
  // Tells a builder what a template's name refers to; false if the builder has ended.
  static bool answer_base(int fd, const Result<BuildBase>& base);
  Result<TemplateInfo> info_of(const TemplateRecord& record) const;

  // Fills in the value of the secret that a registry login names.
  Result<void> add_password(const Caller& caller, Recipe& recipe);
  // Has the keeper build it. Fills `held` with what keeps the pieces, and adds the policies of
  // everything that it is built on.
  Result<nlohmann::json> make(const Caller& caller,
                              const Recipe& recipe,
                              DiskBudget& budget,
                              const BuildSink& sink,
                              std::vector<UniqueFd>& held,
                              std::set<std::string>& policies);

  const std::string directory_;
  const ContentStore contents_;  // The keeper's; only looked at.
  TemplateRecords records_;
  KeptUploads uploads_;
  TemplateBuildRecords build_records_;
  QuotaBook& quotas_;
  MemoryPressure& pressure_;
  LocalSecrets& secrets_;
  keeper::KeeperClient& keeper_;
  const NetworkPolicy network_;
  const InUse in_use_;
  std::atomic<int> building_ = 0;
  std::mutex turns_mutex_;
  std::map<std::string, int> turns_;  // Builds and imports under way, by tenant.
  std::mutex charging_;               // Between a record and what counts for it.
  StorageCharges charges_;
};

}  // namespace glovebox
