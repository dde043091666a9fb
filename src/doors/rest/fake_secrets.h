// SPDX-License-Identifier: Apache-2.0
// For tests: no secrets.
#pragma once

#include <string_view>
#include <vector>

#include "service/api/secret_service.h"

namespace glovebox::rest {

class FakeSecrets final : public SecretService {
 public:
  Result<SecretInfo> create(const Caller&, const SecretRequest&) override { return SecretInfo{}; }
  Result<std::vector<SecretInfo>> list(const Caller&, std::string_view, std::size_t) override {
    return std::vector<SecretInfo>{};
  }
  Result<SecretInfo> find(const Caller&, std::string_view) override { return SecretInfo{}; }
  Result<SecretInfo> change(const Caller&,
                            std::string_view,
                            std::string_view,
                            const std::optional<SecretMetadata>&) override {
    return SecretInfo{};
  }
  Result<void> remove(const Caller&, std::string_view) override { return {}; }
};

}  // namespace glovebox::rest
