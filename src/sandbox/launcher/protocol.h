// SPDX-License-Identifier: Apache-2.0
// What glovebox and glovebox-launcher say to each other before the launcher becomes the warden, in
// tiers whose first process is started by somebody else: a container engine.
//
// The launcher connects to a socket that it finds as a file, and then:
//   glovebox -> launcher  one byte, with a descriptor beside it;
//   launcher -> glovebox  a Hello, with a descriptor beside it if that can be sent;
//   glovebox -> launcher  an Order;
//   launcher -> glovebox  a SetupReport (spec/warden_protocol.h), and if it names no failed step
//                         whatever a warden says.
// Hello and Order are a size (u32) and that many bytes. The launcher is the first process inside,
// so what it says is believed no more than what a warden says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::launcher {

// Where its files are inside. The socket, in a directory that holds nothing else, is bound there.
inline constexpr std::string_view kProgram = "glovebox-launcher";
inline constexpr std::string_view kPrograms = "/run/inner";
inline constexpr std::string_view kControl = "/run/inner/control";
inline constexpr std::string_view kSocketName = "s";

inline constexpr std::size_t kMaxHello = 4096;
inline constexpr std::size_t kMaxOrder = 256UL * 1024;
inline constexpr std::size_t kMaxRules = 256;

struct Hello {
  bool received_descriptor = false;
  std::uint32_t landlock_abi = 0;  // 0: none, or refused by the engine that started us.
  std::string boot_id;             // Of the kernel inside; two kernels never have the same.

  [[nodiscard]] std::string encode() const;
  static Result<Hello> decode(std::string_view bytes);
};

struct Order {
  struct Rule {
    std::string path;
    std::uint64_t access = 0;
    bool optional = false;
  };
  std::string workspace;
  std::uint32_t landlock_abi = 0;  // 0: no Landlock.
  std::uint64_t landlock_fs = 0;
  std::uint64_t landlock_scoped = 0;
  std::vector<Rule> rules;
  std::string filter;  // The bytes of an array of sock_filter; empty: none.
  std::vector<std::string> warden_arguments;

  [[nodiscard]] std::string encode() const;
  static Result<Order> decode(std::string_view bytes);
};

}  // namespace glovebox::launcher
