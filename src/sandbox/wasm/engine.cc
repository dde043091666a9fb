// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/engine.h"

namespace glovebox::wasm {

Engine* make_engine(const Wasmtime& api, Mode mode) {
  Config* const config = api.wasm_config_new();
  // One thread computes. Features that compilers for WASI do not use are off: less attack surface.
  api.wasmtime_config_parallel_compilation_set(config, false);
  api.wasmtime_config_wasm_threads_set(config, false);
  api.wasmtime_config_shared_memory_set(config, false);
  api.wasmtime_config_wasm_memory64_set(config, false);
  api.wasmtime_config_wasm_gc_set(config, false);
  api.wasmtime_config_wasm_function_references_set(config, false);
  api.wasmtime_config_wasm_component_model_set(config, false);
  if (mode == Mode::kDeterministic) {
    api.wasmtime_config_consume_fuel_set(config, true);
    api.wasmtime_config_cranelift_nan_canonicalization_set(config, true);
    api.wasmtime_config_wasm_relaxed_simd_deterministic_set(config, true);
  }
  return api.wasm_engine_new_with_config(config);
}

Result<Module*> compile(const Wasmtime& api, Engine* engine, const std::string& bytes) {
  ByteVector translated;
  const bool is_text = !bytes.starts_with(std::string_view("\0asm", 4));
  // The text format begins with a parenthesis, or with blanks and comments before that.
  if (is_text && (bytes.empty() ||
                  std::string_view(" \t\r\n(;").find(bytes.front()) == std::string_view::npos)) {
    return Error(ErrorCode::kInvalid, "this is not a WebAssembly module");
  }
  if (is_text) {
    GB_TRY(api.check(api.wasmtime_wat2wasm(bytes.data(), bytes.size(), &translated),
                     "read the WebAssembly text"));
  }
  const char* const data = is_text ? translated.data : bytes.data();
  const std::size_t size = is_text ? translated.size : bytes.size();
  Module* module = nullptr;
  GB_TRY(api.check(api.wasmtime_module_new(engine, data, size, &module), "compile the module"));
  return module;
}

Result<std::string> serialize(const Wasmtime& api, const Module* module) {
  ByteVector bytes;
  GB_TRY(api.check(api.wasmtime_module_serialize(module, &bytes), "serialize the module"));
  std::string serialized(bytes.data, bytes.size);
  api.wasm_byte_vec_delete(&bytes);
  return serialized;
}

Result<Module*> deserialize(const Wasmtime& api, Engine* engine, std::string_view bytes) {
  Module* module = nullptr;
  GB_TRY(api.check(
      api.wasmtime_module_deserialize(engine, reinterpret_cast<const unsigned char*>(bytes.data()),
                                      bytes.size(), &module),
      "load what was compiled"));
  return module;
}

}  // namespace glovebox::wasm
