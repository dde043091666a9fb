// SPDX-License-Identifier: Apache-2.0
// What a stage of a Dockerfile comes to on its base: variables are replaced, paths are whole, and
// what no template can have is refused, before anything runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/dockerfile/parse.h"
#include "service/templates/build.h"

namespace glovebox {

struct StageStep {
  enum class Kind {
    kSetting,    // Nothing to do but what the plan says already.
    kRun,        // `argv`, in `directory`, with `env`.
    kDirectory,  // Makes `target`.
    kCopy,       // `sources` of `from`, or `content`, to `target`.
  };
  Kind kind = Kind::kSetting;
  std::size_t line = 0;
  std::string title{};  // For people.
  std::string note{};   // What they should know of it; empty: nothing.
  std::vector<std::string> argv{};
  std::string directory{};
  Environment env{};
  std::vector<std::string> sources{};
  std::string from{};    // Another stage or template; empty: the build context.
  std::string target{};  // Absolute.
  bool unpacks = false;
  std::optional<std::string> content{};
  std::string content_name{};
};

struct StagePlan {
  std::vector<StageStep> steps;  // One for each instruction after FROM.
  bool own_root = false;         // RUN is root, and the root is kept.
  Environment env;               // Of the template.
  std::string start;
  std::string user;
  ImageConfig image;
};

// The name behind FROM, with its variables replaced. `args` are what the client has set.
Result<std::string> image_of(const dockerfile::Dockerfile& file,
                             const dockerfile::Stage& stage,
                             const Environment& args);

Result<StagePlan> plan_stage(const dockerfile::Dockerfile& file,
                             const dockerfile::Stage& stage,
                             const TemplateParts& base,
                             const Environment& args);

}  // namespace glovebox
