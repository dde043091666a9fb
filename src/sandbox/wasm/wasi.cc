// SPDX-License-Identifier: Apache-2.0
// The functions of WASI that concern no files, and how a module is given all of them.
#include "sandbox/wasm/wasi.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

namespace glovebox::wasm {
namespace {

constexpr std::string_view kWasi = "wasi_snapshot_preview1";

// What a module may wait for at once. It has far fewer descriptors.
constexpr std::uint32_t kMostWaits = 4096;

constexpr std::uint64_t kSecond = 1'000'000'000;

template <typename Number>
constexpr ValueKind kKindOf = sizeof(Number) == 8 ? ValueKind::kI64 : ValueKind::kI32;

template <typename Number>
Number number_in(const RawValue& value) {
  if constexpr (sizeof(Number) == 8) {
    return value.i64;
  } else {
    return value.i32;
  }
}

template <typename Method>
struct Signature;

template <typename Answer, typename... Arguments>
struct Signature<Answer (Wasi::*)(Arguments...)> {
  static constexpr bool kReturns = !std::is_void_v<Answer>;
  static std::vector<ValueKind> kinds() { return {kKindOf<Arguments>...}; }

  // `call` with the arguments that the module has passed.
  template <typename Call>
  static Answer apply(const RawValue* values, const Call& call) {
    return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return call(number_in<Arguments>(values[kIndex])...);
    }
    (std::index_sequence_for<Arguments...>());
  }
};

ValueTypes value_types(const Wasmtime& api, std::span<const ValueKind> kinds) {
  std::vector<ValueType*> types;
  types.reserve(kinds.size());
  for (const ValueKind kind : kinds) {
    types.push_back(api.wasm_valtype_new(static_cast<std::uint8_t>(kind)));
  }
  ValueTypes all;
  api.wasm_valtype_vec_new(&all, types.size(), types.data());
  return all;
}

// The names of all its imports, from any module: we only look for ours among them.
std::set<std::string, std::less<>> imports_of(const Wasmtime& api, const Module* module) {
  std::set<std::string, std::less<>> names;
  ImportTypes types;
  api.wasmtime_module_imports(module, &types);
  for (const ImportType* type : std::span(types.data, types.size)) {
    const ByteVector* const name = api.wasm_importtype_name(type);
    names.emplace(name->data, name->size);
  }
  api.wasm_importtype_vec_delete(&types);
  return names;
}

}  // namespace

Wasi::Wasi(const Wasmtime& api, World& world, Given given)
    : api_(api), world_(world), given_(std::move(given)) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    open_.emplace_back(Open{.host = stream});
  }
}

void Wasi::connect_input(int fd, std::string text) {
  open_.front() = Open{.host = fd};
  first_input_ = std::move(text);
}

void Wasi::remember_memory(Caller* caller) {
  Extern found;
  if (!api_.wasmtime_caller_export_get(caller, "memory", 6, &found) ||
      found.kind != ExternKind::kMemory) {
    memory_ = GuestMemory();
    return;
  }
  Context* const context = api_.wasmtime_caller_context(caller);
  memory_ = GuestMemory({api_.wasmtime_memory_data(context, &found.of.memory),
                         api_.wasmtime_memory_data_size(context, &found.of.memory)});
}

template <auto kFunction>
Trap* Wasi::called(void* environment, Caller* caller, RawValue* values, std::size_t /*count*/) {
  Wasi& wasi = *static_cast<Wasi*>(environment);
  wasi.remember_memory(caller);
  using Type = Signature<decltype(kFunction)>;
  const auto call = [&](auto... arguments) { return (wasi.*kFunction)(arguments...); };
  if constexpr (Type::kReturns) {
    values[0].i32 = static_cast<std::uint16_t>(Type::apply(values, call));
  } else {
    Type::apply(values, call);
  }
  return nullptr;
}

template <auto kFunction>
Result<void> Wasi::define_one(Linker* linker, std::string_view name) {
  using Type = Signature<decltype(kFunction)>;
  constexpr std::array<ValueKind, 1> kError = {ValueKind::kI32};
  ValueTypes parameters = value_types(api_, Type::kinds());
  ValueTypes results = value_types(api_, std::span(kError).first(Type::kReturns ? 1 : 0));
  FunctionType* const type = api_.wasm_functype_new(&parameters, &results);
  auto defined = api_.check(api_.wasmtime_linker_define_func_unchecked(
                                linker, kWasi.data(), kWasi.size(), name.data(), name.size(), type,
                                called<kFunction>, this, nullptr),
                            "define " + std::string(name));
  api_.wasm_functype_delete(type);
  return defined;
}

Result<void> Wasi::define(Linker* linker, const Module* module) {
  const std::set<std::string, std::less<>> imported = imports_of(api_, module);
#define GB_DEFINE(name)                             \
  if (imported.contains(#name)) {                   \
    GB_TRY(define_one<&Wasi::name>(linker, #name)); \
  }
  GB_DEFINE(args_get);
  GB_DEFINE(args_sizes_get);
  GB_DEFINE(environ_get);
  GB_DEFINE(environ_sizes_get);
  GB_DEFINE(clock_res_get);
  GB_DEFINE(clock_time_get);
  GB_DEFINE(fd_advise);
  GB_DEFINE(fd_allocate);
  GB_DEFINE(fd_close);
  GB_DEFINE(fd_datasync);
  GB_DEFINE(fd_fdstat_get);
  GB_DEFINE(fd_fdstat_set_flags);
  GB_DEFINE(fd_fdstat_set_rights);
  GB_DEFINE(fd_filestat_get);
  GB_DEFINE(fd_filestat_set_size);
  GB_DEFINE(fd_filestat_set_times);
  GB_DEFINE(fd_pread);
  GB_DEFINE(fd_prestat_dir_name);
  GB_DEFINE(fd_prestat_get);
  GB_DEFINE(fd_pwrite);
  GB_DEFINE(fd_read);
  GB_DEFINE(fd_readdir);
  GB_DEFINE(fd_renumber);
  GB_DEFINE(fd_seek);
  GB_DEFINE(fd_sync);
  GB_DEFINE(fd_tell);
  GB_DEFINE(fd_write);
  GB_DEFINE(path_create_directory);
  GB_DEFINE(path_filestat_get);
  GB_DEFINE(path_filestat_set_times);
  GB_DEFINE(path_link);
  GB_DEFINE(path_open);
  GB_DEFINE(path_readlink);
  GB_DEFINE(path_remove_directory);
  GB_DEFINE(path_rename);
  GB_DEFINE(path_symlink);
  GB_DEFINE(path_unlink_file);
  GB_DEFINE(poll_oneoff);
  GB_DEFINE(proc_exit);
  GB_DEFINE(proc_raise);
  GB_DEFINE(random_get);
  GB_DEFINE(sched_yield);
  GB_DEFINE(sock_accept);
  GB_DEFINE(sock_recv);
  GB_DEFINE(sock_send);
  GB_DEFINE(sock_shutdown);
#undef GB_DEFINE
  return {};
}

wasi::Error Wasi::put_strings(const std::vector<std::string>& strings,
                              Place list,
                              Place text) const {
  for (const std::string& each : strings) {
    const auto to = memory_.at(text, each.size() + 1);
    if (!to || !memory_.store<std::uint32_t>(list, text)) {
      return Error::kFault;
    }
    std::memcpy(to->data(), each.c_str(), to->size());
    text += static_cast<std::uint32_t>(to->size());
    list += sizeof(std::uint32_t);
  }
  return Error::kSuccess;
}

wasi::Error Wasi::put_sizes(const std::vector<std::string>& strings,
                            Place count,
                            Place size) const {
  std::size_t all = 0;
  for (const std::string& each : strings) {
    all += each.size() + 1;
  }
  return memory_.store<std::uint32_t>(count, static_cast<std::uint32_t>(strings.size())) &&
                 memory_.store<std::uint32_t>(size, static_cast<std::uint32_t>(all))
             ? Error::kSuccess
             : Error::kFault;
}

wasi::Error Wasi::args_get(Place list, Place text) {
  return put_strings(given_.arguments, list, text);
}
wasi::Error Wasi::args_sizes_get(Place count, Place size) {
  return put_sizes(given_.arguments, count, size);
}
wasi::Error Wasi::environ_get(Place list, Place text) {
  return put_strings(given_.environment, list, text);
}
wasi::Error Wasi::environ_sizes_get(Place count, Place size) {
  return put_sizes(given_.environment, count, size);
}

wasi::Error Wasi::clock_res_get(std::uint32_t clock, Place to) {
  if (clock > wasi::kLastClock) {
    return Error::kInvalid;
  }
  return memory_.store<std::uint64_t>(to, world_.resolution(clock)) ? Error::kSuccess
                                                                    : Error::kFault;
}

wasi::Error Wasi::clock_time_get(std::uint32_t clock, std::uint64_t /*precision*/, Place to) {
  if (clock > wasi::kLastClock) {
    return Error::kInvalid;
  }
  return memory_.store<std::uint64_t>(to, world_.now(clock)) ? Error::kSuccess : Error::kFault;
}

wasi::Error Wasi::random_get(Place to, Size size) {
  const auto bytes = memory_.at(to, size);
  if (!bytes) {
    return Error::kFault;
  }
  return world_.fill_randomly(*bytes) ? Error::kSuccess : Error::kIo;
}

// One of the things that a module waits for.
struct Wasi::Wait {
  std::uint64_t user_data = 0;
  std::uint8_t type = wasi::kClockEvent;
  Fd fd = 0;
  std::uint64_t for_time = 0;  // Of a clock: how long from now on, in nanoseconds.
  Error error = Error::kSuccess;
  bool happened = false;
  std::uint64_t bytes = 0;
  std::uint16_t flags = 0;
};

// Waits with poll(2), for descriptors and, by its timeout, for clocks.
wasi::Error Wasi::wait_on_host(std::vector<Wait>& waits, std::uint64_t shortest) {
  std::vector<pollfd> polled;
  polled.reserve(waits.size());
  bool at_once = false;
  for (Wait& wait : waits) {
    const int fd = wait.type == wasi::kClockEvent ? -1 : host(wait.fd);
    if (wait.type != wasi::kClockEvent && fd < 0) {
      wait.error = Error::kBadDescriptor;
      wait.happened = true;
      at_once = true;
    }
    polled.push_back({fd, static_cast<short>(wait.type == wasi::kReadEvent ? POLLIN : POLLOUT), 0});
  }
  const bool forever = shortest == std::numeric_limits<std::uint64_t>::max();
  const timespec time = at_once ? timespec{}
                                : timespec{static_cast<time_t>(shortest / kSecond),
                                           static_cast<long>(shortest % kSecond)};
  if (::ppoll(polled.data(), polled.size(), forever && !at_once ? nullptr : &time, nullptr) < 0) {
    return wasi_error(errno);
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (polled[i].revents == 0) {
      continue;
    }
    waits[i].happened = true;
    waits[i].flags = (polled[i].revents & POLLHUP) != 0 ? wasi::kHangUp : 0;
    int readable = 0;
    waits[i].bytes = waits[i].type == wasi::kReadEvent &&
                             ::ioctl(polled[i].fd, FIONREAD, &readable) == 0 && readable > 0
                         ? static_cast<std::uint64_t>(readable)
                         : 1;
  }
  return Error::kSuccess;
}

wasi::Error Wasi::poll_oneoff(Place wanted, Place events, Size count, Place happened) {
  if (count == 0 || count > kMostWaits) {
    return Error::kInvalid;
  }
  const auto asked = memory_.at(wanted, std::uint64_t{count} * wasi::kSubscriptionSize);
  const auto told = memory_.at(events, std::uint64_t{count} * wasi::kEventSize);
  if (!asked || !told) {
    return Error::kFault;
  }
  std::vector<Wait> waits(count);
  bool has_file = false;
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const auto one = asked->subspan(i * wasi::kSubscriptionSize, wasi::kSubscriptionSize);
    Wait& wait = waits[i];
    wait.user_data = get<std::uint64_t>(one, 0);
    wait.type = one[8];
    wait.fd = get<std::uint32_t>(one, 16);
    if (wait.type != wasi::kClockEvent) {
      has_file = true;
      continue;
    }
    const auto clock = get<std::uint32_t>(one, 16);
    const auto until = get<std::uint64_t>(one, 24);
    const bool absolute = (get<std::uint16_t>(one, 40) & wasi::kAbsolute) != 0;
    const std::uint64_t now = absolute ? world_.now(std::min(clock, wasi::kLastClock)) : 0;
    wait.for_time = until > now ? until - now : 0;
    shortest = std::min(shortest, wait.for_time);
  }
  if (!has_file) {
    world_.let_pass(shortest);
  } else if (world_.waits()) {
    if (const Error error = wait_on_host(waits, shortest); error != Error::kSuccess) {
      return error;
    }
  } else {
    // Every descriptor counts as ready: the call that then reads or writes waits.
    for (Wait& wait : waits) {
      wait.happened = wait.type != wasi::kClockEvent;
      wait.bytes = 1;
    }
  }
  if (std::ranges::none_of(waits, &Wait::happened)) {
    for (Wait& wait : waits) {
      wait.happened = wait.type == wasi::kClockEvent && wait.for_time == shortest;
    }
  }
  std::uint32_t done = 0;
  for (const Wait& wait : waits) {
    if (wait.happened) {
      const auto event = told->subspan(done++ * wasi::kEventSize, wasi::kEventSize);
      std::ranges::fill(event, 0);
      put<std::uint64_t>(event, 0, wait.user_data);
      put<std::uint16_t>(event, 8, static_cast<std::uint16_t>(wait.error));
      event[10] = wait.type;
      put<std::uint64_t>(event, 16, wait.bytes);
      put<std::uint16_t>(event, 24, wait.flags);
    }
  }
  return memory_.store<std::uint32_t>(happened, done) ? Error::kSuccess : Error::kFault;
}

// Runs no destructors; nothing is buffered here.
void Wasi::proc_exit(std::uint32_t status) {
  end_(static_cast<int>(status));
  std::abort();
}

wasi::Error Wasi::proc_raise(std::uint32_t /*signal*/) { return Error::kNotSupported; }

wasi::Error Wasi::sched_yield() { return Error::kSuccess; }

wasi::Error Wasi::sock_accept(Fd /*fd*/, std::uint32_t /*flags*/, Place /*to*/) {
  return Error::kNotSocket;
}
wasi::Error Wasi::sock_recv(Fd /*fd*/,
                            Place /*pieces*/,
                            Size /*count*/,
                            std::uint32_t /*flags*/,
                            Place /*done*/,
                            Place /*out*/) {
  return Error::kNotSocket;
}
wasi::Error Wasi::sock_send(
    Fd /*fd*/, Place /*pieces*/, Size /*count*/, std::uint32_t /*flags*/, Place /*done*/) {
  return Error::kNotSocket;
}
wasi::Error Wasi::sock_shutdown(Fd /*fd*/, std::uint32_t /*how*/) { return Error::kNotSocket; }

wasi::Error wasi_error(int number) {
  struct Pair {
    int host;
    wasi::Error wasi;
  };
  using wasi::Error;
  constexpr std::array kPairs = {
      Pair{E2BIG, Error::kTooBig},
      Pair{EACCES, Error::kAccess},
      Pair{EAGAIN, Error::kAgain},
      Pair{EBADF, Error::kBadDescriptor},
      Pair{EBUSY, Error::kBusy},
      Pair{EEXIST, Error::kExists},
      Pair{EFAULT, Error::kFault},
      Pair{EFBIG, Error::kFileTooBig},
      Pair{EILSEQ, Error::kIllegalBytes},
      Pair{EINTR, Error::kInterrupted},
      Pair{EINVAL, Error::kInvalid},
      Pair{EISDIR, Error::kIsDirectory},
      Pair{ELOOP, Error::kLoop},
      Pair{EMFILE, Error::kTooManyOpen},
      Pair{EMLINK, Error::kTooManyLinks},
      Pair{ENAMETOOLONG, Error::kNameTooLong},
      Pair{ENFILE, Error::kTooManyOpenAnywhere},
      Pair{ENOENT, Error::kNotFound},
      Pair{ENOMEM, Error::kNoMemory},
      Pair{ENOSPC, Error::kNoSpace},
      Pair{EDQUOT, Error::kNoSpace},
      Pair{ENOSYS, Error::kNoSuchCall},
      Pair{ENOTDIR, Error::kNotDirectory},
      Pair{ENOTEMPTY, Error::kNotEmpty},
      Pair{EOPNOTSUPP, Error::kNotSupported},
      Pair{EOVERFLOW, Error::kOverflow},
      Pair{EPERM, Error::kPermission},
      Pair{EPIPE, Error::kBrokenPipe},
      Pair{EROFS, Error::kReadOnly},
      Pair{ESPIPE, Error::kNoSeek},
      Pair{ETXTBSY, Error::kBusyProgram},
      // A path that leads out of its directory.
      Pair{EXDEV, Error::kPermission},
  };
  const auto found = std::ranges::find(kPairs, number, &Pair::host);
  return found == kPairs.end() ? Error::kIo : found->wasi;
}

}  // namespace glovebox::wasm
