// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_templates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text.h"
#include "service/content_hash.h"
#include "service/local/kinds.h"
#include "service/local/parts_json.h"
#include "service/local/random_name.h"
#include "service/templates/recipe.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxArchive = 8ULL << 30;
// Each takes a sandbox with much memory.
constexpr int kMostBuilds = 4;
// Of a failure; what pip or a command says may be long, and the database takes no more than 64 KiB.
constexpr std::size_t kMaxReason = 16UL * 1024;
constexpr std::chrono::hours kBuildsKept{24};
// A sandbox of a build, against its tenant's quota.
constexpr QuotaUse kBuildUse{.sandboxes = 1, .memory = 1_GiB, .cpus = 1.0, .disk = 1_GiB};

TemplateParts parts_of_kind(const Kind& kind) {
  TemplateParts parts;
  parts.home = kind.home;
  parts.user = kind.user;
  return parts;
}

// A file without a name, so that nothing is left of an upload that ends early.
Result<UniqueFd> receive(const std::string& directory, const FileClient::Source& source) {
  UniqueFd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {
    return Error::from_errno("keep an archive");
  }
  std::vector<char> buffer(256UL * 1024);
  std::uint64_t size = 0;
  for (;;) {
    const std::size_t got = GB_TRY(source(buffer));
    if (got == 0) {
      return file;
    }
    size += got;
    if (size > kMaxArchive) {
      return Error(ErrorCode::kExhausted, "an archive is at most 8 GiB");
    }
    for (std::size_t at = 0; at < got;) {
      const ssize_t put = ::write(file.get(), buffer.data() + at, got - at);
      if (put < 0 && errno != EINTR) {
        return Error::from_errno("keep an archive");
      }
      at += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
  }
}

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), now_(++count) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }
  [[nodiscard]] int now() const { return now_; }

 private:
  std::atomic<int>& count_;
  const int now_;
};

}  // namespace

LocalTemplates::LocalTemplates(std::string directory,
                               Database& database,
                               QuotaBook& quotas,
                               MemoryPressure& pressure,
                               keeper::KeeperClient& keeper,
                               InUse in_use)
    : directory_(std::move(directory)),
      records_(database),
      build_records_(database),
      quotas_(quotas),
      pressure_(pressure),
      keeper_(keeper),
      in_use_(std::move(in_use)) {}

std::optional<TemplateParts> LocalTemplates::parts_of(const TemplateRecord& record) {
  const json settings = json::parse(record.settings, nullptr, false);
  return settings.is_object() && settings.contains("parts") ? to_parts(settings["parts"])
                                                            : std::nullopt;
}

json LocalTemplates::settings_of_snapshot(const TemplateParts& parts) {
  TemplateParts without = parts;
  without.files.clear();
  return {{"parts", parts_json(without)}};
}

keeper::TemplateOrder LocalTemplates::order(std::string_view tenant,
                                            const TemplateParts& parts) const {
  const auto contents = store();
  if (!contents || (parts.keys().empty() && parts.preload.empty())) {
    return {};
  }
  keeper::TemplateOrder order;
  order.tenant = tenant;
  order.root = parts.root.empty() ? "" : contents->path_of(parts.root) + "/root";
  PackageView packages = view_packages(parts, *contents, {});
  order.mounts = std::move(packages.mounts);
  order.env = std::move(packages.env);
  order.preload = parts.preload;
  for (const std::string& key : parts.keys()) {
    // The workspace's files are copied, and not needed any longer then.
    if (key != parts.files) {
      order.contents.push_back(contents->path_of(key));
    }
  }
  return order;
}

Environment LocalTemplates::environment(const TemplateParts& parts) const {
  const auto contents = store();
  return contents ? view_packages(parts, *contents, parts.env).env : parts.env;
}

std::string LocalTemplates::archive(const TemplateParts& parts) const {
  const auto contents = store();
  return parts.files.empty() || !contents ? "" : contents->path_of(parts.files) + "/home.tar";
}

Result<TemplateParts> LocalTemplates::base_of(const Caller& caller, const Recipe& recipe) {
  if (const auto kind = find_kind(recipe.base == "host" ? "default" : recipe.base)) {
    return parts_of_kind(*kind);
  }
  const TemplateRecord record = GB_TRY(records_.find(caller.tenant, recipe.base));
  if (auto parts = parts_of(record); parts && record.source != "snapshot") {
    return *std::move(parts);
  }
  return Error(ErrorCode::kUnsupported, "'" + recipe.base + "' is a snapshot",
               "begin with the template that its sandbox was made from");
}

Result<TemplateInfo> LocalTemplates::info_of(const TemplateRecord& record) const {
  TemplateInfo info{.name = record.name,
                    .builtin = false,
                    .source = record.source,
                    .base = record.made_from,
                    .content = record.content_hash,
                    .created = record.created,
                    .size = 0,
                    .parts = {}};
  const json settings = json::parse(record.settings, nullptr, false);
  if (settings.is_object() && settings.contains("size") && settings["size"].is_number_unsigned()) {
    info.size = settings["size"].get<std::uint64_t>();
  }
  if (auto parts = parts_of(record)) {
    info.parts = *std::move(parts);
  } else if (const auto kind = find_kind(record.made_from)) {
    info.parts = parts_of_kind(*kind);
  }
  return info;
}

Result<TemplateBuilt> LocalTemplates::build_checked(const Caller& caller,
                                                    const Recipe& recipe,
                                                    const std::string& source,
                                                    BuildMonitor& monitor) {
  if (find_kind(recipe.name) || recipe.name == "host") {
    return Error(ErrorCode::kConflict, "'" + recipe.name + "' is a template of ours",
                 "choose another name");
  }
  const Counted builds(building_);
  if (builds.now() > kMostBuilds) {
    return Error(ErrorCode::kExhausted, "other templates are being built", "try again in 10 s");
  }
  GB_TRY(pressure_.check());
  const QuotaLease lease = GB_TRY(quotas_.reserve(caller.tenant, kBuildUse));
  const ContentStore contents = GB_TRY(store());
  const TemplateParts base = GB_TRY(base_of(caller, recipe));
  const BuiltParts built = GB_TRY(build_template(recipe, base, contents, monitor));
  std::uint64_t size = 0;
  for (const std::string& key : built.parts.keys()) {
    size += disk_use_of(contents.path_of(key));
  }
  const json parts = parts_json(built.parts);
  const TemplateRecord record{.tenant = caller.tenant,
                              .name = recipe.name,
                              .source = source,
                              .content_hash = ContentHash().add(parts.dump()).hex(),
                              .made_from = recipe.debootstrap || recipe.image ? "" : recipe.base,
                              .settings = json{{"parts", parts}, {"size", size}}.dump(),
                              .created = std::chrono::time_point_cast<std::chrono::milliseconds>(
                                  std::chrono::system_clock::now())};
  GB_TRY(records_.put(record));
  return TemplateBuilt{.info = GB_TRY(info_of(record)), .cached = built.cached};
}

Result<TemplateBuilt> LocalTemplates::build(const Caller& caller,
                                            const Recipe& recipe,
                                            const BuildSink& sink) {
  GB_TRY(validate(recipe));
  const std::string source = recipe.debootstrap ? "debootstrap"
                             : recipe.image     ? to_string(recipe.image->format)
                                                : "recipe";
  BuildMonitor monitor(sink);
  auto built = build_checked(caller, recipe, source, monitor);
  // One that was replaced, and drafts.
  sweep();
  return built;
}

Result<TemplateBuilt> LocalTemplates::import(const Caller& caller,
                                             const std::string& name,
                                             ImageFormat format,
                                             const FileClient::Source& source,
                                             const BuildSink& sink) {
  GB_TRY(check_template_name(name));
  (void)GB_TRY(store());
  const UniqueFd file = GB_TRY(receive(directory_ + "/templates", source));
  Recipe recipe;
  recipe.name = name;
  recipe.image = ImageFile{.format = format, .path = "/proc/self/fd/" + std::to_string(file.get())};
  BuildMonitor monitor(sink);
  auto built = build_checked(caller, recipe, to_string(format), monitor);
  sweep();
  return built;
}

Result<TemplateInfo> LocalTemplates::find(const Caller& caller, std::string_view name) {
  if (const auto kind = find_kind(name)) {
    return TemplateInfo{.name = std::string(name),
                        .builtin = true,
                        .source = "host",
                        .base = {},
                        .content = {},
                        .created = {},
                        .size = 0,
                        .parts = parts_of_kind(*kind)};
  }
  return info_of(GB_TRY(records_.find(caller.tenant, name)));
}

Result<std::vector<TemplateInfo>> LocalTemplates::list(const Caller& caller) {
  std::vector<TemplateInfo> infos;
  for (const std::string& name : kind_names()) {
    infos.push_back(GB_TRY(find(caller, name)));
  }
  for (const TemplateRecord& record : GB_TRY(records_.visible_to(caller.tenant))) {
    infos.push_back(GB_TRY(info_of(record)));
  }
  return infos;
}

Result<void> LocalTemplates::remove(const Caller& caller, std::string_view name) {
  if (find_kind(name)) {
    return Error(ErrorCode::kConflict, "'" + std::string(name) + "' is a template of ours",
                 "what was built or kept as a snapshot can be removed");
  }
  const TemplateRecord record = GB_TRY(records_.find(caller.tenant, name));
  GB_TRY(records_.remove(caller.tenant, name));
  if (record.source == "snapshot") {
    if (!GB_TRY(records_.uses_content(record.content_hash))) {
      (void)::unlink((directory_ + "/snapshots/" + record.content_hash).c_str());
    }
  }
  sweep();
  return {};
}

Result<void> LocalTemplates::keep_build(const Caller& caller, const BuildState& state) {
  return build_records_.put({.tenant = caller.tenant,
                             .id = state.id,
                             .name = state.name,
                             .state = static_cast<TemplateBuildRecord::State>(state.progress),
                             .reason = to_utf8(state.reason.substr(0, kMaxReason)),
                             .step = state.step,
                             .created = state.created},
                            std::chrono::system_clock::now() - kBuildsKept);
}

Result<BuildState> LocalTemplates::find_build(const Caller& caller, std::string_view id) {
  TemplateBuildRecord record = GB_TRY(build_records_.find(caller.tenant, id));
  return BuildState{.id = std::move(record.id),
                    .name = std::move(record.name),
                    .progress = static_cast<BuildState::Progress>(record.state),
                    .reason = std::move(record.reason),
                    .step = std::move(record.step),
                    .created = record.created};
}

Result<void> LocalTemplates::fail_old_builds() {
  return build_records_.fail_all_under_way(
      "the daemon ended while the template was built; build it again");
}

void LocalTemplates::sweep() {
  const auto contents = store();
  const auto records = records_.all();
  if (!contents || !records) {
    return;
  }
  std::set<std::string> used;
  for (const TemplateRecord& record : *records) {
    if (const auto parts = parts_of(record)) {
      for (const std::string& key : parts->keys()) {
        used.insert(key);
      }
    }
  }
  for (const std::string& key : contents->unused(used)) {
    // Sandboxes that wait in a pool hold it, too, and nobody will ask for them.
    (void)keeper_.call("forget_content", {{"path", contents->path_of(key)}});
  }
  // A sandbox that lives holds it itself; one that sleeps on disk cannot, and will want it again.
  used.merge(in_use_());
  contents->sweep(used);
}

}  // namespace glovebox
