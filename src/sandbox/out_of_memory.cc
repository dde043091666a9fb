// SPDX-License-Identifier: Apache-2.0
#include "sandbox/out_of_memory.h"

#include <algorithm>
#include <array>

namespace glovebox {
namespace {

constexpr std::array<std::string_view, 17> kWords = {
    "java.lang.OutOfMemoryError",
    "JavaScript heap out of memory",
    "Array buffer allocation failed",
    "runtime: out of memory",
    "runtime: cannot allocate memory",
    "memory allocation of ",  // Rust.
    "std::bad_alloc",
    "MemoryError",  // Python; NoMemoryError of Ruby.
    "OutOfMemoryException",
    "Out of memory",
    "Allowed memory size of ",  // PHP.
    "Out_of_memory",            // OCaml.
    "heap exhausted",
    "not enough memory",  // Lua.
    "cannot allocate vector of size",
    "memory exhausted",        // GNU's tools.
    "Cannot allocate memory",  // ENOMEM.
};

}  // namespace

bool gave_up_on_memory(std::string_view said, std::optional<Bytes> peak, Bytes limit) {
  return peak && peak->count >= limit.count / 2 &&
         std::ranges::any_of(
             kWords, [said](std::string_view words) { return said.find(words) != said.npos; });
}

}  // namespace glovebox
