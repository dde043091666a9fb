// SPDX-License-Identifier: Apache-2.0
// VolumeService: what a door may ask for about volumes: directories that outlive sandboxes.
//
// As with SandboxService, every call names its caller, another tenant's things do not exist, and
// calls come from any thread and block. A volume is given by its name or by its id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "files/file_client.h"
#include "service/api/sandbox_service.h"

namespace glovebox {

struct VolumeRequest {
  std::string name{};  // 1 to 128 of letters, digits, '.', '_' and '-'.
  Bytes size = 1_GiB;
  std::uint32_t inodes = 65'536;
};

struct VolumeInfo {
  std::string id{};
  std::string name{};
  Bytes size{};
  std::uint32_t inodes = 0;
  // Random; for doors that let anyone who knows it use the files. Empty for callers who may not.
  std::string secret{};
  SystemTime created{};
};

// A volume, and a caller who may use its files and nothing else.
struct VolumeBearer {
  Caller caller{};
  VolumeInfo info{};
};

class VolumeService {
 public:
  virtual ~VolumeService() = default;

  // kConflict if there is one of that name, kExhausted if the tenant's quota of disk is used up,
  // kUnsupported if this host cannot have volumes.
  virtual Result<VolumeInfo> create(const Caller& caller, const VolumeRequest& request) = 0;
  // By name.
  virtual Result<std::vector<VolumeInfo>> list(const Caller& caller) = 0;
  virtual Result<VolumeInfo> find(const Caller& caller, std::string_view volume) = 0;
  // With all that is in it. kConflict while a sandbox has it.
  virtual Result<void> remove(const Caller& caller, std::string_view volume) = 0;
  // Its files without a sandbox of the caller's; paths are relative to its top. A client is for one
  // thread; ask for one for each request.
  virtual Result<FileClient> files(const Caller& caller,
                                   std::string_view volume,
                                   FileAccess access) = 0;
  // For clients that show a volume's token instead of a key, as SandboxService::bearer().
  virtual Result<VolumeBearer> bearer(std::string_view tenant, std::string_view volume) = 0;
};

}  // namespace glovebox
