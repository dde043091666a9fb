// SPDX-License-Identifier: Apache-2.0
#include "daemon/private_service.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/sys/tree.h"
#include "daemon/descriptor_limit.h"
#include "daemon/directory_lock.h"
#include "daemon/keeper_process.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/slot.h"
#include "service/keeper/keeper.h"
#include "service/keeper/server.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

constexpr std::string_view kPrefix = "glovebox-private-";
constexpr std::string_view kPrivateRole = "private";
// One that is younger may not be locked yet.
constexpr std::chrono::seconds kYoung{60};

std::string parent_directory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named != '/' ? "/tmp" : named;
}

// Of processes that were killed.
void sweep_directories(const std::string& parent) {
  DIR* const entries = ::opendir(parent.c_str());
  if (entries == nullptr) {
    return;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string path = parent + "/" + entry->d_name;
    struct stat status {};
    if (!std::string_view(entry->d_name).starts_with(kPrefix) ||
        ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::geteuid() || ::time(nullptr) - status.st_mtime < kYoung.count()) {
      continue;
    }
    if (const auto lock = lock_directory(path, kPrivateRole, {})) {
      (void)sys::remove_tree(path);
    }
  }
  (void)::closedir(entries);
}

}  // namespace

PrivateService::Directory::~Directory() {
  if (!path_.empty()) {
    (void)sys::remove_tree(path_);
  }
}

Result<PrivateService::Directory> PrivateService::make_directory() {
  const std::string parent = parent_directory();
  sweep_directories(parent);
  std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error::from_errno("create a directory in " + parent)
        .with_hint("set TMPDIR to a directory that can be written");
  }
  return Directory(std::move(path));
}

PrivateService::PrivateService(Directory directory) : directory_(std::move(directory)) {}

Result<std::unique_ptr<PrivateService>> PrivateService::start(const Options& options, Log& log) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  // Large bodies go back to the system as soon as they are done with, in whatever order.
  (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  (void)raise_descriptor_limit();
  (void)cgroup_host();
  (void)sweep_leftovers();
  std::unique_ptr<PrivateService> made(new PrivateService(GB_TRY(make_directory())));
  const std::string& directory = made->directory_.path();
  made->lock_ = GB_TRY(lock_directory(directory, kPrivateRole, {}));
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
