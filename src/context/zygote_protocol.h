// SPDX-License-Identifier: Apache-2.0
// What we and a zygote say to each other: one datagram a message, over a sequenced-packet socket
// (unix(7)), with descriptors beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::zygote {

inline constexpr std::size_t kMaxMessage = 128UL * 1024;

// Asks for a fork in a sandbox. With it come: the pidfd of the sandbox's warden, the socket that
// becomes descriptor 3, standard output, standard error, then the directory of a cgroup to be born
// in (v2) or files to write "0" to (v1).
struct ForkRequest {
  std::uint32_t id = 0;
  bool born_in_cgroup = false;
  std::uint32_t uid = 0;  // Inside.
  std::uint32_t gid = 0;
  struct Limit {
    std::uint32_t resource = 0;  // Of setrlimit(2).
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
  };
  std::vector<Limit> limits{};
  std::uint32_t landlock_abi = 0;
  std::uint64_t landlock_fs = 0;
  struct Rule {
    std::string path;
    std::uint64_t access = 0;
  };
  std::vector<Rule> rules{};
  std::vector<std::string> env{};  // "NAME=value"; all that the interpreter gets.
  std::string cwd{};
  std::string filter{};  // A seccomp filter: an array of sock_filter.

  [[nodiscard]] std::string encode() const;
  static Result<ForkRequest> decode(std::string_view bytes);
};

struct Message {
  enum class Kind : std::uint8_t {
    kReady = 1,   // The zygote is warm; `text` is the interpreter's version.
    kForked = 2,  // `value` is 0 and the pidfd came along, or a negative errno.
    kExited = 3,  // `value` is the wait status of fork `id`.
  };
  Kind kind = Kind::kReady;
  std::uint32_t id = 0;
  std::int32_t value = 0;
  std::string text{};

  [[nodiscard]] std::string encode() const;
  static Result<Message> decode(std::string_view bytes);
};

// What a fork writes on its descriptor 3 when it could not enter: a frame of this type, whose
// payload names the step and the errno.
inline constexpr std::uint8_t kNotEntered = 63;
// The only step that the caller's own wish can make fail.
inline constexpr const char* kDirectoryStep = "working directory";

}  // namespace glovebox::zygote
