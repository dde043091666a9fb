// SPDX-License-Identifier: Apache-2.0
// LiveSession: a sandbox with one live interpreter in it, for doors that hold a conversation.
//
//   auto language = find_live_language(registry, "python");
//   auto session = LiveSession::open({.language = *language});
//   auto execution = session.value()->execute({.code = "1 + 1"});
//
// A session is used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/context.h"
#include "language/language.h"
#include "language/registry.h"
#include "sandbox/sandbox.h"
#include "service/network/egress.h"
#include "service/packages/packages.h"
#include "service/runs/transfer.h"

namespace glovebox {

// Marks the name of a Jupyter kernel in place of a language: "jupyter:ir".
inline constexpr std::string_view kJupyterPrefix = "jupyter:";

// A language whose interpreter can stay alive, by any of its names; or an installed Jupyter kernel
// by "jupyter:NAME". Fails with kNotFound for unknown names and with kUnsupported, with a hint,
// where the language has no agent or a program that it needs is missing. In a tier with
// interpreters of its own it is the language as it is there (in_tier()).
Result<Language> find_live_language(const Registry& registry,
                                    std::string_view name,
                                    const TierWish& tier = {});

// The spec of the warm interpreter for such a language in such a tier. kUnsupported if it is not
// installed.
Result<ZygoteSpec> zygote_for(const Language& language, const TierWish& tier);

// The Jupyter kernels that a sandbox can see, sorted.
std::vector<std::string> installed_kernels();

struct LiveSpec {
  Language language;  // From find_live_language().
  Limits limits;      // `wall` and `cpu_time` hold for each execution.
  TierWish tier;
  Environment env;
  std::optional<NetworkRules> network{};  // None: it reaches nothing.
  SecretValues secrets{};                 // That the rules name.
  std::vector<FileToCopy> files;
  // What is asked for by name is there from the start; the guest may install more from the same
  // directories and indexes.
  PackageWish packages{};
};

class LiveSession {
 public:
  // A fresh sandbox with the files in it, and the interpreter ready.
  // `cancel_fd` becoming readable ends the making of its packages; -1 for never.
  static Result<std::unique_ptr<LiveSession>> open(LiveSpec spec, int cancel_fd = -1);

  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;
  ~LiveSession() = default;

  // As Context::execute(). A caller without limits of its own gives spec().limits.
  Result<Execution> execute(const ExecuteOptions& options);

  enum class Restarted {
    kInterpreter,  // Files of the workspace are kept.
    kSandbox,      // The sandbox had ended with its guest: files are as at the beginning.
  };
  // A new interpreter in place of the old one, whether that is alive or not. Checkpoints are gone.
  Result<Restarted> restart();

  [[nodiscard]] bool alive() const { return context_ && context_->alive() && sandbox_->alive(); }
  [[nodiscard]] Context& context() { return *context_; }
  [[nodiscard]] Sandbox& sandbox() { return *sandbox_; }
  // The connections that it made; empty without network rules.
  [[nodiscard]] Egress::Record connections() const {
    return egress_ ? egress_->record() : Egress::Record{};
  }
  [[nodiscard]] const LiveSpec& spec() const { return spec_; }

  // Removes the sandbox.
  Result<void> end();

 private:
  explicit LiveSession(LiveSpec spec) : spec_(std::move(spec)) {}
  Result<void> open_sandbox();
  Result<void> start_context();

  LiveSpec spec_;
  // Shown in the sandbox, so they go after it.
  Packages installed_;
  Packages offered_;
  std::unique_ptr<Zygote> zygote_;  // None: the interpreter is started by its agent's command.
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<Egress> egress_;
  UniqueFd relay_;
  std::unique_ptr<Context> context_;  // Goes before the sandbox that it refers to.
};

}  // namespace glovebox
