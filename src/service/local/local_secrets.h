// SPDX-License-Identifier: Apache-2.0
// LocalSecrets: secrets in the daemon's database, which its user alone can read.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "service/secret_service.h"
#include "store/secret_records.h"

namespace glovebox {

// Safe to use from any thread.
class LocalSecrets final : public SecretService {
 public:
  explicit LocalSecrets(Database& database) : records_(database) {}

  Result<SecretInfo> create(const Caller& caller, const SecretRequest& request) override;
  Result<std::vector<SecretInfo>> list(const Caller& caller,
                                       std::string_view after,
                                       std::size_t limit) override;
  Result<SecretInfo> find(const Caller& caller, std::string_view secret) override;
  Result<SecretInfo> change(const Caller& caller,
                            std::string_view secret,
                            std::string_view value,
                            const std::optional<SecretMetadata>& metadata) override;
  Result<void> remove(const Caller& caller, std::string_view secret) override;

 private:
  SecretRecords records_;
  std::mutex creating_;  // Between the count and the one more.
};

}  // namespace glovebox
