// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/beginning.h"

#include <cstdint>
#include <utility>

#include "base/wire.h"

namespace glovebox::wasm {

std::string Beginning::encode() const {
  WireWriter writer;
  writer.u8(compiles ? 1 : 0);
  writer.texts(arguments);
  writer.texts(environment);
  const std::string head = writer.take();
  WireWriter sizes;
  sizes.u32(static_cast<std::uint32_t>(sizeof(std::uint32_t) + head.size() + compiled.size()));
  sizes.text(head);
  std::string bytes = sizes.take();
  bytes += compiled;
  return bytes;
}

Result<Beginning> Beginning::decode(std::string_view bytes) {
  const std::string_view head = WireReader(bytes).text();
  WireReader reader(head);
  Beginning beginning;
  beginning.compiles = reader.u8() != 0;
  beginning.arguments = reader.texts(kMostItems);
  beginning.environment = reader.texts(kMostItems);
  if (!reader.complete() || beginning.arguments.empty()) {
    return Error(ErrorCode::kInvalid, "this is not the beginning of a run");
  }
  beginning.compiled = bytes.substr(sizeof(std::uint32_t) + head.size());
  return beginning;
}

}  // namespace glovebox::wasm
