// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/ssh_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "base/shell_words.h"
#include "base/sys/start_process.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/interrupts.h"

namespace glovebox::cli {
namespace {

// The server is the sandbox's, so it is hostile: it may ask for nothing, is given nothing, and is
// identified only by its key. The first value that ssh(1) finds counts, so this block comes first.
constexpr const char* kWalls = R"(  IdentitiesOnly yes
  IdentityAgent none
  AddKeysToAgent no
  PreferredAuthentications publickey
  PubkeyAuthentication yes
  PasswordAuthentication no
  KbdInteractiveAuthentication no
  HostbasedAuthentication no
  GSSAPIAuthentication no
  GSSAPIDelegateCredentials no
  BatchMode yes
  StrictHostKeyChecking yes
  GlobalKnownHostsFile /dev/null
  IgnoreUnknown KnownHostsCommand
  KnownHostsCommand none
  NoHostAuthenticationForLocalhost no
  HostKeyAlgorithms ssh-ed25519
  UpdateHostKeys no
  VerifyHostKeyDNS no
  CheckHostIP no
  CanonicalizeHostname no
  ForwardAgent no
  ForwardX11 no
  ForwardX11Trusted no
  Tunnel no
  PermitLocalCommand no
  ControlMaster no
  ControlPath none
  ServerAliveInterval 0
)";

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
                  c == '.' || c == '_';
         });
}

// Allows nothing that ssh_config(5) or a shell would interpret: no quote, token or variable.
Result<std::string> plain_word(const std::string& text) {
  if (text.empty() || !is_utf8(text) || std::ranges::any_of(text, [](char c) {
        return (c >= 0 && c < ' ') || c == 127 || std::string_view("\"'\\%$`").contains(c);
      })) {
    return Error(ErrorCode::kInvalid,
                 "cannot be written into a configuration of ssh: '" + printable(text) + "'",
                 "use a path without quotes, '$', '%' and backslashes");
  }
  return text;
}

Result<void> make_key(const std::string& file) {
  const int status =
      GB_TRY(run_here({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file}));
  if (status != 0) {
    return Error(ErrorCode::kUnavailable, "ssh-keygen cannot create the key " + printable(file));
  }
  return {};
}

}  // namespace

std::string ssh_name(const std::string& sandbox) { return "glovebox-" + sandbox; }

Result<void> write_private_file(const std::string& path, std::string_view text) {
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  return fd && sys::write_all(fd.get(), text) ? Result<void>()
                                              : Error::from_errno("write " + printable(path));
}

Result<void> make_ssh_keys(const std::string& directory, const std::string& name) {
  for (const char* const key : {kSshClientKey, kSshServerKey}) {
    GB_TRY(make_key(directory + "/" + key));
  }
  std::string pinned;
  std::getline(std::ifstream(directory + "/" + kSshServerKey + ".pub"), pinned);
  return write_private_file(directory + "/" + kSshKnownHosts, name + " " + pinned + "\n");
}

Result<std::string> ssh_host_block(const SshHost& host) {
  if (!is_name(host.user)) {
    return Error(ErrorCode::kInvalid, "the user of the sandbox has a name that ssh cannot use: '" +
                                          printable(host.user) + "'");
  }
  std::string proxy;
  for (const std::string& word : host.proxy) {
    proxy += " " + shell_quoted(GB_TRY(plain_word(word)));
  }
  const std::string directory = GB_TRY(plain_word(host.directory));
  const auto file = [&](const char* name) { return "\"" + directory + "/" + name + "\"\n"; };
  return "Host " + host.name + "\n  HostName " + host.name + "\n  HostKeyAlias " + host.name +
         "\n  User " + host.user + "\n  ProxyCommand" + proxy + "\n  IdentityFile " +
         file(kSshClientKey) + "  UserKnownHostsFile " + file(kSshKnownHosts) + kWalls;
}

Result<int> run_here(const std::vector<std::string>& words) {
  Interrupts interrupts;
  const auto started = sys::start_process({.program = words.front(), .words = words});
  if (!started) {
    return started.error().os_error() == ENOENT
               ? Error(ErrorCode::kUnsupported, "there is no program '" + words.front() + "' here",
                       "install OpenSSH's client: the package openssh-client on Debian and Ubuntu")
               : started.error();
  }
  const pid_t pid = *started;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  int status = 0;
  while (::waitpid(pid, &status, process ? WNOHANG : 0) == 0) {
    std::array<pollfd, 2> watched{{{process.get(), POLLIN, 0}, {interrupts.fd(), POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), -1);
    if (const int signal = interrupts.take(); signal != 0) {
      (void)::kill(pid, signal);
    }
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace glovebox::cli
