// SPDX-License-Identifier: Apache-2.0
// TemplateService: what a door may ask for about templates: what sandboxes can be made from.
//
// As with SandboxService, every call names its caller, another tenant's things do not exist, and
// calls come from any thread and block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "files/file_client.h"
#include "service/api/sandbox_service.h"
#include "service/templates/build.h"

namespace glovebox {

struct TemplateInfo {
  std::string name{};
  bool builtin = false;   // Always there.
  std::string source{};   // "host", "debootstrap", "oci", "docker", "rootfs", "recipe", "snapshot"
  std::string base{};     // The template that it was made from; empty: none.
  std::string content{};  // Hash of all that it was made from; empty: builtin.
  std::string build{};    // Recipe::build; empty: none.
  SystemTime created{};
  std::uint64_t size = 0;  // Bytes on disk.
  TemplateParts parts{};
  std::vector<std::string> policies{};  // Which hold for what runs in its sandboxes.
};

struct TemplateBuilt {
  TemplateInfo info;
  bool cached = false;  // Nothing had to be made.
};

// The state of a build whose client asks about it again and again.
struct BuildState {
  enum class Progress { kUnderWay, kReady, kFailed };
  std::string id{};
  std::string name{};  // The template's.
  Progress progress = Progress::kUnderWay;
  std::string reason{};  // Of a failure, at most 64 KiB;
  std::string step{};    // where it was.
  SystemTime created{};
};

class TemplateService {
 public:
  virtual ~TemplateService() = default;

  // Returns once the template is there; one of that name is replaced, and sandboxes made from it
  // live on. kRefused without the scope that the recipe needs, and for network rules that the
  // operator does not allow; kConflict for the name of a built-in template; kUnavailable if `sink`
  // canceled it, and then nothing is left.
  virtual Result<TemplateBuilt> build(const Caller& caller,
                                      const Recipe& recipe,
                                      const BuildSink& sink) = 0;

  // From an image that `source` supplies until it returns 0. At most 8 GiB, which count against the
  // tenant's disk; a tenant that may build nothing now is refused before the first byte is read.
  virtual Result<TemplateBuilt> import(const Caller& caller,
                                       const std::string& name,
                                       ImageFormat format,
                                       const FileClient::Source& source,
                                       const BuildSink& sink) = 0;

  // The template as an image in a tar archive (templates/image_archive.h). Counts as one of the
  // tenant's builds. kUnsupported if it has no root of its own; kUnavailable if `sink` ended it. A
  // failure after the first byte leaves the archive incomplete.
  virtual Result<void> export_archive(const Caller& caller,
                                      const std::string& name,
                                      const ArchiveSink& sink) = 0;

  virtual Result<TemplateInfo> find(const Caller& caller, std::string_view name) = 0;
  // Built-in ones first, then by name.
  virtual Result<std::vector<TemplateInfo>> list(const Caller& caller) = 0;
  // Makes NAME:TAG, for each tag, a name of what `name` names now; "default" is NAME itself. A tag
  // that named something else moves here. Sets all tags or none. kConflict for a built-in template.
  virtual Result<TemplateInfo> tag(const Caller& caller,
                                   std::string_view name,
                                   const std::vector<std::string>& tags) = 0;
  // Its content goes as soon as no template and no sandbox uses it. kConflict for a built-in one.
  virtual Result<void> remove(const Caller& caller, std::string_view name) = 0;

  // Receives files for a later build of the caller's to copy: at most 1 GiB, in a file without a
  // name that counts against the tenant's disk as long as it is held.
  virtual Result<std::shared_ptr<const UniqueFd>> keep_files(const Caller& caller,
                                                             const FileClient::Source& source) = 0;

  // Keeps files for a later build of the caller's to copy, under a name, for an hour, even if this
  // service ends meanwhile: at most 1 GiB, which counts against the tenant's disk. Replaces an
  // earlier one of that name, and the oldest of a tenant that has many.
  virtual Result<void> keep_upload(const Caller& caller,
                                   const std::string& name,
                                   const FileClient::Source& source) = 0;
  // For reading. kNotFound when there is none.
  virtual Result<UniqueFd> open_upload(const Caller& caller, const std::string& name) = 0;

  // Keeps the state of a build for a day. One under way counts as failed once this service ends.
  virtual Result<void> keep_build(const Caller& caller, const BuildState& state) = 0;
  virtual Result<BuildState> find_build(const Caller& caller, std::string_view id) = 0;
};

}  // namespace glovebox
