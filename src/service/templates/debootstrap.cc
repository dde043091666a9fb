// SPDX-License-Identifier: Apache-2.0
#include "service/templates/debootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest/digest.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "service/templates/build_sandbox.h"
#include "spec/json/network_rules_json.h"
#include "volume/image_file.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Changes whenever a root of the same source would come out differently.
constexpr std::uint64_t kTreeFormat = 3;

// Runs its arguments. The output of their programs is in a log of debootstrap's, the one at $LOG.
constexpr const char* kFetch = R"("$@" || { tail -c 2000 "$LOG" >&2; exit 1; })";
// A root in which nothing is installed yet gets its accounts from base-passwd, not from us. The
// directory of debootstrap is a mount, which the sandbox cannot remove. Downloads are of no use.
constexpr const char* kConfigure =
    R"(rm -f /etc/passwd /etc/group /etc/shadow /etc/gshadow
/debootstrap/debootstrap --second-stage --keep-debootstrap-dir || { tail -c 2000 "$LOG" >&2; exit 1; }
rm -rf /var/cache/apt/archives/*.deb /var/lib/apt/lists/*)";

// Its own place in any sandbox.
std::optional<std::string> find_program() {
  for (const char* const path : {"/usr/sbin/debootstrap", "/usr/bin/debootstrap"}) {
    if (::access(path, X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

// HOST:PORT, as a rule has it.
std::string place_of(std::string_view mirror) {
  const bool encrypted = mirror.starts_with("https://");
  mirror.remove_prefix(mirror.find("//") + 2);
  std::string host(mirror.substr(0, mirror.find('/')));
  const bool has_port = host.find(':') != std::string::npos;
  return has_port ? host : host + (encrypted ? ":443" : ":80");
}

// None of a recipe's own limits: those are for the sandboxes of the template.
LimitWishes limits() {
  const bool on_disk = images_usable().has_value();
  return {.wall = 30min,
          .memory = on_disk ? 1_GiB : 4_GiB,
          .disk = on_disk ? 8_GiB : 3_GiB,
          .inodes = 500'000};
}

Environment environment(const std::string& log) {
  return {{"LOG", log},
          {"DEBIAN_FRONTEND", "noninteractive"},
          {"LC_ALL", "C"},
          // So that it neither makes devices nor tries whether it can: a sandbox has its own.
          {"container", "lxc"}};
}

Error failed(const RunOutcome& outcome, std::string hint) {
  std::string_view said = outcome.out.bytes;
  said = said.substr(0, said.find_last_not_of(" \t\r\n") + 1);
  said = said.substr(said.find_last_of('\n') + 1).substr(0, 1'000);
  const bool exited = outcome.status == Status::kError;
  return {
      ErrorCode::kInvalid,
      "debootstrap failed: " +
          (exited ? printable(to_utf8(std::string(said))) : std::string(to_string(outcome.status))),
      exited ? std::move(hint) : "each of its two stages has half an hour, and 1 GiB of memory"};
}

class Bootstrap {
 public:
  Bootstrap(const Debootstrap& wanted, const ContentStore& store, BuildMonitor& monitor)
      : wanted_(wanted), store_(store), monitor_(monitor) {
    parts_.limits = limits();
  }

  // Fetches the packages, and unpacks those that are needed to install the others. Whatever comes
  // from the network is read here, and nothing of it is run.
  Result<void> fetch(const std::string& program,
                     const BuildNetwork& network,
                     const std::string& root) {
    const ContentDraft scratch = GB_TRY(store_.begin());
    const std::string inside = parts_.home + "/root";
    BuildSandbox sandbox = GB_TRY(BuildSandbox::open(parts_, BuildGuest::kRootOnDisk, network,
                                                     store_, scratch.path(), monitor_));
    std::vector<std::string> words = {"/bin/sh",          "-c", kFetch, "sh", program, "--foreign",
                                      "--variant=minbase"};
    std::string packages;
    for (const std::string& package : wanted_.packages) {
      packages += (packages.empty() ? "" : ",") + package;
    }
    if (!packages.empty()) {
      words.push_back("--include=" + packages);
    }
    words.insert(words.end(), {wanted_.suite, inside, wanted_.mirror});
    const RunOutcome outcome =
        GB_TRY(sandbox.run({.argv = std::move(words),
                            .env = environment(inside + "/debootstrap/debootstrap.log"),
                            .cwd = {}}));
    if (outcome.status != Status::kOk) {
      std::string hint = sandbox.end_network();
      return failed(outcome, hint.empty() ? debootstrap_hint(outcome.out.bytes) : std::move(hint));
    }
    return sandbox.save_root_in(inside, root);
  }

  // Installs them, in a sandbox of what was fetched: what their scripts take for the machine is
  // that sandbox. It has no network.
  Result<void> configure(const Content& fetched, const std::string& root) {
    const ContentDraft scratch = GB_TRY(store_.begin());
    TemplateParts parts = parts_;
    parts.root = fetched.key();
    BuildSandbox sandbox = GB_TRY(
        BuildSandbox::open(parts, BuildGuest::kRootOnDisk, {}, store_, scratch.path(), monitor_));
    const RunOutcome outcome =
        GB_TRY(sandbox.run({.argv = {"/bin/sh", "-c", kConfigure},
                            .env = environment("/debootstrap/debootstrap.log"),
                            .cwd = {}}));
    if (outcome.status != Status::kOk) {
      return failed(outcome, debootstrap_hint(outcome.out.bytes));
    }
    GB_TRY(sandbox.save_root(fetched.path() + "/root", root));
    return sys::remove_tree(root + "/debootstrap");
  }

 private:
  const Debootstrap& wanted_;
  const ContentStore& store_;
  BuildMonitor& monitor_;
  TemplateParts parts_;
};

}  // namespace

std::string debootstrap_hint(std::string_view output) {
  // "I: STEP…" announces each step.
  std::string_view step;
  for (std::size_t at = 0; at < output.size(); at = output.find('\n', at) + 1) {
    if (output.substr(at).starts_with("I: ")) {
      step = output.substr(at + 3);
    }
    if (output.find('\n', at) == std::string_view::npos) {
      break;
    }
  }
  if (step.empty() && output.find("E: No such script") != std::string_view::npos) {
    return "name a suite that is in /usr/share/debootstrap/scripts";
  }
  if (step.starts_with("Extracting ") || step.starts_with("Installing ") ||
      step.starts_with("Unpacking ")) {
    return "a root has at most 8 GiB, or less where the tenant's disk quota has less, and 500,000 "
           "files; the build's log ends with what the programs of debootstrap said";
  }
  if (step.starts_with("Configuring ")) {
    return "leave out the package that could not be configured; the build's log ends with what it "
           "said";
  }
  return "check that the mirror has the suite and the packages, and that the daemon's host can "
         "reach "
         "it";
}

Result<RootContent> root_from_debootstrap(const Debootstrap& wanted,
                                          const BuildNetwork& network,
                                          const ContentStore& store,
                                          BuildMonitor& monitor) {
  if (!lets_out(network.rules)) {
    return Error(ErrorCode::kInvalid,
                 "a build has no network to reach the mirror '" + wanted.mirror + "'",
                 "allow it with --allow-net, or 'network' over HTTP: " + place_of(wanted.mirror));
  }
  ContentHash hash;
  hash.add("debootstrap").add(kTreeFormat).add(wanted.suite).add(wanted.mirror);
  for (const std::string& package : wanted.packages) {
    hash.add(package);
  }
  // A build that could not reach a mirror does not get what others had from it.
  hash.add("network").add(to_json(network.rules)).add(network.public_only ? 1U : 0U);
  const std::string key = hash.hex();
  if (auto there = store.find(key)) {
    return RootContent{.content = *std::move(there), .cached = true};
  }
  const auto program = find_program();
  if (!program) {
    return Error(ErrorCode::kUnsupported, "debootstrap is not installed on the daemon's host",
                 "run 'apt install debootstrap' there");
  }
  Bootstrap bootstrap(wanted, store, monitor);
  const std::string fetched_key = ContentHash().add(key).add("fetched").hex();
  auto fetched = store.find(fetched_key);
  if (!fetched) {
    ContentDraft draft = GB_TRY(store.begin());
    GB_TRY(bootstrap.fetch(*program, network, draft.path() + "/root"));
    fetched = GB_TRY(store.commit(std::move(draft), fetched_key));
  }
  ContentDraft draft = GB_TRY(store.begin());
  GB_TRY(bootstrap.configure(*fetched, draft.path() + "/root"));
  return RootContent{.content = GB_TRY(store.commit(std::move(draft), key)), .cached = false};
}

}  // namespace glovebox
