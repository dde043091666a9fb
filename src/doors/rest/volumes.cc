// SPDX-License-Identifier: Apache-2.0
// Volumes. Their files are handled as those of a sandbox are (files.cc).
#include "service/api/volume_service.h"

#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

namespace glovebox::rest {
namespace {

constexpr std::uint64_t kMost32 = 0xffff'ffff;

Json to_json(const VolumeInfo& info) {
  return {{"id", info.id},
          {"name", info.name},
          {"size", info.size.count},
          {"inodes", info.inodes},
          {"created", to_text(info.created)}};
}

}  // namespace

Result<void> create_volume(Call& call) {
  GB_TRY(call.only_parameters({}));
  Fields fields = GB_TRY(call.fields());
  VolumeRequest request;
  request.name = fields.required_text("name", 128);
  request.size = Bytes{fields.size("size").value_or(request.size.count)};
  request.inodes =
      static_cast<std::uint32_t>(fields.count("inodes", 1, kMost32).value_or(request.inodes));
  GB_TRY(fields.done());
  const VolumeInfo info = GB_TRY(call.service.volumes().create(call.caller, request));
  call.send_json(201, "volume", to_json(info), {{"Location", "/v1/volumes/" + info.id}});
  return {};
}

Result<void> list_volumes(Call& call) {
  GB_TRY(call.only_parameters({}));
  Json volumes = Json::array();
  for (const VolumeInfo& info : GB_TRY(call.service.volumes().list(call.caller))) {
    volumes.push_back(to_json(info));
  }
  call.send_json(200, "volumes", {{"volumes", std::move(volumes)}});
  return {};
}

Result<void> show_volume(Call& call) {
  call.send_json(200, "volume",
                 to_json(GB_TRY(call.service.volumes().find(call.caller, call.parameters[0]))));
  return {};
}

Result<void> remove_volume(Call& call) {
  GB_TRY(call.service.volumes().remove(call.caller, call.parameters[0]));
  call.send_nothing();
  return {};
}

}  // namespace glovebox::rest
