// SPDX-License-Identifier: Apache-2.0
// SystemLayer: what a root guest is shown of the host's configuration, as directories on the host
// that every sandbox has as a lower layer.
//
// They are copies of what everybody may read, and take part in nothing else: nothing that the host
// keeps in /etc later appears in a sandbox that lives. They are made once, and anew once one of the
// files or directories that they were made from is not what it was.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

class SystemLayer {
 public:
  // None, to be assigned to.
  SystemLayer() = default;

  // The one that there is, or a new one. It stays as it is until this object is gone; what nobody
  // holds any more goes with the next one that is made. Fails as open_runtime_directory() does.
  static Result<SystemLayer> take();

  // What is in /etc.
  [[nodiscard]] std::string etc() const { return path_ + "/etc"; }
  // The first directories of /usr/local, empty: who has them owns them.
  [[nodiscard]] std::string local() const { return path_ + "/local"; }

 private:
  SystemLayer(UniqueFd lock, std::string path) : lock_(std::move(lock)), path_(std::move(path)) {}
  static Result<SystemLayer> make(const std::string& place);

  UniqueFd lock_;
  std::string path_;
};

}  // namespace glovebox
