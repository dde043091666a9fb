// SPDX-License-Identifier: Apache-2.0
// What a client sends after kWrite and kUnpack: pieces, until it ends or aborts.
#pragma once

#include <string_view>

#include "base/result.h"
#include "files/server/channel.h"

namespace glovebox::files {

class Upload {
 public:
  explicit Upload(Channel& channel) : channel_(&channel) {}

  // The next piece, valid until the next call; empty at the end. Fails when the client aborts.
  Result<std::string_view> next();

  // Whether nobody waits for the outcome any more.
  [[nodiscard]] bool is_abandoned() const { return channel_->is_gone(); }

  // Skips the rest, so that the next frame is a request.
  Result<void> drain();

 private:
  Channel* channel_;
  bool over_ = false;
};

}  // namespace glovebox::files
