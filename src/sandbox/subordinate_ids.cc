// SPDX-License-Identifier: Apache-2.0
#include "sandbox/subordinate_ids.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

#include "base/sys/memory_file.h"
#include "base/sys/raw.h"
#include "base/sys/start_process.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::uint64_t kFirstOfNobody = 65'536;
constexpr std::uint64_t kMostIds = 0xFFFF'FFFE;
constexpr std::size_t kMostRanges = 256;
constexpr std::size_t kLargestFile = 1U << 20;
constexpr std::size_t kMostSaid = 256;
// The helpers may ask a server to look up a user (nsswitch.conf(5)).
constexpr int kHelperPatienceMs = 10'000;

const std::string kHelpers = "/usr/bin/";
constexpr const char* kNewuidmap = "newuidmap";
constexpr const char* kNewgidmap = "newgidmap";

constexpr const char* kHint =
    "have root install Debian's package uidmap and run 'usermod --add-subuids FIRST-LAST "
    "--add-subgids FIRST-LAST USER' with the same 65,536 numbers twice, or run glovebox as root";

struct Given {
  std::uint64_t first = 0;
  std::uint64_t end = 0;  // One past the last.
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kMostIds
             ? std::optional(number)
             : std::nullopt;
}

// From lines "NAME:FIRST:COUNT".
std::vector<Given> given_in(std::string_view file, std::string_view name, std::string_view number) {
  std::vector<Given> all;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(file.size(), line.size() + 1));
    const std::size_t one = line.find(':');
    const std::size_t two = one == std::string_view::npos ? one : line.find(':', one + 1);
    const std::string_view who = line.substr(0, one);
    if (two == std::string_view::npos || who.empty() || (who != name && who != number)) {
      continue;
    }
    const auto first = number_in(line.substr(one + 1, two - one - 1));
    const auto count = number_in(line.substr(two + 1));
    if (first && count && *first >= kFirstOfNobody && *first + *count <= kMostIds) {
      all.push_back({*first, *first + *count});
    }
  }
  return all;
}

std::string text_of_file(const char* path) {
  std::ifstream file(path);
  std::string text(kLargestFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string own_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  (void)::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::string();
}

// Takes the name of a range among the abstract sockets, which is free again as soon as its holder
// is gone. Another user who takes it first keeps us from these ids, and gets nothing.
UniqueFd claim(uid_t first) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name =
      "glovebox-ids-" + std::to_string(::geteuid()) + "-" + std::to_string(first);
  std::ranges::copy(name, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return {};
  }
  return socket;
}

// A process in a new user namespace, until that is mapped. Newuidmap takes only one that its caller
// may look into, so this copy of us is dumpable. Guests do not see it: it is born outside of their
// pid namespaces, or under the landlock tier in no domain of theirs.
class Holder {
 public:
  static Result<Holder> start() {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      return Error::from_errno("socketpair");
    }
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
    const pid_t pid = ::fork();
    if (pid < 0) {
      return Error::from_errno("fork");
    }
    if (pid == 0) {
      hold(ours.get(), theirs.get());
    }
    Holder holder(pid, std::move(ours));
    char error = ECANCELED;
    ssize_t got = 0;
    do {
      got = ::read(holder.link_.get(), &error, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1 || error != 0) {
      return Error::from_errno("create a user namespace", error);
    }
    return holder;
  }

  Holder(Holder&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), link_(std::move(other.link_)) {}
  Holder& operator=(Holder&&) = delete;
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    if (pid_ > 0) {
      (void)::kill(pid_, SIGKILL);
      (void)sys::wait_for_end(pid_);
    }
  }

  // Nobody else gets this number before we have waited.
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Holder(pid_t pid, UniqueFd link) : pid_(pid), link_(std::move(link)) {}

  // System calls only: other threads may have held any lock when this copy was made.
  [[noreturn]] static void hold(int ours, int theirs) {
    (void)::close(ours);
    char said = 0;
    if (::unshare(CLONE_NEWUSER) != 0 || ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
      said = static_cast<char>(errno);
    }
    // Nothing ever comes but the end of the process that this is for.
    for (ssize_t moved = ::write(theirs, &said, 1); moved == 1;) {
      moved = ::read(theirs, &said, 1);
    }
    ::_exit(0);
  }

  pid_t pid_;
  UniqueFd link_;
};

std::string said_in(int file) {
  std::array<char, kMostSaid> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string_view said(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return printable(said.substr(0, said.find('\n')));
}

// Has a set-user-id program map our own id to root, and the range to others.
Result<void> map(const std::string& helper, pid_t pid, unsigned own, uid_t first) {
  constexpr std::uint32_t kLow = SubordinateIds::kSize - SubordinateIds::kTop;
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd complaint = GB_TRY(sys::memory_file());
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  const pid_t started = GB_TRY(sys::start_process(
      {.program = kHelpers + helper,
       .words = {helper, text(static_cast<std::uint64_t>(pid)), "0", text(own), "1",  //
                 "1", text(first), text(kLow),                                        //
                 text(SubordinateIds::kTopFirst), text(first + kLow), text(SubordinateIds::kTop)},
       .environment = std::vector<std::string>(),
       .descriptors = {nothing.get(), complaint.get(), complaint.get()}}));
  const UniqueFd ended(static_cast<int>(sys::raw(SYS_pidfd_open, started, 0)));
  pollfd polled{ended.get(), POLLIN, 0};
  if (::poll(&polled, 1, kHelperPatienceMs) == 0) {
    (void)::kill(started, SIGKILL);
  }
  const int status = sys::wait_for_end(started);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string said = said_in(complaint.get());
    return Error(ErrorCode::kUnsupported,
                 helper + " maps no ids" + (said.empty() ? said : ": " + said));
  }
  return {};
}

Result<UniqueFd> mapped_user_namespace(uid_t first) {
  const Holder holder = GB_TRY(Holder::start());
  GB_TRY(map(kNewgidmap, holder.pid(), ::getegid(), first));
  GB_TRY(map(kNewuidmap, holder.pid(), ::geteuid(), first));
  const std::string path = "/proc/" + std::to_string(holder.pid()) + "/ns/user";
  UniqueFd user_namespace(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!user_namespace) {
    return Error::from_errno("open " + path);
  }
  return user_namespace;
}

Result<std::vector<uid_t>> own_ranges() {
  std::vector<uid_t> ranges = subordinate_ranges(
      text_of_file("/etc/subuid"), text_of_file("/etc/subgid"), own_name(), ::geteuid());
  if (ranges.empty()) {
    return Error(ErrorCode::kUnsupported,
                 "/etc/subuid and /etc/subgid give this user fewer than " +
                     std::to_string(SubordinateIds::kSize) + " ids with the same numbers",
                 kHint);
  }
  return ranges;
}

}  // namespace

std::vector<uid_t> subordinate_ranges(std::string_view subuid,
                                      std::string_view subgid,
                                      std::string_view name,
                                      uid_t uid) {
  const std::string number = std::to_string(uid);
  std::vector<uid_t> firsts;
  const auto overlaps = [&firsts](std::uint64_t first) {
    return std::ranges::any_of(firsts, [first](uid_t other) {
      return first < other + std::uint64_t{SubordinateIds::kSize} &&
             other < first + SubordinateIds::kSize;
    });
  };
  for (const Given& users : given_in(subuid, name, number)) {
    for (const Given& groups : given_in(subgid, name, number)) {
      const std::uint64_t end = std::min(users.end, groups.end);
      for (std::uint64_t first = std::max(users.first, groups.first);
           first + SubordinateIds::kSize <= end && firsts.size() < kMostRanges;
           first += SubordinateIds::kSize) {
        if (!overlaps(first)) {
          firsts.push_back(static_cast<uid_t>(first));
        }
      }
    }
  }
  return firsts;
}

Result<std::size_t> SubordinateIds::count() {
  for (const char* const helper : {kNewuidmap, kNewgidmap}) {
    if (::access((kHelpers + helper).c_str(), X_OK) != 0) {
      return Error(ErrorCode::kUnsupported, std::string(helper) + " is not installed", kHint);
    }
  }
  return GB_TRY(own_ranges()).size();
}

Result<SubordinateIds> SubordinateIds::take() {
  const std::vector<uid_t> ranges = GB_TRY(own_ranges());
  for (const uid_t first : ranges) {
    if (UniqueFd claimed = claim(first)) {
      auto made = mapped_user_namespace(first);
      if (!made) {
        return std::move(made).error().with_hint(kHint);
      }
      return SubordinateIds(std::move(claimed), *std::move(made));
    }
  }
  return Error(ErrorCode::kExhausted,
               "other sandboxes of this user have all ids of /etc/subuid and /etc/subgid",
               "end some, or have root give this user more ids");
}

}  // namespace glovebox
