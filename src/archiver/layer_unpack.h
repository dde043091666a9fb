// SPDX-License-Identifier: Apache-2.0
// Unpacking the layers of container images, over libarchive.
//
// Layers come from anybody: names may climb, links may lead anywhere, sizes may lie. Every name is
// resolved by the kernel as if the directory were the root of the file system (openat2(2),
// RESOLVE_IN_ROOT), so that a layer that writes through a link of the layer below reaches what it
// means, and nothing outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace glovebox {

struct UnpackBounds {
  std::uint64_t bytes = 8ULL << 30;  // Of content, over all layers.
  std::size_t entries = 500'000;     // Over all layers.
};

// One root that layers are unpacked into, one after the other. Nobody else may change it meanwhile.
class LayerUnpacker {
 public:
  // `root_fd` stays the caller's. `wanted` is called now and then; false ends it with kUnavailable.
  LayerUnpacker(int root_fd, UnpackBounds bounds, std::function<bool()> wanted)
      : root_fd_(root_fd), left_(bounds), wanted_(std::move(wanted)) {}

  // Unpacks a tar (plain, gzip or zstd) from a descriptor that can seek, with whiteouts (OCI image
  // specification, "Layer Filesystem Changeset"). We own every file, everybody may read it, and
  // none is set-uid. Devices, FIFOs and sockets are left out.
  Result<void> unpack(int layer_fd);

  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  // What later layers may still have.
  [[nodiscard]] const UnpackBounds& left() const { return left_; }

 private:
  friend class LayerPass;

  const int root_fd_;
  UnpackBounds left_;
  const std::function<bool()> wanted_;
  std::size_t left_out_ = 0;
};

}  // namespace glovebox
