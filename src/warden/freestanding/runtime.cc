// SPDX-License-Identifier: Apache-2.0
// What compilers and the standard library call when something is wrong. All of it is a bug of ours,
// so all of it ends the process.
#include "warden/freestanding/runtime.h"

#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/sys/raw.h"

namespace glovebox::warden {

void die(const char* message) noexcept {
  (void)sys::raw(SYS_write, 2, message, std::strlen(message));
  for (;;) {
    (void)sys::raw(SYS_exit_group, 134);  // As after abort(3).
  }
}

}  // namespace glovebox::warden

namespace glovebox {

void check_failed(const char* condition, const char* /*file*/, int /*line*/) noexcept {
  warden::die(condition);
}

}  // namespace glovebox

extern "C" [[noreturn]] void __stack_chk_fail() { glovebox::warden::die("stack overrun"); }

namespace std {
// NOLINTBEGIN(bugprone-reserved-identifier): libstdc++'s names (bits/functexcept.h).
[[noreturn]] void __throw_bad_alloc() { glovebox::warden::die("bad_alloc"); }
[[noreturn]] void __throw_length_error(const char* what) { glovebox::warden::die(what); }
[[noreturn]] void __throw_logic_error(const char* what) { glovebox::warden::die(what); }
[[noreturn]] void __throw_out_of_range_fmt(const char* what, ...) { glovebox::warden::die(what); }
[[gnu::noreturn]] void __glibcxx_assert_fail(const char*,
                                             int,
                                             const char*,
                                             const char* what) noexcept {
  glovebox::warden::die(what);
}
// NOLINTEND(bugprone-reserved-identifier)
}  // namespace std
