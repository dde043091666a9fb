// SPDX-License-Identifier: Apache-2.0
#include "service/templates/package_step.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/digest/digest.h"
#include "service/packages/package_install.h"
#include "service/packages/package_source.h"
#include "service/packages/package_tools.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kPackagesFormat = 1;

// A root is known by its key; for the host's, an upgrade of the interpreter makes it another one.
void add_interpreter(ContentHash& hash, const std::string& root, PackageManager manager) {
  hash.add(root);
  if (!root.empty()) {
    return;
  }
  std::array<char, PATH_MAX> real{};
  struct stat status {};
  const char* const path = manager == PackageManager::kPip ? "/usr/bin/python3" : "/usr/bin/node";
  if (::realpath(path, real.data()) != nullptr && ::stat(real.data(), &status) == 0) {
    hash.add(real.data())
        .add(static_cast<std::uint64_t>(status.st_size))
        .add(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  }
}

class Installer {
 public:
  Installer(const TemplateParts& parts,
            const ContentStore& store,
            std::vector<PackageSource> sources,
            int cancel_fd)
      : parts_(parts), store_(store), sources_(std::move(sources)), cancel_fd_(cancel_fd) {}

  Result<PackageContent> install(PackageManager manager,
                                 const std::vector<PackageRequest>& requests) const {
    const std::string key = GB_TRY(key_of(manager, requests));
    if (auto there = store_.find(key)) {
      return PackageContent{.manager = manager, .content = *std::move(there), .cached = true};
    }
    const LayerStore tools_store = GB_TRY(LayerStore::open_default());
    const Layer tools = GB_TRY(tools_layer(tools_store));
    ContentDraft draft = GB_TRY(store_.begin());
    const std::string files = draft.path() + "/files";
    if (::mkdir(files.c_str(), 0755) != 0) {
      return Error::from_errno("create " + files);
    }
    const PackageInstall order{
        .manager = manager,
        .requests = requests,
        .sources = source_mounts(sources_),
        .tools = {.source = tools.files(), .target = kToolsTarget},
        .cancel_fd = cancel_fd_,
        .root = parts_.root.empty() ? std::string() : store_.path_of(parts_.root) + "/root"};
    GB_TRY(install_packages(order, files));
    auto content = GB_TRY(store_.commit(std::move(draft), key));
    return PackageContent{.manager = manager, .content = std::move(content), .cached = false};
  }

 private:
  [[nodiscard]] Result<std::string> key_of(PackageManager manager,
                                           const std::vector<PackageRequest>& requests) const {
    ContentHash hash;
    hash.add("packages").add(kPackagesFormat).add(to_string(manager));
    add_interpreter(hash, parts_.root, manager);
    for (const PackageRequest& request : requests) {
      hash.add(request.specifier());
    }
    for (const PackageSource& source : sources_) {
      for (const PackageFile& file : GB_TRY(source.files(manager, store_.memory()))) {
        hash.add(file.name).add(file.size).add(file.hash);
      }
    }
    return hash.hex();
  }

  const TemplateParts& parts_;
  const ContentStore& store_;
  const std::vector<PackageSource> sources_;
  const int cancel_fd_;
};

}  // namespace

Result<std::vector<PackageContent>> install_for_template(const Recipe& recipe,
                                                         const TemplateParts& parts,
                                                         const ContentStore& store,
                                                         BuildMonitor& monitor) {
  monitor.progress("install packages");
  const std::vector<PackageRequest> all = GB_TRY(parse_packages(recipe.packages));
  std::vector<PackageSource> sources;
  for (const std::string& path : recipe.package_sources) {
    sources.push_back(GB_TRY(PackageSource::open(path)));
  }
  const Installer installer(parts, store, std::move(sources), monitor.cancel_fd());
  std::vector<PackageContent> made;
  for (const PackageManager manager : {PackageManager::kPip, PackageManager::kNpm}) {
    std::vector<PackageRequest> requests;
    std::ranges::copy_if(all, std::back_inserter(requests),
                         [manager](const auto& each) { return each.manager == manager; });
    if (!requests.empty()) {
      made.push_back(GB_TRY(installer.install(manager, requests)));
    }
  }
  return made;
}

}  // namespace glovebox
