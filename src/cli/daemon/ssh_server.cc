// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/ssh_server.h"

#include <fstream>
#include <iterator>

#include "base/random.h"
#include "base/text.h"
#include "cli/daemon/sandbox_tunnel.h"
#include "cli/daemon/ssh_client.h"

namespace glovebox::cli {
namespace {

// Prints the name of the user, or says by its exit status what is missing.
constexpr const char* kUserScript = R"sh(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
command -v sshd > /dev/null || exit 3
user=$(id -un) || exit 4
shell=$(sed -n "s/^$user:.*://p" /etc/passwd)
[ -x "${shell:-/bin/sh}" ] || exit 5
[ "$(id -u)$(cat /proc/self/setgroups)" != 0deny ] || exit 6
echo "$user")sh";

// Takes its keys and settings from standard input, each up to a line with a dot; what follows is
// the client's. Sessions have the variables of the sandbox's processes, except those that sshd sets
// for the user who logs in. That user reads the file with the allowed key, so in a sandbox of root
// others may read it.
constexpr const char* kServerScript = R"sh(mask=$(umask)
umask 077
mkdir "$1" || exit
trap 'rm -rf "$1"' EXIT
trap : HUP INT TERM
part() { while IFS= read -r line && [ "$line" != . ]; do printf '%s\n' "$line"; done; }
part > "$1/host_key"
part > "$1/authorized_keys"
part > "$1/config"
{
  printf SetEnv
  env -u _ -u PWD -u OLDPWD -u SHLVL -u TERM -u HOME -u USER -u LOGNAME -u SHELL -0 |
    tr '\n\0' '\1\n' | LC_ALL=C sed -n \
    's/[\\"]/\\&/g; s/^[A-Za-z_][A-Za-z0-9_]*=[^[:cntrl:]]*$/ "&"/p' | tr -d '\n'
  echo
} >> "$1/config"
umask "$mask"
if [ "$(id -u)" = 0 ]; then
  mkdir -p -m 755 /run/sshd
  chmod 711 "$1"
  chmod 644 "$1/authorized_keys"
fi
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
"$(command -v sshd)" -i -e -f "$1/config")sh";

// It ends some minutes after its client has vanished without a word.
constexpr const char* kSettings = R"(AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
PrintMotd no
PrintLastLog no
PermitUserRC no
Subsystem sftp internal-sftp
LogLevel FATAL
ClientAliveInterval 120
)";

Result<std::string> key_in(const std::string& path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) {
    return Error(ErrorCode::kUnavailable, "cannot read the key " + printable(path),
                 "remove its directory, and print the configuration again with --config");
  }
  return text;
}

}  // namespace

Result<std::string> ask_ssh_user(DaemonClient& daemon, const std::string& sandbox) {
  const Json said =
      GB_TRY(daemon.ask("POST", sandbox + "/commands",
                        {{"argv", {"sh", "-c", kUserScript}}, {"limits", {{"time", 20}}}}));
  switch (number_in(said, "exit_code")) {
    case 0:
      break;
    case 3:
      return Error(ErrorCode::kUnsupported, "there is no sshd in the sandbox",
                   "install openssh-server in its template, or on the host whose /usr it sees");
    case 4:
      return Error(ErrorCode::kUnsupported, "the sandbox's user has no name",
                   "sshd needs its line in /etc/passwd, which the tier landlock does not have");
    case 5:
      return Error(ErrorCode::kUnsupported, "the login shell of the sandbox's user is missing",
                   "install it in the template; sshd starts every command with it");
    case 6:
      return Error(ErrorCode::kUnsupported, "root is the only user of the sandbox",
                   "sshd of root needs another one: create the sandbox without '--user root', or "
                   "run the daemon as root");
    default:
      return Error(ErrorCode::kUnavailable,
                   "cannot look for sshd in the sandbox: " + printable(text_in(said, "stderr")));
  }
  const std::string user = text_in(said, "stdout");
  return user.substr(0, user.find('\n'));
}

Result<int> run_ssh_server(DaemonClient& daemon,
                           const std::string& sandbox,
                           const std::string& keys) {
  // In a place that no listing of the workspace shows.
  const std::string inside = "/tmp/.glovebox-ssh-" + random_name();
  const std::string first = GB_TRY(key_in(keys + "/" + kSshServerKey)) + ".\n" +
                            GB_TRY(key_in(keys + "/" + kSshClientKey + ".pub")) + ".\n" +
                            "HostKey " + inside + "/host_key\nAuthorizedKeysFile " + inside +
                            "/authorized_keys\n" + kSettings + ".\n";
  return run_tunnel(daemon, sandbox,
                    {{"argv", {"sh", "-c", kServerScript, "sshd", inside}}, {"tag", "ssh"}}, first);
}

}  // namespace glovebox::cli
