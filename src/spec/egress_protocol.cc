// SPDX-License-Identifier: Apache-2.0
#include "spec/egress_protocol.h"

#include <algorithm>

#include "base/wire.h"

namespace glovebox::egress {
namespace {

constexpr std::size_t kMaxText = 512;

Error malformed() { return {ErrorCode::kInvalid, "malformed message of glovebox-egress"}; }

std::vector<std::string> texts_of(const std::vector<NetworkRule>& rules) {
  std::vector<std::string> texts;
  texts.reserve(rules.size());
  for (const NetworkRule& rule : rules) {
    texts.push_back(rule.to_text());
  }
  return texts;
}

Result<std::vector<NetworkRule>> read_rules(WireReader& reader) {
  std::vector<NetworkRule> rules;
  for (const std::string& text : reader.texts(NetworkRules::kMaxRules)) {
    rules.push_back(GB_TRY(NetworkRule::parse(text)));
  }
  return rules;
}

void write_upstream(WireWriter& writer, const std::optional<Upstream>& upstream) {
  writer.u8(upstream ? 1 : 0);
  if (upstream) {
    writer.text(upstream->host);
    writer.u32(upstream->port);
    writer.text(upstream->credentials);
  }
}

Result<std::optional<Upstream>> read_upstream(WireReader& reader) {
  if (reader.u8() == 0) {
    return std::optional<Upstream>();
  }
  Upstream upstream;
  upstream.host = reader.text();
  const std::uint32_t port = reader.u32();
  upstream.credentials = reader.text();
  const bool named = is_host_name(upstream.host) || IpAddress::parse(upstream.host);
  const bool one_line = upstream.credentials.find_first_of("\r\n") == std::string::npos;
  if (!named || !one_line || port == 0 || port > UINT16_MAX) {
    return malformed();
  }
  upstream.port = static_cast<std::uint16_t>(port);
  return std::optional(std::move(upstream));
}

}  // namespace

std::string Order::encode() const {
  WireWriter writer;
  writer.texts(texts_of(rules.allow));
  writer.texts(texts_of(rules.deny));
  writer.u8(rules.otherwise == NetworkRules::Otherwise::kAllow ? 1 : 0);
  writer.u8(rules.allow_first ? 1 : 0);
  writer.texts(texts_of(without_upstream));
  writer.u32(static_cast<std::uint32_t>(name_servers.size()));
  for (const Endpoint& server : name_servers) {
    writer.text(server.address.to_text());
    writer.u32(server.port);
  }
  write_upstream(writer, http_upstream);
  write_upstream(writer, https_upstream);
  writer.u8(public_only ? 1 : 0);
  writer.u32(identity);
  return writer.take();
}

Result<Order> Order::decode(std::string_view payload) {
  WireReader reader(payload);
  Order order;
  order.rules.allow = GB_TRY(read_rules(reader));
  order.rules.deny = GB_TRY(read_rules(reader));
  order.rules.otherwise =
      reader.u8() == 1 ? NetworkRules::Otherwise::kAllow : NetworkRules::Otherwise::kDeny;
  order.rules.allow_first = reader.u8() == 1;
  order.without_upstream = GB_TRY(read_rules(reader));
  const std::uint32_t servers = reader.u32();
  if (servers > kMaxNameServers) {
    return malformed();
  }
  for (std::uint32_t i = 0; i < servers; ++i) {
    const auto address = IpAddress::parse(reader.text());
    const std::uint32_t port = reader.u32();
    if (!address || port == 0 || port > UINT16_MAX) {
      return malformed();
    }
    order.name_servers.push_back({.address = *address, .port = static_cast<std::uint16_t>(port)});
  }
  order.http_upstream = GB_TRY(read_upstream(reader));
  order.https_upstream = GB_TRY(read_upstream(reader));
  order.public_only = reader.u8() == 1;
  order.identity = reader.u32();
  return reader.complete() ? Result<Order>(std::move(order)) : malformed();
}

std::string encode(const ConnectionRecord& connection) {
  WireWriter writer;
  writer.text(connection.host);
  writer.u32(connection.port);
  writer.u8(static_cast<std::uint8_t>(connection.verdict));
  writer.text(connection.rule);
  writer.text(connection.address);
  writer.u8(connection.upstream ? 1 : 0);
  writer.u64(connection.sent);
  writer.u64(connection.received);
  writer.text(connection.reason);
  return writer.take();
}

Result<ConnectionRecord> decode_connection(std::string_view payload) {
  WireReader reader(payload);
  const auto text = [&reader] { return std::string(reader.text().substr(0, kMaxText)); };
  ConnectionRecord connection;
  connection.host = text();
  const std::uint32_t port = reader.u32();
  const std::uint8_t verdict = reader.u8();
  connection.rule = text();
  connection.address = text();
  connection.upstream = reader.u8() == 1;
  connection.sent = reader.u64();
  connection.received = reader.u64();
  connection.reason = text();
  if (!reader.complete() || port > UINT16_MAX ||
      verdict > static_cast<std::uint8_t>(ConnectionRecord::Verdict::kFailed)) {
    return malformed();
  }
  connection.port = static_cast<std::uint16_t>(port);
  connection.verdict = static_cast<ConnectionRecord::Verdict>(verdict);
  return connection;
}

}  // namespace glovebox::egress
