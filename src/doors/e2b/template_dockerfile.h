// SPDX-License-Identifier: Apache-2.0
// The steps of a build that begins with an image of a registry, as a Dockerfile: such a build has a
// root of its own, where commands can be root and what they change anywhere is kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/e2b/fields.h"
#include "doors/e2b/template_steps.h"
#include "service/templates/recipe.h"

namespace glovebox::e2b {

struct ImageBuild {
  DockerfileBuild dockerfile;
  // The step of each instruction after FROM, counted from 1 as E2B does; 0: the base image's.
  std::vector<std::size_t> steps;
};

// `steps` may be null; `failed_step` as in recipe_of_build().
Result<ImageBuild> build_of_image(const std::string& image,
                                  const Json* steps,
                                  const FindUpload& find_upload,
                                  std::string& failed_step);

// A script of bash that copies as Docker's COPY does: `args` are a step's, `scratch` is the
// directory with the upload, which the script removes.
std::string copy_script(const std::vector<std::string>& args,
                        const std::string& target,
                        const std::string& scratch);

}  // namespace glovebox::e2b
