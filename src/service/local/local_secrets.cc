// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_secrets.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "base/random.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestValue = 65'536;
constexpr std::size_t kMostMetadata = 32;
constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kLongestMetadata = 1'024;
constexpr std::size_t kMostMetadataBytes = 8'192;
constexpr std::size_t kMostSecrets = 1'000;  // Of a tenant.

// Characters of Unicode's category Cc: below U+0020, and U+007F to U+009F.
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f ||
        (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)) {
      return true;
    }
  }
  return false;
}

Result<void> check_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || !is_utf8(name) || has_control(name) ||
      name.find_first_of("{}") != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "invalid secret name '" + printable(name) + "'",
                 "use 1 to 128 bytes without '{', '}' or control characters");
  }
  return {};
}

// The value itself is in no message.
Result<void> check_value(std::string_view value) {
  if (value.empty() || value.size() > kLongestValue || !is_utf8(value) ||
      value.find('\0') != std::string_view::npos) {
    return Error(ErrorCode::kInvalid, "the value of a secret must be 1 to 65536 bytes of text");
  }
  return {};
}

Result<void> check_metadata(const SecretMetadata& metadata) {
  std::size_t bytes = 0;
  const bool fit = std::ranges::all_of(metadata, [&bytes](const auto& entry) {
    bytes += entry.first.size() + entry.second.size();
    return !entry.first.empty() && entry.first.size() <= kLongestKey &&
           entry.second.size() <= kLongestMetadata;
  });
  if (!fit || metadata.size() > kMostMetadata || bytes > kMostMetadataBytes) {
    return Error(ErrorCode::kInvalid,
                 "metadata can have at most 32 entries, with keys of 1 to 128 bytes, values of at "
                 "most 1024 bytes, and 8192 bytes in total");
  }
  return {};
}

SecretInfo info_of(SecretRecord record) {
  return {.id = std::move(record.id),
          .name = std::move(record.name),
          .version = record.version,
          .metadata = std::move(record.metadata),
          .created = record.created,
          .updated = record.updated};
}

}  // namespace

Result<SecretInfo> LocalSecrets::create(const Caller& caller, const SecretRequest& request) {
  GB_TRY(check_name(request.name));
  GB_TRY(check_value(request.value));
  GB_TRY(check_metadata(request.metadata));
  const auto now = std::chrono::system_clock::now();
  const SecretRecord record{.tenant = caller.tenant,
                            .name = request.name,
                            .id = random_name(),
                            .metadata = request.metadata,
                            .created = now,
                            .updated = now};
  const std::scoped_lock lock(creating_);
  if (GB_TRY(records_.count(caller.tenant)) >= kMostSecrets) {
    return Error(ErrorCode::kExhausted,
                 "a tenant can have at most " + std::to_string(kMostSecrets) + " secrets",
                 "remove one that is no longer needed");
  }
  if (auto inserted = records_.insert(record, request.value); !inserted) {
    return inserted.error().code() == ErrorCode::kConflict
               ? Error(ErrorCode::kConflict,
                       "secret '" + printable(request.name) + "' already exists")
               : std::move(inserted).error();
  }
  return info_of(record);
}

Result<std::vector<SecretInfo>> LocalSecrets::list(const Caller& caller,
                                                   std::string_view after,
                                                   std::size_t limit) {
  std::vector<SecretInfo> secrets;
  for (SecretRecord& record : GB_TRY(records_.of_tenant(caller.tenant, after, limit))) {
    secrets.push_back(info_of(std::move(record)));
  }
  return secrets;
}

Result<SecretInfo> LocalSecrets::find(const Caller& caller, std::string_view secret) {
  return info_of(GB_TRY(records_.find(caller.tenant, secret)));
}

Result<SecretInfo> LocalSecrets::change(const Caller& caller,
                                        std::string_view secret,
                                        std::string_view value,
                                        const std::optional<SecretMetadata>& metadata) {
  GB_TRY(check_value(value));
  if (metadata) {
    GB_TRY(check_metadata(*metadata));
  }
  return info_of(GB_TRY(
      records_.change(caller.tenant, secret, value, metadata, std::chrono::system_clock::now())));
}

Result<void> LocalSecrets::remove(const Caller& caller, std::string_view secret) {
  return records_.remove(caller.tenant, secret);
}

Result<SecretValues> LocalSecrets::values(std::string_view tenant,
                                          const std::vector<std::string>& names,
                                          bool may_miss) {
  SecretValues values;
  for (const std::string& name : names) {
    auto value = records_.value_of(tenant, name);
    if (value) {
      values[name] = std::move(value).value();
    } else if (value.error().code() != ErrorCode::kNotFound) {
      return std::move(value).error();
    } else if (!may_miss) {
      return Error(ErrorCode::kInvalid, "no secret '" + printable(name) + "'",
                   "create it first, with 'POST /secrets' (docs/e2b.md)");
    }
  }
  return values;
}

}  // namespace glovebox
