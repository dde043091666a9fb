// SPDX-License-Identifier: Apache-2.0
// The body of a build, as a recipe of ours.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/e2b/fields.h"
#include "service/templates/recipe.h"

namespace glovebox::e2b {

// Where the client's file with that hash is; empty: it was not uploaded.
using FindUpload = std::function<std::string(const std::string& hash)>;
// A template of ours for what a client names.
using FindTemplate = std::function<Result<std::string>(const std::string& name)>;

struct OrderedBuild {
  Recipe recipe;
  // The step, as the client counts, of each instruction after FROM of its Dockerfile; the steps of
  // any other recipe are the client's own.
  std::vector<std::size_t> steps{};
};

// `failed_step` says where an error belongs: "base", "finalize" or the number of the step.
Result<OrderedBuild> recipe_of_build(const Json& body,
                                     const FindUpload& find_upload,
                                     const FindTemplate& find_template,
                                     std::string& failed_step);

// kUnsupported for a user that E2B's own templates do not have.
Result<void> check_user(const std::string& user);

}  // namespace glovebox::e2b
