// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_packages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "service/local/local_service.h"
#include "service/packages/package_request.h"
#include "service/packages/package_tools.h"

namespace glovebox {
namespace {

// An installation takes longer than most code; a client may still say otherwise.
constexpr std::chrono::minutes kPatience{5};

// `python3` is the one that contexts run, also in the root of a template. Modules in the workspace
// must not replace those of pip (PYTHONSAFEPATH, Python 3.11).
constexpr std::string_view kPip =
    "PYTHONSAFEPATH=1 python3 -m pip install --no-input --no-color --progress-bar off --";
constexpr std::string_view kNpm = "npm install --no-progress --color=false --loglevel=error --";

// The characters of a request are letters, digits and a few marks, none of them a quote.
void add_step(std::string& script,
              std::string_view command,
              PackageManager manager,
              const std::vector<PackageRequest>& requests) {
  std::string words;
  for (const PackageRequest& request : requests) {
    if (request.manager == manager) {
      words += " '" + request.specifier() + "'";
    }
  }
  if (!words.empty()) {
    script += " && " + std::string(command) + words;
  }
}

// Removes a context again, however its use ends.
template <typename Remove>
class AtEnd {
 public:
  explicit AtEnd(Remove remove) : remove_(std::move(remove)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { remove_(); }

 private:
  Remove remove_;
};

}  // namespace

Result<LocalPackages> LocalPackages::open(const std::vector<std::string>& sources,
                                          const std::vector<PackageIndex>& indexes) {
  LocalPackages packages;
  packages.offered_ = GB_TRY(offer_packages(sources, indexes));
  packages.indexes_ = indexes;
  packages.has_directories_ = !sources.empty();
  return packages;
}

bool LocalPackages::offers(PackageManager manager) const {
  return has_directories_ ||
         std::ranges::find(indexes_, manager, &PackageIndex::manager) != indexes_.end();
}

void LocalPackages::add_to(keeper::CreateOrder& order) const {
  if (!has_directories_ && indexes_.empty()) {
    return;
  }
  order.indexes = indexes_;
  SandboxSpec spec;
  spec.env = std::move(order.env);
  offered_.add_to(spec);
  order.env = std::move(spec.env);
  for (Mount& mount : spec.mounts) {
    mount.optional = true;
    order.shows.mounts.push_back(std::move(mount));
  }
}

Result<std::string> LocalPackages::script(const std::vector<std::string>& names) const {
  const std::vector<PackageRequest> requests = GB_TRY(parse_packages(names));
  if (requests.empty()) {
    return Error(ErrorCode::kInvalid, "no packages given",
                 "use pip:NAME, pip:NAME==VERSION, npm:NAME or npm:NAME@VERSION");
  }
  for (const PackageRequest& request : requests) {
    if (!offers(request.manager)) {
      return Error(
          ErrorCode::kUnsupported,
          "this daemon has no package source for " + std::string(to_string(request.manager)),
          "ask its operator to add a directory of wheels or npm tarballs: "
          "glovebox serve --package-source DIR");
    }
  }
  std::string script = "{ [[ -d " + std::string(kPackagesTarget) + " || -d " +
                       std::string(kIndexesTarget) +
                       " ]] || { echo 'this sandbox was created before the daemon had a package "
                       "source; create a new sandbox' >&2; false; }; }";
  add_step(script, kPip, PackageManager::kPip, requests);
  add_step(script, kNpm, PackageManager::kNpm, requests);
  return script;
}

// In a shell of its own, as an execution like any other: with its limits, events and verdict.
Result<void> LocalService::install_packages(const Caller& caller,
                                            std::string_view sandbox,
                                            const PackagesRequest& request,
                                            const EventSink& sink) {
  const SandboxInfo info = GB_TRY(awake(caller, sandbox));
  ExecuteRequest execution;
  execution.code = GB_TRY(packages_.script(request.packages));
  execution.limits = request.limits;
  execution.limits.wall = request.limits.wall.value_or(kPatience);
  if (!traits_of(info.tier).can_place_mounts) {
    return Error(ErrorCode::kUnsupported,
                 "sandboxes of the " + info.tier + " tier cannot access the daemon's packages",
                 "create a sandbox with the native tier");
  }
  const ContextInfo shell =
      GB_TRY(create_context(caller, sandbox, {.language = "bash", .cwd = {}, .env = {}}));
  const AtEnd removal([&] { (void)delete_context(caller, sandbox, shell.id); });
  return execute(caller, sandbox, shell.id, execution, sink);
}

}  // namespace glovebox
