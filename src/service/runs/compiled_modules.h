// SPDX-License-Identifier: Apache-2.0
// CompiledModules: machine code of WebAssembly modules that are run again, in our memory.
//
// Loading machine code means trusting its author. A runner in a sandbox of its own writes it, from
// the bytes of the module alone; it is found by the tenant that ran the module and the module's
// SHA-256. It is loaded only where the same bytes of the same tenant would be compiled again, in a
// sandbox of the same kind. No guest can write to what is kept here.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/run_pool/ready_sandboxes.h"

namespace glovebox {

struct ModuleKey {
  std::string tenant{};
  std::string sha256{};  // Of the module's bytes.

  friend auto operator<=>(const ModuleKey&, const ModuleKey&) = default;
};

// Safe to use from several threads.
class CompiledModules {
 public:
  struct Bounds {
    std::size_t all = 128U << 20;  // Bytes.
    std::size_t of_tenant = 32U << 20;
    std::size_t of_one = 16U << 20;
    std::size_t known = 4096;  // Modules.
  };

  // What compiles `code`, for runs of this kind, until `cancel_fd` is readable.
  using Compile = std::function<Result<std::string>(
      const ReadyKind& kind, const std::string& code, int cancel_fd)>;

  CompiledModules();
  CompiledModules(Compile compile, const Bounds& bounds);
  CompiledModules(const CompiledModules&) = delete;
  CompiledModules& operator=(const CompiledModules&) = delete;
  ~CompiledModules();

  // The machine code, or null. A module that is asked for a second time is compiled in the
  // background; one that does not compile is not tried again while it is known.
  std::shared_ptr<const std::string> find(const ModuleKey& key,
                                          const ReadyKind& kind,
                                          const std::string& code);

  // Waits until nothing is being compiled.
  void await_idle();

  [[nodiscard]] std::size_t bytes();

 private:
  struct Entry {
    std::shared_ptr<const std::string> compiled{};
    bool tried = false;
    std::uint64_t used = 0;
  };
  struct Job {
    ModuleKey key;
    ReadyKind kind;
    std::string code;
  };
  using Entries = std::map<ModuleKey, Entry>;

  void work();
  // These need `mutex_`.
  void keep(const ModuleKey& key, std::string compiled);
  void drop(Entries::iterator which);
  void forget_oldest();
  [[nodiscard]] bool has_room_for(const std::string& tenant) const;

  const Compile compile_;
  const Bounds bounds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  std::map<std::string, std::size_t> bytes_of_;  // Tenants.
  std::size_t bytes_ = 0;
  std::uint64_t uses_ = 0;
  std::deque<Job> jobs_;  // The first one is under way.
  bool stopping_ = false;
  const UniqueFd stop_;  // eventfd(2): readable at the end.
  std::thread worker_;
};

}  // namespace glovebox
