// SPDX-License-Identifier: Apache-2.0
#include "context/zygote_protocol.h"

#include "base/wire.h"

namespace glovebox::zygote {
namespace {

constexpr std::size_t kMaxItems = 256;
constexpr std::size_t kMaxVariables = 4096;

template <typename T>
Result<T> checked(const WireReader& reader, T value) {
  if (!reader.complete()) {
    return Error(ErrorCode::kInvalid, "malformed message from a zygote");
  }
  return value;
}

}  // namespace

std::string ForkRequest::encode() const {
  WireWriter out;
  out.u32(id);
  out.u8(born_in_cgroup ? 1 : 0);
  out.u32(uid);
  out.u32(gid);
  out.u32(static_cast<std::uint32_t>(limits.size()));
  for (const Limit& limit : limits) {
    out.u32(limit.resource);
    out.u64(limit.soft);
    out.u64(limit.hard);
  }
  out.u32(landlock_abi);
  out.u64(landlock_fs);
  out.u32(static_cast<std::uint32_t>(rules.size()));
  for (const Rule& rule : rules) {
    out.text(rule.path);
    out.u64(rule.access);
  }
  out.texts(env);
  out.text(cwd);
  out.text(filter);
  return out.take();
}

Result<ForkRequest> ForkRequest::decode(std::string_view bytes) {
  WireReader in(bytes);
  ForkRequest request;
  request.id = in.u32();
  request.born_in_cgroup = in.u8() != 0;
  request.uid = in.u32();
  request.gid = in.u32();
  const std::uint32_t limits = in.u32();
  for (std::uint32_t i = 0; i < limits && i < kMaxItems && in.ok(); ++i) {
    Limit limit;
    limit.resource = in.u32();
    limit.soft = in.u64();
    limit.hard = in.u64();
    request.limits.push_back(limit);
  }
  request.landlock_abi = in.u32();
  request.landlock_fs = in.u64();
  const std::uint32_t rules = in.u32();
  for (std::uint32_t i = 0; i < rules && i < kMaxItems && in.ok(); ++i) {
    Rule rule;
    rule.path = in.text();
    rule.access = in.u64();
    request.rules.push_back(std::move(rule));
  }
  request.env = in.texts(kMaxVariables);
  request.cwd = in.text();
  request.filter = in.text();
  return checked(in, std::move(request));
}

std::string Message::encode() const {
  WireWriter out;
  out.u8(static_cast<std::uint8_t>(kind));
  out.u32(id);
  out.u32(static_cast<std::uint32_t>(value));
  out.text(text);
  return out.take();
}

Result<Message> Message::decode(std::string_view bytes) {
  WireReader in(bytes);
  Message message;
  message.kind = static_cast<Kind>(in.u8());
  message.id = in.u32();
  message.value = static_cast<std::int32_t>(in.u32());
  message.text = in.text();
  return checked(in, std::move(message));
}

}  // namespace glovebox::zygote
