// SPDX-License-Identifier: Apache-2.0
// What every cell includes: the common standard headers, the conversion of values to text, and the
// guarded run of a cell's initialisers.
//
// All state here is in inline variables, of which the dynamic linker keeps one copy for all cells.
#pragma once

#include <cxxabi.h>
#include <pthread.h>
#include <sys/time.h>
#include <ucontext.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace glovebox {

// Tells the agent what the bytes are.
enum class Said : int { kResult, kErrorName, kErrorValue };
using Say = void (*)(int kind, const char* data, std::size_t size);

inline Say say_to_agent = nullptr;
inline int reached_item = 0;

inline void say(Said kind, std::string_view text) {
  say_to_agent(static_cast<int>(kind), text.data(), text.size());
}

inline std::string type_name(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string result = status == 0 ? name : type.name();
  std::free(name);
  return result;
}

// --- Values as text ---------------------------------------------------------------------------

inline constexpr std::size_t kElementsLimit = 1000;

template <typename T>
void show(std::ostream& out, const T& value);

template <typename... T>
void show_all(std::ostream& out, const T&... values) {
  std::size_t count = 0;
  out << '{';
  ((out << (count++ == 0 ? "" : ", "), show(out, values)), ...);
  out << '}';
}

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

template <typename T>
concept TupleLike = requires {
  typename std::tuple_size<T>::type;
};

template <typename T>
void show(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, char>) {
    out << '\'' << value << '\'';
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out << '"' << std::string_view(value) << '"';
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (Streamable<T>) {
    out << value;
  } else if constexpr (std::ranges::input_range<const T>) {
    std::size_t count = 0;
    out << '{';
    for (const auto& each : value) {
      out << (count == 0 ? "" : ", ");
      if (count++ == kElementsLimit) {
        out << "...";
        break;
      }
      show(out, each);
    }
    out << '}';
  } else if constexpr (TupleLike<T>) {
    std::apply([&out](const auto&... each) { show_all(out, each...); }, value);
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    if (value.has_value()) {
      show(out, *value);
    } else {
      out << "nullopt";
    }
  } else {
    out << '<' << type_name(typeid(T)) << '>';
  }
}

// Evaluates the last expression and sends its value as text, unless the type is void.
template <typename F>
void result_of(F expression) {
  if constexpr (std::is_void_v<decltype(expression())>) {
    expression();
  } else {
    std::ostringstream out;
    show(out, expression());
    say(Said::kResult, out.str());
  }
}

// --- The guarded run --------------------------------------------------------------------------

struct CodeRange {
  std::uintptr_t begin, end;
};

inline std::array<CodeRange, 4096> cell_code;
inline volatile std::sig_atomic_t cell_count = 0;
inline sigjmp_buf way_out;
inline pthread_t guest_thread;
inline volatile std::sig_atomic_t ticks = 0;
inline constexpr int kTickMicroseconds = 2000;
inline constexpr int kTicksLimit = 150;

inline bool in_cell(std::uintptr_t address) {
  for (int i = cell_count; i-- > 0;) {
    const CodeRange& range = cell_code[static_cast<std::size_t>(i)];
    if (address >= range.begin && address < range.end) {
      return true;
    }
  }
  return false;
}

inline std::uintptr_t program_counter(void* context) {
  const auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine->gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(machine->pc);
#else
  return 0;
#endif
}

inline void set_ticking(int microseconds) {
  const itimerval timer{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Leaving a library in the middle could leave its lock taken (malloc's, stdio's), so an interrupt
// waits, tick by tick, until the cell's own code runs; but not for ever.
inline void on_interrupt(int signal, siginfo_t*, void* context) {
  if (pthread_equal(pthread_self(), guest_thread) == 0) {
    pthread_kill(guest_thread, signal);
    return;
  }
  if (in_cell(program_counter(context)) || ++ticks > kTicksLimit) {
    siglongjmp(way_out, SIGINT);
  }
  set_ticking(kTickMicroseconds);
}

inline void on_fault(int signal, siginfo_t*, void*) {
  if (pthread_equal(pthread_self(), guest_thread) == 0) {
    std::signal(signal, SIG_DFL);
    return;
  }
  siglongjmp(way_out, signal);
}

inline constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Puts handlers in place for one run and the old ones back after it.
class Handlers {
 public:
  Handlers() {
    // A fault from a full stack needs another stack to be handled on.
    static std::array<char, 1 << 16> fault_stack;
    stack_t stack{};
    stack.ss_sp = fault_stack.data();
    stack.ss_size = fault_stack.size();
    sigaltstack(&stack, nullptr);
    for (std::size_t i = 0; i < kFaults.size(); ++i) {
      set(kFaults[i], on_fault, &old_faults_[i]);
    }
    set(SIGINT, on_interrupt, &old_interrupt_);
    set(SIGALRM, on_interrupt, &old_alarm_);
  }
  ~Handlers() {
    set_ticking(0);
    for (std::size_t i = 0; i < kFaults.size(); ++i) {
      sigaction(kFaults[i], &old_faults_[i], nullptr);
    }
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGALRM, &old_alarm_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  static void set(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction* old) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, old);
  }

  std::array<struct sigaction, kFaults.size()> old_faults_{};
  struct sigaction old_interrupt_ {};
  struct sigaction old_alarm_ {};
};

inline void say_error(std::string_view name, std::string_view value) {
  say(Said::kErrorName, name);
  say(Said::kErrorValue, value);
}

inline void say_current_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  const std::string name = type == nullptr ? "unknown" : type_name(*type);
  try {
    throw;
  } catch (const std::exception& thrown) {
    say_error(name, thrown.what());
  } catch (const std::string& thrown) {
    say_error(name, thrown);
  } catch (const char* thrown) {
    say_error(name, thrown);
  } catch (int thrown) {
    say_error(name, std::to_string(thrown));
  } catch (...) {
    say_error(name, "");
  }
}

inline void say_signal(int signal) {
  if (signal == SIGINT) {
    say_error("Interrupted", "the execution was interrupted");
  } else {
    say_error(std::string("SIG") + sigabbrev_np(signal),
              std::string(strsignal(signal)) + " (variables are kept but may be damaged)");
  }
}

using Initialiser = void (*)();

// Runs a cell's initialisers in order. Answers the item reached, or -1 when all went well.
inline int run(const Initialiser* begin, const Initialiser* end, CodeRange code, Say say_function) {
  static const bool line_buffered = std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16) == 0;
  say_to_agent = say_function;
  reached_item = 0;
  guest_thread = pthread_self();
  ticks = 0;
  if (static_cast<std::size_t>(cell_count) < cell_code.size()) {
    cell_code[static_cast<std::size_t>(cell_count)] = code;
    cell_count = cell_count + 1;
  }
  volatile bool failed = false;
  {
    const Handlers handlers;
    const int signal = sigsetjmp(way_out, 1);
    if (signal == 0) {
      try {
        for (const Initialiser* each = begin; each != end; ++each) {
          (*each)();
        }
      } catch (...) {
        failed = true;
        say_current_exception();
      }
    } else {
      failed = true;
      set_ticking(0);
      say_signal(signal);
    }
  }
  std::cout.flush();
  std::fflush(nullptr);
  static_cast<void>(line_buffered);
  return failed ? reached_item : -1;
}

}  // namespace glovebox
