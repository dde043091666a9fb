// SPDX-License-Identifier: Apache-2.0
// What gVisor's kernel answers to a call, which a guest may have written: it means the same in
// whatever pieces it comes, is complete at most once, and puts nothing but text before a person.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "sandbox/tiers/gvisor/control.h"

namespace {

using namespace glovebox;

struct Outcome {
  bool complete = false;
  bool failed = false;
  std::string message;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome taken(std::string_view text, std::size_t size) {
  KernelAnswer answer;
  for (std::size_t at = 0; at < text.size(); at += size) {
    const Result<bool> more = answer.take(text.substr(at, size));
    if (!more) {
      return {.failed = true, .message = more.error().message()};
    }
    if (more.value()) {
      return {.complete = true};
    }
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = taken(text, std::max<std::size_t>(text.size(), 1));
  require(whole == taken(text, 1));
  require(whole == taken(text, std::size_t{data[0]} + 1));
  require(text.size() <= KernelAnswer::kMost || whole.complete || whole.failed);
  require(std::ranges::none_of(whole.message, [](unsigned char byte) { return byte < ' '; }));
  if (whole.complete) {
    // Its beginning is an object that says so, wherever that ends.
    require(text.find("success") != std::string_view::npos || text.find('\\') != text.npos);
    require(text.find("true") != std::string_view::npos);
  }
  return 0;
}
