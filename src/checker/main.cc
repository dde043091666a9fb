// SPDX-License-Identifier: Apache-2.0
// glovebox-checker: says whether what a guest wrote conforms to a schema.
//
// Standard input is a Request. The exit status is that of a confined program. What a guest wrote is
// compared by a large library, with patterns that can take forever, so this process has nothing but
// its memory.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/confined/confine.h"
#include "base/sys/read_all.h"
#include "checker/request.h"
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
  const Request request = GB_TRY(parse_request(text));
  return conforms(request.schema, request.document);
}

}  // namespace
}  // namespace glovebox::checker

int main() {
  // An ordinary exit makes system calls that the filter does not allow.
  ::_exit(glovebox::confined::exit_status_of(glovebox::checker::check()));
}
