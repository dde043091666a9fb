// SPDX-License-Identifier: Apache-2.0
// Multipart: a form is cut into the same parts however its bytes arrive, and it ends.
#include "doors/e2b/multipart.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "require.h"

namespace {

using glovebox::Result;
using glovebox::e2b::Multipart;

struct Form {
  std::vector<std::string> parts;  // Names and contents, in turn.
  bool ok = true;
};

Form read(std::string_view boundary, std::string_view body, std::size_t piece) {
  Form form;
  std::size_t taken = 0;
  Multipart parser(boundary, [&](std::span<char> into) -> Result<std::size_t> {
    const std::size_t count = std::min({piece, into.size(), body.size()});
    std::memcpy(into.data(), body.data(), count);
    body.remove_prefix(count);
    taken += count;
    return count;
  });
  std::array<char, 997> block{};
  for (;;) {
    auto part = parser.next();
    if (!part || !part.value()) {
      form.ok = part.has_value();
      return form;
    }
    form.parts.push_back(part.value()->name);
    std::string content;
    for (;;) {
      const auto got = parser.read(block);
      if (!got) {
        form.ok = false;
        return form;
      }
      if (*got == 0) {
        break;
      }
      content.append(block.data(), *got);
    }
    require(content.size() <= taken);
    form.parts.push_back(std::move(content));
  }
}

}  // namespace

// The first line is the Content-Type, the rest the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  const auto boundary = Multipart::boundary_of(input.substr(0, line));
  if (!boundary) {
    return 0;
  }
  const std::string_view body = input.substr(std::min(line + 1, input.size()));
  const Form whole = read(*boundary, body, body.size() + 1);
  const Form pieces = read(*boundary, body, 1);
  require(whole.ok == pieces.ok);
  require(!whole.ok || whole.parts == pieces.parts);
  return 0;
}
