// SPDX-License-Identifier: Apache-2.0
// Watchers: watches whose events are fetched instead of streamed, for clients that can't stream.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "doors/e2b/fields.h"
#include "doors/e2b/gate.h"

namespace glovebox::e2b {

// Any thread. Each sandbox and each tenant may have only a few at once, and each watcher keeps only
// a few events: the oldest ones go.
class Watchers {
 public:
  explicit Watchers(SandboxService& service) : service_(service) {}
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // Returns once the watch is set up. kExhausted when the sandbox or its tenant has too many.
  Result<std::string> create(const Visit& visit,
                             const std::string& directory,
                             bool recursive,
                             bool with_entry);
  // The events since the last call. kNotFound for another sandbox's watcher as well.
  Result<Json> take(const Visit& visit, const std::string& id);
  Result<void> remove(const Visit& visit, const std::string& id);

 private:
  struct Watcher;
  // Adds it to the others, unless there are too many.
  Result<void> add(const std::string& id, const std::shared_ptr<Watcher>& watcher);
  void drop(const std::string& id);
  Result<void> begin(const Visit& visit,
                     const std::shared_ptr<Watcher>& watcher,
                     const std::string& directory,
                     bool recursive,
                     bool with_entry);
  std::shared_ptr<Watcher> find(const Visit& visit, const std::string& id);

  SandboxService& service_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Watcher>> watchers_;
};

}  // namespace glovebox::e2b
