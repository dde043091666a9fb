// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_images.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/open.h"
#include "volume/image_file.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How long a file server's sandbox waits for the next who asks.
constexpr auto kIdle = 5s;

Limits server_limits() {
  Limits limits;
  limits.memory = 128_MiB;
  limits.pids = 32;
  limits.disk = 64_MiB;  // Its /tmp.
  return limits;
}

}  // namespace

// An image that is mounted is found; one that is being given up is waited for by its lock.
Result<std::shared_ptr<MountedImage>> HeldImages::mounted(const std::string& image) {
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<MountedImage>& known = images_[image];
  if (auto found = known.lock()) {
    return found;
  }
  auto opened = MountedImage::open(image);
  if (!opened) {
    images_.erase(image);
    return std::move(opened).error();
  }
  known = opened.value();
  return opened;
}

Result<LentImages> HeldImages::lend(const std::vector<ImageOrder>& orders, SandboxSpec& spec) {
  LentImages lent;
  for (const ImageOrder& order : orders) {
    spec.attachments.push_back({.mount_fd = -1, .target = order.target});
  }
  // Before anything is mounted for it.
  GB_TRY(check_targets(spec.attachments, spec.home));
  GB_TRY(images_usable());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    auto image = GB_TRY(mounted(orders[i].image));
    lent.mounts.push_back(GB_TRY(image->mount(orders[i].read_only)));
    lent.images.push_back(std::move(image));
    spec.attachments[i].mount_fd = lent.mounts.back().get();
  }
  return lent;
}

Result<void> HeldImages::copy(const std::string& image, const std::string& to) {
  std::shared_ptr<MountedImage> known;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = images_.find(image); found != images_.end()) {
      known = found->second.lock();
    }
  }
  if (known) {
    return known->copy(to);
  }
  // Nobody's now; mounted all the same, so that nobody else changes it meanwhile, and so that what
  // a loss of power left is put in order once.
  return GB_TRY(mounted(image))->copy(to);
}

Result<void> HeldImages::remove(const std::string& image) {
  std::shared_ptr<Server> ended;  // Removed after the lock.
  const std::scoped_lock lock(mutex_);
  if (const auto found = servers_.find(image); found != servers_.end()) {
    ended = std::move(found->second);
    servers_.erase(found);
  }
  if (const auto found = images_.find(image); found != images_.end()) {
    const auto users = found->second.use_count();
    const auto of_server = ended && !ended->lent.images.empty() ? 1 : 0;
    if (users > of_server) {
      return Error(ErrorCode::kConflict, "a sandbox uses it", "end that sandbox first");
    }
    images_.erase(found);
  }
  if (::unlink(image.c_str()) != 0 && errno != ENOENT) {
    return Error::from_errno("remove " + image);
  }
  return {};
}

Result<std::shared_ptr<HeldImages::Server>> HeldImages::start_server(LentImages lent,
                                                                     const SandboxSpec& spec) {
  auto made = std::make_shared<Server>();
  made->sandbox = GB_TRY(Sandbox::create(spec, {.exactly = "native", .at_least = {}}));
  made->lent = std::move(lent);
  made->lent.mounts.clear();
  return made;
}

Result<std::shared_ptr<HeldImages::Server>> HeldImages::server(const std::string& image) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = servers_.find(image);
    if (found != servers_.end() && found->second->sandbox->alive()) {
      return found->second;
    }
  }
  SandboxSpec spec;
  spec.limits = server_limits();
  spec.mounts.push_back(GB_TRY(file_server_mount()));
  LentImages lent =
      GB_TRY(lend({{.image = image, .target = std::string(kWorkspace), .read_only = false}}, spec));
  auto made = GB_TRY(start_server(std::move(lent), spec));
  const std::scoped_lock lock(mutex_);
  // Of two that were made at once, both work; the last one stays.
  servers_[image] = made;
  return made;
}

Result<UniqueFd> HeldImages::serve_files(const std::string& image) {
  const auto found = GB_TRY(server(image));
  {
    const std::scoped_lock lock(found->mutex);
    found->used = std::chrono::steady_clock::now();
  }
  return open_file_server(*found->sandbox);
}

void HeldImages::end_idle() {
  std::vector<std::shared_ptr<Server>> ended;  // Removed after the lock.
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  for (auto next = servers_.begin(); next != servers_.end();) {
    const auto current = next++;
    const std::scoped_lock server_lock(current->second->mutex);
    // Besides the warden, nothing is there but servers that somebody speaks to.
    const Sandbox& sandbox = *current->second->sandbox;
    if (!sandbox.alive() ||
        (now - current->second->used > kIdle && sandbox.cgroup().pids_now().value_or(0) <= 1)) {
      ended.push_back(current->second);
    }
  }
  for (const auto& server : ended) {
    std::erase_if(servers_, [&](const auto& known) { return known.second == server; });
  }
  std::erase_if(images_, [](const auto& known) { return known.second.expired(); });
}

}  // namespace glovebox::keeper
