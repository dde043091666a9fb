// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/agent_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/sys/pipe.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/transfer_line.h"
#include "cli/daemon/whole_file.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostNames = 64UL << 20;  // Bytes.
constexpr unsigned kMostPatience = 300;         // Seconds, for git inside.
constexpr const char* kBundle = ".glovebox-history";
constexpr const char* kCounted = ".glovebox-counted";
constexpr const char* kSpecial = ".glovebox-special";

// $1: the directory, $2: the branch, $3: the history, or nothing. The files stay as they are. A
// directory without history gets a commit, against which the agent's changes can be seen.
constexpr const char* kMakeRepository = R"(set -e
cd -- "$1"
git init -q .
git symbolic-ref HEAD "refs/heads/$2"
git config user.name >/dev/null || git config user.name 'Coding agent'
git config user.email >/dev/null || git config user.email agent@localhost
if [ -n "$3" ] && git fetch -q --update-head-ok "../$3" "HEAD:refs/heads/$2"; then
  git reset -q
else
  git add -A
  git commit -q --allow-empty -m 'The checkout as it was copied'
fi
[ -z "$3" ] || rm -f "../$3"
)";

// $1: the directory, $2 and $3: where the names go.
constexpr const char* kListFiles = R"(cd -- "$1" || exit 1
find . -path ./.git -prune -o \( ! -type f ! -type d ! -type l -o -type f ! -readable \) -print0 > "../$3"
[ -d .git ] || exit 0
git -c core.fsmonitor=false ls-files -z --cached --others --exclude-standard > "../$2"
)";

// Uploads what `write` writes to its descriptor.
Result<void> upload(DaemonClient& daemon,
                    Interrupts& interrupts,
                    int& ended_by,
                    const std::string& path,
                    const std::function<Result<void>(int fd)>& write) {
  sys::Pipe pipe = GB_TRY(sys::make_pipe());
  Result<void> written;
  // main() ignores SIGPIPE: if nobody reads any more, the write fails.
  std::thread writer([&] {
    written = write(pipe.write.get());
    pipe.write.reset();
  });
  TransferLine line(::isatty(STDERR_FILENO) == 1);
  bool read_to_end = false;
  const auto sent = daemon.upload("PUT", path, [&](std::span<char> into) -> Result<std::size_t> {
    ssize_t got = 0;
    do {
      got = ::read(pipe.read.get(), into.data(), into.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return Error::from_errno("read");
    }
    ended_by = interrupts.take();
    if (ended_by != 0) {
      return Error(ErrorCode::kUnavailable, "interrupted");
    }
    read_to_end = got == 0;
    line.add(static_cast<std::uint64_t>(got));
    return static_cast<std::size_t>(got);
  });
  pipe.read.reset();
  writer.join();
  line.end();
  // An archive cut off at our end fails to unpack there; one refused there cannot be written here.
  return sent || (!written && read_to_end) ? written : Result<void>(sent.error());
}

// A secret at the daemon, for as long as this exists.
class StoredSecret {
 public:
  static Result<StoredSecret> make(DaemonClient& daemon, const std::string& value) {
    const std::string name = "agent-" + random_name();
    const Json made = GB_TRY(daemon.ask("POST", "/secrets", {{"name", name}, {"value", value}}));
    return StoredSecret(daemon, name, text_in(made, "secretID"));
  }
  StoredSecret(StoredSecret&& other) noexcept
      : daemon_(other.daemon_), name_(std::move(other.name_)), id_(std::exchange(other.id_, "")) {}
  StoredSecret& operator=(StoredSecret&&) = delete;
  StoredSecret(const StoredSecret&) = delete;
  StoredSecret& operator=(const StoredSecret&) = delete;
  ~StoredSecret() {
    if (!id_.empty()) {
      (void)daemon_.ask("DELETE", "/secrets/" + encode(id_));
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  StoredSecret(DaemonClient& daemon, std::string name, std::string id)
      : daemon_(daemon), name_(std::move(name)), id_(std::move(id)) {}

  DaemonClient& daemon_;
  std::string name_;
  std::string id_;
};

Result<std::string> key_here(const AgentKey& key) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const value = std::getenv(key.variable.c_str());
  if (value == nullptr || *value == '\0') {
    return Error(ErrorCode::kInvalid, key.variable + " is not set",
                 "export it; the sandbox sees a placeholder. With --no-key, log in inside instead");
  }
  return std::string(value);
}

// A command of the profile, behind its setup.
std::vector<std::string> command_of(const AgentOrder& order) {
  std::vector<std::string> words;
  if (!order.profile.setup.empty()) {
    const bool with_keys = order.with_keys || order.profile.keys.empty();
    const std::string setup = with_keys ? "{ " + order.profile.setup + "\n} >/dev/null && " : "";
    words = {"sh", "-c", setup + "exec \"$@\"", "sh"};
  }
  words.insert(words.end(), order.profile.command.begin(), order.profile.command.end());
  words.insert(words.end(), order.words.begin(), order.words.end());
  return words;
}

}  // namespace

AgentSession::AgentSession(AgentSession&& other) noexcept
    : order_(other.order_),
      checkout_(other.checkout_),
      daemon_(std::move(other.daemon_)),
      id_(std::exchange(other.id_, "")),
      sandbox_(std::move(other.sandbox_)),
      before_(std::move(other.before_)),
      kept_(other.kept_) {}

AgentSession::~AgentSession() {
  if (!id_.empty() && !kept_) {
    (void)daemon_.ask("DELETE", sandbox_);
  }
}

Result<AgentSession> AgentSession::start(const AgentOrder& order,
                                         Checkout& checkout,
                                         int& ended_by) {
  AgentSession session(order, checkout, GB_TRY(DaemonClient::make(order.daemon)));
  ended_by = 0;
  GB_TRY(session.create());
  GB_TRY(session.copy_in(checkout, ended_by));
  return Result<AgentSession>(std::move(session));
}

Result<void> AgentSession::create() {
  Json request{{"template", order_.template_name}, {"timeout", order_.timeout}};
  if (Json limits = GB_TRY(limits_json(order_.limits)); !limits.empty()) {
    request["limits"] = std::move(limits);
  }
  request["env"] = GB_TRY(pairs_json(order_.env, "--env"));
  for (const auto& [name, value] : order_.profile.env) {
    if (!request["env"].contains(name)) {
      request["env"][name] = value;
    }
  }
  request["metadata"] = {{"agent", order_.profile.name}, {"checkout", to_utf8(checkout_.path())}};
  RemoteNetworkText network = order_.network;
  network.allow.insert(network.allow.end(), order_.profile.hosts.begin(),
                       order_.profile.hosts.end());
  GB_TRY(put_network(request, network));
  std::vector<StoredSecret> secrets;
  if (order_.with_keys) {
    std::vector<std::string> values;
    for (const AgentKey& key : order_.profile.keys) {
      values.push_back(GB_TRY(key_here(key)));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const AgentKey& key = order_.profile.keys[i];
      secrets.push_back(GB_TRY(StoredSecret::make(daemon_, values[i])));
      request["network"]["secrets"].push_back({{"secret", secrets.back().name()},
                                               {"env", key.variable},
                                               {"hosts", key.hosts},
                                               {"placeholder", key.prefix + random_hex(24)}});
    }
  }
  const auto made = daemon_.ask("POST", "/v1/sandboxes", request);
  if (!made) {
    return made.error().code() == ErrorCode::kNotFound
               ? Error(made.error())
                     .with_hint(
                         "build it once: glovebox template build agent -f agent.toml "
                         "--package-source DIR (docs/agents.md)")
               : made.error();
  }
  id_ = text_in(*made, "id");
  sandbox_ = "/v1/sandboxes/" + encode(id_);
  return {};
}

Result<void> AgentSession::copy_in(Checkout& checkout, int& ended_by) {
  Interrupts interrupts;
  const std::string files = sandbox_ + "/files/";
  GB_TRY(upload(daemon_, interrupts, ended_by, files + "?unpack=1", [&](int fd) -> Result<void> {
    before_ = GB_TRY(checkout.pack(fd));
    return {};
  }));
  if (!checkout.is_repository() && checkout.repository_above().empty()) {
    return {};
  }
  bool bundled = false;
  if (order_.with_history && !checkout.commit().empty()) {
    GB_TRY(upload(daemon_, interrupts, ended_by, files + kBundle + "?mode=0600",
                  [&](int fd) { return checkout.bundle(fd); }));
    bundled = true;
  }
  return make_repository(bundled);
}

Result<void> AgentSession::make_repository(bool bundled) {
  const std::string branch = checkout_.branch().empty() ? "main" : checkout_.branch();
  const Json made =
      GB_TRY(run_script(kMakeRepository, {checkout_.name(), branch, bundled ? kBundle : ""}));
  if (number_in(made, "exit_code") != 0) {
    return Error(ErrorCode::kUnavailable,
                 "cannot make a repository in the sandbox: " + text_in(made, "stderr"),
                 "the template must have git; see docs/agents.md");
  }
  return {};
}

Result<Json> AgentSession::run_script(const char* script, std::vector<std::string> words) {
  std::vector<std::string> argv = {"sh", "-c", script, "sh"};
  argv.insert(argv.end(), std::make_move_iterator(words.begin()),
              std::make_move_iterator(words.end()));
  return daemon_.ask("POST", sandbox_ + "/commands",
                     {{"argv", argv}, {"limits", {{"time", kMostPatience}}}});
}

ProcessOrder AgentSession::agent_process() const {
  return {.argv = command_of(order_), .cwd = checkout_.name()};
}

Result<int> AgentSession::run() {
  return run(agent_process(), ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1);
}

Result<int> AgentSession::run_for_program(Json& said) {
  ProcessOrder process = agent_process();
  process.events = order_.events;
  process.into = &said;
  return run(process, false);
}

Result<int> AgentSession::run(const ProcessOrder& process, bool terminal) {
  auto status = terminal ? run_in_terminal(order_.daemon, sandbox_, process)
                         : run_process(order_.daemon, sandbox_, process);
  // Signals that went to the agent now end us again; then the sandbox stays.
  sigset_t set;
  (void)::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    (void)::sigaddset(&set, number);
  }
  (void)::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return status;
}

Result<std::set<std::string>> AgentSession::names_in(const char* file) {
  const std::string text = GB_TRY(daemon_.text(sandbox_ + "/files/" + file));
  if (text.size() > kMostNames) {
    return Error(ErrorCode::kExhausted, "the sandbox names too many files");
  }
  std::set<std::string> names;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    std::string_view name = rest.substr(0, end);
    name.remove_prefix(name.starts_with("./") ? 2 : 0);
    names.emplace(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Result<Changes> AgentSession::changes() {
  FilesInside inside;
  const Json listed = GB_TRY(run_script(kListFiles, {checkout_.name(), kCounted, kSpecial}));
  if (number_in(listed, "exit_code") == 0) {
    inside.special = GB_TRY(names_in(kSpecial));
    auto counted = names_in(kCounted);
    if (counted) {
      inside.counted = *std::move(counted);
    } else if (counted.error().code() != ErrorCode::kNotFound) {
      return counted.error();
    }
  }
  const auto answer = GB_TRY(
      daemon_.stream("GET", sandbox_ + "/files/" + checkout_.name() + "?archive=tar", Json(), ""));
  sys::Pipe pipe = GB_TRY(sys::make_pipe());
  Result<void> copied;
  bool cannot_write = false;
  std::thread copier([&] {
    copied = copy_body(
        *answer, pipe.write.get(), [](std::uint64_t) { return Result<void>(); }, cannot_write);
    pipe.write.reset();
  });
  auto found = read_changes(pipe.read.get(), before_, inside, {});
  pipe.read.reset();
  copier.join();
  // Half an archive must not make the rest look deleted.
  if (!copied && !cannot_write) {
    return copied.error();
  }
  return found;
}

}  // namespace glovebox::cli
