// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/wasmtime.h"

#include <dlfcn.h>

namespace glovebox::wasm {

Result<Wasmtime> Wasmtime::load(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return Error(ErrorCode::kUnsupported, std::string("load libwasmtime: ") + ::dlerror());
  }
  Wasmtime api;
#define GB_BIND(name, ...)                                                            \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));           \
  if (api.name == nullptr) {                                                          \
    return Error(ErrorCode::kUnsupported, "this libwasmtime has no function " #name); \
  }
  GB_WASMTIME_FUNCTIONS(GB_BIND)
#undef GB_BIND
  return api;
}

Result<void> Wasmtime::check(LibraryError* error, std::string_view attempt) const {
  if (error == nullptr) {
    return {};
  }
  ByteVector message;
  wasmtime_error_message(error, &message);
  Error said(ErrorCode::kInvalid, std::string(message.data, message.size));
  wasm_byte_vec_delete(&message);
  wasmtime_error_delete(error);
  return std::move(said).within(attempt);
}

}  // namespace glovebox::wasm
