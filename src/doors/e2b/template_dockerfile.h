// SPDX-License-Identifier: Apache-2.0
// The steps of a build that begins with an image of a registry, as a Dockerfile: on a root of its
// own commands are root, and what they change anywhere is kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/e2b/fields.h"
#include "doors/e2b/template_steps.h"
#include "service/templates/recipe.h"

namespace glovebox::e2b {

// One instruction a step behind FROM, but two for COPY and none for USER. `steps` may be null;
// `failed_step` as in recipe_of_build().
Result<DockerfileBuild> dockerfile_of_build(const std::string& image,
                                            const Json* steps,
                                            const FindUpload& find_upload,
                                            std::string& failed_step);

// The step, as E2B counts, that an instruction behind FROM belongs to; both count from 1.
std::size_t step_of_instruction(const Json* steps, std::size_t instruction);

// A script of bash that copies as Docker's COPY does: `args` are a step's, `scratch` is a directory
// with what was uploaded, which is removed.
std::string copy_script(const std::vector<std::string>& args,
                        const std::string& target,
                        const std::string& scratch);

}  // namespace glovebox::e2b
