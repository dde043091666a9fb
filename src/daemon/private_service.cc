// SPDX-License-Identifier: Apache-2.0
#include "daemon/private_service.h"

#include <malloc.h>
#include <sys/eventfd.h>

#include <csignal>
#include <utility>

#include "daemon/descriptor_limit.h"
#include "daemon/keeper_process.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/slot.h"
#include "service/keeper/keeper.h"
#include "service/keeper/server.h"
#include "service/local/local_service.h"

namespace glovebox {

PrivateService::PrivateService(PrivateDirectory directory) : directory_(std::move(directory)) {}

Result<std::unique_ptr<PrivateService>> PrivateService::start(const Options& options, Log& log) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  // Large bodies go back to the system as soon as they are freed, in whatever order.
  (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  (void)raise_descriptor_limit();
  (void)cgroup_host();
  (void)sweep_leftovers();
  std::unique_ptr<PrivateService> made(new PrivateService(GB_TRY(PrivateDirectory::make())));
  const std::string& directory = made->directory_.path();
  made->stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->stop_) {
    return Error::from_errno("create an eventfd");
  }
  UniqueFd socket = GB_TRY(listen_as_keeper(directory));
  made->keeper_ = GB_TRY(keeper::Keeper::start(
      {.directory = directory, .least_ready = 1, .most_ready = 4, .daemon = {}, .stays = true}));
  made->server_ = std::thread(
      [keeper = made->keeper_, fd = std::move(socket), stop = made->stop_.get()]() mutable {
        (void)keeper::serve(keeper, std::move(fd), stop);
      });
  made->service_ = GB_TRY(LocalService::open(directory, keeper_socket(directory),
                                             [] { return Result<void>(); }, log,
                                             {.package_sources = options.package_sources,
                                              .package_indexes = options.package_indexes,
                                              .keeping = Keeping::kUntilEnd,
                                              .network = options.network,
                                              .warm = {"default"}}));
  return made;
}

PrivateService::~PrivateService() {
  service_.reset();
  if (server_.joinable()) {
    (void)::eventfd_write(stop_.get(), 1);
    server_.join();
  }
}

SandboxService& PrivateService::service() { return *service_; }

}  // namespace glovebox
