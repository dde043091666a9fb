// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launcher/protocol.h"

#include "base/wire.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kMaxArguments = 8;

Error malformed() { return {ErrorCode::kInvalid, "malformed message of a launcher"}; }

}  // namespace

std::string Hello::encode() const {
  WireWriter writer;
  writer.u8(received_descriptor ? 1 : 0);
  writer.u32(landlock_abi);
  writer.text(boot_id);
  return writer.take();
}

Result<Hello> Hello::decode(std::string_view bytes) {
  WireReader reader(bytes);
  Hello hello;
  hello.received_descriptor = reader.u8() != 0;
  hello.landlock_abi = reader.u32();
  hello.boot_id = reader.text();
  return reader.complete() ? Result<Hello>(std::move(hello)) : malformed();
}

std::string Order::encode() const {
  WireWriter writer;
  writer.text(workspace);
  writer.u32(landlock_abi);
  writer.u64(landlock_fs);
  writer.u64(landlock_scoped);
  writer.u32(static_cast<std::uint32_t>(rules.size()));
  for (const Rule& rule : rules) {
    writer.text(rule.path);
    writer.u64(rule.access);
    writer.u8(rule.optional ? 1 : 0);
  }
  writer.text(filter);
  writer.texts(warden_arguments);
  return writer.take();
}

Result<Order> Order::decode(std::string_view bytes) {
  WireReader reader(bytes);
  Order order;
  order.workspace = reader.text();
  order.landlock_abi = reader.u32();
  order.landlock_fs = reader.u64();
  order.landlock_scoped = reader.u64();
  const std::uint32_t count = reader.u32();
  if (count > kMaxRules) {
    return malformed();
  }
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    Rule rule;
    rule.path = reader.text();
    rule.access = reader.u64();
    rule.optional = reader.u8() != 0;
    order.rules.push_back(std::move(rule));
  }
  order.filter = reader.text();
  order.warden_arguments = reader.texts(kMaxArguments);
  return reader.complete() ? Result<Order>(std::move(order)) : malformed();
}

}  // namespace glovebox::launcher
