// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_install.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <thread>

#include "base/archive/tar.h"
#include "base/sys/pipe.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "service/packages/package_tools.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Not the guest's limits: a package is made once, for many of them. pip has every file twice for a
// moment, and files are memory here.
constexpr Limits kLimits{.wall = 300s,
                         .memory = 3_GiB,
                         .cpus = 2.0,
                         .pids = 512,
                         .disk = 2_GiB,
                         .inodes = 400'000,
                         .open_files = 4'096,
                         .output = 64_KiB};
constexpr std::size_t kMaxFiles = 200'000;

// How much of a package manager's complaint is passed on.
constexpr std::size_t kMaxComplaint = 2'000;

constexpr const char* kTarget = "/workspace/layer";

// Only regular files leave the sandbox, so the links to a package's programs become scripts.
constexpr const char* kLaunchers = R"sh(
find /workspace/layer -path '*/.bin/*' -type l | while IFS= read -r link; do
  target=$(readlink "$link") && rm "$link" &&
    printf '#!/bin/sh\nexec "${0%%/*}/%s" "$@"\n' "$target" > "$link" && chmod 755 "$link"
done)sh";

Command pip_command(const PackageInstall& install) {
  Command command{
      .argv = {"/usr/bin/python3", "-m", "pip", "--isolated", "install", "--no-index", "--target",
               kTarget,
               // What a source archive needs to be built is taken from /usr.
               "--no-build-isolation", "--prefer-binary", "--no-compile", "--no-cache-dir",
               "--no-input", "--no-color", "--quiet", "--disable-pip-version-check"},
      .env = {},
      .cwd = {}};
  for (const Mount& source : install.sources) {
    command.argv.insert(command.argv.end(), {"--find-links", source.target});
  }
  return command;
}

Command npm_command(const PackageInstall& install) {
  return {
      .argv = {install.tools.target + "/npm", "install", "--prefix", kTarget, "--no-package-lock",
               "--omit=dev", "--loglevel=error", "--no-progress", "--color=false"},
      .env = {{"GLOVEBOX_PACKAGE_SOURCES", source_path(install.sources)}},
      .cwd = {}};
}

Command install_command(const PackageInstall& install) {
  const bool pip = install.manager == PackageManager::kPip;
  Command command = pip ? pip_command(install) : npm_command(install);
  // Out of the layer and out of the workspace.
  command.env.emplace_back("HOME", "/tmp");
  command.argv.emplace_back("--");
  for (const PackageRequest& request : install.requests) {
    command.argv.push_back(request.specifier());
  }
  return command;
}

// What follows an installation inside the sandbox. It may fail: without it the layer works, too.
Command finish_command(PackageManager manager) {
  if (manager == PackageManager::kNpm) {
    return {.argv = {"/bin/sh", "-c", kLaunchers}, .env = {}, .cwd = {}};
  }
  // The times of the files change on their way out, so the compiled code must not depend on them.
  return {.argv = {"/usr/bin/python3", "-m", "compileall", "-qq", "--invalidation-mode",
                   "unchecked-hash", kTarget},
          .env = {},
          .cwd = {}};
}

// The lines in which a package manager says what is wrong, or the last ones.
std::string complaint_in(const RunOutcome& outcome) {
  const std::string all = to_utf8(outcome.out.bytes + "\n" + outcome.err.bytes);
  constexpr std::array<std::string_view, 3> kMarks = {"ERROR:", "npm ERR! ", "npm error "};
  std::string marked;
  std::string last;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    std::string_view line = std::string_view(all).substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    last = line;
    for (const std::string_view mark : kMarks) {
      if (line.starts_with(mark) && !line.contains("complete log of this run") &&
          marked.size() < kMaxComplaint) {
        line.remove_prefix(std::min(line.find_first_not_of(' ', mark.size()), line.size()));
        marked += (marked.empty() ? "" : "; ") + std::string(line);
      }
    }
  }
  return printable((marked.empty() ? last : marked).substr(0, kMaxComplaint));
}

bool says_missing(PackageManager manager, std::string_view complaint) {
  return manager == PackageManager::kPip
             ? complaint.contains("No matching distribution found")
             : complaint.contains("code E404") || complaint.contains("code ETARGET");
}

bool says_not_installed(const RunOutcome& outcome) {
  return outcome.exit_code == 127 || outcome.err.bytes.contains("No module named pip");
}

Error explain(const PackageInstall& install, const RunOutcome& outcome) {
  const bool pip = install.manager == PackageManager::kPip;
  const std::string manager(to_string(install.manager));
  if (outcome.status == Status::kCanceled) {
    return {ErrorCode::kUnavailable, "canceled while installing packages"};
  }
  if (outcome.status != Status::kError) {
    return {ErrorCode::kExhausted,
            manager + " ended with " + std::string(to_string(outcome.status)) +
                " while installing packages",
            "install fewer packages at once, or use wheels instead of source archives"};
  }
  if (says_not_installed(outcome)) {
    return {ErrorCode::kUnsupported, manager + " is not installed below /usr",
            pip ? "apt-get install python3-pip" : "apt-get install npm, or Node.js with its npm"};
  }
  const std::string complaint = complaint_in(outcome);
  if (says_missing(install.manager, complaint)) {
    return {ErrorCode::kInvalid, manager + ": a package is not in the sources: " + complaint,
            std::string("check its name, or add it and its dependencies to the sources: ") +
                (pip ? "pip download -d DIR NAME" : "npm pack NAME")};
  }
  return {ErrorCode::kUnavailable, manager + " could not install the packages: " + complaint,
          pip ? "put wheels into the source directory; source archives are built with the tools "
                "installed below /usr"
              : "check what the package's install script needs"};
}

Result<void> run_steps(Sandbox& sandbox, const PackageInstall& install) {
  const RunOptions options{.limits = kLimits, .cancel_fd = install.cancel_fd};
  const RunOutcome installed = GB_TRY(sandbox.run(install_command(install), options));
  if (installed.status != Status::kOk) {
    return explain(install, installed);
  }
  const RunOutcome finished = GB_TRY(sandbox.run(finish_command(install.manager), options));
  return finished.status == Status::kOk || finished.status == Status::kError
             ? Result<void>()
             : explain(install, finished);
}

// As an archive over standard output, and not as the list of changed files that the warden keeps:
// that list ends at 10,000 names.
Result<void> take_out(Sandbox& sandbox, const PackageInstall& install, const std::string& to) {
  const UniqueFd target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!target) {
    return Error::from_errno("open " + to);
  }
  sys::Pipe pipe = GB_TRY(sys::make_pipe());
  Result<void> extracted;
  std::thread reader([&] {
    const TarRules rules{.symlinks = false,
                         .max_bytes = kLimits.disk.count,
                         .max_entries = kMaxFiles,
                         .mode_mask = 0755};
    extracted = extract_tar(pipe.read.get(), target.get(), rules, nullptr);
    // Read to the end all the same, so that the other side does not hang.
    std::array<char, 16 * 1024> rest;
    while (::read(pipe.read.get(), rest.data(), rest.size()) > 0) {
    }
  });
  bool lost = false;
  RunOptions options{.limits = kLimits, .cancel_fd = install.cancel_fd};
  // The reader stays until this end is closed, so there is no SIGPIPE to fear.
  options.observer.out = [&](std::string_view bytes) {
    lost = lost || !sys::write_all(pipe.write.get(), bytes);
  };
  const Command command{.argv = {"tar", "--create", "--format=pax", "--hard-dereference",
                                 "--directory", kTarget, "."},
                        .env = {},
                        .cwd = {}};
  auto packed = sandbox.run(command, options);
  pipe.write.reset();
  reader.join();
  if (!packed) {
    return std::move(packed).error();
  }
  if (packed->status != Status::kOk) {
    return explain(install, packed.value());
  }
  if (!extracted) {
    return Error(ErrorCode::kRefused,
                 "refused the installed files: " + printable(extracted.error().message()),
                 "packages may contain only regular files and directories");
  }
  return {};
}

}  // namespace

Result<void> install_packages(const PackageInstall& install, const std::string& directory) {
  SandboxSpec spec{.limits = kLimits, .env = {}, .mounts = install.sources};
  spec.root = install.root;
  spec.mounts.push_back(install.tools);
  for (const char* const settings : {"/etc/python3", "/etc/python3.11", "/etc/nodejs"}) {
    spec.mounts.push_back({.source = settings, .target = settings, .optional = true});
  }
  const std::unique_ptr<Sandbox> sandbox = GB_TRY(Sandbox::create(spec, {}));
  // Even if a package installs nothing at all.
  GB_TRY(sandbox->write_file("layer/.glovebox", {}, 0644));
  GB_TRY(run_steps(*sandbox, install));
  GB_TRY(take_out(*sandbox, install, directory));
  return sandbox->end();
}

}  // namespace glovebox
