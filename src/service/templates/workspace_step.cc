// SPDX-License-Identifier: Apache-2.0
#include "service/templates/workspace_step.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/digest/digest.h"
#include "base/text.h"
#include "files/file_client.h"
#include "files/open.h"
#include "sandbox/sandbox.h"
#include "spec/json/network_rules_json.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kWorkspaceFormat = 1;

// The limits of a build, if the recipe asks for nothing else: compilers and tests are larger than
// what runs later.
constexpr Limits kUsual{.wall = 600s,
                        .memory = 1_GiB,
                        .cpus = 2.0,
                        .pids = 512,
                        .disk = 1_GiB,
                        .inodes = 200'000,
                        .open_files = 4'096,
                        .output = 64_KiB};

Result<std::string> hash_of_archive(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return Error::from_errno("open an archive");
  }
  return hash_of_file(fd.get());
}

// All that decides what comes out.
Result<std::string> key_of(const Recipe& recipe, const TemplateParts& parts) {
  ContentHash hash;
  hash.add("workspace").add(kWorkspaceFormat).add(parts.home).add(parts.user);
  for (const std::string& key : parts.keys()) {
    hash.add(key);
  }
  hash.add(parts.env.size());
  for (const auto& [name, value] : parts.env) {
    hash.add(name).add(value);
  }
  for (const RecipeStep& step : recipe.steps) {
    hash.add(static_cast<std::uint64_t>(step.kind)).add(step.text).add(step.path).add(step.mode);
    hash.add(step.cwd).add(step.env.size());
    for (const auto& [name, value] : step.env) {
      hash.add(name).add(value);
    }
    if (step.kind == RecipeStep::Kind::kArchive) {
      hash.add(GB_TRY(hash_of_archive(step.archive)));
    }
  }
  if (lets_out(recipe.network)) {
    hash.add("network").add(to_json(recipe.network));
  }
  return hash.hex();
}

FileClient::Source from_text(std::string_view text) {
  return [text](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t size = std::min(into.size(), text.size());
    std::copy_n(text.begin(), size, into.begin());
    text.remove_prefix(size);
    return size;
  };
}

class Workshop {
 public:
  Workshop(const Recipe& recipe,
           const TemplateParts& parts,
           const BuildNetwork& network,
           const ContentStore& store,
           BuildMonitor& monitor)
      : recipe_(recipe),
        parts_(parts),
        network_(network),
        store_(store),
        monitor_(monitor),
        limits_(build_limits(parts)) {}

  Result<void> make(const std::string& archive) {
    GB_TRY(open());
    if (!parts_.files.empty()) {
      GB_TRY(unpack("", store_.path_of(parts_.files) + "/home.tar"));
    }
    for (const RecipeStep& step : recipe_.steps) {
      if (!monitor_.wanted()) {
        return Error(ErrorCode::kUnavailable, "canceled");
      }
      GB_TRY(take(step));
    }
    GB_TRY(pack(archive));
    return sandbox_->end();
  }

 private:
  Result<void> open() {
    SandboxSpec spec = sandbox_of(parts_, store_, limits_);
    spec.mounts.push_back(GB_TRY(file_server_mount()));
    BuildEgress::prepare(spec, network_);
    sandbox_ = GB_TRY(Sandbox::create(spec, {}));
    egress_ = GB_TRY(BuildEgress::start(*sandbox_, network_, monitor_));
    return {};
  }

  // For one task: what a command leaves running is killed when it ends, and the server with it.
  Result<FileClient> files() { return FileClient(GB_TRY(open_file_server(*sandbox_))); }

  // What is not in the workspace would not be kept.
  Result<std::string> place(const std::string& path) const {
    if (path.starts_with('/') && path != parts_.home && !path.starts_with(parts_.home + "/")) {
      return Error(ErrorCode::kInvalid,
                   "'" + printable(path) + "' is outside the workspace, " + parts_.home,
                   "to add files elsewhere, use a base image or debootstrap");
    }
    return path.empty() ? parts_.home : path.starts_with('/') ? path : parts_.home + "/" + path;
  }

  Result<void> take(const RecipeStep& step) {
    switch (step.kind) {
      case RecipeStep::Kind::kFile: {
        monitor_.progress("write " + step.path);
        FileClient client = GB_TRY(files());
        const std::string target = GB_TRY(place(step.path));
        (void)GB_TRY(client.write(target, {.mode = step.mode}, from_text(step.text)));
        return {};
      }
      case RecipeStep::Kind::kArchive:
        monitor_.progress("copy to " + (step.path.empty() ? parts_.home : step.path));
        return unpack(step.path, step.archive);
      case RecipeStep::Kind::kCommand:
        monitor_.progress("run " + step.text);
        return run(step);
    }
    return {};
  }

  Result<void> run(const RecipeStep& step) {
    RunOptions options{.limits = limits_, .cancel_fd = monitor_.cancel_fd()};
    options.observer.out =
        options.observer.err = [this](std::string_view text) { monitor_.log(text); };
    const Command command{.argv = {"/bin/bash", "-c", step.text}, .env = step.env, .cwd = step.cwd};
    const RunOutcome outcome = GB_TRY(sandbox_->run(command, options));
    if (outcome.status == Status::kCanceled) {
      return Error(ErrorCode::kUnavailable, "canceled");
    }
    if (outcome.status == Status::kOk) {
      return {};
    }
    const std::string network = egress_.end();
    return command_failed(
        step.text, outcome,
        network + (network.empty() ? "" : "; ") + "only the workspace and /tmp are writable");
  }

  Result<void> unpack(const std::string& path, const std::string& archive) {
    const UniqueFd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      return Error::from_errno("open an archive");
    }
    FileClient client = GB_TRY(files());
    const std::string target = GB_TRY(place(path));
    return client.unpack(target, [&file](std::span<char> into) -> Result<std::size_t> {
      const ssize_t got = ::read(file.get(), into.data(), into.size());
      return got < 0 ? Result<std::size_t>(Error::from_errno("read an archive"))
                     : static_cast<std::size_t>(got);
    });
  }

  Result<void> pack(const std::string& archive) {
    const UniqueFd file(
        ::open(archive.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    // For the daemon, if that is another user: the store lets in nobody else.
    if (!file || ::fchmod(file.get(), 0644) != 0) {
      return Error::from_errno("create an archive");
    }
    // Headers and paddings come on top of what the disk can hold, and links may double it.
    std::uint64_t left = 2 * limits_.disk.count;
    FileClient client = GB_TRY(files());
    return client.pack(
        parts_.home, FileClient::ArchiveFormat::kTar, [&](std::string_view bytes) -> Result<void> {
          if (bytes.size() > left) {
            return Error(ErrorCode::kInvalid, "the workspace is too large for a template");
          }
          left -= bytes.size();
          GB_TRY(monitor_.spend(bytes.size()));
          return write_content(file.get(), bytes);
        });
  }

  const Recipe& recipe_;
  const TemplateParts& parts_;
  const BuildNetwork& network_;
  const ContentStore& store_;
  BuildMonitor& monitor_;
  const Limits limits_;
  std::unique_ptr<Sandbox> sandbox_;
  BuildEgress egress_;
};

}  // namespace

Limits build_limits(const TemplateParts& parts) { return parts.limits.over(kUsual); }

// What the command said is in the log; the message has its last line alone.
Error command_failed(const std::string& command, const RunOutcome& outcome, std::string hint) {
  std::string_view said = outcome.err.bytes.empty() ? outcome.out.bytes : outcome.err.bytes;
  said = said.substr(0, said.find_last_not_of(" \t\r\n") + 1);
  said = said.substr(said.find_last_of('\n') + 1);
  std::string how = outcome.status == Status::kError
                        ? "exit status " + std::to_string(outcome.exit_code)
                        : std::string(to_string(outcome.status));
  const std::string tail(said.substr(said.size() - std::min<std::size_t>(said.size(), 1'000)));
  return {ErrorCode::kInvalid,
          "the command '" + printable(command.substr(0, 200)) + "' ended with " + how +
              (tail.empty() ? "" : ": " + printable(to_utf8(tail))),
          outcome.status == Status::kError ? std::move(hint) : "raise the recipe's limits"};
}

SandboxSpec sandbox_of(const TemplateParts& parts,
                       const ContentStore& store,
                       const Limits& limits) {
  PackageView packages = view_packages(parts, store, parts.env);
  SandboxSpec spec;
  spec.limits = limits;
  spec.env = {{"HOME", parts.home}, {"USER", parts.user}, {"LOGNAME", parts.user}};
  spec.env.insert(spec.env.end(), packages.env.begin(), packages.env.end());
  spec.root = parts.root.empty() ? "" : store.path_of(parts.root) + "/root";
  spec.mounts = std::move(packages.mounts);
  spec.home = parts.home;
  spec.user = parts.user;
  return spec;
}

Result<WorkspaceContent> make_workspace(const Recipe& recipe,
                                        const TemplateParts& parts,
                                        const BuildNetwork& network,
                                        const ContentStore& store,
                                        BuildMonitor& monitor) {
  const std::string key = GB_TRY(key_of(recipe, parts));
  if (auto there = store.find(key)) {
    return WorkspaceContent{.content = *std::move(there), .cached = true};
  }
  ContentDraft draft = GB_TRY(store.begin());
  GB_TRY(Workshop(recipe, parts, network, store, monitor).make(draft.path() + "/home.tar"));
  return WorkspaceContent{.content = GB_TRY(store.commit(std::move(draft), key)), .cached = false};
}

}  // namespace glovebox
