// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox ssh: the caller's own OpenSSH, in a running sandbox.
//
// Nothing listens. The client's ProxyCommand is this program again, which starts sshd in the
// sandbox (sshd(8), -i) as a process like any other, and passes its streams on.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/sys/draft_directory.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/ssh_client.h"
#include "cli/daemon/ssh_server.h"
#include "sandbox/runtime_directory.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxSshFooter =
    R"(Starts your ssh with a connection to a sandbox that is running. The SSH server is a process of
the sandbox, so openssh-server must be installed inside; nothing listens on any port. The command
is read by the shell inside, as with ssh; without one, you get a shell in your terminal.

Your own ssh_config, agent, keys and known hosts are not used. Set options of ssh with -o.

With --config, nothing is started. The command prints a block for ~/.ssh/config, with which ssh,
scp, sftp, rsync and editors find the sandbox as 'glovebox-ID'. It must come before blocks for all
hosts ('Host *'), because the first value counts. Its keys stay in ~/.local/state/glovebox/ssh/ID,
and so does an API key given with --key.

Exit status: that of ssh: the command's own, or 255 if there is no connection; 125 glovebox error;
2 usage error.

Examples:
  glovebox sandbox ssh ID
  glovebox sandbox ssh ID -- 'df -h . | tail -1'
  glovebox sandbox ssh ID -N -L 8080:localhost:8000
  glovebox sandbox ssh ID --config > ssh.conf
  scp -F ssh.conf data.csv glovebox-ID:)";

constexpr const char* kKeptApiKey = "api-key";

struct SshOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::vector<std::string> forwards;
  std::vector<std::string> settings;
  std::string proxy_directory;
  bool no_command = false;
  bool terminal = false;
  bool config = false;
};

std::string from_environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing else here changes the environment.
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "~/.local/state/glovebox/ssh", made if it is not there.
Result<std::string> lasting_directory() {
  const std::string state = from_environment("XDG_STATE_HOME");
  const std::string home = from_environment("HOME");
  if (!state.starts_with('/') && !home.starts_with('/')) {
    return Error(ErrorCode::kInvalid, "no directory to keep keys in", "set HOME");
  }
  const std::string directory =
      (state.starts_with('/') ? state : home + "/.local/state") + "/glovebox/ssh";
  for (std::size_t end = directory.find('/', 1); end != std::string::npos;
       end = directory.find('/', end + 1)) {
    (void)::mkdir(directory.substr(0, end).c_str(), 0700);
  }
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + directory);
  }
  return directory;
}

// Makes a directory that nobody else may read.
Result<DraftDirectory> make_private_directory(const std::string& parent) {
  sweep_drafts(parent);
  DraftDirectory draft = GB_TRY(make_draft_directory(parent));
  if (::fchmod(draft.lock.get(), 0700) != 0) {
    return Error::from_errno("close the directory " + draft.path + " to others");
  }
  return draft;
}

// A session's directory: removed at its end, or, if it was killed, by the next session.
class SessionDirectory {
 public:
  static Result<SessionDirectory> make() {
    (void)GB_TRY(open_runtime_directory());
    const std::string all = runtime_directory() + "/.ssh";
    if (::mkdir(all.c_str(), 0700) != 0 && errno != EEXIST) {
      return Error::from_errno("create " + all);
    }
    return SessionDirectory(GB_TRY(make_private_directory(all)));
  }
  SessionDirectory(SessionDirectory&&) = default;
  SessionDirectory& operator=(SessionDirectory&&) = delete;
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;
  ~SessionDirectory() {
    if (draft_.lock) {
      (void)sys::remove_tree(draft_.path);
    }
  }

  [[nodiscard]] const std::string& path() const { return draft_.path; }

 private:
  explicit SessionDirectory(DraftDirectory draft) : draft_(std::move(draft)) {}

  DraftDirectory draft_;
};

// Runs this program with the same daemon; it works from any directory.
Result<std::vector<std::string>> proxy_command(const SshOptionsText& options,
                                               const std::string& directory) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = {self, "sandbox", "ssh", options.id, "--proxy", directory};
  std::string url =
      options.daemon.url.empty() ? from_environment("GLOVEBOX_URL") : options.daemon.url;
  if (!url.empty()) {
    if (url.starts_with("unix:")) {
      url = "unix:" + std::filesystem::absolute(url.substr(5), error).string();
    }
    words.insert(words.end(), {"--url", url});
  }
  if (!options.daemon.authorities.empty()) {
    words.insert(words.end(),
                 {"--cacert", std::filesystem::absolute(options.daemon.authorities, error)});
  }
  if (error) {
    return Error(ErrorCode::kUnavailable, "cannot find this program: " + error.message());
  }
  return words;
}

Result<std::string> host_block(const SshOptionsText& options,
                               const std::string& user,
                               const std::string& directory) {
  const auto proxy = GB_TRY(proxy_command(options, directory));
  return ssh_host_block(
      {.name = ssh_name(options.id), .user = user, .directory = directory, .proxy = proxy});
}

std::string path_of(const SshOptionsText& options) { return "/v1/sandboxes/" + encode(options.id); }

// Keys are made beside their place, so that two processes at a time end up with the same ones.
Result<int> print_config(const SshOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string user = GB_TRY(ask_ssh_user(daemon, path_of(options)));
  const std::string all = GB_TRY(lasting_directory());
  const std::string directory = all + "/" + options.id;
  const std::string block = GB_TRY(host_block(options, user, directory));
  if (::access(directory.c_str(), F_OK) != 0) {
    const DraftDirectory draft = GB_TRY(make_private_directory(all));
    const auto made = make_ssh_keys(draft.path, ssh_name(options.id));
    if (!made || ::rename(draft.path.c_str(), directory.c_str()) != 0) {
      (void)sys::remove_tree(draft.path);
    }
    GB_TRY(made);
  }
  if (!options.daemon.key.empty()) {
    GB_TRY(write_private_file(directory + "/" + kKeptApiKey, options.daemon.key + "\n"));
  }
  std::cout << block;
  return 0;
}

// What ssh runs: the server, and its streams. A kept API key is for the daemon in the block.
Result<int> serve_session(const SshOptionsText& options) {
  DaemonOptionsText address = options.daemon;
  std::getline(std::ifstream(options.proxy_directory + "/" + kKeptApiKey), address.key);
  DaemonClient daemon = GB_TRY(DaemonClient::make(address));
  return run_ssh_server(daemon, path_of(options), options.proxy_directory);
}

Result<int> open_session(const SshOptionsText& options, const std::vector<std::string>& words) {
  std::string user;
  {
    DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
    user = GB_TRY(ask_ssh_user(daemon, path_of(options)));
  }
  const SessionDirectory directory = GB_TRY(SessionDirectory::make());
  const std::string name = ssh_name(options.id);
  const std::string config = directory.path() + "/config";
  const std::string block = GB_TRY(host_block(options, user, directory.path()));
  GB_TRY(make_ssh_keys(directory.path(), name));
  GB_TRY(write_private_file(config, block));
  if (!options.daemon.key.empty()) {
    // For our proxy, which ssh starts: on a command line, all users of this machine could read it.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread.
    (void)::setenv("GLOVEBOX_API_KEY", options.daemon.key.c_str(), 1);
  }
  std::vector<std::string> ssh = {"ssh", "-F", config};
  for (const std::string& setting : options.settings) {
    ssh.insert(ssh.end(), {"-o", setting});
  }
  ssh.insert(ssh.end(), {"-o", "ExitOnForwardFailure=yes"});
  for (const std::string& forward : options.forwards) {
    ssh.insert(ssh.end(), {"-L", forward});
  }
  if (options.no_command) {
    ssh.emplace_back("-N");
  }
  if (options.terminal) {
    ssh.emplace_back("-t");
  }
  ssh.insert(ssh.end(), {"--", name});
  ssh.insert(ssh.end(), words.begin(), words.end());
  return run_here(ssh);
}

Result<int> open_ssh(const SshOptionsText& options, const std::vector<std::string>& words) {
  if (!options.proxy_directory.empty()) {
    return serve_session(options);
  }
  if (!std::ranges::all_of(options.id, [](char c) {
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
      })) {
    return Error(ErrorCode::kInvalid, "not the id of a sandbox: '" + printable(options.id) + "'",
                 "'glovebox sandbox ls' lists them");
  }
  const bool session = options.no_command || options.terminal || !options.forwards.empty() ||
                       !options.settings.empty() || !words.empty();
  if (options.config && session) {
    return Error(ErrorCode::kInvalid,
                 "--config only prints, and takes no command and no options of ssh",
                 "give them to ssh, once its configuration has the block");
  }
  if (options.no_command && !words.empty()) {
    return Error(ErrorCode::kInvalid, "-N cannot be combined with a command", "leave it out");
  }
  return options.config ? print_config(options) : open_session(options, words);
}

}  // namespace

void add_sandbox_ssh(CLI::App& group, const std::vector<std::string>& words, Action* action) {
  auto* const command = group.add_subcommand("ssh", "Open an SSH session in a sandbox");
  command->footer(kSandboxSshFooter);
  auto options = std::make_shared<SshOptionsText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  command
      ->add_option("-L,--forward", options->forwards,
                   "Forward a local port into the sandbox: 8080:localhost:8000; repeatable")
      ->type_name("FORWARD")
      ->allow_extra_args(false);
  command->add_flag("-N,--no-command", options->no_command, "Start no shell, only forward ports");
  command->add_flag("-t,--terminal", options->terminal, "Give the command a terminal");
  command
      ->add_option("-o,--option", options->settings,
                   "Option NAME=VALUE for ssh, as in ssh_config; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--config", options->config, "Print a block for ~/.ssh/config");
  command->add_option("--proxy", options->proxy_directory)->group("");
  add_daemon_address(*command, options->daemon);
  command->callback([action, options, words] {
    *action = [options, words] { return ended(open_ssh(*options, words)); };
  });
}

}  // namespace glovebox::cli
