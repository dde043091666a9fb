// SPDX-License-Identifier: Apache-2.0
// The part of Wasmtime's C API (version 50) that the runner uses, loaded at run time: a machine
// without the library builds and runs everything else. Types and functions have the layout and the
// meaning of Wasmtime's own headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace glovebox::wasm {

// Owned by the library; only pointers to them exist here.
struct Config;
struct Engine;
struct Module;
struct Store;
struct Context;
struct Linker;
struct Caller;
struct LibraryError;
struct Trap;
struct FunctionType;
struct ValueType;
struct ImportType;

struct ByteVector {
  std::size_t size = 0;
  char* data = nullptr;
};

struct ValueTypes {
  std::size_t size = 0;
  ValueType** data = nullptr;
};

struct ImportTypes {
  std::size_t size = 0;
  ImportType** data = nullptr;
};

struct Function {
  std::uint64_t store = 0;
  void* internal = nullptr;
};

struct Memory {
  struct {
    std::uint64_t store;
    std::uint32_t internal;
  } id;
  std::uint32_t internal;
};

enum class ExternKind : std::uint8_t { kFunction = 0, kMemory = 3 };

struct Extern {
  ExternKind kind{};
  union {
    Function function;
    Memory memory;
  } of{};
};

enum class ValueKind : std::uint8_t { kI32 = 0, kI64 = 1 };

// An argument or a result whose type is known.
union RawValue {
  std::uint32_t i32;
  std::uint64_t i64;
  unsigned char v128[16];
};

static_assert(sizeof(Function) == 16 && sizeof(Memory) == 24 && sizeof(Extern) == 32 &&
              sizeof(RawValue) == 16);

enum class TrapCode : std::uint8_t {
  kStackOverflow = 0,
  kMemoryOutOfBounds = 1,
  kIntegerOverflow = 6,
  kIntegerDivisionByZero = 7,
  kUnreachable = 9,
  kOutOfFuel = 11,
};

struct Instance {
  std::uint64_t store = 0;
  std::size_t internal = 0;
};

using Callback = Trap* (*)(void* environment,
                           Caller* caller,
                           RawValue* arguments_and_results,
                           std::size_t count);

// Every function of the library that is used: its name and its type.
#define GB_WASMTIME_FUNCTIONS(F)                                                                  \
  F(wasm_config_new, Config*())                                                                   \
  F(wasmtime_config_consume_fuel_set, void(Config*, bool))                                        \
  F(wasmtime_config_cranelift_nan_canonicalization_set, void(Config*, bool))                      \
  F(wasmtime_config_parallel_compilation_set, void(Config*, bool))                                \
  F(wasmtime_config_shared_memory_set, void(Config*, bool))                                       \
  F(wasmtime_config_wasm_component_model_set, void(Config*, bool))                                \
  F(wasmtime_config_wasm_function_references_set, void(Config*, bool))                            \
  F(wasmtime_config_wasm_gc_set, void(Config*, bool))                                             \
  F(wasmtime_config_wasm_memory64_set, void(Config*, bool))                                       \
  F(wasmtime_config_wasm_relaxed_simd_deterministic_set, void(Config*, bool))                     \
  F(wasmtime_config_wasm_threads_set, void(Config*, bool))                                        \
  F(wasm_engine_new_with_config, Engine*(Config*))                                                \
  F(wasm_byte_vec_delete, void(ByteVector*))                                                      \
  F(wasm_valtype_new, ValueType*(std::uint8_t))                                                   \
  F(wasm_valtype_vec_new, void(ValueTypes*, std::size_t, ValueType* const*))                      \
  F(wasm_functype_new, FunctionType*(ValueTypes*, ValueTypes*))                                   \
  F(wasmtime_wat2wasm, LibraryError*(const char*, std::size_t, ByteVector*))                      \
  F(wasmtime_module_new, LibraryError*(Engine*, const char*, std::size_t, Module**))              \
  F(wasmtime_module_imports, void(const Module*, ImportTypes*))                                   \
  F(wasm_importtype_name, const ByteVector*(const ImportType*))                                   \
  F(wasm_importtype_vec_delete, void(ImportTypes*))                                               \
  F(wasmtime_module_serialize, LibraryError*(const Module*, ByteVector*))                         \
  F(wasmtime_module_deserialize,                                                                  \
    LibraryError*(Engine*, const unsigned char*, std::size_t, Module**))                          \
  F(wasmtime_module_deserialize_file, LibraryError*(Engine*, const char*, Module**))              \
  F(wasmtime_store_new, Store*(Engine*, void*, void (*)(void*)))                                  \
  F(wasmtime_store_context, Context*(Store*))                                                     \
  F(wasmtime_context_set_fuel, LibraryError*(Context*, std::uint64_t))                            \
  F(wasmtime_linker_new, Linker*(Engine*))                                                        \
  F(wasmtime_linker_define_func_unchecked,                                                        \
    LibraryError*(Linker*, const char*, std::size_t, const char*, std::size_t,                    \
                  const FunctionType*, Callback, void*, void (*)(void*)))                         \
  F(wasmtime_linker_instantiate,                                                                  \
    LibraryError*(const Linker*, Context*, const Module*, Instance*, Trap**))                     \
  F(wasmtime_instance_export_get,                                                                 \
    bool(Context*, const Instance*, const char*, std::size_t, Extern*))                           \
  F(wasmtime_caller_context, Context*(Caller*))                                                   \
  F(wasmtime_caller_export_get, bool(Caller*, const char*, std::size_t, Extern*))                 \
  F(wasmtime_memory_data, unsigned char*(Context*, const Memory*))                                \
  F(wasmtime_memory_data_size, std::size_t(const Context*, const Memory*))                        \
  F(wasm_functype_delete, void(FunctionType*))                                                    \
  F(wasmtime_func_call, LibraryError*(Context*, const Function*, const void*, std::size_t, void*, \
                                      std::size_t, Trap**))                                       \
  F(wasmtime_error_message, void(const LibraryError*, ByteVector*))                               \
  F(wasmtime_error_delete, void(LibraryError*))                                                   \
  F(wasmtime_trap_code, bool(const Trap*, TrapCode*))                                             \
  F(wasm_trap_message, void(const Trap*, ByteVector*))

// The functions of the loaded library, by their own names. Lives as long as the process.
struct Wasmtime {
#define GB_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  GB_WASMTIME_FUNCTIONS(GB_MEMBER)
#undef GB_MEMBER

  // kUnsupported if the file is missing, or lacks a function.
  static Result<Wasmtime> load(const std::string& path);

  // What the library says went wrong; nothing for a null pointer. Takes the error.
  [[nodiscard]] Result<void> check(LibraryError* error, std::string_view attempt) const;
};

}  // namespace glovebox::wasm
