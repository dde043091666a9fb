// SPDX-License-Identifier: Apache-2.0
// glovebox-checker: says whether what a guest wrote conforms to a schema.
//
// Standard input has the size of the schema as a decimal number, a line feed, the schema, and the
// document. The exit status is that of a confined program. What a guest wrote is compared by a
// large library, with patterns that can take forever, so this process has nothing but its memory.
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/confined/confine.h"
#include "base/sys/read_all.h"
#include "checker/schema.h"

namespace glovebox::checker {
namespace {

constexpr auto kFilter = confined::allow_only(
    confined::join(std::array<std::uint32_t, 2>{SYS_read, SYS_write}, confined::kMemoryAndEnd));
constexpr confined::Bounds kBounds{.memory = 1ULL << 30, .cpu_seconds = 3, .file_size = 0};
constexpr Bytes kMostInput = 64_MiB;

Result<void> check() {
  GB_TRY(confined::confine_self(kBounds, confined::Root::kKeep, kFilter));
  const std::string text = GB_TRY(sys::read_all(STDIN_FILENO, kMostInput, "the input"));
  std::size_t size = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;
  if (failure != std::errc() || begin > text.size() || size > text.size() - begin) {
    return Error(ErrorCode::kInternal, "glovebox-checker was started in a wrong way");
  }
  const std::string_view rest = std::string_view(text).substr(begin);
  return conforms(rest.substr(0, size), rest.substr(size));
}

}  // namespace
}  // namespace glovebox::checker

int main() {
  // What goes on at an ordinary exit takes calls that the filter does not know.
  ::_exit(glovebox::confined::exit_status_of(glovebox::checker::check()));
}
