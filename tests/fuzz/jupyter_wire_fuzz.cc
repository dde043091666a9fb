// SPDX-License-Identifier: Apache-2.0
// What a Jupyter kernel sends, and the file that says how to start one. A message is signed here as
// a kernel would sign it: nothing but the signature is between a guest and the parser.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernelspec.h"
#include "mime_values.h"
#include "require.h"
#include "wire.h"

namespace {

using namespace glovebox;
using namespace glovebox::jupyter;

// Parts are separated by a byte that no JSON has.
std::vector<std::string_view> split(std::string_view input) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= input.size() && parts.size() < kMaxParts;) {
    const std::size_t end = std::min(input.find('\x01', at), input.size());
    parts.push_back(input.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

void fuzz_message(std::string_view input) {
  static const Signer kSigner("key");
  const std::vector<std::string_view> said = split(input);
  (void)parse_message(said, kSigner);
  if (said.size() < 4) {
    return;
  }
  const std::vector<std::string_view> body(said.begin(), said.begin() + 4);
  const std::string signature = kSigner.sign(body);
  const auto message =
      parse_message({"<IDS|MSG>", signature, body[0], body[1], body[2], body[3]}, kSigner);
  if (!message) {
    require(message.error().code() != ErrorCode::kRefused);
    return;
  }
  const std::vector<std::string> again = serialise(*message, kSigner);
  const auto same = parse_message({again.begin(), again.end()}, kSigner);
  require(same && same->content == message->content && same->id() == message->id());
}

void fuzz_values(std::string_view input) {
  const auto bundle = parse_json_object(input, input.size());
  if (!bundle) {
    return;
  }
  MimeValues values(256);
  const Json shown = values.translate(*bundle);
  require(shown.is_object() && shown.size() <= MimeValues::kMaxTypes);
  (void)values.fetch(*bundle);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Json piece =
        values.fetch({{"ref", "r" + std::to_string(i)}, {"offset", i}, {"size", 100}});
    require(piece.is_object());
  }
}

void fuzz_kernelspec(std::string_view input) {
  const auto spec = parse_kernelspec(input);
  if (spec) {
    require(!spec->argv.empty());
    require(spec->command("/tmp/connection.json").size() == spec->argv.size());
  }
}

}  // namespace

// The first byte chooses the parser.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) {
    fuzz_message(input);
  } else if (data[0] % 3 == 1) {
    fuzz_values(input);
  } else {
    fuzz_kernelspec(input);
  }
  return 0;
}
