// SPDX-License-Identifier: Apache-2.0
// One-shot runs: a fresh sandbox, files in, compile, run, verify, files out, gone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "language/language.h"
#include "sandbox/sandbox.h"
#include "service/packages/packages.h"
#include "service/run_pool/ready_sandboxes.h"
#include "service/runs/compiled_modules.h"
#include "service/runs/transfer.h"
#include "spec/checks.h"
#include "spec/guest_rules.h"
#include "spec/network_rules.h"
#include "spec/network_tape.h"
#include "spec/verdict.h"

namespace glovebox {

struct OneShot {
  Language language;
  std::string code;
  std::string name;  // What the user calls the code's file; may be empty.
  std::vector<std::string> arguments;
  // What the sandbox shows in place of this machine's usual view: that of an image
  // (templates/run_image.h), which has the program `in_place`, or that of a template.
  struct Image {
    std::string root{};         // As SandboxSpec::root; empty: this machine's.
    std::string home{};         // As SandboxSpec::home.
    std::string name{"guest"};  // As SandboxSpec::user.
    std::vector<Mount> mounts{};
    std::string workspace{};  // A tar archive of what the workspace begins with; empty: nothing.
    std::string directory{};  // Where a program of the image begins; empty: the workspace.
    std::string user{};       // Who the program runs as (files/users.h); empty: the guest. Others
                              // need `as_root`.
    Environment env{};
  };
  std::optional<Image> image{};
  // A program that the template shows anyway is run where it is, without being copied in.
  std::string in_place;

  Limits limits;
  Limits compile_limits;
  TierWish tier;
  bool strict = false;
  bool as_root = false;        // SandboxSpec::as_root.
  bool nested = false;         // SandboxSpec::nested.
  bool deterministic = false;  // SandboxSpec::deterministic.
  // What policies let it start, besides its language's own programs, and write.
  GuestRules rules{};
  // Takes the sandbox out of the user's pool if there is one (service/run_pool/sandbox_claim.h).
  bool from_pool = false;
  // What is made ahead of runs, which belongs to others, and the tenant of this run. Or nothing.
  struct Ahead {
    ReadySandboxes* sandboxes;
    CompiledModules* modules;
    std::string tenant{};
  };
  std::optional<Ahead> ahead{};
  Environment env;
  std::optional<NetworkRules> network{};  // None: it reaches nothing.
  SecretValues secrets{};                 // That the rules name.
  bool public_only = false;               // As Egress::Place's.
  NetworkTape tape{};                     // Of that network.
  std::vector<FileToCopy> files;
  std::map<std::string, std::string> contents;  // More files: name to bytes.
  PackageWish packages;
  std::string out_directory;  // Empty: nothing is copied out.
  bool compile_only = false;  // Nothing is run; what the compiler made are the files.
  std::string verify;         // A shell command, run after the guest has ended; empty: none.
  // What has to hold before the verdict is `ok`. Reviews are the caller's.
  Checks checks;
  int stdin_fd = -1;
  int cancel_fd = -1;
  std::function<int()> cancel_signal{};  // RunOptions::cancel_signal, for the program itself.
};

// Told what happens meanwhile. Any function may be empty.
struct OneShotObserver {
  // "packages", if some must be installed first; "files", "compile", "run", "verify", "out".
  std::function<void(std::string_view phase)> phase;
  std::function<void(std::string_view id, std::string_view phase)> started;
  std::function<void(std::string_view)> out;  // Of the guest, not of the compiler.
  std::function<void(std::string_view)> err;
  // With network rules, for each connection that has ended; from a thread of its own.
  std::function<void(const ConnectionRecord&)> connection;

  void enter(std::string_view name) const {
    if (phase) {
      phase(name);
    }
  }
};

struct OneShotResult {
  Verdict verdict;
  std::vector<std::string> copied_out;  // Below out_directory.
  std::optional<Error> not_copied;      // Why the others, or all, are missing there.
  NetworkRecording recording;           // Of the network, if its tape had room.
};

// In a tier that runs no programs of the machine, a language with a compiler is compiled in another
// sandbox, of the tier `native` or a stronger one, which gets the same files; only the product goes
// into the one that runs. Requires: the language is as in that tier (in_tier()).
//
// An Error means that we could not do it; all that a guest can cause is in the verdict.
Result<OneShotResult> run_once(const OneShot& request, const OneShotObserver& observer);

}  // namespace glovebox
