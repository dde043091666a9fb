// SPDX-License-Identifier: Apache-2.0
// For tests: no volumes except for one, "vol1", whose files are somebody else's.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "service/api/volume_service.h"

namespace glovebox::rest {

class FakeVolumes final : public VolumeService {
 public:
  explicit FakeVolumes(std::function<Result<FileClient>()> files) : files_(std::move(files)) {}

  VolumeRequest created;
  std::string removed;

  Result<VolumeInfo> create(const Caller&, const VolumeRequest& request) override {
    created = request;
    return VolumeInfo{.id = "vol2",
                      .name = request.name,
                      .size = request.size,
                      .inodes = request.inodes};
  }
  Result<std::vector<VolumeInfo>> list(const Caller& caller) override {
    return std::vector<VolumeInfo>{GB_TRY(find(caller, "vol1"))};
  }
  Result<VolumeInfo> find(const Caller&, std::string_view volume) override {
    if (volume != "vol1" && volume != "data") {
      return Error(ErrorCode::kNotFound, "no such volume");
    }
    return VolumeInfo{.id = "vol1",
                      .name = "data",
                      .size = 1_GiB,
                      .inodes = 1'000,
                      .secret = "volume's secret"};
  }
  Result<void> remove(const Caller& caller, std::string_view volume) override {
    removed = GB_TRY(find(caller, volume)).id;
    return {};
  }
  Result<FileClient> files(const Caller& caller, std::string_view volume, FileAccess) override {
    (void)GB_TRY(find(caller, volume));
    return files_();
  }

  Result<VolumeBearer> bearer(std::string_view, std::string_view volume) override {
    VolumeInfo info = GB_TRY(find({}, volume));
    return VolumeBearer{.caller = {}, .info = std::move(info)};
  }

 private:
  std::function<Result<FileClient>()> files_;
};

}  // namespace glovebox::rest
