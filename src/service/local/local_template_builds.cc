// SPDX-License-Identifier: Apache-2.0
// Building, importing and exporting: what LocalTemplates has its keeper do.
#include <unistd.h>

#include <array>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/pipe.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "service/keeper/build_json.h"
#include "service/keeper/builder.h"
#include "service/keeper/codec.h"
#include "service/keeper/wire.h"
#include "service/local/kinds.h"
#include "service/local/local_templates.h"
#include "service/templates/recipe.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxArchive = 8ULL << 30;
constexpr std::uint64_t kMaxFiles = 1ULL << 30;
// Each takes a sandbox with much memory.
constexpr int kMostBuilds = 8;
constexpr int kMostBuildsOfTenant = 2;
// Of a failure; what pip or a command says may be long, and the database takes no more than 64 KiB.
constexpr std::size_t kMaxReason = 16UL * 1024;
constexpr std::chrono::hours kBuildsKept{24};
// A sandbox of a build, against its tenant's quota.
constexpr QuotaUse kBuildUse{.sandboxes = 1, .memory = 1_GiB, .cpus = 1.0, .disk = 1_GiB};
// The files that are copied are in a sandbox of their own.
constexpr QuotaUse kDockerfileUse{.sandboxes = 2, .memory = 2_GiB, .cpus = 2.0, .disk = 2_GiB};

Result<void> receive(CountedFile& file, const FileClient::Source& source) {
  std::vector<char> buffer(256UL * 1024);
  while (const std::size_t got = GB_TRY(source(buffer))) {
    GB_TRY(file.write({buffer.data(), got}));
  }
  return {};
}

Error busy(const std::string& what) {
  return Error(ErrorCode::kExhausted, what, "try again in 10 seconds")
      .with_retry_after(std::chrono::seconds(10));
}

// What was kept for later builds is not part of what a template is.
std::string hash_of_parts(TemplateParts parts) {
  parts.cache.clear();
  return ContentHash().add(parts_json(parts).dump()).hex();
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

bool LocalTemplates::answer_base(int fd, const Result<BuildBase>& base) {
  const auto failure = [](const Error& error) {
    return keeper::pack({{"error", keeper::encode(error)}});
  };
  std::string text =
      base ? keeper::pack({{"parts", parts_json(base->parts)}}) : failure(base.error());
  if (text.size() > keeper::kMaxBase) {
    text = failure(Error(ErrorCode::kInvalid, "the template's settings are too large for a base"));
  }
  const auto size = static_cast<keeper::BaseSize>(text.size());
  std::string answer(reinterpret_cast<const char*>(&size), sizeof size);
  answer += text;
  return sys::write_all(fd, answer);
}

Result<LocalTemplates::Begun> LocalTemplates::begin(const Caller& caller,
                                                    const std::string& name,
                                                    const QuotaUse& use) {
  const std::string_view plain = without_tag(name);
  if (find_kind(plain) || plain == "host") {
    return Error(ErrorCode::kConflict, "'" + std::string(plain) + "' is a built-in template",
                 "choose another name");
  }
  std::shared_ptr<void> turn = GB_TRY(take_turn(caller));
  GB_TRY(pressure_.check());
  QuotaLease sandbox = GB_TRY(quotas_.reserve(caller.tenant, use));
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  return Begun{.turn = std::move(turn), .sandbox = std::move(sandbox), .budget = std::move(budget)};
}

Result<std::shared_ptr<void>> LocalTemplates::take_turn(const Caller& caller) {
  if (building_ >= kMostBuilds) {
    return busy("other templates are being built");
  }
  {
    const std::scoped_lock lock(turns_mutex_);
    int& under_way = turns_[caller.tenant];
    if (under_way >= kMostBuildsOfTenant) {
      return busy("the tenant is already building " + std::to_string(under_way) + " templates");
    }
    ++under_way;
  }
  return std::shared_ptr<void>(this, [this, tenant = caller.tenant](void*) {
    const std::scoped_lock lock(turns_mutex_);
    if (--turns_[tenant] == 0) {
      turns_.erase(tenant);
    }
  });
}

std::optional<bool> LocalTemplates::count_disk(int fd,
                                               const json& said,
                                               DiskBudget& budget,
                                               Result<void>& room) {
  const auto number = [](const json& bytes) {
    return bytes.is_number_unsigned() ? bytes.get<std::uint64_t>() : 0;
  };
  if (const auto bytes = said.find("give_back"); bytes != said.end()) {
    budget.give_back(number(*bytes));
    return true;
  }
  const auto bytes = said.find("spend");
  if (bytes == said.end()) {
    return std::nullopt;
  }
  room = budget.spend(number(*bytes));
  const char granted = room ? 1 : 0;
  return ::write(fd, &granted, 1) == 1;
}

Result<void> LocalTemplates::add_password(const Caller& caller, Recipe& recipe) {
  if (!recipe.login || recipe.login->secret.empty()) {
    return {};
  }
  SecretValues values = GB_TRY(secrets_.values(caller.tenant, {recipe.login->secret}, false));
  recipe.login->password = std::move(values[recipe.login->secret]);
  recipe.login->secret.clear();
  return {};
}

Result<json> LocalTemplates::make(const Caller& caller,
                                  const Recipe& recipe,
                                  DiskBudget& budget,
                                  const BuildSink& sink,
                                  std::vector<UniqueFd>& held,
                                  std::set<std::string>& policies) {
  std::vector<UniqueFd> opened;
  Recipe whole = recipe;
  GB_TRY(add_password(caller, whole));
  const BuildBase base = GB_TRY(base_of(caller, recipe.base));
  policies.insert(base.policies.begin(), base.policies.end());
  const json sent = GB_TRY(recipe_json(whole, opened));
  const json request = {{"tenant", caller.tenant},
                        {"recipe", sent},
                        {"base", parts_json(base.parts)},
                        {"public_only", network_ != NetworkPolicy::kAny}};
  const sys::Pipe grants = GB_TRY(sys::make_pipe());
  std::vector<int> handed = {grants.read.get()};
  for (const UniqueFd& fd : opened) {
    handed.push_back(fd.get());
  }
  Result<void> room;
  const auto on_event = [&](std::string_view event) {
    const json said = event.empty() ? json() : keeper::unpack(event);
    if (!said.is_object()) {
      return sink({});
    }
    if (const auto counted = count_disk(grants.write.get(), said, budget, room)) {
      return *counted;
    }
    if (const auto name = said.find("base"); name != said.end()) {
      const auto asked =
          base_of(caller, name->is_string() ? name->get<std::string>() : std::string());
      if (asked) {
        policies.insert(asked->policies.begin(), asked->policies.end());
      }
      return answer_base(grants.write.get(), asked);
    }
    const bool log = said.value("kind", 0) == static_cast<int>(BuildEvent::Kind::kLog);
    return sink({.kind = log ? BuildEvent::Kind::kLog : BuildEvent::Kind::kProgress,
                 .step = said.value("step", std::size_t{0}),
                 .steps = said.value("steps", std::size_t{0}),
                 .text = said.value("text", std::string())});
  };
  auto built = keeper_.call("build_template", request, on_event, &held, handed);
  if (!room) {
    return std::move(room).error();  // The builder's own error says less.
  }
  return built;
}

Result<TemplateBuilt> LocalTemplates::finish(const Caller& caller,
                                             const Recipe& recipe,
                                             const std::string& source,
                                             const BuildSink& sink,
                                             Begun begun) {
  const Counted builds(building_);
  if (builds.now() > kMostBuilds) {
    return busy("other templates are being built");
  }
  std::vector<UniqueFd> held;  // Until the record holds the pieces.
  std::set<std::string> policies(recipe.policies.begin(), recipe.policies.end());
  const json built = GB_TRY(make(caller, recipe, begun.budget, sink, held, policies));
  const auto made = to_parts(built.value("parts", json()));
  if (!made) {
    return Error(ErrorCode::kInternal, "the template builder sent a malformed answer");
  }
  std::uint64_t size = 0;
  const auto sizes = built.value("sizes", std::map<std::string, std::uint64_t>());
  for (const auto& [key, bytes] : sizes) {
    size += bytes;
  }
  // What came from elsewhere, or was there already, was not counted for this tenant.
  (void)std::move(begun.budget).settle(0);
  auto counted = GB_TRY(charge(caller.tenant, sizes));
  const json parts = parts_json(*made);
  const TemplateRecord record{
      .tenant = caller.tenant,
      .name = recipe.name,
      .source = source,
      .content_hash = hash_of_parts(*made),
      .made_from = recipe.brings_root() || recipe.dockerfile ? "" : recipe.base,
      .settings = json{{"parts", parts},
                       {"size", size},
                       {"sizes", sizes},
                       {"policies", policies},
                       {"build", recipe.build}}
                      .dump(),
      .created = std::chrono::time_point_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now())};
  GB_TRY(put(record, std::move(counted)));
  return TemplateBuilt{.info = GB_TRY(info_of(record)), .cached = built.value("cached", false)};
}

Result<TemplateBuilt> LocalTemplates::build(const Caller& caller,
                                            const Recipe& recipe,
                                            const BuildSink& sink) {
  GB_TRY(validate(recipe));
  GB_TRY(check_policy(recipe.network, network_));
  const std::string source = recipe.dockerfile         ? "dockerfile"
                             : recipe.debootstrap      ? "debootstrap"
                             : recipe.image            ? to_string(recipe.image->format)
                             : recipe.registry.empty() ? "recipe"
                                                       : "registry";
  const QuotaUse& use = recipe.dockerfile ? kDockerfileUse : kBuildUse;
  auto built = finish(caller, recipe, source, sink, GB_TRY(begin(caller, recipe.name, use)));
  // Removes a template that was replaced, and drafts.
  sweep();
  return built;
}

Result<TemplateBuilt> LocalTemplates::import(const Caller& caller,
                                             const std::string& name,
                                             ImageFormat format,
                                             const FileClient::Source& source,
                                             const BuildSink& sink) {
  GB_TRY(check_template_name(name));
  // Before the first byte: what there is no room for is not received.
  Begun begun = GB_TRY(begin(caller, name, kBuildUse));
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  CountedFile file =
      GB_TRY(CountedFile::create_nameless(directory_, std::move(budget), kMaxArchive));
  GB_TRY(receive(file, source));
  Recipe recipe;
  recipe.name = name;
  recipe.image = ImageFile{.format = format, .path = "/proc/self/fd/" + std::to_string(file.fd())};
  auto built = finish(caller, recipe, to_string(format), sink, std::move(begun));
  sweep();
  return built;
}

Result<void> LocalTemplates::export_archive(const Caller& caller,
                                            const std::string& name,
                                            const ArchiveSink& sink) {
  const TemplateInfo info = GB_TRY(find(caller, name));
  if (info.source == "snapshot") {
    return Error(ErrorCode::kUnsupported,
                 "'" + name + "' is a snapshot, not a template that was built",
                 "export the template that its sandbox was created from");
  }
  const auto turn = GB_TRY(take_turn(caller));
  const Counted builds(building_);
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  const sys::Pipe grants = GB_TRY(sys::make_pipe());
  Result<void> room;
  const auto on_event = [&](std::string_view event) {
    const json said = event.empty() ? json() : keeper::unpack(event);
    if (!said.is_object()) {
      return sink.take({});
    }
    if (const auto counted = count_disk(grants.write.get(), said, budget, room)) {
      return *counted;
    }
    if (const auto size = said.find("size"); size != said.end()) {
      return sink.begin(size->is_number_unsigned() ? size->get<std::uint64_t>() : 0);
    }
    const auto bytes = said.find("bytes");
    return bytes == said.end() || !bytes->is_string() ||
           sink.take(bytes->get_ref<const std::string&>());
  };
  const json request = {{"tenant", caller.tenant},
                        {"name", name},
                        {"parts", parts_json(info.parts)}};
  const std::array<int, 1> handed = {grants.read.get()};
  const auto done = keeper_.call("export_template", request, on_event, nullptr, handed);
  (void)std::move(budget).settle(0);
  if (!room) {
    return std::move(room).error();
  }
  return done ? Result<void>() : Result<void>(done.error());
}

Result<std::shared_ptr<const UniqueFd>> LocalTemplates::keep_files(
    const Caller& caller, const FileClient::Source& source) {
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  CountedFile file = GB_TRY(CountedFile::create_nameless(directory_, std::move(budget), kMaxFiles));
  GB_TRY(receive(file, source));
  auto kept = std::make_shared<std::pair<UniqueFd, QuotaLease>>(std::move(file).settle());
  return std::shared_ptr<const UniqueFd>(kept, &kept->first);
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

Result<void> LocalTemplates::keep_upload(const Caller& caller,
                                         const std::string& name,
                                         const FileClient::Source& source) {
  return uploads_.keep(caller.tenant, name, source);
}

Result<UniqueFd> LocalTemplates::open_upload(const Caller& caller, const std::string& name) {
  return uploads_.open(caller.tenant, name);
}

}  // namespace glovebox
