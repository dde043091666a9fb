// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/kept_outputs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace glovebox::mcp {
std::string KeptOutputs::keep(std::string_view tenant,
                              std::string name,
                              std::string type,
                              std::string bytes) {
  const std::size_t size = bytes.size();
  if (size > kMostOfTenant / 4) {
    return {};
  }
  auto output = std::make_shared<const Output>(Output{.uri = std::string(kScheme) + random_hex(12),
                                                      .name = std::move(name),
                                                      .type = std::move(type),
                                                      .bytes = std::move(bytes)});
  const std::scoped_lock lock(mutex_);
  Use& use = used_[std::string(tenant)];
  while (use.entries > 0 && (use.entries >= kMostEntries || use.bytes + size > kMostOfTenant)) {
    drop_oldest(tenant);
  }
  use.bytes += size;
  ++use.entries;
  ++use.changes;
  total_ += size;
  kept_.push_back({.tenant = std::string(tenant), .output = output});
  while (total_ > kMost) {
    drop_oldest(std::nullopt);
  }
  return output->uri;
}

void KeptOutputs::drop_oldest(std::optional<std::string_view> tenant) {
  const auto oldest = std::ranges::find_if(
      kept_, [&](const Kept& each) { return !tenant || each.tenant == *tenant; });
  GB_CHECK(oldest != kept_.end());
  const std::size_t size = oldest->output->bytes.size();
  Use& use = used_[oldest->tenant];
  use.bytes -= size;
  --use.entries;
  ++use.changes;
  total_ -= size;
  kept_.erase(oldest);
}

std::shared_ptr<const KeptOutputs::Output> KeptOutputs::find(std::string_view tenant,
                                                             std::string_view uri) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& each) { return each.tenant == tenant && each.output->uri == uri; });
  return found == kept_.end() ? nullptr : found->output;
}

std::uint64_t KeptOutputs::changes(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  const auto found = used_.find(tenant);
  return found == used_.end() ? 0 : found->second.changes;
}

std::vector<std::shared_ptr<const KeptOutputs::Output>> KeptOutputs::all(
    std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Output>> outputs;
  for (const Kept& each : kept_) {
    if (each.tenant == tenant) {
      outputs.push_back(each.output);
    }
  }
  return outputs;
}

}  // namespace glovebox::mcp
