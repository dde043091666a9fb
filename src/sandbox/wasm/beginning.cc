// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/beginning.h"

#include <utility>

#include "base/wire.h"

namespace glovebox::wasm {

std::string Beginning::encode() const {
  WireWriter writer;
  writer.texts(arguments);
  writer.texts(environment);
  WireWriter sized;
  sized.text(writer.take());
  return sized.take();
}

Result<Beginning> Beginning::decode(std::string_view bytes) {
  WireReader reader(bytes);
  Beginning beginning;
  beginning.arguments = reader.texts(kMostItems);
  beginning.environment = reader.texts(kMostItems);
  return reader.complete() && !beginning.arguments.empty()
             ? Result<Beginning>(std::move(beginning))
             : Error(ErrorCode::kInvalid, "this is not the beginning of a run");
}

}  // namespace glovebox::wasm
