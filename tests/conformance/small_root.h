// SPDX-License-Identifier: Apache-2.0
// A small root file system, made of a few programs of the host.
#pragma once

#include <string>

namespace glovebox::conformance {

// A directory of its own that is removed with this, with a root in it that holds bash, ls, cat and
// id with their libraries. prepare_foreign_root() has not been there yet.
class SmallRoot {
 public:
  SmallRoot();
  SmallRoot(const SmallRoot&) = delete;
  SmallRoot& operator=(const SmallRoot&) = delete;
  ~SmallRoot();

  [[nodiscard]] std::string path() const { return directory_ + "/root"; }
  void add_file(const std::string& path, const std::string& text) const;
  void add_link(const std::string& path, const std::string& target) const;

 private:
  std::string directory_;
};

}  // namespace glovebox::conformance
