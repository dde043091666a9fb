// SPDX-License-Identifier: Apache-2.0
// A template's files as the layer of a container image: what its sandboxes show of it.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/templates/build.h"
#include "service/templates/image_reader.h"

namespace glovebox {

class ImageLayer {
 public:
  // Requires: a template with a root of its own, whose pieces are held. The workspace is unpacked
  // into a directory of `draft`, which outlives the layer, as do the others.
  static Result<ImageLayer> open(const TemplateParts& parts,
                                 const ContentStore& store,
                                 const ContentDraft& draft,
                                 BuildMonitor& monitor);

  // The layer as a tar archive: the same bytes each time, and for each template of the same files.
  // Programs behind walls of their own read the files. kUnavailable when it was canceled.
  Result<void> write(const PutBytes& put) const;

 private:
  struct Entry {
    enum class Kind { kDirectory, kLink, kTree };
    Kind kind = Kind::kDirectory;
    std::uint32_t mode = 0755;  // Of a directory.
    std::string target{};       // Of a link.
    UniqueFd tree{};            // A directory, shown with all that is in it.
  };

  explicit ImageLayer(BuildMonitor& monitor) : monitor_(&monitor) {}
  Result<void> add_root(const std::string& root);
  Result<void> add_below(int directory, const std::string& prefix);
  Result<void> add_tree(const std::string& path, const std::string& source);
  Result<void> add_workspace(const TemplateParts& parts,
                             const ContentStore& store,
                             const ContentDraft& draft);
  void add_parents(const std::string& path);

  BuildMonitor* monitor_;
  std::map<std::string, Entry> entries_;  // By path, without a slash in front.
};

}  // namespace glovebox
