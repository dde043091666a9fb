// SPDX-License-Identifier: Apache-2.0
// TemplateRecords: what sandboxes can be made from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct TemplateRecord {
  std::string tenant;  // Empty: shared by all.
  std::string name;
  std::string source;           // Where its files came from: "host", "oci:PATH", "snapshot", …
  std::string content_hash;     // Names its files in the store of layers.
  std::string made_from;        // The template or the sandbox before it, or empty.
  std::string settings = "{}";  // JSON, for the code that makes sandboxes from it.
  SystemTime created{};

  friend bool operator==(const TemplateRecord&, const TemplateRecord&) = default;
};

// Safe to use from any thread.
class TemplateRecords {
 public:
  explicit TemplateRecords(Database& database) : database_(database) {}

  // Inserts it, or replaces the tenant's own template of that name.
  Result<void> put(const TemplateRecord& record);
  // Gives the tenant a copy of the template that find() returns for `name` under each of `names`,
  // created at `created`, or under none of them. kNotFound if there is no such template.
  Result<void> copy(std::string_view tenant,
                    std::string_view name,
                    std::span<const std::string> names,
                    SystemTime created);
  // The tenant's own template of that name, else the shared one, else kNotFound.
  Result<TemplateRecord> find(std::string_view tenant, std::string_view name);
  // The tenant's own templates and the shared ones that they do not hide, by name.
  Result<std::vector<TemplateRecord>> visible_to(std::string_view tenant);
  // Of all tenants.
  Result<std::vector<TemplateRecord>> all();
  // Only the tenant's own; kNotFound if there is none.
  Result<void> remove(std::string_view tenant, std::string_view name);
  // Whether files with that hash are still needed, by any tenant.
  Result<bool> uses_content(std::string_view content_hash);

 private:
  Database& database_;
};

}  // namespace glovebox
