// SPDX-License-Identifier: Apache-2.0
#include "files/protocol.h"

#include <algorithm>

namespace glovebox::files {
namespace {

Error garbled(std::string_view what) {
  return {ErrorCode::kInvalid,
          "the file server or its client sent a malformed message: " + std::string(what)};
}

bool holds_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

using Attributes = std::map<std::string, std::string>;

void put_attributes(WireWriter& out, const Attributes& attributes) {
  out.u32(static_cast<std::uint32_t>(attributes.size()));
  for (const auto& [name, value] : attributes) {
    out.text(name);
    out.text(value);
  }
}

bool take_attributes(WireReader& in, Attributes& attributes) {
  const std::uint32_t count = in.u32();
  if (count > kMaxAttributes) {
    return false;
  }
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    std::string name(in.text());
    std::string value(in.text());
    bytes += name.size() + value.size();
    if (bytes > kMaxAttributeBytes || holds_zero(name) ||
        !attributes.emplace(std::move(name), std::move(value)).second) {
      return false;
    }
  }
  return in.ok();
}

bool take_type(WireReader& in, FileEntry::Type& type) {
  const std::uint8_t value = in.u8();
  type = static_cast<FileEntry::Type>(value);
  return value <= static_cast<std::uint8_t>(FileEntry::Type::kOther);
}

bool take_entry(WireReader& in, FileEntry& entry) {
  entry.path = in.text();
  const bool known = take_type(in, entry.type);
  entry.size = in.u64();
  entry.mode = in.u32();
  entry.owner = in.text();
  entry.group = in.text();
  entry.modified_ns = static_cast<std::int64_t>(in.u64());
  entry.target = in.text();
  return take_type(in, entry.target_type) && known && take_attributes(in, entry.metadata) &&
         entry.path.size() <= kMaxPath && entry.target.size() <= kMaxPath && entry.mode <= 07777 &&
         entry.owner.size() <= kMaxName && entry.group.size() <= kMaxName &&
         !holds_zero(entry.target) && (entry.path.empty() || is_below(entry.path));
}

}  // namespace

std::string Order::encode() const {
  WireWriter out;
  out.text(path);
  out.text(to);
  out.u32(number);
  out.u64(offset);
  out.u64(length);
  out.u32(write.mode);
  out.u8(write.append ? 1 : 0);
  out.u8(write.flush ? 1 : 0);
  put_attributes(out, write.metadata);
  return out.take();
}

Result<Order> Order::decode(std::string_view payload) {
  WireReader in(payload);
  Order order;
  order.path = in.text();
  order.to = in.text();
  order.number = in.u32();
  order.offset = in.u64();
  order.length = in.u64();
  order.write.mode = in.u32();
  const std::uint8_t append = in.u8();
  const std::uint8_t flush = in.u8();
  order.write.append = append == 1;
  order.write.flush = flush == 1;
  if (!take_attributes(in, order.write.metadata) || !in.complete() || append > 1 || flush > 1 ||
      order.write.mode > 07777 || order.path.size() > kMaxPath || order.to.size() > kMaxPath ||
      holds_zero(order.path) || holds_zero(order.to)) {
    return garbled("a request");
  }
  return order;
}

bool operator==(const Order& a, const Order& b) {
  return a.path == b.path && a.to == b.to && a.number == b.number && a.offset == b.offset &&
         a.length == b.length && a.write.mode == b.write.mode && a.write.append == b.write.append &&
         a.write.flush == b.write.flush && a.write.metadata == b.write.metadata;
}

std::string Failure::encode() const {
  WireWriter out;
  out.u8(static_cast<std::uint8_t>(code));
  out.text(std::string_view(message).substr(0, kMaxMessage));
  return out.take();
}

Result<Failure> Failure::decode(std::string_view payload) {
  WireReader in(payload);
  const std::uint8_t code = in.u8();
  Failure failure{.code = static_cast<ErrorCode>(code), .message = std::string(in.text())};
  if (!in.complete() || code > static_cast<std::uint8_t>(ErrorCode::kInternal) ||
      failure.message.size() > kMaxMessage) {
    return garbled("a failure");
  }
  return failure;
}

std::string encode_facts(const FileEntry& entry) {
  WireWriter out;
  put_listed(out, entry);
  return out.take();
}

Result<FileEntry> decode_facts(std::string_view payload) {
  WireReader in(payload);
  FileEntry entry;
  if (!take_entry(in, entry) || !in.complete() || !entry.path.empty()) {
    return garbled("file information");
  }
  return entry;
}

void put_listed(WireWriter& out, const FileEntry& entry) {
  out.text(entry.path);
  out.u8(static_cast<std::uint8_t>(entry.type));
  out.u64(entry.size);
  out.u32(entry.mode);
  out.text(entry.owner);
  out.text(entry.group);
  out.u64(static_cast<std::uint64_t>(entry.modified_ns));
  out.text(entry.target);
  out.u8(static_cast<std::uint8_t>(entry.target_type));
  put_attributes(out, entry.metadata);
}

Result<void> decode_listed(std::string_view payload, std::vector<FileEntry>& entries) {
  WireReader in(payload);
  for (std::size_t count = 0; !in.complete(); ++count) {
    FileEntry entry;
    if (count == kMaxBatch || !take_entry(in, entry) || entry.path.empty()) {
      return garbled("a list");
    }
    entries.push_back(std::move(entry));
  }
  return {};
}

void put_event(WireWriter& out, const FileEvent& event) {
  out.u8(static_cast<std::uint8_t>(event.kind));
  out.text(event.name);
}

Result<std::vector<FileEvent>> decode_events(std::string_view payload) {
  WireReader in(payload);
  std::vector<FileEvent> events;
  while (!in.complete()) {
    const std::uint8_t kind = in.u8();
    const std::string_view name = in.text();
    if (!in.ok() || events.size() == kMaxBatch || name.size() > kMaxPath || !is_below(name) ||
        kind > static_cast<std::uint8_t>(FileEvent::Kind::kChmod)) {
      return garbled("a change");
    }
    events.push_back({static_cast<FileEvent::Kind>(kind), std::string(name)});
  }
  return events;
}

bool is_below(std::string_view path) {
  if (holds_zero(path)) {
    return false;
  }
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

std::size_t weight_of(const FileEntry& entry) {
  std::size_t weight =
      entry.path.size() + entry.owner.size() + entry.group.size() + entry.target.size();
  for (const auto& [name, value] : entry.metadata) {
    weight += name.size() + value.size();
  }
  return weight;
}

}  // namespace glovebox::files
