// SPDX-License-Identifier: Apache-2.0
// PrivateService: the service of a daemon, with its keeper in this process and for this process
// alone. Nothing of it remains afterwards.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/private_directory.h"
#include "service/api/sandbox_service.h"
#include "service/packages/package_index.h"

namespace glovebox {

namespace keeper {
class Keeper;
}  // namespace keeper
class LocalService;

class PrivateService {
 public:
  struct Options {
    std::vector<std::string> package_sources{};   // As `glovebox serve --package-source`.
    std::vector<PackageIndex> package_indexes{};  // As `glovebox serve --package-index`.
    NetworkPolicy network = NetworkPolicy::kNone;
  };

  // `log` outlives it. The caller must block signals that it wants to wait for before this call,
  // which starts threads.
  static Result<std::unique_ptr<PrivateService>> start(const Options& options, Log& log);
  PrivateService(const PrivateService&) = delete;
  PrivateService& operator=(const PrivateService&) = delete;
  ~PrivateService();  // Ends all sandboxes.

  [[nodiscard]] SandboxService& service();

 private:
  explicit PrivateService(PrivateDirectory directory);

  PrivateDirectory directory_;
  UniqueFd stop_;
  std::shared_ptr<keeper::Keeper> keeper_;
  std::thread server_;
  std::unique_ptr<LocalService> service_;  // Ends first.
};

}  // namespace glovebox
