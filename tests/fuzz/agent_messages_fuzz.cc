// SPDX-License-Identifier: Apache-2.0
// What agents and zygotes send: everything taken is within its bounds and can be said again as
// JSON; what a zygote said means the same when it is encoded again.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "base/text.h"
#include "context/agent_protocol.h"
#include "context/notebook/values.h"
#include "context/zygote_protocol.h"
#include "require.h"

namespace {

using namespace glovebox;

void fuzz_event(std::uint8_t type, std::string_view input) {
  const auto event = agent::decode_event(static_cast<agent::Reply>(type), input);
  if (!event) {
    return;
  }
  require(event->execution_count >= 0);
  for (const auto& [mime, value] : event->data) {
    require(nlohmann::json::accept(value) && is_utf8(value));
    require(value.find_first_of("\r\n") == value.npos);  // It goes into events, a line each.
    // What is taken for base64 or a text is never longer than what was said.
    const auto bytes = notebook::bytes_of(event->data, mime);
    require(!bytes || bytes->size() <= input.size());
  }
  require(event->metadata.empty() || nlohmann::json::accept(event->metadata));
  for (const auto& [mime, value] : notebook::keep_inline(*event).data) {
    require(nlohmann::json::accept(value));
  }
}

void fuzz_replies(std::string_view input) {
  if (const auto ready = agent::decode_ready(input)) {
    require(ready->features.size() <= 64);
  }
  if (const auto done = agent::decode_done(input)) {
    require(done->execution_count >= 0);
  }
  if (const auto left_out = agent::decode_checkpoint(input)) {
    require(left_out->size() <= 200);
  }
  if (const auto completion = agent::decode_completion(input, 10)) {
    require(completion->start <= completion->end && completion->end <= 10);
    for (const std::string& match : completion->matches) {
      require(match.size() <= input.size() && is_utf8(match));
    }
  }
  if (const auto inspection = agent::decode_inspection(input)) {
    require(inspection->found || inspection->data.empty());
    for (const auto& [mime, text] : inspection->data) {
      require(text.size() <= input.size() && is_utf8(text));
    }
  }
}

void fuzz_zygote(std::string_view input) {
  if (const auto message = zygote::Message::decode(input)) {
    const auto again = zygote::Message::decode(message->encode());
    require(again && again->encode() == message->encode());
  }
  if (const auto request = zygote::ForkRequest::decode(input)) {
    const std::string bytes = request->encode();
    const auto again = zygote::ForkRequest::decode(bytes);
    require(again && again->encode() == bytes);
  }
}

}  // namespace

// The first byte chooses the decoder; from 64 on it is the type of an agent's frame.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= 64) {
    fuzz_event(data[0], input);
  } else if (data[0] % 2 == 0) {
    fuzz_replies(input);
  } else {
    fuzz_zygote(input);
  }
  return 0;
}
