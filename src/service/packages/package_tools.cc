// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_tools.h"

#include <sys/stat.h>

#include <fstream>
#include <string_view>

#include "base/digest/digest.h"
#include "service/packages/npm_local.h"

namespace glovebox {

std::vector<Mount> source_mounts(const std::vector<PackageSource>& sources) {
  std::vector<Mount> mounts;
  for (const PackageSource& source : sources) {
    const std::string number = std::to_string(mounts.size() + 1);
    mounts.push_back(
        {.source = source.path(), .target = std::string(kPackagesTarget) + "/" + number});
  }
  return mounts;
}

std::string source_path(const std::vector<Mount>& sources) {
  std::string path;
  for (const Mount& source : sources) {
    path += (path.empty() ? "" : ":") + source.target;
  }
  return path;
}

Result<Layer> tools_layer(const LayerStore& store) {
  const std::string key = "tools-" + ContentHash().add(npm_local_text()).hex();
  if (auto layer = GB_TRY(store.find(key))) {
    return std::move(*layer);
  }
  LayerDraft draft = GB_TRY(store.begin());
  const std::string npm = draft.files() + "/npm";
  std::ofstream file(npm);
  file << npm_local_text();
  file.close();
  if (!file || ::chmod(npm.c_str(), 0755) != 0) {
    return Error::from_errno("write " + npm);
  }
  return store.commit(std::move(draft), key);
}

}  // namespace glovebox
