// SPDX-License-Identifier: Apache-2.0
// Every message of the warden's protocol: a warden that was taken over may send anything, and what
// decodes must say the same again once it is encoded.
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "spec/warden_protocol.h"

namespace {

using namespace glovebox::warden;

template <typename Message>
void decode(std::string_view bytes) {
  const auto message = Message::decode(bytes);
  if (!message) {
    require(!message.error().message().empty());
    return;
  }
  if constexpr (requires { message.value().encode(); }) {
    const std::string again = message.value().encode();
    const auto second = Message::decode(again);
    require(second.has_value());
    require(second.value().encode() == again);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr void (*kDecoders[])(std::string_view) = {
      decode<StartRequest>,  decode<TerminalSize>,    decode<SignalRequest>,
      decode<WriteRequest>,  decode<PackRequest>,     decode<SetupReport>,
      decode<ReadyReport>,   decode<EndedReport>,     decode<DoneReport>,
      decode<FilesReport>,   decode<SnapshotRequest>, decode<StreamReport>,
      decode<MoveInRequest>, decode<VersionRequest>,  decode<DifferencesReport>,
      decode<ContentReport>};
  kDecoders[data[0] % std::size(kDecoders)](bytes);
  return 0;
}
