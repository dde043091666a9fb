// SPDX-License-Identifier: Apache-2.0
// LocalSecrets: secrets in the daemon's database, sealed with a key in DIRECTORY/secrets.key.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "service/api/secret_service.h"
#include "spec/credential_rules.h"
#include "store/secret_records.h"

namespace glovebox {

// Safe to use from any thread.
class LocalSecrets final : public SecretService {
 public:
  LocalSecrets(Database& database, const std::string& directory)
      : records_(database, directory + "/secrets.key"), path_(directory + "/glovebox.db") {}

  // Once, before all else (SecretRecords::prepare).
  Result<void> prepare() { return records_.prepare(path_); }

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

  // The values of these secrets of a tenant, by their names. kInvalid, with its name, if one is
  // missing; with `may_miss`, that one is left out.
  Result<SecretValues> values(std::string_view tenant,
                              const std::vector<std::string>& names,
                              bool may_miss);

 private:
  SecretRecords records_;
  const std::string path_;  // Of the database.
  std::mutex creating_;     // From the count to the insertion.
};

}  // namespace glovebox
