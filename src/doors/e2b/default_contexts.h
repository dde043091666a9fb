// SPDX-License-Identifier: Apache-2.0
// DefaultContexts: the contexts that E2B's clients see. Two are always listed, and made when they
// are first used; each other language gets one at its first use as well.
#pragma once

#include <functional>
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

// A context to execute in.
struct ChosenContext {
  std::string id;        // The service's.
  std::string language;  // Whose default context this is; empty if it is not one.
};

// Reads "js" and " Python " as E2B does: "javascript", "python".
std::string normal_language(std::string_view name);

// Any thread.
class DefaultContexts {
 public:
  explicit DefaultContexts(SandboxService& service) : service_(service) {}

  // A language's default context, made if needed. Does not check that it still exists.
  Result<ChosenContext> of_language(const Visit& visit, const std::string& language);
  // The context that clients know as `id`. Makes a default one that was never used; otherwise does
  // not check that it exists.
  Result<ChosenContext> of_id(const Visit& visit, const std::string& id);
  // The context to take in place of one that is gone: the default context of its language, made
  // again. kNotFound if it was not a default one.
  Result<ChosenContext> in_place_of(const Visit& visit, const ChosenContext& gone);

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
  Result<ChosenContext> remake(const Visit& visit,
                               const std::string& language,
                               const std::string& gone);
  Result<SandboxNotes> fresh(const Visit& visit);
  Result<void> change(const Visit& visit, const std::function<void(SandboxNotes&)>& edit);
  Result<NamedLocks::Held> lock(std::string_view sandbox);

  SandboxService& service_;
  NamedLocks locks_;  // By sandbox: one context is made at a time in each.
};

}  // namespace glovebox::e2b
