// SPDX-License-Identifier: Apache-2.0
#include "context/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/sys/descriptors.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/text.h"
#include "context/agent_files.h"
#include "context/pidfd_process.h"
#include "sandbox/call_watch.h"
#include "sandbox/guest_ids.h"
#include "sandbox/launch.h"
#include "sandbox/policy/watched.h"
#include "sandbox/run.h"
#include "sandbox/tiers/native/root_plan.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// Importing large libraries on a busy machine with a cold disk.
constexpr auto kWarmUp = 120s;
constexpr auto kForkPatience = 30s;
// While we wait for it: what is hoarded grows fast.
constexpr auto kLookEvery = 100ms;
constexpr std::int32_t kMaxErrno = 4095;
constexpr std::size_t kMaxVersion = 32;
// How much of our memory a zygote may take to say why it failed.
constexpr std::size_t kMaxLog = 4096;

// A fork in its sandbox. Nobody but the zygote may wait for it.
class ForkedProcess : public PidfdProcess {
 public:
  ForkedProcess(Zygote& zygote, std::uint32_t id, UniqueFd pidfd)
      : PidfdProcess(std::move(pidfd)), zygote_(zygote), id_(id) {}
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;
  ~ForkedProcess() override { zygote_.forget(id_); }

 protected:
  std::optional<int> status_elsewhere() override {
    auto status = zygote_.exit_status(id_);
    if (!status && !zygote_.alive()) {
      status = SIGKILL;  // Nobody is left who could know better.
    }
    return status;
  }

 private:
  Zygote& zygote_;
  std::uint32_t id_;
};

// The rules of a sandbox with a root of its own, as its first process has them.
std::vector<zygote::ForkRequest::Rule> access_rules() {
  std::vector<zygote::ForkRequest::Rule> rules;
  for (const child::AccessRule& rule : native_access_rules()) {
    rules.push_back({.path = rule.path, .access = rule.access});
  }
  return rules;
}

std::vector<zygote::ForkRequest::Limit> process_limits(const Limits& limits) {
  std::vector<zygote::ForkRequest::Limit> result;
  const auto add = [&result](int resource, std::uint64_t value) {
    result.push_back({static_cast<std::uint32_t>(resource), value, value});
  };
  add(RLIMIT_NOFILE, open_files_here(limits));
  add(RLIMIT_CORE, 0);
  if (!Cgroup::support().pids) {
    add(RLIMIT_NPROC, limits.pids);
  }
  if (!Cgroup::support().memory) {
    add(RLIMIT_DATA, most_data(limits));
  }
  return result;
}

}  // namespace

Result<ZygoteSpec> zygote_of_tier(const TierWish& wish, const std::vector<std::string>& agent) {
  GB_CHECK(!agent.empty());
  const Tier::WarmInterpreter warm = GB_TRY(warm_interpreter_of(wish, agent.front()));
  ZygoteSpec spec{.modules = {},
                  .env = {},
                  .mounts = {warm.mount},
                  .program = {warm.starter},
                  .fork_filter = warm.filter};
  spec.program.insert(spec.program.end(), agent.begin(), agent.end());
  return spec;
}

Result<std::unique_ptr<Zygote>> Zygote::start(const ZygoteSpec& spec) {
  SandboxSpec realm;
  realm.realm = true;
  realm.hostname = "zygote";
  realm.limits.memory = 2_GiB;
  // It has one thread, and forks leave its cgroup; a module that it imports may want more.
  realm.limits.cpus = 2;
  realm.limits.pids = 256;
  realm.env = spec.env;
  realm.mounts = spec.mounts;
  realm.root = spec.root;
  realm.mounts.push_back(GB_TRY(agents_mount()));

  const auto home = std::make_shared<Home>();
  home->sandbox = GB_TRY(Sandbox::create(realm, tier_that(&TierTraits::can_hold_realms)));
  home->realm = GB_TRY(home->sandbox->realm());
  return start_in(home, spec);
}

Result<std::unique_ptr<Zygote>> Zygote::start_in(std::shared_ptr<Home> home,
                                                 const ZygoteSpec& spec) {
  std::unique_ptr<Zygote> zygote(new Zygote(std::move(home), spec.program));
  Sandbox& sandbox = *zygote->home_->sandbox;
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  zygote->socket_ = UniqueFd(pair[0]);
  UniqueFd inner(pair[1]);
  const bool is_usual = spec.fork_filter.data() == policy::fork_filter().data();
  zygote->fork_filter_ =
      is_usual && is_watched(sandbox.id()) ? policy::watched_fork_filter() : spec.fork_filter;
  zygote->log_ = UniqueFd(::memfd_create("zygote-log", MFD_CLOEXEC));

  Command command;
  command.argv = spec.program;
  if (command.argv.empty()) {
    command.argv = {"python3", "-B", "-s", std::string(kAgentsTarget) + "/python/zygote.py"};
    command.argv.insert(command.argv.end(), spec.modules.begin(), spec.modules.end());
  }
  // One hash seed a zygote, not one for all (SECURITY.md); threads of libraries end at a fork.
  command.env = {{"OPENBLAS_NUM_THREADS", "1"}, {"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
  RunOptions options;
  options.limits = sandbox.limits();
  options.forks_guests = true;
  (void)GB_TRY(sandbox.start_detached(command, options,
                                      {zygote->log_.get(), zygote->log_.get(), inner.get()}));
  // Only the zygote's end is left, so that its death is the end of the stream.
  inner.reset();
  GB_TRY(zygote->await_ready(spec.stop));
  return zygote;
}

Zygote::Home::~Home() {
  if (sandbox) {
    (void)sandbox->end();
  }
}

Zygote::~Zygote() = default;

Result<std::shared_ptr<Zygote>> Zygote::beside(const ZygoteSpec& spec) {
  if (spec.program == program_ && alive()) {
    return std::shared_ptr<Zygote>(std::shared_ptr<Zygote>(), this);
  }
  const std::scoped_lock lock(beside_mutex_);
  for (Beside& each : beside_) {
    if (each.zygote->program_ == spec.program && each.zygote->alive()) {
      each.asked_for = Clock::now();
      return each.zygote;
    }
  }
  std::shared_ptr<Zygote> started = GB_TRY(start_in(home_, spec));
  beside_.push_back({.zygote = started, .asked_for = Clock::now()});
  return started;
}

void Zygote::end_idle(Clock::duration idle) {
  const std::unique_lock lock(beside_mutex_, std::try_to_lock);
  if (lock) {  // While one starts, it is wanted.
    std::erase_if(beside_, [idle](const Beside& each) {
      return Clock::now() - each.asked_for >= idle && each.zygote.use_count() == 1 &&
             each.zygote->is_alone();
    });
  }
}

bool Zygote::is_alone() const {
  const std::scoped_lock lock(mutex_);
  return forks_.empty();
}

Result<void> Zygote::await_ready(const std::stop_token& stop) {
  const Clock::time_point deadline = Clock::now() + kWarmUp;
  auto message = receive(std::min(deadline, Clock::now() + kLookEvery));
  while (message && !message.value() && Clock::now() < deadline) {
    if (stop.stop_requested()) {
      return Error(ErrorCode::kUnavailable, "the warm interpreter is no longer wanted");
    }
    message = receive(std::min(deadline, Clock::now() + kLookEvery));
  }
  if (message && message.value() && message.value()->kind == zygote::Message::Kind::kReady) {
    version_ = printable(message.value()->text.substr(0, kMaxVersion));
    return {};
  }
  const std::string what =
      message ? "the warm interpreter did not start" : message.error().message();
  std::string log(kMaxLog, '\0');
  const off_t end = ::lseek(log_.get(), 0, SEEK_END);
  const off_t from = std::max<off_t>(0, end - static_cast<off_t>(kMaxLog));
  const ssize_t got = ::pread(log_.get(), log.data(), log.size(), from);
  log.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return Error(ErrorCode::kUnavailable, what + (log.empty() ? "" : ": " + printable(log)),
               "check that all modules in 'preload' can be imported");
}

Result<std::optional<zygote::Message>> Zygote::receive(Clock::time_point deadline) {
  for (;;) {
    passed_.close();
    const ssize_t got =
        passed_.receive(socket_.get(), {buffer_.get(), zygote::kMaxMessage}, MSG_DONTWAIT);
    if (got > 0) {
      auto message = zygote::Message::decode({buffer_.get(), static_cast<std::size_t>(got)});
      if (!message) {
        return out_of_turn();
      }
      return std::optional(std::move(message).value());
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      dead_ = true;
      return Error(ErrorCode::kUnavailable, "the warm interpreter has ended");
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return std::optional<zygote::Message>();
    }
    pollfd polled{socket_.get(), POLLIN, 0};
    (void)::poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left, kLookEvery.count())));
    (void)home_->sandbox->end_hoarders();
  }
}

Result<std::unique_ptr<AgentProcess>> Zygote::fork(const Sandbox& sandbox, const ForkSpec& spec) {
  zygote::ForkRequest request;
  request.uid = kGuestUid;
  request.gid = kGuestGid;
  request.limits = process_limits(spec.limits);
  request.landlock_abi = static_cast<std::uint32_t>(landlock_abi());
  request.landlock_fs = landlock_fs_rights(landlock_abi());
  request.rules = access_rules();
  for (const auto& [name, value] : spec.env) {
    request.env.push_back(name + "=" + value);
  }
  request.cwd = spec.cwd.empty() ? std::string(kWorkspace) : spec.cwd;
  request.filter.assign(reinterpret_cast<const char*>(fork_filter_.data()),
                        fork_filter_.size_bytes());
  std::vector<int> passed = {sandbox.pidfd(), spec.channel, spec.out, spec.err};
  const Cgroup& cgroup = sandbox.cgroup();
  UniqueFd members;
  if (cgroup.directory_fd() >= 0 && guest_ids()) {
    // The interpreter has no rights in root's groups. For a birth in one, the kernel checks who
    // forks; for a move into one, who opened the file (Linux 5.16).
    members = UniqueFd(::openat(cgroup.directory_fd(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!members) {
      return Error::from_errno("open the members of a cgroup");
    }
    passed.push_back(members.get());
  } else if (cgroup.directory_fd() >= 0) {
    request.born_in_cgroup = true;
    passed.push_back(cgroup.directory_fd());
  }
  passed.insert(passed.end(), cgroup.task_fds().begin(), cgroup.task_fds().end());

  const std::scoped_lock lock(mutex_);
  if (dead_) {
    return Error(ErrorCode::kUnavailable, "the warm interpreter has ended");
  }
  request.id = next_id_++;
  forks_[request.id] = std::nullopt;
  const std::string bytes = request.encode();
  if (sys::send_with(socket_.get(), bytes, passed, 0) < 0) {
    dead_ = true;
    return Error(ErrorCode::kUnavailable, "the warm interpreter has ended");
  }
  auto pidfd = await_fork(request.id);
  if (!pidfd) {
    forks_.erase(request.id);
    return std::move(pidfd).error();
  }
  return std::unique_ptr<AgentProcess>(
      new ForkedProcess(*this, request.id, std::move(pidfd).value()));
}

// The zygote may be a program that somebody brought in a root: each of its messages must be one
// that can come next, or we stop listening to it.
Result<UniqueFd> Zygote::await_fork(std::uint32_t id) {
  const auto deadline = Clock::now() + kForkPatience;
  for (;;) {
    const auto message = GB_TRY(receive(deadline));
    if (!message) {
      dead_ = true;
      return Error(ErrorCode::kUnavailable, "the warm interpreter does not respond");
    }
    if (message->kind == zygote::Message::Kind::kExited) {
      GB_TRY(note(*message));
      continue;
    }
    if (message->kind != zygote::Message::Kind::kForked || message->id != id) {
      return out_of_turn();
    }
    if (message->value < 0 || passed_.size() == 0) {
      // The fork came without its pidfd: we had no descriptor left (recvmsg(2), MSG_CTRUNC). It
      // ends when its sockets close, which happens here.
      const int reason = message->value < 0 ? -std::max(message->value, -kMaxErrno) : EMFILE;
      return Error::from_errno("fork a context", reason);
    }
    // A process that has a socket of our making can get our own pidfd (unix(7), SO_PEERPIDFD).
    if (!is_inner_pidfd(passed_[0])) {
      return out_of_turn();
    }
    return passed_.take(0);
  }
}

Error Zygote::out_of_turn() {
  dead_ = true;
  return {ErrorCode::kUnavailable, "the warm interpreter violated its protocol"};
}

std::uint64_t Zygote::forks() const {
  const std::scoped_lock lock(mutex_);
  return next_id_ - 1;
}

bool Zygote::alive() {
  const std::scoped_lock lock(mutex_);
  pollfd polled{socket_.get(), POLLIN, 0};
  if (!home_->sandbox->alive() || (::poll(&polled, 1, 0) > 0 && (polled.revents & POLLHUP) != 0)) {
    dead_ = true;
  }
  return !dead_;
}

std::optional<int> Zygote::exit_status(std::uint32_t id) {
  const std::scoped_lock lock(mutex_);
  while (!forks_[id]) {
    const auto message = receive(Clock::now());
    if (!message || !message.value() || !note(*message.value())) {
      return std::nullopt;
    }
  }
  return forks_[id];
}

void Zygote::forget(std::uint32_t id) {
  const std::scoped_lock lock(mutex_);
  forks_.erase(id);
}

Result<void> Zygote::note(const zygote::Message& message) {
  // Each fork ends once.
  if (message.kind != zygote::Message::Kind::kExited || ++ends_ >= next_id_) {
    return out_of_turn();
  }
  if (const auto found = forks_.find(message.id); found != forks_.end()) {
    found->second = message.value;
  }
  return {};
}

}  // namespace glovebox
