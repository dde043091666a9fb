// SPDX-License-Identifier: Apache-2.0
// Compiles a table of system calls to seccomp-BPF at compile time.
//
// Layout of a filter: load the architecture and kill what is foreign; load the number and kill the
// x32 range; a balanced tree of comparisons over ranges of numbers with one answer; then the
// argument checks, one block each. The tree is about log2(ranges) deep, which keeps both the
// kernel's pre-evaluation at installation and each uncached call short.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace glovebox::policy {

enum class Check : std::uint8_t {
  kNone,
  kClone,         // Threads and processes, but no new namespaces.
  kCloneNested,   // New namespaces, too.
  kCloneWatched,  // As kClone, but the listener is asked about a call for a namespace.
  kUnshare,       // Namespaces and the file system's attributes; not the table of descriptors.
  kSocket,        // UNIX, NETLINK_ROUTE, and the common protocols of INET and INET6.
  kSocketLocal,   // UNIX streams only.
  kIoctl,         // No typing into terminals, no taking the console, no line disciplines.
  kSetsockopt,    // Not the options that the kernel bugs of 2026 came through, no BPF code.
  kSeccomp,       // Stricter filters yes, listeners no.
  kPrctl,         // Not the merging of equal pages.
  kPrctlFilter,   // Nor a system call filter.
  kPersonality,   // The harmless personalities.
  kFcntl,         // Not the locks of open file descriptions.
  kFcntlLocal,    // Nor the watching of directories.
  kMmap,          // Not the host's reserved huge pages.
  kNoCode,        // mmap(2) and mprotect(2): no page to execute.
  kMemfd,         // Likewise.
  kMemfdNoexec,   // Only files in memory that never can be executed.
  kMadvise,       // Not the merging of equal pages.
  kNotFirst,      // Its first argument is a pid: not that of the warden in a pid namespace.
  kSelfOnly,      // Its first argument is a pid: zero, which is the caller.
  kPriority,      // setpriority(2): of the calling process.
  kIoPriority,    // ioprio_set(2): of the calling process.
  kOwnClock,      // Its first argument is a clock: not that of another process.
  kNoDevice,      // mknod(2): FIFOs, sockets and files.
  kNoDeviceAt,    // mknodat(2): likewise.
  kNoPath,        // Its second argument is a path: null, which means the descriptor itself.
};

// What a call gets: a constant SECCOMP_RET_… value, or a check of its arguments.
struct Answer {
  std::uint32_t value = SECCOMP_RET_ALLOW;
  Check check = Check::kNone;
  friend constexpr bool operator==(const Answer&, const Answer&) = default;
};

constexpr Answer allow() { return {}; }
constexpr Answer refuse(int error) {
  return {SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error), Check::kNone};
}
// The caller waits for what the listener of the filter says (seccomp_unotify(2)).
constexpr Answer ask() { return {SECCOMP_RET_USER_NOTIF, Check::kNone}; }
constexpr Answer examine(Check check) { return {0, check}; }

struct Rule {
  std::uint32_t number;
  Answer answer;
};

inline constexpr std::size_t kMaxInstructions = 768;

struct Program {
  std::array<sock_filter, kMaxInstructions> code{};
  std::size_t size = 0;
  [[nodiscard]] constexpr std::span<const sock_filter> instructions() const {
    return {code.data(), size};
  }
};

// `rules` must be sorted by number without duplicates. Calls up to `last_known` without a rule get
// `otherwise`; larger numbers get `unknown`.
consteval Program compile(std::span<const Rule> rules,
                          Answer otherwise,
                          std::uint32_t last_known,
                          Answer unknown);

namespace detail {

inline constexpr std::uint32_t kNumberOffset = 0;
inline constexpr std::uint32_t kArchOffset = 4;
// The low half of argument n: all that the kernel looks at for flags and commands of 32 bits. A
// comparison of the whole word could be passed by with junk in the upper half.
constexpr std::uint32_t argument(std::uint32_t n) { return 16 + 8 * n; }

struct Range {
  std::uint32_t first;
  Answer answer;
};

class Assembler {
 public:
  Program program;

  constexpr void emit(std::uint16_t code,
                      std::uint32_t k,
                      std::uint8_t jt = 0,
                      std::uint8_t jf = 0) {
    program.code[program.size++] = sock_filter{code, jt, jf, k};
  }
  constexpr void load(std::uint32_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, offset); }
  constexpr void ret(std::uint32_t value) { emit(BPF_RET | BPF_K, value); }
  // Returns `value` when the accumulator equals `k`; continues otherwise.
  constexpr void ret_if_equal(std::uint32_t k, std::uint32_t value) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
    ret(value);
  }
  // Returns `value` when the accumulator has a bit of `k`; continues otherwise.
  constexpr void ret_if_any(std::uint32_t k, std::uint32_t value) {
    emit(BPF_JMP | BPF_JSET | BPF_K, k, 0, 1);
    ret(value);
  }
};

constexpr void emit_check(Assembler& out, Check check) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  constexpr std::uint32_t kEperm = refuse(1).value;
  constexpr std::uint32_t kEinval = refuse(22).value;
  constexpr std::uint32_t kNoFamily = refuse(97).value;    // EAFNOSUPPORT
  constexpr std::uint32_t kNoType = refuse(94).value;      // ESOCKTNOSUPPORT
  constexpr std::uint32_t kNoProtocol = refuse(93).value;  // EPROTONOSUPPORT
  switch (check) {
    case Check::kNone:
      break;
    case Check::kClone:
    case Check::kCloneNested:
    case Check::kCloneWatched:
      // CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} and CLONE_UNTRACED.
      out.load(argument(0));
      if (check == Check::kCloneWatched) {
        out.ret_if_any(0x7E020000, ask().value);
      }
      out.ret_if_any((check == Check::kClone ? 0x7E020000 : 0) | 0x00800000, kEperm);
      // Each process has one table of descriptors, and no two share one: otherwise its file locks
      // could not be found and counted (sandbox/hoard_watch.h).
      out.emit(BPF_ALU | BPF_AND | BPF_K, 0x00010400);  // CLONE_THREAD | CLONE_FILES
      out.ret_if_equal(0x00000400, kEperm);
      out.ret_if_equal(0x00010000, kEperm);
      out.ret(kAllow);
      break;
    case Check::kUnshare:
      // The namespaces of kClone and CLONE_FS. A thread with descriptors of its own would hide its
      // file locks; CLONE_NEWTIME and later flags have not been reviewed.
      out.load(argument(0));
      out.ret_if_any(~(0x7E020000U | 0x00000200U), kEperm);
      out.ret(kAllow);
      break;
    case Check::kSocket:
      out.load(argument(0));
      out.ret_if_equal(1, kAllow);                    // AF_UNIX
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, 16, 0, 4);  // AF_NETLINK
      out.load(argument(2));
      out.ret_if_equal(0, kAllow);  // NETLINK_ROUTE
      out.ret(kNoFamily);
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, 2, 2, 0);   // AF_INET
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, 10, 1, 0);  // AF_INET6
      out.ret(kNoFamily);
      // A kernel loads a module for a type or protocol that it does not have yet, for anybody
      // (net/ipv4/af_inet.c, inet_create).
      out.load(argument(1));
      out.emit(BPF_ALU | BPF_AND | BPF_K, 0xf);
      out.emit(BPF_JMP | BPF_JGE | BPF_K, 4, 0, 1);  // Beyond SOCK_STREAM, _DGRAM and _RAW.
      out.ret(kNoType);
      out.load(argument(2));
      for (const std::uint32_t protocol : {0, 1, 6, 17, 58}) {  // Any, ICMP, TCP, UDP, ICMPv6.
        out.ret_if_equal(protocol, kAllow);
      }
      out.ret(kNoProtocol);
      break;
    case Check::kSocketLocal:
      out.load(argument(0));
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0);
      out.ret(kNoFamily);
      out.load(argument(1));
      out.emit(BPF_ALU | BPF_AND | BPF_K, 0xf);
      // A datagram socket needs no connect to reach the host; and SOCK_RAW becomes one
      // (net/unix/af_unix.c, unix_create).
      out.ret_if_equal(2, kNoFamily);
      out.ret_if_equal(3, kNoFamily);
      out.ret(kAllow);
      break;
    case Check::kIoctl:
      out.load(argument(1));
      out.ret_if_equal(0x5412, kEperm);  // TIOCSTI
      out.ret_if_equal(0x541C, kEperm);  // TIOCLINUX
      out.ret_if_equal(0x541D, kEperm);  // TIOCCONS
      out.ret_if_equal(0x5423, kEperm);  // TIOCSETD
      out.ret(kAllow);
      break;
    case Check::kSetsockopt: {
      // An option of UDP is taken at the level of UDP-Lite as well (net/ipv4/udp.c,
      // udp_setsockopt).
      struct Refused {
        std::uint32_t level;
        std::uint32_t option;
      };
      constexpr std::array<Refused, 19> kRefused = {{
          {17, 100},            // SOL_UDP, UDP_ENCAP
          {136, 100}, {6, 31},  // SOL_TCP, TCP_ULP
          {6, 14},              // TCP_MD5SIG
          {6, 32},              // TCP_MD5SIG_EXT
          {6, 38},              // TCP_AO_ADD_KEY
          {0, 64},              // SOL_IP and SOL_IPV6, {IPT,IP6T}_SO_SET_REPLACE
          {41, 64},   {0, 65},  // …_SO_SET_ADD_COUNTERS
          {41, 65},   {0, 96},  // SOL_IP, ARPT_SO_SET_REPLACE
          {0, 97},              // ARPT_SO_SET_ADD_COUNTERS
          {0, 128},             // SOL_IP, EBT_SO_SET_ENTRIES
          {0, 129},             // EBT_SO_SET_COUNTERS
          {41, 32},             // IPV6_FLOWLABEL_MGR
          {1, 26},              // SOL_SOCKET, SO_ATTACH_FILTER
          {1, 50},              // SO_ATTACH_BPF
          {1, 51},              // SO_ATTACH_REUSEPORT_CBPF
          {1, 52},              // SO_ATTACH_REUSEPORT_EBPF
      }};
      for (const Refused& refused : kRefused) {
        out.load(argument(1));
        out.emit(BPF_JMP | BPF_JEQ | BPF_K, refused.level, 0, 3);
        out.load(argument(2));
        out.ret_if_equal(refused.option, kEperm);
      }
      out.ret(kAllow);
      break;
    }
    case Check::kSeccomp:
      out.load(argument(1));
      out.ret_if_any(8, kEperm);  // SECCOMP_FILTER_FLAG_NEW_LISTENER
      out.ret(kAllow);
      break;
    case Check::kPrctl:
    case Check::kPrctlFilter:
      out.load(argument(0));
      out.ret_if_equal(67, kEinval);  // PR_SET_MEMORY_MERGE
      if (check == Check::kPrctlFilter) {
        out.ret_if_equal(22, kEinval);  // PR_SET_SECCOMP
      }
      out.ret(kAllow);
      break;
    case Check::kFcntl:
    case Check::kFcntlLocal:
      out.load(argument(1));
      out.ret_if_equal(36, kEinval);  // F_OFD_GETLK
      out.ret_if_equal(37, kEinval);  // F_OFD_SETLK
      out.ret_if_equal(38, kEinval);  // F_OFD_SETLKW
      if (check == Check::kFcntlLocal) {
        out.ret_if_equal(1026, kEinval);  // F_NOTIFY
      }
      out.ret(kAllow);
      break;
    case Check::kMmap:
      out.load(argument(3));
      out.ret_if_any(0x40000, refuse(12).value);  // MAP_HUGETLB: ENOMEM, as if none is reserved.
      out.ret(kAllow);
      break;
    case Check::kNoCode:
      out.load(argument(2));
      out.ret_if_any(4, kEperm);  // PROT_EXEC
      out.ret(kAllow);
      break;
    case Check::kMemfd:
      out.load(argument(1));
      out.ret_if_any(4, kEinval);  // MFD_HUGETLB
      out.ret(kAllow);
      break;
    case Check::kMemfdNoexec:
      out.load(argument(1));
      out.ret_if_any(8, kAllow);  // MFD_NOEXEC_SEAL
      out.ret(refuse(38).value);  // ENOSYS
      break;
    case Check::kMadvise:
      out.load(argument(2));
      out.ret_if_equal(12, kEinval);  // MADV_MERGEABLE
      out.ret(kAllow);
      break;
    case Check::kPersonality:
      out.load(argument(0));
      out.ret_if_equal(0, kAllow);
      out.ret_if_equal(8, kAllow);        // PER_LINUX32
      out.ret_if_equal(0x20000, kAllow);  // UNAME26
      out.ret_if_equal(0x20008, kAllow);
      out.ret_if_equal(0x40000, kAllow);     // ADDR_NO_RANDOMIZE, which sanitizers ask for.
      out.ret_if_equal(0xffffffff, kAllow);  // A question.
      out.ret(kEperm);
      break;
    case Check::kNotFirst:
      out.load(argument(0));
      out.ret_if_equal(1, kEperm);
      out.ret(kAllow);
      break;
    case Check::kNoDevice:
    case Check::kNoDeviceAt:
      out.load(argument(check == Check::kNoDevice ? 1 : 2));
      out.emit(BPF_ALU | BPF_AND | BPF_K, 0170000);  // S_IFMT
      out.ret_if_equal(0020000, kEperm);             // S_IFCHR
      out.ret_if_equal(0060000, kEperm);             // S_IFBLK
      out.ret(kAllow);
      break;
    case Check::kNoPath:
      out.load(argument(1));
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
      out.ret(kEperm);
      out.load(argument(1) + 4);  // The upper half: this argument is a pointer.
      out.ret_if_equal(0, kAllow);
      out.ret(kEperm);
      break;
    case Check::kSelfOnly:
      out.load(argument(0));
      out.ret_if_equal(0, kAllow);
      out.ret(kEperm);
      break;
    case Check::kPriority:
    case Check::kIoPriority:
      // A group or a user's processes are not the caller's own, whatever number names them.
      out.load(argument(0));
      out.emit(BPF_JMP | BPF_JEQ | BPF_K, check == Check::kPriority ? 0 : 1, 1, 0);
      out.ret(kEperm);
      out.load(argument(1));
      out.ret_if_equal(0, kAllow);
      out.ret(kEperm);
      break;
    case Check::kOwnClock:
      // A negative clock is that of a process (the number's complement, above three bits) or of a
      // device. Only zero is the caller itself (include/linux/posix-timers.h).
      out.load(argument(0));
      out.emit(BPF_JMP | BPF_JSET | BPF_K, 0x80000000, 1, 0);
      out.ret(kAllow);
      out.emit(BPF_ALU | BPF_AND | BPF_K, 0xfffffff8);
      out.ret_if_equal(0xfffffff8, kAllow);
      out.ret(kEinval);
      break;
  }
}

}  // namespace detail

consteval Program compile(std::span<const Rule> rules,
                          Answer otherwise,
                          std::uint32_t last_known,
                          Answer unknown) {
  constexpr std::uint32_t kX32Bit = 0x40000000;
  constexpr std::size_t kChecks = static_cast<std::size_t>(Check::kNoPath) + 1;
  constexpr std::size_t kMaxRanges = 512;

  // The number line as ranges of one answer each.
  std::array<detail::Range, kMaxRanges> ranges{};
  std::size_t count = 0;
  const auto add = [&](std::uint32_t first, Answer answer) {
    if (count > 0 && ranges[count - 1].first == first) {
      --count;
    }
    if (count > 0 && ranges[count - 1].answer == answer) {
      return;
    }
    ranges[count++] = detail::Range{first, answer};
  };
  add(0, otherwise);
  for (const Rule& rule : rules) {
    add(rule.number, rule.answer);
    add(rule.number + 1, otherwise);
  }
  add(last_known + 1, unknown);

  detail::Assembler out;
  out.load(detail::kArchOffset);
  out.emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  out.ret(SECCOMP_RET_KILL_PROCESS);
  out.load(detail::kNumberOffset);
  out.emit(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1);
  out.ret(SECCOMP_RET_KILL_PROCESS);

  // The tree, in pre-order with an explicit stack: a node compares with the first number of its
  // right half; its left half follows directly, so only the jump to the right half is patched.
  struct Work {
    std::size_t low;
    std::size_t high;   // Ranges [low, high).
    std::size_t patch;  // The comparison that jumps here, or none.
  };
  constexpr std::size_t kNone = ~std::size_t{0};
  std::array<Work, 64> stack{};
  std::size_t depth = 0;
  std::array<std::size_t, kMaxRanges> check_jumps{};
  std::array<Check, kMaxRanges> check_kinds{};
  std::size_t jumps = 0;

  stack[depth++] = Work{0, count, kNone};
  while (depth > 0) {
    Work work = stack[--depth];
    if (work.patch != kNone) {
      const std::size_t distance = out.program.size - work.patch - 1;
      if (distance > 255) {
        throw "the tree is too large for a conditional jump";
      }
      out.program.code[work.patch].jt = static_cast<std::uint8_t>(distance);
    }
    while (work.high - work.low > 1) {
      const std::size_t middle = work.low + (work.high - work.low) / 2;
      out.emit(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, 0, 0);
      stack[depth++] = Work{middle, work.high, out.program.size - 1};
      work.high = middle;
    }
    const Answer answer = ranges[work.low].answer;
    if (answer.check == Check::kNone) {
      out.ret(answer.value);
    } else {
      check_kinds[jumps] = answer.check;
      check_jumps[jumps++] = out.program.size;
      out.emit(BPF_JMP | BPF_JA, 0);
    }
  }

  for (std::size_t kind = 1; kind < kChecks; ++kind) {
    const std::size_t start = out.program.size;
    bool used = false;
    for (std::size_t i = 0; i < jumps; ++i) {
      if (check_kinds[i] == static_cast<Check>(kind)) {
        out.program.code[check_jumps[i]].k = static_cast<std::uint32_t>(start - check_jumps[i] - 1);
        used = true;
      }
    }
    if (used) {
      detail::emit_check(out, static_cast<Check>(kind));
    }
  }
  return out.program;
}

}  // namespace glovebox::policy
