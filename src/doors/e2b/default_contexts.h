// SPDX-License-Identifier: Apache-2.0
// DefaultContexts: the contexts that E2B's clients see. Two are always listed, and made when they
// are first used; each other language gets one at its first use as well.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/named_locks.h"
#include "doors/e2b/gate.h"

namespace glovebox::e2b {

// A context as clients see it.
struct ShownContext {
  std::string id;
  std::string language;
  std::string cwd;
};

// "js" and " Python " as E2B understands them.
std::string normal_language(std::string_view name);

// Any thread.
class DefaultContexts {
 public:
  explicit DefaultContexts(SandboxService& service) : service_(service) {}

  // The service's id of a language's default context; made if need be.
  Result<std::string> of_language(const Visit& visit, const std::string& language);
  // The service's id of the context that clients know as `id`. kNotFound when there is none.
  Result<std::string> of_id(const Visit& visit, const std::string& id);

  Result<ShownContext> create(const Visit& visit,
                              const std::string& language,
                              const std::string& cwd);
  Result<std::vector<ShownContext>> list(const Visit& visit);
  Result<void> remove(const Visit& visit, const std::string& id);
  Result<void> restart(const Visit& visit, const std::string& id);

 private:
  Result<ContextInfo> make(const Visit& visit, const std::string& language, std::string cwd);
  // Gives a new context of this language what E2B's have: hooks that show more than ours do.
  void prepare(const Visit& visit, const std::string& language, const std::string& context);
  Result<SandboxInfo> fresh(const Visit& visit);
  Result<void> keep(const Visit& visit, const SandboxInfo& info, const SandboxNotes& notes);
  Result<NamedLocks::Held> lock(std::string_view sandbox);

  SandboxService& service_;
  NamedLocks locks_;  // By sandbox: one context is made at a time in each.
};

}  // namespace glovebox::e2b
