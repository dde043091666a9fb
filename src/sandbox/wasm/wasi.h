// SPDX-License-Identifier: Apache-2.0
// WASI preview 1 for one module: its arguments, environment, streams and clocks, and files below
// the directories that it is given. The thread that the module runs in does all of it, so
// that the process can be forked while the module is in one of these functions.
//
// Numbers, places and paths are the module's: none is trusted. No path leads out of its directory;
// the kernel ensures that (openat2(2), RESOLVE_BENEATH). If this code is wrong, the sandbox around
// the process still holds.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/wasm/guest_memory.h"
#include "sandbox/wasm/wasi_types.h"
#include "sandbox/wasm/wasmtime.h"
#include "sandbox/wasm/world.h"

namespace glovebox::wasm {

// One for a process.
class Wasi {
 public:
  struct Given {
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{};  // "NAME=value".
    // The directories that it may use. A module has no current directory: libc uses the directory
    // named "." as one.
    std::vector<std::string> directories{".", "/workspace", "/tmp"};
  };

  // Both must outlive it.
  Wasi(const Wasmtime& api, World& world, Given given);

  Wasi(const Wasi&) = delete;
  Wasi& operator=(const Wasi&) = delete;

  // Replaces the arguments and environment that it was made with.
  void give(std::vector<std::string> arguments, std::vector<std::string> environment) {
    given_.arguments = std::move(arguments);
    given_.environment = std::move(environment);
  }

  // Gives the module its directories, as they are now, under the same names. Call it again in a
  // fork that has entered another sandbox.
  Result<void> open_directories();

  // Defines the functions that the module imports, for an instance made with this linker. Each
  // takes a microsecond to define, and few modules want all.
  Result<void> define(Linker* linker, const Module* module);

  // How the process ends when the module says so, in place of _exit(2).
  void end_by(void (*end)(int status)) { end_ = end; }

  // Called when the module first reads from its standard input, which waits for that.
  void before_first_read(std::function<void()> call) { before_first_read_ = std::move(call); }

  // From now on the module's standard input is `fd` of this process, which it may also write to;
  // what it reads first is `text`.
  void connect_input(int fd, std::string text);

 private:
  using Fd = std::uint32_t;
  using Place = std::uint32_t;
  using Size = std::uint32_t;
  using Error = wasi::Error;

  struct Open {
    int host = -1;
    UniqueFd owned{};              // The same, unless it is one of the process's own streams.
    std::string_view preopened{};  // The name of a directory that the module was given.
  };

  // clang-format off
  Error args_get(Place list, Place text);
  Error args_sizes_get(Place count, Place size);
  Error environ_get(Place list, Place text);
  Error environ_sizes_get(Place count, Place size);
  Error clock_res_get(std::uint32_t clock, Place to);
  Error clock_time_get(std::uint32_t clock, std::uint64_t precision, Place to);
  Error fd_advise(Fd fd, std::uint64_t offset, std::uint64_t size, std::uint32_t advice);
  Error fd_allocate(Fd fd, std::uint64_t offset, std::uint64_t size);
  Error fd_close(Fd fd);
  Error fd_datasync(Fd fd);
  Error fd_fdstat_get(Fd fd, Place to);
  Error fd_fdstat_set_flags(Fd fd, std::uint32_t flags);
  Error fd_fdstat_set_rights(Fd fd, std::uint64_t base, std::uint64_t inheriting);
  Error fd_filestat_get(Fd fd, Place to);
  Error fd_filestat_set_size(Fd fd, std::uint64_t size);
  Error fd_filestat_set_times(Fd fd, std::uint64_t accessed, std::uint64_t modified, std::uint32_t flags);
  Error fd_pread(Fd fd, Place pieces, Size count, std::uint64_t offset, Place done);
  Error fd_prestat_dir_name(Fd fd, Place to, Size size);
  Error fd_prestat_get(Fd fd, Place to);
  Error fd_pwrite(Fd fd, Place pieces, Size count, std::uint64_t offset, Place done);
  Error fd_read(Fd fd, Place pieces, Size count, Place done);
  Error fd_readdir(Fd fd, Place to, Size size, std::uint64_t cookie, Place used);
  Error fd_renumber(Fd from, Fd to);
  Error fd_seek(Fd fd, std::uint64_t offset, std::uint32_t whence, Place to);
  Error fd_sync(Fd fd);
  Error fd_tell(Fd fd, Place to);
  Error fd_write(Fd fd, Place pieces, Size count, Place done);
  Error path_create_directory(Fd fd, Place path, Size size);
  Error path_filestat_get(Fd fd, std::uint32_t flags, Place path, Size size, Place to);
  Error path_filestat_set_times(Fd fd, std::uint32_t flags, Place path, Size size, std::uint64_t accessed,
                                std::uint64_t modified, std::uint32_t which);
  Error path_link(Fd from_fd, std::uint32_t flags, Place from, Size from_size, Fd to_fd, Place to, Size to_size);
  Error path_open(Fd fd, std::uint32_t lookup, Place path, Size size, std::uint32_t how, std::uint64_t rights,
                  std::uint64_t inheriting, std::uint32_t flags, Place to);
  Error path_readlink(Fd fd, Place path, Size size, Place to, Size to_size, Place used);
  Error path_remove_directory(Fd fd, Place path, Size size);
  Error path_rename(Fd from_fd, Place from, Size from_size, Fd to_fd, Place to, Size to_size);
  Error path_symlink(Place target, Size target_size, Fd fd, Place path, Size size);
  Error path_unlink_file(Fd fd, Place path, Size size);
  Error poll_oneoff(Place wanted, Place events, Size count, Place happened);
  [[noreturn]] void proc_exit(std::uint32_t status);
  Error proc_raise(std::uint32_t signal);
  Error random_get(Place to, Size size);
  Error sched_yield();
  Error sock_accept(Fd fd, std::uint32_t flags, Place to);
  Error sock_recv(Fd fd, Place pieces, Size count, std::uint32_t flags, Place done, Place out);
  Error sock_send(Fd fd, Place pieces, Size count, std::uint32_t flags, Place done);
  Error sock_shutdown(Fd fd, std::uint32_t how);
  // clang-format on

  template <auto kFunction>
  Result<void> define_one(Linker* linker, std::string_view name);
  template <auto kFunction>
  static Trap* called(void* environment, Caller* caller, RawValue* values, std::size_t count);
  void remember_memory(Caller* caller);

  // wasi.cc
  [[nodiscard]] Error put_strings(const std::vector<std::string>& strings,
                                  Place list,
                                  Place text) const;
  [[nodiscard]] Error put_sizes(const std::vector<std::string>& strings,
                                Place count,
                                Place size) const;
  struct Wait;
  Error wait_on_host(std::vector<Wait>& waits, std::uint64_t shortest);

  // wasi_files.cc
  [[nodiscard]] int host(Fd fd) const;  // Or -1.
  Error keep(UniqueFd file, Place to);
  // The path at a place, with a zero at its end.
  [[nodiscard]] Error path_at(Place path, Size size, std::string& to) const;
  struct Named {
    UniqueFd directory{};  // In which it is, or would be.
    std::string name{};
  };
  Error find_parent(Fd fd, Place path, Size size, Named& found) const;
  Error open_beneath(Fd fd, Place path, Size size, std::uint64_t flags, UniqueFd& opened) const;
  [[nodiscard]] Error put_status(int file, Place to);
  template <typename Transfer>
  Error transfer(Fd fd, Place pieces, Size count, Place done, const Transfer& with);

  Wasmtime api_;
  World& world_;
  Given given_;
  GuestMemory memory_;  // Of the module that has called.
  std::vector<std::optional<Open>> open_;
  void (*end_)(int status) = ::_exit;
  std::function<void()> before_first_read_{};
  std::string first_input_{};
};

// What the kernel's errno is in WASI.
wasi::Error wasi_error(int number);

}  // namespace glovebox::wasm
