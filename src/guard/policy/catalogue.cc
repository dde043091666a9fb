// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/catalogue.h"

#include <array>

namespace glovebox::policy {
namespace {

constexpr FactKind kModule = FactKind::kModule;
constexpr FactKind kName = FactKind::kName;
constexpr FactKind kCommand = FactKind::kCommand;
constexpr FactKind kPattern = FactKind::kPattern;
constexpr Severity kLow = Severity::kLow;
constexpr Severity kMedium = Severity::kMedium;
constexpr Severity kHigh = Severity::kHigh;

// Rules named B… are bandit's, those named detect-… are eslint-plugin-security's.
constexpr std::array kRules = {
    KnownRule{kModule, "telnetlib", "B401", kHigh, "Telnet sends passwords in the clear"},
    KnownRule{kModule, "ftplib", "B402", kHigh, "FTP sends passwords in the clear"},
    KnownRule{kModule, "pickle", "B403", kLow, "unpickling can run any code"},
    KnownRule{kModule, "marshal", "B403", kMedium, "loads compiled code"},
    KnownRule{kModule, "dill", "B403", kLow, "unpickling can run any code"},
    KnownRule{kModule, "shelve", "B403", kLow, "unpickling can run any code"},
    KnownRule{kModule, "subprocess", "B404", kLow, "starts other programs"},
    KnownRule{kModule, "ctypes", "ctypes", kHigh, "calls native code and writes to any memory"},
    KnownRule{kModule, "cffi", "ctypes", kHigh, "calls native code and writes to any memory"},
    KnownRule{kModule, "socket", "network-module", kMedium, "opens network connections"},
    KnownRule{kModule, "requests", "network-module", kLow, "opens network connections"},
    KnownRule{kModule, "urllib.request", "network-module", kLow, "opens network connections"},
    KnownRule{kModule, "child_process", "detect-child-process", kMedium, "starts other programs"},
    KnownRule{kModule, "vm", "detect-eval-with-expression", kMedium, "runs text as code"},
    KnownRule{kName, "exec", "B102", kMedium, "runs text as code"},
    KnownRule{kName, "eval", "B307", kMedium, "runs text as code"},
    KnownRule{kName, "compile", "compile", kMedium, "turns text into code"},
    KnownRule{kName, "Function", "detect-eval-with-expression", kMedium, "turns text into code"},
    KnownRule{kName, "__import__", "dynamic-import", kMedium, "imports a module by a text"},
    KnownRule{kName, "importlib", "dynamic-import", kMedium, "imports a module by a text"},
    KnownRule{kName, "pickle.load", "B301", kMedium, "unpickling can run any code"},
    KnownRule{kName, "pickle.loads", "B301", kMedium, "unpickling can run any code"},
    KnownRule{kName, "marshal.load", "B302", kMedium, "loads compiled code"},
    KnownRule{kName, "marshal.loads", "B302", kMedium, "loads compiled code"},
    KnownRule{kName, "tempfile.mktemp", "B306", kMedium, "others can create the file first"},
    KnownRule{kName, "urllib.request.urlopen", "B310", kMedium, "opens any URL, also of files"},
    KnownRule{kName, "os.system", "B605", kHigh, "runs a command through a shell"},
    KnownRule{kName, "os.popen", "B605", kHigh, "runs a command through a shell"},
    KnownRule{kName, "subprocess.getoutput", "B605", kHigh, "runs a command through a shell"},
    KnownRule{kName, "subprocess.getstatusoutput", "B605", kHigh, "runs a command through a shell"},
    KnownRule{kName, "subprocess", "B603", kLow, "starts another program"},
    KnownRule{kName, "os.exec", "B606", kMedium, "replaces this program by another one"},
    KnownRule{kName, "os.execv", "B606", kMedium, "replaces this program by another one"},
    KnownRule{kName, "os.execl", "B606", kMedium, "replaces this program by another one"},
    KnownRule{kName, "os.fork", "fork", kMedium, "creates processes"},
    KnownRule{kName, "child_process.exec", "detect-child-process", kHigh,
              "runs a command through a shell"},
    KnownRule{kName, "child_process", "detect-child-process", kMedium, "starts another program"},
    KnownRule{kCommand, "sudo", "privileged-command", kMedium, "asks for the rights of root"},
    KnownRule{kCommand, "rm", "deletes-files", kHigh, "deletes files"},
    KnownRule{kCommand, "dd", "writes-device", kHigh, "writes to a device"},
    KnownRule{kCommand, "mkfs", "writes-device", kHigh, "creates a file system on a device"},
    KnownRule{kCommand, "chmod", "B103", kMedium, "changes who may use a file"},
    KnownRule{kCommand, "curl", "network-command", kMedium, "transfers data over the network"},
    KnownRule{kCommand, "wget", "network-command", kMedium, "transfers data over the network"},
    KnownRule{kPattern, "shell", "B602", kHigh, "starts a shell with shell=True"},
    KnownRule{kPattern, "dynamic-code", "dynamic-code", kMedium,
              "runs code that only exists at run time"},
    KnownRule{kPattern, "dynamic-command", "dynamic-command", kMedium,
              "runs a command that only exists at run time"},
    KnownRule{kPattern, "dynamic-import", "dynamic-import", kMedium,
              "imports a module whose name only exists at run time"},
    KnownRule{kPattern, "dynamic-attribute", "dynamic-attribute", kMedium,
              "looks up a function whose name only exists at run time"},
    KnownRule{kPattern, "opaque-code", "opaque-code", kMedium,
              "carries code in a language that is not analysed there"},
    KnownRule{kPattern, "pipe-to-shell", "pipe-to-shell", kHigh,
              "runs as code what another command outputs"},
    KnownRule{kPattern, "network-redirection", "network-redirection", kHigh,
              "connects a shell to the network"},
    KnownRule{kPattern, "fork-bomb", "fork-bomb", kHigh, "creates processes without end"},
    KnownRule{kPattern, "endless-loop", "endless-loop", kLow, "this loop never ends"},
    KnownRule{kPattern, "resource-bomb", "resource-bomb", kHigh,
              "needs more memory or time than there is"},
    KnownRule{kPattern, "credential", "B105", kMedium, "a password or key is written in the code"},
    KnownRule{kPattern, "no-certificate-check", "B501", kHigh, "accepts any TLS certificate"},
    KnownRule{kPattern, "unsafe-load", "B506", kMedium, "this YAML loader can run any code"},
    KnownRule{kPattern, "unsafe-extract", "B202", kMedium,
              "members of the archive can be written anywhere"},
};

}  // namespace

const KnownRule* known_rule(FactKind kind, std::string_view name) {
  const KnownRule* best = nullptr;
  for (const KnownRule& each : kRules) {
    const bool covers = each.kind == kind && name.starts_with(each.name) &&
                        (name.size() == each.name.size() || name[each.name.size()] == '.');
    if (covers && (best == nullptr || each.name.size() > best->name.size())) {
      best = &each;
    }
  }
  return best;
}

}  // namespace glovebox::policy
