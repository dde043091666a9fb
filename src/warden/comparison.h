// SPDX-License-Identifier: Apache-2.0
// What differs between a workspace and one of its snapshots. Guests may be running: what they
// change meanwhile may or may not be in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "spec/warden_protocol.h"
#include "warden/contents.h"
#include "warden/directory.h"
#include "warden/manifest.h"

namespace glovebox::warden {

class Comparison {
 public:
  // All must outlive it.
  Comparison(Contents& contents, const Manifest& manifest, int workspace);

  // Bounded in number, bytes, depth and time; `truncated` says when a bound was reached.
  DifferencesReport run();

 private:
  using Entry = Manifest::Entry;

  // `entry` is what the directory was; null if there was none.
  void walk(int directory, const Entry* entry, const std::string& path, std::size_t depth);
  void take(int directory,
            const std::string& name,
            const Entry* before,
            const std::string& path,
            std::size_t depth);
  void take_same_type(int directory,
                      const std::string& name,
                      const struct stat& status,
                      const Entry& before,
                      const std::string& path,
                      std::size_t depth);
  void descend(int directory,
               const std::string& name,
               const Entry* before,
               const std::string& path,
               std::size_t depth);
  void add_deleted(const Entry& entry, const std::string& path);
  // Returns whether there is room for more.
  bool add(FileDifference difference);
  [[nodiscard]] FileDifference was(const Entry& entry, const std::string& path) const;

  Contents& contents_;
  const Manifest& manifest_;
  const int workspace_;
  const Deadline deadline_;
  std::size_t visited_ = 0;
  std::size_t bytes_ = 0;
  DifferencesReport report_;
};

}  // namespace glovebox::warden
