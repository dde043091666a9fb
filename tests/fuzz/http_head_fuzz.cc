// SPDX-License-Identifier: Apache-2.0
// The heads of requests and of guests' answers: what is accepted keeps the parser's promises, and a
// body is decoded to the same bytes however it is cut into pieces.
#include "doors/transport/head.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "require.h"

namespace {

using glovebox::http::BodyDecoder;
using glovebox::http::Head;

struct Decoded {
  std::string body;
  bool ok = true;
  bool done = false;
};

// Feeds `pieces` bytes at a time, as a connection does: what was not consumed comes again.
Decoded decode(const Head& head, std::string_view bytes, std::size_t piece) {
  Decoded result;
  BodyDecoder decoder(head);
  std::array<char, 4096> out{};
  std::size_t shown = 0;
  while (!decoder.done()) {
    const auto step = decoder.decode(bytes.substr(0, shown), out);
    if (!step) {
      result.ok = false;
      return result;
    }
    require(step->consumed <= shown && step->produced <= out.size());
    result.body.append(out.data(), step->produced);
    bytes.remove_prefix(step->consumed);
    shown -= step->consumed;
    if (step->consumed == 0 && step->produced == 0 && !decoder.done()) {
      if (shown == bytes.size()) {
        return result;
      }
      shown = std::min(bytes.size(), shown + piece);
    }
  }
  result.done = true;
  return result;
}

void check(const Head& head) {
  for (const auto& [name, value] : head.headers) {
    require(!name.empty() && name.find_first_of("\r\n: ") == std::string::npos);
    require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
  require(!(head.chunked && head.content_length));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t searched = 0;
  const auto end = glovebox::http::end_of_head(input, searched);
  if (!end) {
    return 0;
  }
  require(*end <= size);
  const std::string_view head_bytes = input.substr(0, *end);
  const std::string_view rest = input.substr(*end);
  if (auto answer = glovebox::http::parse_answer_head(head_bytes)) {
    require(answer->status >= 100 && answer->status <= 599);
    check(answer->head);
  }
  const auto parsed = glovebox::http::parse_head(head_bytes);
  const Head* const head = std::get_if<Head>(&parsed);
  if (head == nullptr) {
    const int status = std::get<glovebox::http::BadRequest>(parsed).status;
    require(status >= 400 && status <= 599);
    return 0;
  }
  check(*head);
  require(head->target == "*" || head->target.starts_with('/'));
  const Decoded whole = decode(*head, rest, rest.size() + 1);
  const Decoded pieces = decode(*head, rest, 1);
  require(whole.ok == pieces.ok && whole.done == pieces.done);
  require(!whole.done || whole.body == pieces.body);
  return 0;
}
