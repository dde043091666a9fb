// SPDX-License-Identifier: Apache-2.0
#include "spec/egress_protocol.h"

#include <algorithm>

#include "base/frame.h"
#include "base/text.h"
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

void write_count(WireWriter& writer, const std::optional<std::uint64_t>& count) {
  writer.u8(count ? 1 : 0);
  writer.u64(count.value_or(0));
}

std::optional<std::uint64_t> read_count(WireReader& reader) {
  const bool set = reader.u8() == 1;
  const std::uint64_t count = reader.u64();
  return set ? std::optional(count) : std::nullopt;
}

Result<CredentialTarget> read_target(WireReader& reader) {
  return CredentialTarget::parse(reader.text());
}

Result<std::string> read_value(WireReader& reader) {
  std::string value(reader.text());
  return check_header_value(value) ? Result<std::string>(std::move(value)) : malformed();
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
  for (const auto& count : {budget.connections, budget.sent, budget.received, budget.rate}) {
    write_count(writer, count);
  }
  writer.u8(has_credentials ? 1 : 0);
  writer.u8(static_cast<std::uint8_t>(taping));
  writer.u64(recorded_bytes);
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
  order.budget.connections = read_count(reader);
  order.budget.sent = read_count(reader);
  order.budget.received = read_count(reader);
  order.budget.rate = read_count(reader);
  order.has_credentials = reader.u8() == 1;
  const std::uint8_t taping = reader.u8();
  if (taping > static_cast<std::uint8_t>(Taping::kReplay)) {
    return malformed();
  }
  order.taping = static_cast<Taping>(taping);
  order.recorded_bytes = reader.u64();
  order.identity = reader.u32();
  return reader.complete() ? Result<Order>(std::move(order)) : malformed();
}

Result<std::string> Credentials::encode() const {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(substitutions.size()));
  for (const Substitution& substitution : substitutions) {
    writer.text(substitution.target.to_text());
    writer.text(substitution.placeholder);
    writer.text(substitution.value);
  }
  writer.u32(static_cast<std::uint32_t>(settings.size()));
  for (const Setting& setting : settings) {
    writer.text(setting.target.to_text());
    writer.text(setting.header);
    writer.text(setting.value);
  }
  writer.text(authority_certificate);
  writer.text(authority_key);
  std::string payload = writer.take();
  if (payload.size() > kMaxFramePayload) {
    return Error(ErrorCode::kExhausted, "the secrets of this sandbox are too large",
                 "use fewer or shorter secrets, or name fewer hosts for each");
  }
  return payload;
}

Result<Credentials> Credentials::decode(std::string_view payload) {
  WireReader reader(payload);
  Credentials read;
  const std::uint32_t substitutions = reader.u32();
  if (substitutions > kMaxSubstitutions) {
    return malformed();
  }
  for (std::uint32_t i = 0; i < substitutions; ++i) {
    Substitution one;
    one.target = GB_TRY(read_target(reader));
    one.placeholder = reader.text();
    one.value = GB_TRY(read_value(reader));
    if (!is_placeholder(one.placeholder)) {
      return malformed();
    }
    read.substitutions.push_back(std::move(one));
  }
  const std::uint32_t settings = reader.u32();
  if (settings > CredentialRules::kMaxHeaders) {
    return malformed();
  }
  for (std::uint32_t i = 0; i < settings; ++i) {
    Setting one;
    one.target = GB_TRY(read_target(reader));
    one.header = reader.text();
    one.value = GB_TRY(read_value(reader));
    GB_TRY(check_header_name(one.header));
    read.settings.push_back(std::move(one));
  }
  read.authority_certificate = reader.text();
  read.authority_key = reader.text();
  return reader.complete() ? Result<Credentials>(std::move(read)) : malformed();
}

Result<Credentials> make_credentials(const CredentialRules& rules, const SecretValues& secrets) {
  Credentials made;
  for (const PlaceholderRule& rule : rules.placeholders) {
    const auto value = secrets.find(rule.secret);
    if (value == secrets.end()) {
      return Error(ErrorCode::kNotFound, "no secret '" + printable(rule.secret) + "'");
    }
    if (auto fit = check_header_value(value->second); !fit) {
      return std::move(fit).error().within("secret '" + printable(rule.secret) + "'");
    }
    for (const CredentialTarget& target : rule.targets) {
      made.substitutions.push_back(
          {.target = target, .placeholder = rule.placeholder, .value = value->second});
    }
  }
  for (const HeaderRule& rule : rules.headers) {
    auto value = fill_in(rule.value, secrets);
    if (!value) {
      return std::move(value).error().within("header '" + printable(rule.name) + "'");
    }
    made.settings.push_back(
        {.target = rule.target, .header = rule.name, .value = std::move(value).value()});
  }
  return made;
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
