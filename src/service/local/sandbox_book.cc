// SPDX-License-Identifier: Apache-2.0
#include "service/local/sandbox_book.h"

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/codec.h"
#include "service/keeper/field_lists.h"
#include "service/local/local_workspaces.h"

namespace glovebox {

using nlohmann::json;

// What encode_kept() returns is stored beside these.
template <>
inline constexpr auto keeper::kFields<SandboxEntry> =
    std::tuple{Field{"tenant", &SandboxEntry::tenant},
               Field{"claim", &SandboxEntry::claim},
               Field{"filling", &SandboxEntry::filling},
               Field{"template", kWithin<&SandboxEntry::info, &SandboxInfo::template_name>},
               Field{"created", kWithin<&SandboxEntry::info, &SandboxInfo::created>},
               Field{"auto_resume", kWithin<&SandboxEntry::info, &SandboxInfo::auto_resume>},
               Field{"env", kWithin<&SandboxEntry::info, &SandboxInfo::env>},
               Field{"metadata", kWithin<&SandboxEntry::info, &SandboxInfo::metadata>},
               Field{"network", kWithin<&SandboxEntry::info, &SandboxInfo::network>},
               Field{"extra", kWithin<&SandboxEntry::info, &SandboxInfo::extra>}};

namespace {

bool matches(const SandboxInfo& info, const SandboxQuery& query) {
  const auto has = [&](const auto& wanted) {
    const auto found = info.metadata.find(wanted.first);
    return found != info.metadata.end() && found->second == wanted.second;
  };
  return std::ranges::all_of(query.metadata, has) &&
         (query.states.empty() ||
          std::ranges::find(query.states, info.state) != query.states.end());
}

// Newest first; of those made at the same time, by id.
bool is_before(const SandboxInfo& a, const SandboxInfo& b) {
  return a.created != b.created ? a.created > b.created : a.id < b.id;
}

std::string cursor_of(const SandboxInfo& info) {
  return std::to_string(keeper::to_ms(info.created)) + "." + info.id;
}

// Where a cursor points; a client may have made it up.
std::optional<SandboxInfo> parse_cursor(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > 15 ||
      text.find_first_not_of("0123456789") != dot) {
    return std::nullopt;
  }
  SandboxInfo info;
  info.id = std::string(text.substr(dot + 1));
  info.created = keeper::to_time(std::stoll(std::string(text.substr(0, dot))));
  return info;
}

}  // namespace

std::string encode(const SandboxEntry& entry) {
  json object = keeper::fields::encode(entry);
  object["storage"] = encode_kept(entry.info);
  return keeper::pack(object);
}

std::optional<SandboxEntry> decode_entry(std::string_view record) {
  const json object = keeper::unpack(record);
  if (!object.is_object()) {
    return std::nullopt;
  }
  auto entry = keeper::fields::decoded<SandboxEntry>(object);
  if (entry.info.extra.empty()) {
    entry.info.extra = "{}";
  }
  decode_kept(keeper::fields::decoded<std::string>(keeper::fields::member(object, "storage")),
              entry.info);
  return entry;
}

void SandboxBook::put(SandboxEntry entry, QuotaLease lease) {
  const std::scoped_lock lock(mutex_);
  std::string id = entry.info.id;
  held_.insert_or_assign(std::move(id), Held{std::move(entry), std::move(lease)});
}

Result<SandboxEntry> SandboxBook::entry(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(id);
  if (found == held_.end()) {
    return Error(ErrorCode::kNotFound, "no sandbox '" + std::string(id) + "'");
  }
  return found->second.entry;
}

Result<SandboxInfo> SandboxBook::find(std::string_view tenant, std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(id);
  if (found == held_.end() || found->second.entry.tenant != tenant) {
    return Error(ErrorCode::kNotFound, "no sandbox '" + std::string(id) + "'");
  }
  return found->second.entry.info;
}

void SandboxBook::set(const SandboxInfo& info) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = held_.find(info.id); found != held_.end()) {
    found->second.entry.info = info;
    ++found->second.entry.changes;
  }
}

void SandboxBook::set_state(std::string_view id, SandboxState state) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = held_.find(id); found != held_.end()) {
    found->second.entry.info.state = state;
    ++found->second.entry.changes;
  }
}

void SandboxBook::set_state_since(const SandboxEntry& before, SandboxState state) {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(before.info.id);
  if (found != held_.end() && found->second.entry.changes == before.changes) {
    found->second.entry.info.state = state;
  }
}

std::optional<SandboxEntry> SandboxBook::remove(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(id);
  if (found == held_.end()) {
    return std::nullopt;
  }
  SandboxEntry entry = std::move(found->second.entry);
  held_.erase(found);
  return entry;
}

Result<SandboxPage> SandboxBook::list(std::string_view tenant, const SandboxQuery& query) const {
  const auto after = parse_cursor(query.after);
  if (!after && !query.after.empty()) {
    return Error(ErrorCode::kInvalid, "invalid cursor",
                 "pass the token of the previous page, or none for the first page");
  }
  SandboxPage page;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, held] : held_) {
      if (held.entry.tenant == tenant && matches(held.entry.info, query)) {
        page.sandboxes.push_back(held.entry.info);
      }
    }
  }
  std::ranges::sort(page.sandboxes, is_before);
  if (after) {
    std::erase_if(page.sandboxes,
                  [&](const SandboxInfo& info) { return !is_before(*after, info); });
  }
  if (page.sandboxes.size() > query.limit) {
    page.sandboxes.resize(query.limit);
    page.next = query.limit > 0 ? cursor_of(page.sandboxes.back()) : std::string();
  }
  return page;
}

std::vector<SandboxEntry> SandboxBook::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<SandboxEntry> entries;
  entries.reserve(held_.size());
  for (const auto& [id, held] : held_) {
    entries.push_back(held.entry);
  }
  return entries;
}

}  // namespace glovebox
