// SPDX-License-Identifier: Apache-2.0
// What a daemon asks about images: by the paths of their files, which it chooses in the data
// directory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/json/json.h"
#include "service/keeper/call_arguments.h"
#include "service/keeper/call_table.h"
#include "service/keeper/codec.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

Result<json> make_image(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve_new(text_in(arguments, "image")));
  const ImageShape shape{.size = Bytes{static_cast<std::uint64_t>(number_in(arguments, "size"))},
                         .inodes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                             number_in(arguments, "inodes"), 0, UINT32_MAX))};
  GB_TRY(context.keeper.images().make(image, shape));
  const bool shares = GB_TRY(context.keeper.images().shares_copies(image));
  return json{{"shares_copies", shares}};
}

// "idle": nobody has it and nobody will, so it need not be mounted for that.
Result<json> copy_image(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve(text_in(arguments, "image")));
  const std::string to = GB_TRY(context.keeper.paths().resolve_new(text_in(arguments, "to")));
  if (object_in(arguments, "idle") == true) {
    GB_TRY(context.keeper.images().copy_idle(image, to));
  } else {
    GB_TRY(context.keeper.images().copy(image, to));
  }
  const bool shares = GB_TRY(context.keeper.images().shares_copies(to));
  return json{{"shares_copies", shares}};
}

Result<json> remove_image(const json& arguments, CallContext& context) {
  const auto image = context.keeper.paths().resolve(text_in(arguments, "image"));
  if (image) {
    GB_TRY(context.keeper.images().remove(*image));
  } else if (image.error().code() != ErrorCode::kNotFound) {
    return image.error();
  }
  return json();
}

Result<json> image_files(const json& arguments, CallContext& context) {
  const std::string image = GB_TRY(context.keeper.paths().resolve(text_in(arguments, "image")));
  context.passed.push_back(GB_TRY(context.keeper.images().serve_files(image)));
  return json();
}

constexpr std::array kImageCalls = {
    Call{"make_image", make_image, CallKind::kLong},
    Call{"copy_image", copy_image, CallKind::kLong},
    Call{"remove_image", remove_image, CallKind::kLong},
    Call{"image_files", image_files, CallKind::kLong},
};

}  // namespace

std::span<const Call> image_calls() { return kImageCalls; }

}  // namespace glovebox::keeper
