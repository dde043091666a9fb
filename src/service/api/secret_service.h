// SPDX-License-Identifier: Apache-2.0
// SecretService: what a door may ask for about secrets: values that a sandbox's outgoing requests
// carry, and that the sandbox itself never sees.
//
// As with SandboxService, every call names its caller, another tenant's things do not exist, and
// calls come from any thread and block. A secret is given by its name or by its id. No call returns
// a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/sandbox_service.h"

namespace glovebox {

using SecretMetadata = std::map<std::string, std::string>;

struct SecretRequest {
  std::string name{};   // 1 to 128 bytes of UTF-8 without '{', '}' and control characters.
  std::string value{};  // 1 to 65,536 bytes of UTF-8.
  // At most 32 entries, 8,192 bytes in all; 128 bytes a key and 1,024 a value.
  SecretMetadata metadata{};
};

struct SecretInfo {
  std::string id{};
  std::string name{};
  std::uint64_t version = 1;  // Counts the values that it has had.
  SecretMetadata metadata{};
  SystemTime created{};
  SystemTime updated{};
};

class SecretService {
 public:
  virtual ~SecretService() = default;

  // kConflict when there is one of that name, kExhausted when the tenant has too many.
  virtual Result<SecretInfo> create(const Caller& caller, const SecretRequest& request) = 0;
  // Sorted by name, those whose name comes after `after`, at most `limit`.
  virtual Result<std::vector<SecretInfo>> list(const Caller& caller,
                                               std::string_view after,
                                               std::size_t limit) = 0;
  virtual Result<SecretInfo> find(const Caller& caller, std::string_view secret) = 0;
  // Sets another value, and other metadata if given.
  virtual Result<SecretInfo> change(const Caller& caller,
                                    std::string_view secret,
                                    std::string_view value,
                                    const std::optional<SecretMetadata>& metadata) = 0;
  virtual Result<void> remove(const Caller& caller, std::string_view secret) = 0;
};

}  // namespace glovebox
