// SPDX-License-Identifier: Apache-2.0
#include "contexts_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "context/agent_files.h"
#include "fixture.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/slot.h"
#include "sandbox/tiers/tier.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The tier whose contexts are forks of interpreters of its own.
constexpr std::string_view kForksItsOwn = "wasm";

std::unique_ptr<Zygote> shared_zygote;

// Of the tier that runs alone, or of native.
Result<std::unique_ptr<Zygote>> start_zygote() {
  const std::vector<Way> all = ways();
  return all.front().tier == kForksItsOwn
             ? Zygote::start(GB_TRY(zygote_of_tier({.exactly = all.front().tier},
                                                   {"python3", "-B", "./wasm/python.py"})))
             : Zygote::start({});
}

class AgentsOfThisBuild : public testing::Environment {
 public:
  void SetUp() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread.
    ::setenv("GLOVEBOX_AGENTS", GB_AGENTS_PATH, 0);
  }
  void TearDown() override { shared_zygote.reset(); }
};

const auto* const kAgents = testing::AddGlobalTestEnvironment(new AgentsOfThisBuild);

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Slots whose sandbox lives and is another process's: what they have is no trace of ours.
std::set<std::string> slots_of_others() {
  std::set<std::string> held;
  for (const std::string& line : lines_of(read_file("/proc/locks"))) {
    std::istringstream words(line);
    const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    if (word.size() > 5 && word[1] == "FLOCK" && word[4] != std::to_string(::getpid())) {
      held.insert(word[5].substr(word[5].rfind(':') + 1));
    }
  }
  std::set<std::string> slots;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(runtime_directory(), ignored)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0 &&
        held.contains(std::to_string(status.st_ino))) {
      slots.insert(entry.path().filename());
    }
  }
  return slots;
}

// The slot that a file, directory or cgroup is for: "2a" of "2a", ".glovebox-2a-0123abcd" and
// "glovebox-2a-0123abcd.stage".
std::string slot_of(const std::string& name) {
  constexpr std::string_view kName = "glovebox-";
  const std::size_t at = name.find(kName);
  const std::size_t begin = at == std::string::npos ? 0 : at + kName.size();
  return name.substr(begin, name.find_first_of("-.", begin) - begin);
}

// Whoever loses its parent in a sandbox becomes the warden's, and wardens are ours.
std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    for (pid_t at = pid; at > 1;) {
      at = parent_of(at);
      if (at == ::getpid()) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

// Whether a mount belongs to a container engine that another test has started (dockerd.py).
bool is_of_another_engine(const std::string& mount) {
  constexpr std::string_view kDirectory = "/gb-docker.";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it meanwhile.
  const char* const host = std::getenv("DOCKER_HOST");
  const std::string own = host == nullptr ? "" : host;
  const std::size_t at = own.find(kDirectory);
  const bool is_own = at != std::string::npos &&
                      mount.find(own.substr(at, own.rfind('/') - at) + "/") != std::string::npos;
  return mount.find(kDirectory) != std::string::npos && !is_own;
}

// Where this process mounts, holds or runs something.
std::set<std::string> look_around() {
  std::set<std::string> found;
  std::error_code ignored;
  for (const std::string& line : lines_of(read_file("/proc/self/mountinfo"))) {
    if (!is_of_another_engine(line)) {
      found.insert("mount " + line);
    }
  }
  const std::set<std::string> others = slots_of_others();
  struct stat runtime {};
  (void)::stat(runtime_directory().c_str(), &runtime);
  // Sandboxes that are known in another runtime directory have numbers of another window.
  const auto may_be_ours = [&](const std::string& slot) {
    const auto window = std::strtoul(slot.c_str(), nullptr, 16) / Slot::kWindow;
    return !others.contains(slot) &&
           (!shares_slot_numbers() ||
            window == runtime.st_ino % (GuestIds::kSlots / Slot::kWindow));
  };
  for (const auto& entry : fs::directory_iterator(runtime_directory(), ignored)) {
    if (!others.contains(slot_of(entry.path().filename()))) {
      found.insert("slot " + entry.path().filename().string());
    }
  }
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", ignored), end; at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename();
    if (name.starts_with("glovebox-") && may_be_ours(slot_of(name))) {
      found.insert("cgroup " + at->path().string());
    }
  }
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", ignored)) {
    // Our own look at the directory has one, too.
    const std::string target = fs::read_symlink(entry.path(), ignored);
    if (!target.starts_with("/proc/")) {
      found.insert("descriptor " + entry.path().filename().string());
    }
  }
  for (const pid_t pid : descendants()) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    found.insert("process " + stat.substr(0, stat.rfind(')') + 1));
  }
  return found;
}

}  // namespace

const char* const kFindChannel = R"py(
import os, struct, sys, time
class _First:
    """Of Python for WASI, which has no sockets: the channel is its standard input."""
    def send(self, data):
        return os.write(0, data)
    def sendall(self, data):
        while data:
            data = data[self.send(data):]
def _channel():
    if sys.platform == 'wasi':
        return _First()
    global socket
    import socket, stat
    for name in os.listdir('/proc/self/fd'):
        try:
            status = os.fstat(int(name))
        except OSError:
            continue
        if stat.S_ISSOCK(status.st_mode):
            found = socket.socket(fileno=os.dup(int(name)))
            if found.family == socket.AF_UNIX and found.type == socket.SOCK_STREAM:
                return found
channel = _channel()
def frame(kind, number, payload):
    return struct.pack('<IBI', len(payload), kind, number) + payload
)py";

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

std::vector<Way> ways() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread.
  if (const char* const named = std::getenv("GLOVEBOX_CONFORMANCE_TIER"); named != nullptr) {
    return {{.name = named,
             .tier = tier_of(named),
             .forked = tier_of(named) == kForksItsOwn,
             .relayed = std::string_view(named) == "gvisor"}};
  }
  return {{.name = "fork", .tier = "native", .forked = true},
          {.name = "native", .tier = "native"},
          {.name = "landlock", .tier = "landlock"},
          {.name = "native_relayed", .tier = "native", .relayed = true}};
}

std::vector<Way> ways_by_fork() {
  std::vector<Way> found = ways();
  std::erase_if(found, [](const Way& way) { return !way.forked; });
  return found;
}

std::vector<Way> ways_that(bool keep_checkpoints) {
  std::vector<Way> found = ways();
  std::erase_if(found, [=](const Way& way) {
    const bool keeps = !way.relayed && (way.tier == "native" || way.name == "docker_runc" ||
                                        way.name == "docker_podman");
    return keeps != keep_checkpoints;
  });
  return found;
}

void Contexts::SetUp() {
  if (!fs::exists("/usr/lib/python3/dist-packages/IPython")) {
    GTEST_SKIP() << "python3-ipython is not installed";
  }
  const auto tier = std::ranges::find(all_tiers(), GetParam().tier, &Tier::name);
  ASSERT_NE(tier, all_tiers().end());
  if (const auto features = (*tier)->probe(); !features) {
    GTEST_SKIP() << "the tier does not work here: " << features.error().message();
  }
}

bool Contexts::zygote_has_died() { return shared_zygote && !shared_zygote->alive(); }

Zygote& Contexts::zygote() {
  if (!shared_zygote || !shared_zygote->alive()) {
    auto started = start_zygote();
    // Nothing can be tried without one, and the process would only crash later.
    if (!started) {
      ADD_FAILURE() << started.error().message();
      std::abort();
    }
    shared_zygote = std::move(started).value();
  }
  return *shared_zygote;
}

SandboxSpec Contexts::spec_of(const Way& way, const Limits& limits) {
  SandboxSpec spec{.limits = limits, .env = {}, .mounts = {}, .relay = way.relayed, .live = true};
  if (auto agents = agents_mount()) {
    spec.mounts = {agents.value()};
  } else {
    ADD_FAILURE() << agents.error().message();
  }
  if (way.forked) {
    spec.within = &zygote().realm();
  }
  return spec;
}

Live Contexts::make(const Way& way, const Limits& limits) {
  auto sandbox = Sandbox::create(spec_of(way, limits), {.exactly = way.tier});
  if (!sandbox) {
    ADD_FAILURE() << sandbox.error().message();
    return {};
  }
  Live live{.sandbox = std::move(sandbox).value(), .context = nullptr};
  live.context = start(way, *live.sandbox);
  return live;
}

std::unique_ptr<Context> Contexts::start(const Way& way, Sandbox& sandbox) {
  ContextSpec spec;
  if (!way.forked) {
    const auto outside = agents_directory();
    const std::string agents = sandbox.features().own_root || !outside ? kAgentsTarget : *outside;
    spec.agent = {"python3", "-B", "-s", agents + "/python/agent.py"};
  }
  auto context =
      way.forked ? Context::fork(sandbox, zygote(), spec) : Context::start(sandbox, spec);
  if (!context) {
    ADD_FAILURE() << context.error().message();
    return nullptr;
  }
  return std::move(context).value();
}

Context& Contexts::context() {
  if (!live_.context) {
    make_with({});
  }
  return *live_.context;
}

void Contexts::make_with(const Limits& limits) {
  end_context();
  live_ = make(GetParam(), limits);
  if (!live_.context) {
    std::abort();
  }
}

void Contexts::end_context() {
  live_.context.reset();
  live_.sandbox.reset();
}

Execution Contexts::run(std::string_view code, ExecuteOptions options) {
  return run(context(), code, std::move(options));
}

Execution Contexts::run(Context& context, std::string_view code, ExecuteOptions options) {
  options.code = code;
  auto execution = context.execute(options);
  if (!execution) {
    ADD_FAILURE() << execution.error().message() << "\n" << code;
    return {};
  }
  return std::move(execution).value();
}

std::string Contexts::output_of(Context& context, std::string_view code) {
  Execution execution = run(context, code);
  EXPECT_EQ(execution.status, Status::kOk)
      << code << "\n"
      << execution.err.bytes << (execution.error ? execution.error->traceback : "");
  std::string& output = execution.out.bytes;
  if (output.ends_with('\n')) {
    output.pop_back();
  }
  return std::move(output);
}

void Contexts::expect_well(Context& context) {
  ASSERT_TRUE(context.alive());
  EXPECT_EQ(output_of(context, "print(sum(range(101)))"), "5050");
}

Bystander::Bystander(Live live) : live_(std::move(live)), user_([this] { use(); }) {}

void Bystander::use() {
  int count = 0;
  while (!stop_ && complaint_.empty() && live_.context) {
    // State of its own, which nobody else may have touched.
    const std::string code = "try: mine += 1\nexcept NameError: mine = 1\nprint(mine)";
    auto execution = live_.context->execute({.code = code, .limits = {.wall = 20s}});
    ++count;
    if (!execution) {
      complaint_ = execution.error().message();
    } else if (execution->out.bytes != std::to_string(count) + "\n") {
      complaint_ = "answer " + std::to_string(count) + " is: " + execution->out.bytes;
    } else {
      answers_ = count;
    }
    std::this_thread::sleep_for(5ms);
  }
}

std::string Bystander::finish() {
  stop_ = true;
  if (user_.joinable()) {
    user_.join();
  }
  live_.context.reset();
  live_.sandbox.reset();
  return complaint_;
}

Traces Traces::look() {
  Traces traces;
  traces.found_ = look_around();
  return traces;
}

std::vector<std::string> Traces::left_since(const Traces& before) {
  std::vector<std::string> left;
  const auto anything = [&] {
    const std::set<std::string> now = look_around();
    left.clear();
    std::ranges::set_difference(now, before.found_, std::back_inserter(left));
    return left.empty();
  };
  (void)eventually(anything, 10s);
  return left;
}

std::size_t Traces::descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::uint64_t peak_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // A sanitizer holds memory of its own.
#endif
  for (const std::string& line : lines_of(read_file("/proc/self/status"))) {
    if (line.starts_with("VmHWM:")) {
      return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
  }
  ADD_FAILURE() << "the kernel tells no peak of memory";
  return 0;
}

}  // namespace glovebox::conformance
