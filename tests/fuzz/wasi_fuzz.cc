// SPDX-License-Identifier: Apache-2.0
// The functions of our WASI, called as a module calls them: every argument, and the memory that
// arguments point into, is the input's. Whatever is called in whatever order, no file outside of
// the module's directories is made, changed or read, no descriptor stays behind, and nothing beyond
// the memory is touched.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "require.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"
#include "scratch.h"

namespace glovebox::wasm {

// What stands in for the library: functions by their names, and one memory.
struct FunctionType {
  std::vector<ValueKind> parameters;
};
struct ValueType {
  ValueKind kind;
};

// An import, of a module that imports all there is.
struct ImportType {
  ByteVector name;
};

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCanarySize = 16;
constexpr std::size_t kMemorySize = 65536;
constexpr std::size_t kMostCalls = 64;
constexpr rlim_t kMostFileSize = 1 << 20;
constexpr rlim_t kMostDescriptors = 256;
constexpr std::uint16_t kLastError = 76;

struct Called {
  std::string name;
  std::vector<ValueKind> parameters;
  Callback callback = nullptr;
  void* environment = nullptr;
};

// What is in the file that the module must not read: no input can have guessed it.
const std::string& canary() {
  static const std::string text = [] {
    std::string random(kCanarySize, '\0');
    require(::getentropy(random.data(), random.size()) == 0);
    return random;
  }();
  return text;
}

std::vector<Called> functions;
std::vector<unsigned char>* memory = nullptr;

// All of WASI preview 1, in the order of its document, so that a number in the corpus stays the
// same function.
constexpr auto kNames = std::to_array<std::string_view>({
    "args_get",
    "args_sizes_get",
    "environ_get",
    "environ_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "fd_advise",
    "fd_allocate",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_get",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_pwrite",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "fd_write",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "poll_oneoff",
    "proc_exit",
    "proc_raise",
    "random_get",
    "sched_yield",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
});

Wasmtime fake_library() {
  static std::array<ValueType, 2> types = {ValueType{ValueKind::kI32}, ValueType{ValueKind::kI64}};
  Wasmtime api;
  api.wasm_valtype_new = [](std::uint8_t kind) { return &types.at(kind); };
  api.wasm_valtype_vec_new = [](ValueTypes* to, std::size_t size, ValueType* const* from) {
    *to = {.size = size, .data = new ValueType*[size]};
    std::copy_n(from, size, to->data);
  };
  api.wasm_functype_new = [](ValueTypes* parameters, ValueTypes* results) {
    auto* const type = new FunctionType;
    for (std::size_t i = 0; i < parameters->size; ++i) {
      type->parameters.push_back(parameters->data[i]->kind);
    }
    delete[] parameters->data;
    delete[] results->data;
    return type;
  };
  api.wasm_functype_delete = [](FunctionType* type) { delete type; };
  api.wasmtime_module_imports = [](const Module*, ImportTypes* to) {
    *to = {.size = kNames.size(), .data = new ImportType*[kNames.size()]};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      to->data[i] = new ImportType{{kNames[i].size(), const_cast<char*>(kNames[i].data())}};
    }
  };
  api.wasm_importtype_name = [](const ImportType* type) { return &type->name; };
  api.wasm_importtype_vec_delete = [](ImportTypes* types) {
    for (std::size_t i = 0; i < types->size; ++i) {
      delete types->data[i];
    }
    delete[] types->data;
  };
  api.wasmtime_linker_define_func_unchecked =
      [](Linker*, const char*, std::size_t, const char* name, std::size_t size,
         const FunctionType* type, Callback callback, void* environment,
         void (*)(void*)) -> LibraryError* {
    functions.push_back({std::string(name, size), type->parameters, callback, environment});
    return nullptr;
  };
  api.wasmtime_caller_export_get = [](Caller*, const char*, std::size_t, Extern* found) {
    found->kind = ExternKind::kMemory;
    return memory != nullptr;
  };
  api.wasmtime_caller_context = [](Caller*) -> Context* { return nullptr; };
  api.wasmtime_memory_data = [](Context*, const Memory*) { return memory->data(); };
  api.wasmtime_memory_data_size = [](const Context*, const Memory*) { return memory->size(); };
  return api;
}

// The host's, but for what would take its time.
class World : public wasm::World {
 public:
  std::uint64_t now(std::uint32_t clock) override { return clock + 1; }
  std::uint64_t resolution(std::uint32_t /*clock*/) override { return 1; }
  bool fill_randomly(std::span<unsigned char> bytes) override {
    std::ranges::fill(bytes, 7);
    return true;
  }
  // Every descriptor there is, is ready, so that no wait lasts.
  [[nodiscard]] bool waits() const override { return true; }
  void let_pass(std::uint64_t /*nanoseconds*/) override {}
  Identity identity_of(const Identity& file) override { return file; }
  std::uint64_t listed_number(std::uint64_t number) override { return number; }
  std::uint64_t time_of_file(std::uint64_t time) override { return time; }
};

// The module's directory, and neighbours that it must leave alone.
class Scene {
 public:
  Scene() {
    fs::create_directory(outside());
    write(outside() / "canary", canary());
    reset();
    before_ = described();
  }

  [[nodiscard]] fs::path inside() const { return scratch_.path / "inside"; }
  [[nodiscard]] fs::path outside() const { return scratch_.path / "outside"; }

  // As a workspace may look after a module of yesterday: with links that lead out.
  void reset() const {
    fs::remove_all(inside());
    fs::create_directories(inside() / "d/e");
    write(inside() / "f", "some text");
    fs::create_symlink("../outside", inside() / "out");
    fs::create_symlink("../outside/canary", inside() / "c");
    fs::create_symlink(outside() / "canary", inside() / "a");
    fs::create_symlink("d", inside() / "l");
  }

  void require_neighbours_untouched() const { require(described() == before_); }

 private:
  static void write(const fs::path& path, std::string_view text) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    require(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  // Names, kinds, times and contents of all that is not inside.
  [[nodiscard]] std::map<std::string, std::string> described() const {
    std::map<std::string, std::string> found;
    for (fs::recursive_directory_iterator at(scratch_.path), end; at != end; ++at) {
      const std::string name = at->path().lexically_relative(scratch_.path);
      if (name == "inside") {
        at.disable_recursion_pending();
        continue;
      }
      struct stat status {};
      require(::lstat(at->path().c_str(), &status) == 0);
      found[name] = std::to_string(status.st_mode) + " " + std::to_string(status.st_nlink) + " " +
                    std::to_string(status.st_mtim.tv_sec) + "." +
                    std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_size);
      if (S_ISREG(status.st_mode)) {
        std::string text(kCanarySize, '\0');
        const UniqueFd file(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME));
        require(::read(file.get(), text.data(), text.size()) >= 0);
        found[name] += " " + text;
      }
    }
    return found;
  }

  Scratch scratch_;
  std::map<std::string, std::string> before_;
};

std::size_t descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// Numbers of the input. Many are small, or the machine would rarely get past the first check.
class Numbers {
 public:
  explicit Numbers(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  unsigned byte() { return static_cast<unsigned>(take(1)); }
  std::uint64_t number(std::size_t size) {
    const unsigned first = byte();
    return first < 0xf0 ? first : take(size);
  }

 private:
  std::uint64_t take(std::size_t size) {
    size = std::min(size, bytes_.size());
    std::uint64_t number = 0;
    std::memcpy(&number, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return number;
  }

  std::span<const unsigned char> bytes_;
};

std::uint16_t call(const Called& function, Numbers& numbers) {
  std::array<RawValue, 16> values{};
  require(function.parameters.size() <= values.size());
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    if (function.parameters[i] == ValueKind::kI64) {
      values[i].i64 = numbers.number(sizeof(std::uint64_t));
    } else {
      values[i].i32 = static_cast<std::uint32_t>(numbers.number(sizeof(std::uint32_t)));
    }
  }
  require(function.callback(function.environment, nullptr, values.data(), values.size()) ==
          nullptr);
  return static_cast<std::uint16_t>(values[0].i32);
}

const Called& named(std::string_view name) {
  for (const Called& function : functions) {
    if (function.name == name) {
      return function;
    }
  }
  std::abort();
}

void bound_this_process() {
  (void)::signal(SIGXFSZ, SIG_IGN);
  const rlimit size{kMostFileSize, kMostFileSize};
  require(::setrlimit(RLIMIT_FSIZE, &size) == 0);
  const rlimit open{kMostDescriptors, kMostDescriptors};
  require(::setrlimit(RLIMIT_NOFILE, &open) == 0);
}

// The module's streams are this process's own, which libFuzzer reports on.
void leave_streams_alone(Wasi& wasi, int input) {
  for (const unsigned char stream : {1, 2}) {
    Numbers number({&stream, 1});
    require(call(named("fd_close"), number) == 0);
  }
  wasi.connect_input(input, "what is read first");
}

void run(std::span<const unsigned char> input, const Scene& scene) {
  static const Wasmtime api = fake_library();
  World world;
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  functions.clear();
  Wasi wasi(api, world,
            {.arguments = {"module", "", "an argument"},
             .environment = {"NAME=value"},
             .directories = {scene.inside(), scene.inside() / "d"}});
  require(wasi.open_directories().has_value());
  require(wasi.define(nullptr, nullptr).has_value());
  require(functions.size() == kNames.size());
  leave_streams_alone(wasi, nothing.get());
  // The calls come first, and the memory holds all of it, so that a small place is one of the
  // input.
  Numbers numbers(input);
  for (std::size_t calls = 0; calls < kMostCalls && !numbers.empty(); ++calls) {
    const Called& function = functions[numbers.byte() % functions.size()];
    if (function.name == "proc_exit") {
      continue;  // That ends this process.
    }
    const std::uint16_t answer = call(function, numbers);
    require(answer <= kLastError);
  }
}

}  // namespace
}  // namespace glovebox::wasm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox::wasm;
  static const Scene scene;
  static const bool bounded = (bound_this_process(), true);
  (void)bounded;
  scene.reset();
  const std::size_t open = descriptors();
  std::vector<unsigned char> bytes(kMemorySize);
  std::copy_n(data, std::min(size, bytes.size()), bytes.begin());
  memory = &bytes;
  run({data, size}, scene);
  memory = nullptr;
  require(descriptors() == open);
  scene.require_neighbours_untouched();
  require(std::search(bytes.begin(), bytes.end(), canary().begin(), canary().end()) == bytes.end());
  return 0;
}
