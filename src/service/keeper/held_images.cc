// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_images.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/sys/tree.h"
#include "files/open.h"
#include "volume/image_file.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How long a file server's sandbox waits for the next request.
constexpr auto kIdle = 5s;
// How long to wait for others that open or remove the same image.
constexpr auto kPatience = 30s;
// How long a sandbox that is being ended has to give up its images.
constexpr auto kReturn = 10s;

// On a root guest's image: whether a sandbox has lived with it. Guests cannot set it (xattr(7),
// trusted attributes).
constexpr const char* kRootMark = "trusted.glovebox.root";
constexpr std::string_view kNewRoot = "new";
constexpr std::string_view kMadeRoot = "made";

enum class RootState { kNone, kFresh, kMade };

Result<void> mark(const MountedImage& image, std::string_view how) {
  if (::fsetxattr(image.root_fd(), kRootMark, how.data(), how.size(), 0) != 0) {
    return Error::from_errno("mark a disk image as one with a root");
  }
  return {};
}

// At most kMost: a guest may have made millions.
std::vector<std::string> some_entries(int directory) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::string> names;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  for (const dirent* entry = nullptr;
       entries && names.size() < kMost && (entry = ::readdir(entries.get())) != nullptr;) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

// A sandbox that never came to life may have left directories of ours, half made.
Result<void> begin_root(const MountedImage& image) {
  GB_TRY(mark(image, kNewRoot));
  for (const std::string& name : some_entries(image.root_fd())) {
    GB_TRY(sys::remove_tree_at(image.root_fd(), name));
  }
  return {};
}

// An image that nobody has written to can become one with a root.
Result<RootState> state_of(const MountedImage& image) {
  std::array<char, 8> text{};
  const ssize_t size = ::fgetxattr(image.root_fd(), kRootMark, text.data(), text.size());
  if (size < 0 && errno != ENODATA) {
    return Error::from_errno("look for a root in a disk image");
  }
  const std::string_view how(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (how == kMadeRoot) {
    return RootState::kMade;
  }
  return how == kNewRoot || some_entries(image.root_fd()).empty() ? RootState::kFresh
                                                                  : RootState::kNone;
}

// Whether a policy closes or hides places in what the sandbox has at `target`.
bool has_pins_in(const std::string& target, const SandboxSpec& spec) {
  const auto is_in = [&, top = target + "/"](const std::string& place) {
    const std::string path = spec.home + "/" + place;
    return path.starts_with(top) && path.size() > top.size();
  };
  return std::ranges::any_of(spec.rules.write.closed, is_in) ||
         std::ranges::any_of(spec.rules.read.closed, is_in);
}

Limits server_limits() {
  Limits limits;
  limits.memory = 128_MiB;
  limits.pids = 32;
  limits.disk = 64_MiB;  // Its /tmp.
  return limits;
}

}  // namespace

Result<void> HeldImages::note_root(const LentImages& lent) {
  return lent.new_root ? mark(*lent.new_root, kMadeRoot) : Result<void>();
}

std::shared_ptr<MountedImage> HeldImages::known(const std::string& image) {
  const std::scoped_lock lock(mutex_);
  const auto found = images_.find(image);
  return found == images_.end() ? nullptr : found->second.lock();
}

// Only one thread at a time opens or removes an image; those that want another do not wait.
Result<NamedLocks::Held> HeldImages::reserve(const std::string& image) {
  auto held = named_.take(image, kPatience);
  if (!held) {
    return Error(ErrorCode::kConflict, "the disk image is being opened or removed",
                 "try again in a moment");
  }
  return *std::move(held);
}

// If the image is still being given up, the lock of its file makes this wait.
Result<std::shared_ptr<MountedImage>> HeldImages::mounted(const std::string& image) {
  const auto held = GB_TRY(reserve(image));
  if (auto found = known(image)) {
    return found;
  }
  auto opened = GB_TRY(pool_.open(image));
  MountedImage* const raw = opened.get();
  std::shared_ptr<MountedImage> shared(
      raw, [owner = std::move(opened), returns = returns_](MountedImage*) mutable {
        owner.reset();
        { const std::scoped_lock lock(returns->mutex); }  // Nobody is between looking and waiting.
        returns->returned.notify_all();
      });
  const std::scoped_lock lock(mutex_);
  images_[image] = shared;
  return shared;
}

bool HeldImages::User::is_living() const {
  const auto is_ending = ending.lock();
  return is_ending != nullptr && !*is_ending;
}

Result<void> HeldImages::admit(const std::string& image, const User& user) {
  const auto [first, last] = users_.equal_range(image);
  for (auto other = first; other != last; ++other) {
    if (!other->second.is_living()) {
      continue;
    }
    if (user.has_pins && other->second.writes) {
      return Error(
          ErrorCode::kConflict,
          "the policy closes or hides files in a volume to which another sandbox can write",
          "end that sandbox, or give it the volume read-only");
    }
    if (user.writes && other->second.has_pins) {
      return Error(ErrorCode::kConflict,
                   "the policy of another sandbox closes or hides files in this volume",
                   "mount the volume read-only, or end that sandbox");
    }
  }
  users_.emplace(image, user);
  return {};
}

Result<LentImages> HeldImages::lend(const std::vector<ImageOrder>& orders, SandboxSpec& spec) {
  LentImages lent;
  for (const ImageOrder& order : orders) {
    spec.attachments.push_back({.mount_fd = -1, .target = order.target});
  }
  std::optional<std::size_t> root;
  // Before anything is mounted for it.
  GB_TRY(check_targets(spec.attachments, spec.home));
  GB_TRY(images_usable());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const User user{.ending = lent.ending,
                    .writes = !orders[i].read_only,
                    .has_pins = has_pins_in(orders[i].target, spec)};
    if (user.has_pins) {
      end_server(orders[i].image);
    }
    {
      const std::scoped_lock lock(mutex_);
      GB_TRY(admit(orders[i].image, user));
    }
    auto image = GB_TRY(mounted(orders[i].image));
    using enum MountedImage::Access;
    auto access = orders[i].read_only ? kRead : kWrite;
    if (orders[i].target == spec.home) {
      const RootState state = GB_TRY(state_of(*image));
      if (state == RootState::kMade && !spec.as_root) {
        return Error(ErrorCode::kInvalid, "the snapshot holds a root file system that was changed",
                     "create the sandbox with user 'root'");
      }
      if (spec.as_root && state == RootState::kFresh) {
        GB_TRY(begin_root(*image));
      }
      if (spec.as_root && state != RootState::kNone) {
        access = kWriteWithSetUserId;
        spec.root_disk = {.fresh = state == RootState::kFresh};
        lent.new_root = state == RootState::kFresh ? image : nullptr;
        root = i;
      }
    }
    lent.mounts.push_back(GB_TRY(image->mount(access)));
    lent.images.push_back(std::move(image));
    spec.attachments[i].mount_fd = lent.mounts.back().get();
  }
  if (root) {
    spec.root_disk->mount_fd = spec.attachments[*root].mount_fd;
    spec.attachments.erase(spec.attachments.begin() + static_cast<std::ptrdiff_t>(*root));
  }
  return lent;
}

Result<void> HeldImages::copy(const std::string& image, const std::string& to) {
  if (const auto in_use = known(image)) {
    return pool_.copy(image, to, in_use.get());
  }
  // Nobody uses it now. It is mounted all the same, so that nobody changes it meanwhile, and so
  // that what a loss of power left is put in order once.
  const auto opened = GB_TRY(mounted(image));
  return pool_.copy(image, to, opened.get());
}

void HeldImages::end_server(const std::string& image) {
  std::shared_ptr<Server> ended;  // Goes after the lock.
  const std::scoped_lock lock(mutex_);
  if (const auto found = servers_.find(image); found != servers_.end()) {
    ended = std::move(found->second);
    *ended->lent.ending = true;
    servers_.erase(found);
  }
}

bool HeldImages::in_use(const std::string& image) const {
  const auto found = images_.find(image);
  return found != images_.end() && !found->second.expired();
}

bool HeldImages::has_living_user(const std::string& image) const {
  const auto [first, last] = users_.equal_range(image);
  return std::any_of(first, last, [](const auto& user) { return user.second.is_living(); });
}

Result<void> HeldImages::remove(const std::string& image) {
  const auto held = GB_TRY(reserve(image));
  end_server(image);
  {
    std::unique_lock lock(mutex_);
    (void)returns_->returned.wait_for(lock, kReturn,
                                      [&] { return !in_use(image) || has_living_user(image); });
    if (in_use(image)) {
      return Error(ErrorCode::kConflict, "a sandbox is using it", "end that sandbox first");
    }
    images_.erase(image);
  }
  return pool_.remove(image);
}

Result<std::shared_ptr<HeldImages::Server>> HeldImages::start_server(LentImages lent,
                                                                     const SandboxSpec& spec) {
  auto made = std::make_shared<Server>();
  made->sandbox = GB_TRY(Sandbox::create(spec, tier_that(&TierTraits::can_place_mounts)));
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
  // If two were made at once, both work; the last one stays.
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

std::vector<std::shared_ptr<void>> HeldImages::take_idle() {
  std::vector<std::shared_ptr<void>> idle;
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  for (auto next = servers_.begin(); next != servers_.end();) {
    const auto current = next++;
    const std::scoped_lock server_lock(current->second->mutex);
    // Besides the warden, nothing is there but servers that somebody speaks to.
    const Sandbox& sandbox = *current->second->sandbox;
    if (!sandbox.alive() ||
        (now - current->second->used > kIdle && sandbox.meter().pids_now().value_or(0) <= 1)) {
      idle.push_back(current->second);
      servers_.erase(current);
    }
  }
  std::erase_if(images_, [](const auto& known) { return known.second.expired(); });
  std::erase_if(users_, [](const auto& user) { return user.second.ending.expired(); });
  return idle;
}

}  // namespace glovebox::keeper
