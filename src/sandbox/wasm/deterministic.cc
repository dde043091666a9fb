// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/deterministic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox::wasm {
namespace {

constexpr std::string_view kWasi = "wasi_snapshot_preview1";

// Numbers of WASI preview 1 (its own document, "wasi_snapshot_preview1.witx").
constexpr std::int32_t kSuccess = 0;
constexpr std::int32_t kFault = 21;
constexpr std::int32_t kInvalid = 28;
constexpr std::int32_t kMonotonic = 1;
constexpr std::int32_t kLastClock = 3;
constexpr std::uint16_t kAbsolute = 1;
constexpr std::size_t kFileStatSize = 64;
constexpr std::size_t kEntrySize = 24;
constexpr std::size_t kSubscriptionSize = 48;
constexpr std::size_t kEventSize = 32;

// 1 January 2000, and how much each question takes.
constexpr std::uint64_t kBeginning = 946'684'800'000'000'000;
constexpr std::uint64_t kStep = 1000;

class World {
 public:
  explicit World(const Wasmtime& api) : api_(api) {}

  std::uint64_t now(std::int32_t clock) {
    passed_ += kStep;
    return clock == 0 ? kBeginning + passed_ : passed_;
  }
  void let_pass(std::uint64_t time) {
    passed_ += std::min(time, std::numeric_limits<std::uint64_t>::max() / 4 - passed_ / 2);
  }
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

  // SplitMix64: every bit of the state comes through.
  std::uint64_t random() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  // A number for a file, the same in every run: files are counted as they are first seen.
  std::uint64_t number_of(std::uint64_t device, std::uint64_t inode) {
    return numbers_.try_emplace({device, inode}, numbers_.size() + 1).first->second;
  }

  // A piece of the module's memory; nothing when it reaches beyond that.
  std::optional<std::span<unsigned char>> memory(Caller* caller,
                                                 std::int32_t at,
                                                 std::size_t size) const {
    Extern found;
    if (!api_.wasmtime_caller_export_get(caller, "memory", 6, &found) ||
        found.kind != ExternKind::kMemory) {
      return std::nullopt;
    }
    Context* const context = api_.wasmtime_caller_context(caller);
    const std::size_t all = api_.wasmtime_memory_data_size(context, &found.of.memory);
    const std::size_t start = static_cast<std::uint32_t>(at);
    if (start > all || size > all - start) {
      return std::nullopt;
    }
    return std::span(api_.wasmtime_memory_data(context, &found.of.memory) + start, size);
  }

 private:
  Wasmtime api_;
  std::uint64_t passed_ = 0;
  std::uint64_t state_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> numbers_;
};

template <typename Number>
Number get(std::span<const unsigned char> bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <typename Number>
void put(std::span<unsigned char> bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

Trap* answer(Value* results, std::int32_t number) {
  results[0].kind = ValueKind::kI32;
  results[0].of.i32 = number;
  return nullptr;
}

Trap* random_get(void* environment,
                 Caller* caller,
                 const Value* arguments,
                 std::size_t /*count*/,
                 Value* results,
                 std::size_t /*result_count*/) {
  World& world = *static_cast<World*>(environment);
  auto bytes =
      world.memory(caller, arguments[0].of.i32, static_cast<std::uint32_t>(arguments[1].of.i32));
  if (!bytes) {
    return answer(results, kFault);
  }
  while (!bytes->empty()) {
    const std::uint64_t random = world.random();
    const std::size_t size = std::min(bytes->size(), sizeof random);
    std::memcpy(bytes->data(), &random, size);
    bytes = bytes->subspan(size);
  }
  return answer(results, kSuccess);
}

// clock_time_get(clock, precision, to) and clock_res_get(clock, to).
template <bool kResolution>
Trap* clock_get(void* environment,
                Caller* caller,
                const Value* arguments,
                std::size_t count,
                Value* results,
                std::size_t /*result_count*/) {
  World& world = *static_cast<World*>(environment);
  const std::int32_t clock = arguments[0].of.i32;
  if (clock < 0 || clock > kLastClock) {
    return answer(results, kInvalid);
  }
  const auto to = world.memory(caller, arguments[count - 1].of.i32, sizeof(std::uint64_t));
  if (!to) {
    return answer(results, kFault);
  }
  put(*to, 0, kResolution ? kStep : world.now(clock));
  return answer(results, kSuccess);
}

// A struct filestat that WASI has written: device, inode, type, links, size, and three times.
Trap* after_filestat(void* environment,
                     Caller* caller,
                     const Value* arguments,
                     std::size_t /*count*/,
                     Value* results,
                     std::size_t /*result_count*/) {
  World& world = *static_cast<World*>(environment);
  if (const auto stat = world.memory(caller, arguments[0].of.i32, kFileStatSize)) {
    put(*stat, 8, world.number_of(get<std::uint64_t>(*stat, 0), get<std::uint64_t>(*stat, 8)));
    put<std::uint64_t>(*stat, 0, 1);
    for (const std::size_t time : {40, 48, 56}) {
      put(*stat, time, kBeginning);
    }
  }
  return answer(results, kSuccess);
}

// Entries of a directory that WASI has written to the first argument, as many bytes as the second
// one leads to: the next cookie, the inode, the length of the name, the type, and the name. The
// last one may be cut off.
Trap* after_readdir(void* environment,
                    Caller* caller,
                    const Value* arguments,
                    std::size_t /*count*/,
                    Value* results,
                    std::size_t /*result_count*/) {
  const World& world = *static_cast<World*>(environment);
  const auto used = world.memory(caller, arguments[1].of.i32, sizeof(std::uint32_t));
  auto entries =
      used ? world.memory(caller, arguments[0].of.i32, get<std::uint32_t>(*used, 0)) : std::nullopt;
  while (entries && entries->size() >= kEntrySize) {
    put<std::uint64_t>(*entries, 8, 0);  // Not known, as in many a file system.
    const std::size_t whole = kEntrySize + get<std::uint32_t>(*entries, 16);
    entries = entries->subspan(std::min(whole, entries->size()));
  }
  if (entries && entries->size() >= 16) {
    put<std::uint64_t>(*entries, 8, 0);
  }
  return answer(results, kSuccess);
}

// poll_oneoff(subscriptions, events, count, happened). Whatever is to be read or written is ready:
// the call that does it waits. Otherwise the earliest of the clocks is reached, at once.
Trap* poll_oneoff(void* environment,
                  Caller* caller,
                  const Value* arguments,
                  std::size_t /*count*/,
                  Value* results,
                  std::size_t /*result_count*/) {
  World& world = *static_cast<World*>(environment);
  const std::size_t count = static_cast<std::uint32_t>(arguments[2].of.i32);
  const auto wanted = world.memory(caller, arguments[0].of.i32, count * kSubscriptionSize);
  const auto events = world.memory(caller, arguments[1].of.i32, count * kEventSize);
  const auto happened = world.memory(caller, arguments[3].of.i32, sizeof(std::uint32_t));
  if (!wanted || !events || !happened) {
    return answer(results, kFault);
  }
  if (count == 0) {
    return answer(results, kInvalid);
  }
  const auto type_of = [&](std::size_t i) { return (*wanted)[i * kSubscriptionSize + 8]; };
  const auto wait_of = [&](std::size_t i) {
    const auto one = wanted->subspan(i * kSubscriptionSize, kSubscriptionSize);
    const auto clock = get<std::uint32_t>(one, 16);
    const auto until = get<std::uint64_t>(one, 24);
    if ((get<std::uint16_t>(one, 40) & kAbsolute) == 0) {
      return until;
    }
    const std::uint64_t at = world.passed() + (clock == kMonotonic ? 0 : kBeginning);
    return until > at ? until - at : 0;
  };
  bool has_file = false;
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    has_file = has_file || type_of(i) != 0;
    shortest = type_of(i) == 0 ? std::min(shortest, wait_of(i)) : shortest;
  }
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_file ? type_of(i) != 0 : wait_of(i) == shortest) {
      const auto event = events->subspan(done++ * kEventSize, kEventSize);
      const auto user_data = get<std::uint64_t>(*wanted, i * kSubscriptionSize);
      std::ranges::fill(event, 0);
      put(event, 0, user_data);
      event[10] = type_of(i);
      put<std::uint64_t>(event, 16, has_file ? 1 : 0);
    }
  }
  if (!has_file) {
    world.let_pass(shortest);
  }
  put(*happened, 0, done);
  return answer(results, kSuccess);
}

// A function of ours, with that of WASI whose type it has.
struct Replacement {
  std::string_view name;
  Callback function;
  std::string_view type_of;
};

constexpr std::array<Replacement, 4> kReplacements = {{
    {"random_get", random_get, "random_get"},
    {"clock_time_get", clock_get<false>, "clock_time_get"},
    {"clock_res_get", clock_get<true>, "clock_res_get"},
    {"poll_oneoff", poll_oneoff, "poll_oneoff"},
}};

constexpr std::string_view kAfter = "after";
constexpr std::array<Replacement, 2> kAfterwards = {{
    {"filestat", after_filestat, "fd_close"},
    {"readdir", after_readdir, "fd_filestat_get"},
}};

// A function of WASI writes to the memory of the module that calls it. So what calls it and then
// one of ours is a module as well, `behind`, which has the guest's memory; and as it can only be
// made after the guest, which wants its functions, those are in a table that `before` calls.
constexpr std::string_view kBefore = R"((module
  (type $two (func (param i32 i32) (result i32)))
  (type $path (func (param i32 i32 i32 i32 i32) (result i32)))
  (type $entries (func (param i32 i32 i32 i64 i32) (result i32)))
  (table (export "table") 3 3 funcref)
  (func (export "fd_filestat_get") (type $two)
    (call_indirect (type $two) (local.get 0) (local.get 1) (i32.const 0)))
  (func (export "path_filestat_get") (type $path)
    (call_indirect (type $path) (local.get 0) (local.get 1) (local.get 2) (local.get 3)
      (local.get 4) (i32.const 1)))
  (func (export "fd_readdir") (type $entries)
    (call_indirect (type $entries) (local.get 0) (local.get 1) (local.get 2) (local.get 3)
      (local.get 4) (i32.const 2)))))";

constexpr std::string_view kBehind = R"((module
  (import "guest" "memory" (memory 0))
  (import "before" "table" (table 3 3 funcref))
  (import "wasi_snapshot_preview1" "fd_filestat_get"
    (func $fd_filestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get"
    (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir"
    (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "after" "filestat" (func $after_filestat (param i32) (result i32)))
  (import "after" "readdir" (func $after_readdir (param i32 i32) (result i32)))
  (export "memory" (memory 0))
  (func $0 (param i32 i32) (result i32) (local $error i32)
    (local.set $error (call $fd_filestat_get (local.get 0) (local.get 1)))
    (if (result i32) (local.get $error) (then (local.get $error))
      (else (call $after_filestat (local.get 1)))))
  (func $1 (param i32 i32 i32 i32 i32) (result i32) (local $error i32)
    (local.set $error (call $path_filestat_get (local.get 0) (local.get 1) (local.get 2)
      (local.get 3) (local.get 4)))
    (if (result i32) (local.get $error) (then (local.get $error))
      (else (call $after_filestat (local.get 4)))))
  (func $2 (param i32 i32 i32 i64 i32) (result i32) (local $error i32)
    (local.set $error (call $fd_readdir (local.get 0) (local.get 1) (local.get 2) (local.get 3)
      (local.get 4)))
    (if (result i32) (local.get $error) (then (local.get $error))
      (else (call $after_readdir (local.get 1) (local.get 4)))))
  (elem (i32.const 0) $0 $1 $2)))";

constexpr std::array<std::string_view, 3> kBeforeFunctions = {"fd_filestat_get",
                                                              "path_filestat_get", "fd_readdir"};

Result<void> define(const Wasmtime& api,
                    Linker* linker,
                    Context* context,
                    std::string_view module,
                    std::span<const Replacement> functions,
                    World& world) {
  for (const auto& [name, function, type_of] : functions) {
    Extern like;
    if (!api.wasmtime_linker_get(linker, context, kWasi.data(), kWasi.size(), type_of.data(),
                                 type_of.size(), &like) ||
        like.kind != ExternKind::kFunction) {
      return Error(ErrorCode::kInternal, "libwasmtime has no function " + std::string(type_of));
    }
    FunctionType* const type = api.wasmtime_func_type(context, &like.of.function);
    auto defined =
        api.check(api.wasmtime_linker_define_func(linker, module.data(), module.size(), name.data(),
                                                  name.size(), type, function, &world, nullptr),
                  "define " + std::string(name));
    api.wasm_functype_delete(type);
    GB_TRY(std::move(defined));
  }
  return {};
}

Result<void> define(const Wasmtime& api,
                    Linker* linker,
                    Context* context,
                    std::string_view module,
                    std::string_view name,
                    const Extern& item) {
  return api.check(api.wasmtime_linker_define(linker, context, module.data(), module.size(),
                                              name.data(), name.size(), &item),
                   "define " + std::string(name));
}

Result<Extern> exported(const Wasmtime& api,
                        Context* context,
                        const Instance& instance,
                        std::string_view name) {
  Extern found;
  return api.wasmtime_instance_export_get(context, &instance, name.data(), name.size(), &found)
             ? Result<Extern>(found)
             : Error(ErrorCode::kInvalid, "the module does not export '" + std::string(name) + "'");
}

Result<Instance> instantiate(const Wasmtime& api,
                             const Linker* linker,
                             Context* context,
                             const Module* module) {
  Instance instance;
  Trap* trap = nullptr;
  GB_TRY(api.check(api.wasmtime_linker_instantiate(linker, context, module, &instance, &trap),
                   "make the clocks of the module"));
  return trap == nullptr ? Result<Instance>(instance)
                         : Error(ErrorCode::kInternal, "make the clocks of the module: trap");
}

World& world_with(const Wasmtime& api) {
  static World world(api);
  return world;
}

}  // namespace

Result<Deterministic> Deterministic::make(const Wasmtime& api,
                                          Engine* engine,
                                          Linker* linker,
                                          Context* context) {
  World& world = world_with(api);
  Deterministic made(api, engine, context);
  made.behind_ = GB_TRY(compile(api, engine, std::string(kBehind)));
  Module* const before = GB_TRY(compile(api, engine, std::string(kBefore)));
  made.before_ = GB_TRY(instantiate(api, api.wasmtime_linker_new(engine), context, before));
  api.wasmtime_linker_allow_shadowing(linker, true);
  GB_TRY(define(api, linker, context, kWasi, kReplacements, world));
  for (const std::string_view name : kBeforeFunctions) {
    const Extern function = GB_TRY(exported(api, context, made.before_, name));
    GB_TRY(define(api, linker, context, kWasi, name, function));
  }
  return made;
}

Result<void> Deterministic::join(const Instance& guest) const {
  const auto memory = exported(api_, context_, guest, "memory");
  if (!memory) {
    return {};  // Then it cannot call a function of WASI that writes to it.
  }
  Linker* const linker = api_.wasmtime_linker_new(engine_);
  GB_TRY(api_.check(api_.wasmtime_linker_define_wasi(linker), "set up WASI"));
  GB_TRY(define(api_, linker, context_, kAfter, kAfterwards, world_with(api_)));
  GB_TRY(define(api_, linker, context_, "guest", "memory", *memory));
  const Extern table = GB_TRY(exported(api_, context_, before_, "table"));
  GB_TRY(define(api_, linker, context_, "before", "table", table));
  GB_TRY(instantiate(api_, linker, context_, behind_));
  return {};
}

}  // namespace glovebox::wasm
