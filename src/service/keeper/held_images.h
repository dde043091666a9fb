// SPDX-License-Identifier: Apache-2.0
// HeldImages: the disk images that living sandboxes use: workspaces on disk, and volumes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/named_locks.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "volume/image_pool.h"
#include "volume/mounted_image.h"

namespace glovebox::keeper {

// An image to give to a sandbox.
struct ImageOrder {
  std::string image;   // The path of its file outside.
  std::string target;  // Where it is inside; the sandbox's home for its workspace.
  bool read_only = false;
};

// Mounts of images, for one sandbox. Keep them until it has ended.
struct LentImages {
  std::vector<std::shared_ptr<MountedImage>> images;
  std::vector<UniqueFd> mounts;  // Needed until the sandbox is made.
  std::string workspace;         // The one that is the sandbox's own; empty: none.
  // The image that also holds the sandbox's root, if that must still be marked as made.
  std::shared_ptr<MountedImage> new_root;
  // Set it when the sandbox is being ended: removing an image then waits for its return instead of
  // being refused.
  std::shared_ptr<std::atomic<bool>> ending = std::make_shared<std::atomic<bool>>(false);
};

// Safe to use from several threads. An image is mounted once however many sandboxes have it, and
// given up when the last of them has ended.
class HeldImages {
 public:
  // The images of a data directory.
  explicit HeldImages(std::string directory) : pool_(std::move(directory)) {}

  // Makes a new image without any file.
  Result<void> make(const std::string& image, const ImageShape& shape) {
    return pool_.make(image, shape);
  }

  // Adds the images to the sandbox's spec. For a root guest, the image at its home also holds what
  // it writes to its root, unless the image began without a root. kInvalid if an image holds a root
  // and the guest is not root. kConflict if a policy closes or hides places in an image that
  // another sandbox can write to: replacing such a place takes away what is mounted there in every
  // other sandbox.
  Result<LentImages> lend(const std::vector<ImageOrder>& orders, SandboxSpec& spec);

  // Notes that a sandbox with these lives, so that the next one continues with the root in them.
  static Result<void> note_root(const LentImages& lent);

  // Copies its present state, whether it is in use or not.
  Result<void> copy(const std::string& image, const std::string& to);
  // The same for an image that nobody uses or will use.
  Result<void> copy_idle(const std::string& image, const std::string& to) {
    return pool_.copy(image, to, nullptr);
  }

  // As ImagePool's.
  Result<bool> shares_copies(const std::string& image) { return pool_.shares_copies(image); }

  // Removes the file. kConflict when a sandbox has it; waits some seconds for one that is ending.
  Result<void> remove(const std::string& image);
  // The same, even if somebody has it; nobody else can get it any more.
  Result<void> discard(const std::string& image) { return pool_.remove(image); }

  // A socket to a file server that sees the image as its workspace (files/open.h). It is in a
  // sandbox of its own, which is kept a while for the next caller.
  Result<UniqueFd> serve_files(const std::string& image);

  // Takes out the file servers that were not used lately. They end with their last owner, which may
  // take a while. To be called regularly; never waits.
  std::vector<std::shared_ptr<void>> take_idle();

 private:
  // A sandbox for nothing but the files of one image.
  struct Server {
    LentImages lent;
    std::unique_ptr<Sandbox> sandbox;  // Goes before what it was lent.
    std::mutex mutex;                  // Of `used`.
    std::chrono::steady_clock::time_point used;
  };

  // A sandbox that has an image.
  struct User {
    std::weak_ptr<const std::atomic<bool>> ending;
    bool writes = false;
    bool has_pins = false;  // A policy closes or hides places in the image.
    [[nodiscard]] bool is_living() const;
  };

  // Shared with the users of images, who may outlive us.
  struct Returns {
    std::mutex mutex;  // Held for a moment only.
    std::condition_variable returned;
  };

  Result<NamedLocks::Held> reserve(const std::string& image);
  // Ends the file server of the image, if there is one.
  void end_server(const std::string& image);
  // Require the mutex.
  [[nodiscard]] bool in_use(const std::string& image) const;
  [[nodiscard]] bool has_living_user(const std::string& image) const;
  Result<void> admit(const std::string& image, const User& user);
  // These lock it.
  std::shared_ptr<MountedImage> known(const std::string& image);
  Result<std::shared_ptr<MountedImage>> mounted(const std::string& image);
  Result<std::shared_ptr<Server>> server(const std::string& image);
  static Result<std::shared_ptr<Server>> start_server(LentImages lent, const SandboxSpec& spec);

  ImagePool pool_;
  NamedLocks named_;  // By image, taken before the mutex.
  const std::shared_ptr<Returns> returns_ = std::make_shared<Returns>();
  std::mutex& mutex_ = returns_->mutex;  // Of what follows.
  std::map<std::string, std::weak_ptr<MountedImage>> images_;
  std::multimap<std::string, User> users_;
  std::map<std::string, std::shared_ptr<Server>> servers_;
};

}  // namespace glovebox::keeper
