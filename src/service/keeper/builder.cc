// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/builder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/json/json.h"
#include "base/sys/descriptors.h"
#include "base/sys/memory_file.h"
#include "base/sys/read_all.h"
#include "base/sys/start_process.h"
#include "base/text.h"
#include "service/keeper/build_json.h"
#include "service/keeper/codec.h"
#include "service/keeper/wire.h"
#include "service/templates/build.h"
#include "service/templates/dockerfile_build.h"
#include "service/templates/image_archive.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The builder's descriptors: its order at 0, and these.
constexpr int kSocket = 3;
constexpr int kFirstPassed = 4;

constexpr int kMostBuilders = 16;
constexpr std::size_t kMostPassed = 200;
// No build takes so long: each command of it has its own limit.
constexpr auto kLongest = 6h;
// How long a canceled build has to end what it has started.
constexpr auto kBuildGrace = 20s;
constexpr auto kLookEvery = 250ms;

std::atomic<int> builders = 0;

class Place {
 public:
  Place() : mine_(++builders <= kMostBuilders) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { --builders; }
  [[nodiscard]] bool mine() const { return mine_; }

 private:
  const bool mine_;
};

Result<pid_t> spawn(const BuilderOrder& order, const UniqueFd& input) {
  sys::NewProcess builder{// The program that is running, whatever has been installed in its place.
                          .program = "/proc/self/exe",
                          .words = {"glovebox", "builder", "--data", order.directory},
                          .descriptors = {input.get(), STDOUT_FILENO, STDERR_FILENO, order.socket}};
  static_assert(kSocket == 3 && kFirstPassed == 4);
  for (const UniqueFd& fd : order.passed) {
    builder.descriptors.push_back(fd.get());
  }
  auto started = sys::start_process(builder);
  return started ? std::move(started)
                 : Error::from_errno("start a template builder", started.error().os_error());
}

int wait_for(pid_t pid, const std::function<bool()>& listens) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  auto deadline = Clock::now() + kLongest;
  bool wanted = true;
  for (bool ended = false; !ended;) {
    pollfd polled{process.get(), POLLIN, 0};
    ended = ::poll(&polled, process ? 1 : 0, static_cast<int>(kLookEvery / 1ms)) > 0;
    if (wanted && !listens()) {
      wanted = false;
      deadline = std::min(deadline, Clock::now() + kBuildGrace);
    }
    if (!process || Clock::now() >= deadline) {
      (void)::kill(pid, SIGKILL);
      break;
    }
  }
  return sys::wait_for_end(pid);
}

}  // namespace

Result<void> run_in_builder(const BuilderOrder& order,
                            const std::function<bool()>& listens,
                            bool& lent) {
  const Place place;
  if (!place.mine()) {
    return Error(ErrorCode::kExhausted, "other templates are being built", "try again in 10 s");
  }
  if (order.passed.size() <= kGrants || order.passed.size() > kMostPassed) {
    return Error(ErrorCode::kInvalid,
                 "a build takes 1 to " + std::to_string(kMostPassed) + " descriptors");
  }
  json request = order.request;
  request["passed"] = order.passed.size();
  request["foreign"] = order.foreign;
  const UniqueFd input = GB_TRY(sys::memory_file(pack(request)));
  const pid_t pid = GB_TRY(spawn(order, input));
  lent = true;
  const int status = wait_for(pid, listens);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error(ErrorCode::kInternal, "the template builder ended unexpectedly",
                 "the operator can find the cause in keeper.log");
  }
  return {};
}

namespace {

Error canceled() { return {ErrorCode::kUnavailable, "canceled"}; }

bool is_key(const std::string& key) { return key.size() == 64 && is_hex(key); }

// The builder's end of the caller's connection. Safe to use from several threads.
class Caller {
 public:
  Caller(UniqueFd socket, UniqueFd grants) : wire_(std::move(socket)), grants_(std::move(grants)) {}

  bool tell(const BuildEvent& event) {
    if (event.kind == BuildEvent::Kind::kIdle) {
      return listens();
    }
    return send(MessageType::kEvent, pack({{"kind", static_cast<int>(event.kind)},
                                           {"step", event.step},
                                           {"steps", event.steps},
                                           {"text", event.text}}));
  }

  // Waits for the caller's permission.
  Result<void> spend(std::uint64_t bytes) {
    if (!send(MessageType::kEvent, pack({{"spend", bytes}}))) {
      return canceled();
    }
    const std::string granted = GB_TRY(receive(1));
    return granted[0] == 1 ? Result<void>()
                           : Error(ErrorCode::kConflict, "there is no room for the template");
  }

  void give_back(std::uint64_t bytes) {
    (void)send(MessageType::kEvent, pack({{"give_back", bytes}}));
  }

  // What a template's name refers to. The caller sends the size of its answer in front of it.
  Result<TemplateParts> find_base(const std::string& name) {
    if (!send(MessageType::kEvent, pack({{"base", name}}))) {
      return canceled();
    }
    const std::string head = GB_TRY(receive(sizeof(BaseSize)));
    BaseSize size = 0;
    std::memcpy(&size, head.data(), sizeof size);
    if (size > kMaxBase) {
      return Error(ErrorCode::kInternal, "the answer about a template is too large");
    }
    const json answer = unpack(GB_TRY(receive(size)));
    if (!answer.is_object()) {
      return Error(ErrorCode::kInternal, "the answer about a template is malformed");
    }
    if (const auto parts = to_parts(answer.value("parts", json()))) {
      return std::ranges::all_of(parts->keys(), is_key)
                 ? Result<TemplateParts>(*parts)
                 : Error(ErrorCode::kInvalid, "the base is not a template");
    }
    return decode_error(answer.value("error", std::string()));
  }

  Result<void> give(const json& event) {
    return send(MessageType::kEvent, pack(event)) ? Result<void>() : Result<void>(canceled());
  }

  bool send(MessageType type, std::string_view text, const std::vector<int>& passed = {}) {
    const std::scoped_lock lock(mutex_);
    return wire_.send(type, text, passed).has_value();
  }

 private:
  // From the caller, as soon as it is there.
  Result<std::string> receive(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      pollfd polled{grants_.get(), POLLIN, 0};
      const int ready = ::poll(&polled, 1, static_cast<int>(kLookEvery / 1ms));
      const ssize_t got = ready > 0 ? ::read(grants_.get(), bytes.data() + have, size - have) : 0;
      if ((ready > 0 && got <= 0) || (ready <= 0 && !listens())) {
        return canceled();
      }
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  [[nodiscard]] bool listens() const {
    char byte = 0;
    const ssize_t got = ::recv(wire_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  std::mutex mutex_;
  KeeperWire wire_;
  const UniqueFd grants_;
};

BuildRoom room_of(Caller& caller) {
  return {.spend = [&caller](std::uint64_t bytes) { return caller.spend(bytes); },
          .give_back = [&caller](std::uint64_t bytes) { caller.give_back(bytes); }};
}

// Refuses what must not be done for a daemon with fewer rights.
Result<void> check_foreign(const Recipe& recipe) {
  struct stat status {};
  if (recipe.image &&
      (::stat(recipe.image->path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))) {
    return Error(ErrorCode::kUnsupported,
                 "a daemon with a user of its own can build from a file, not from a directory",
                 "pack the image into a tar archive");
  }
  return {};
}

struct Done {
  json answer;
  std::vector<Content> held;
};

Result<Done> send_archive(const json& order, const std::string& directory, Caller& caller) {
  const auto parts = to_parts(order.value("parts", json()));
  if (!parts || !std::ranges::all_of(parts->keys(), is_key)) {
    return Error(ErrorCode::kInvalid, "this is not a template");
  }
  const ContentStore store = GB_TRY(ContentStore::open(directory + "/templates"));
  BuildMonitor monitor([&caller](const BuildEvent& event) { return caller.tell(event); },
                       room_of(caller));
  GB_TRY(export_template(order.value("name", std::string()), *parts, store, monitor,
                         {.begin =
                              [&caller](std::uint64_t size) {
                                return caller.give({{"size", size}});
                              },
                          .put =
                              [&caller](std::string_view bytes) {
                                return caller.give({{"bytes", bytes}});
                              }}));
  return Done{.answer = json::object(), .held = {}};
}

Result<Done> build(const json& order,
                   const std::vector<UniqueFd>& opened,
                   const std::string& directory,
                   Caller& caller) {
  const Recipe recipe = GB_TRY(to_recipe(order.value("recipe", json()), opened));
  const auto base = to_parts(order.value("base", json()));
  if (!base || !std::ranges::all_of(base->keys(), is_key)) {
    return Error(ErrorCode::kInvalid, "the base is not a template");
  }
  if (order.value("foreign", true)) {
    GB_TRY(check_foreign(recipe));
  }
  const ContentStore store = GB_TRY(ContentStore::open(directory + "/templates"));
  BuildMonitor monitor([&caller](const BuildEvent& event) { return caller.tell(event); },
                       room_of(caller));
  const BuildNetwork network{.rules = recipe.network,
                             .public_only = order.value("public_only", true)};
  BuiltParts built = GB_TRY(
      recipe.dockerfile
          ? build_dockerfile(recipe, network, store, monitor,
                             [&caller](const std::string& name) { return caller.find_base(name); })
          : build_template(recipe, *base, network, store, monitor));
  std::map<std::string, std::uint64_t> sizes;
  for (const auto& keys : {built.parts.keys(), built.parts.cache}) {
    for (const std::string& key : keys) {
      sizes[key] = disk_use_of(store.path_of(key));
    }
  }
  return Done{.answer = {{"parts", parts_json(built.parts)},
                         {"cached", built.cached},
                         {"sizes", std::move(sizes)}},
              .held = std::move(built.held)};
}

}  // namespace

int run_builder(const std::string& directory) {
  // Without the keeper, nobody is left to take the answer, or to look after the builder.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)::signal(SIGPIPE, SIG_IGN);
  const auto text = sys::read_all(STDIN_FILENO, Bytes{kMaxMessage}, "the build");
  const json order = text ? unpack(text.value()) : json();
  if (!order.is_object()) {
    return 1;
  }
  std::vector<UniqueFd> passed;
  const auto count = std::min<std::size_t>(order.value("passed", 0U), kMostPassed);
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = kFirstPassed + static_cast<int>(i);
    (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
    passed.emplace_back(fd);
  }
  (void)::fcntl(kSocket, F_SETFD, FD_CLOEXEC);
  if (passed.empty()) {
    return 1;
  }
  UniqueFd grants = std::move(passed.front());
  passed.erase(passed.begin());
  Caller caller{UniqueFd(kSocket), std::move(grants)};
  bool answered = false;
  try {
    const auto done = order.contains("recipe") ? build(order, passed, directory, caller)
                                               : send_archive(order, directory, caller);
    std::vector<int> held;
    for (std::size_t i = 0; done && i < std::min(done->held.size(), sys::kMaxPassed); ++i) {
      held.push_back(done->held[i].lock_fd());
    }
    answered = done ? caller.send(MessageType::kAnswer, pack(done->answer), held)
                    : caller.send(MessageType::kError, encode(done.error()));
  } catch (const std::exception& unexpected) {
    answered = caller.send(MessageType::kError,
                           encode(Error(ErrorCode::kInternal, "the template builder failed: " +
                                                                  printable(unexpected.what()))));
  }
  return answered ? 0 : 1;
}

}  // namespace glovebox::keeper
