// SPDX-License-Identifier: Apache-2.0
// The first program of a micro virtual machine, and the only one in its initial files. It mounts
// the files that glovebox-microvm shows, makes the namespaces and the control group of the guests,
// starts the warden in them, and passes bytes between the machine's ports and what they are for.
//
// All work that does not need the order comes before the order is read, and so does all that the
// warden does before its second request: at that point a template of machines is taken
// (template_files.h), so its clones need not do it again. Nothing before it may depend on chance or
// on the time, or read a directory in which two sandboxes could differ.
//
// It is root of the machine's kernel. No guest sees it or anything of its own: it is in none of
// their namespaces. The machine ends when it, the warden or any of the ports ends.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/masked_paths.h"
#include "sandbox/microvm/card.h"
#include "sandbox/microvm/exactly.h"
#include "sandbox/microvm/pass_frame.h"
#include "sandbox/microvm/protocol.h"
#include "sandbox/microvm/template_files.h"
#include "spec/warden_protocol.h"

namespace glovebox::microvm {
namespace {

constexpr const char* kGroup = "/cgroup/guests";
constexpr const char* kRoot = "/shown";
// The file system of all that guests may write; the warden takes its own view of it out of sight.
constexpr const char* kPlace = "/place";
constexpr int kControlFd = 3;
// A byte for each process that waits until the guests' place is as ordered.
constexpr std::string_view kGo = "gg";
// Extra room for our own files and directories, so that guests get all that they were promised.
constexpr std::uint64_t kOwnBytes = 256UL * 1024;
constexpr std::uint64_t kOwnInodes = 64;

[[noreturn]] void power_off() {
  (void)::reboot(RB_POWER_OFF);
  for (;;) {
    (void)::pause();
  }
}

// Says why on the machine's console, which the outside reads.
[[noreturn]] void give_up(const std::string& attempt) {
  const std::string line = "glovebox: " + attempt + ": " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  if (::getpid() != 1) {
    ::_exit(1);
  }
  power_off();
}

void must(bool done, const std::string& attempt) {
  if (!done) {
    give_up(attempt);
  }
}

void make_directory(const std::string& path, mode_t mode = 0755) {
  must(::mkdir(path.c_str(), mode) == 0 || errno == EEXIST, "create " + path);
}

void mount_new(const char* type,
               const std::string& at,
               unsigned long flags,
               const std::string& options = {}) {
  must(::mount(type, at.c_str(), type, flags, options.c_str()) == 0, "mount " + at);
}

void bind(const std::string& what, const std::string& at) {
  must(::mount(what.c_str(), at.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0, "mount " + at);
}

UniqueFd open_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  must(static_cast<bool>(directory), "open " + path);
  return directory;
}

UniqueFd open_writable(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  must(static_cast<bool>(file), "open " + path);
  return file;
}

void write_text(const UniqueFd& file, std::string_view text, const std::string& what) {
  must(::pwrite(file.get(), text.data(), text.size(), 0) == std::ssize(text), "write " + what);
}

void write_text(const std::string& path, std::string_view text) {
  write_text(open_writable(path), text, path);
}

// The number after `key` in a file of the group; the first number if the key is empty.
std::uint64_t number_in(const UniqueFd& file, std::string_view key) {
  std::array<char, 1024> bytes{};
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size() - 1, 0);
  const std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::size_t at = 0;
  if (!key.empty()) {
    const std::string line = std::string(key) + " ";
    at = text.starts_with(line) ? 0 : text.find("\n" + line);
    if (at == std::string::npos) {
      return 0;
    }
    at += at == 0 ? line.size() : line.size() + 1;
  }
  return std::strtoull(text.c_str() + at, nullptr, 10);
}

UniqueFd open_port(int number) {
  const std::string path = "/dev/vport0p" + std::to_string(number);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    UniqueFd port(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (port || errno != ENOENT) {
      must(static_cast<bool>(port), "open " + path);
      return port;
    }
    const timespec moment{.tv_sec = 0, .tv_nsec = 10'000'000};  // The kernel still looks for it.
    (void)::nanosleep(&moment, nullptr);
  }
  give_up("open " + path);
}

// A process of our own that runs until what it works on ends.
template <typename Work>
void start(const Work& work) {
  const pid_t pid = ::fork();
  must(pid >= 0, "fork");
  if (pid == 0) {
    work();
    ::_exit(0);
  }
}

void pass_bytes(int from, int to) {
  std::array<char, 64UL * 1024> bytes;
  for (;;) {
    const ssize_t got = ::read(from, bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return;
    }
    if (got > 0 && !sys::write_all(to, {bytes.data(), static_cast<std::size_t>(got)})) {
      return;
    }
  }
}

// The kernel wants each answer whole.
void pass_answers(int port, int fuse) {
  std::string answer(256UL * 1024, '\0');
  for (;;) {
    std::uint32_t size = 0;
    if (!read_exactly(port, answer.data(), sizeof size)) {
      return;
    }
    std::memcpy(&size, answer.data(), sizeof size);
    if (size < sizeof size || size > answer.size() ||
        !read_exactly(port, answer.data() + sizeof size, size - sizeof size)) {
      return;
    }
    (void)!::write(fuse, answer.data(), size);  // Refused if nobody waits for the answer any more.
  }
}

Order receive_order(int port) {
  std::uint32_t size = 0;
  std::string bytes;
  must(read_exactly(port, reinterpret_cast<char*>(&size), sizeof size) && size <= kMaxOrder,
       "read the order");
  bytes.resize(size);
  must(read_exactly(port, bytes.data(), size), "read the order");
  auto order = Order::decode(bytes);
  must(order.has_value(), "understand the order");
  return std::move(order).value();
}

void take_seed_and_time(const UniqueFd& random, const char* seed, std::uint64_t time_ns) {
  // A rand_pool_info: bits, bytes, and these.
  std::array<std::uint32_t, 2 + kSeedSize / 4> pool = {kSeedSize * 8, kSeedSize};
  std::memcpy(&pool[2], seed, kSeedSize);
  must(::ioctl(random.get(), RNDADDENTROPY, pool.data()) == 0, "seed the random numbers");
  (void)::ioctl(random.get(), RNDRESEEDCRNG);
  const timespec now{.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000U),
                     .tv_nsec = static_cast<long>(time_ns % 1'000'000'000U)};
  must(::clock_settime(CLOCK_REALTIME, &now) == 0, "set the clock");
}

UniqueFd open_count(const char* name) {
  const std::string path = std::string(kGroup) + "/" + name;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  must(static_cast<bool>(file), "open " + path);
  return file;
}

// What each sandbox changes in the kernel or asks of it, opened before there is one.
struct Kernel {
  UniqueFd random = open_writable("/dev/urandom");
  UniqueFd memory_limit = open_writable(std::string(kGroup) + "/memory.max");
  UniqueFd pids_limit = open_writable(std::string(kGroup) + "/pids.max");
  UniqueFd cpu = open_count("cpu.stat");
  UniqueFd memory_now = open_count("memory.current");
  UniqueFd memory_peak = open_count("memory.peak");
  UniqueFd memory_events = open_count("memory.events");
  UniqueFd pids_now = open_count("pids.current");
  UniqueFd pids_peak = open_count("pids.peak");
  UniqueFd pids_events = open_count("pids.events");
};

void set_limits(const Kernel& kernel, std::uint64_t memory, std::uint64_t pids) {
  write_text(kernel.memory_limit, std::to_string(memory), "memory.max");
  write_text(kernel.pids_limit, std::to_string(pids), "pids.max");
}

void make_group() {
  make_directory("/cgroup");
  mount_new("cgroup2", "/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  write_text("/cgroup/cgroup.subtree_control", "+memory +pids +cpu");
  make_directory(kGroup);
}

void answer_questions(int port, const Kernel& kernel) {
  for (;;) {
    char question = 0;
    if (!read_exactly(port, &question, 1)) {
      return;
    }
    if (question == static_cast<char>(Question::kLimit)) {
      std::array<std::uint64_t, 2> limits{};
      if (!read_exactly(port, reinterpret_cast<char*>(limits.data()), sizeof limits)) {
        return;
      }
      set_limits(kernel, limits[0], limits[1]);
      continue;
    }
    if (question == static_cast<char>(Question::kRenew)) {
      std::uint64_t time_ns = 0;
      std::array<char, kSeedSize> seed{};
      if (!read_exactly(port, reinterpret_cast<char*>(&time_ns), sizeof time_ns) ||
          !read_exactly(port, seed.data(), seed.size())) {
        return;
      }
      take_seed_and_time(kernel.random, seed.data(), time_ns);
      if (!sys::write_all(port, {&question, 1})) {
        return;
      }
      continue;
    }
    const Counts counts = {
        number_in(kernel.cpu, "usage_usec"), number_in(kernel.memory_now, {}),
        number_in(kernel.memory_peak, {}),   number_in(kernel.pids_now, {}),
        number_in(kernel.pids_peak, {}),     number_in(kernel.memory_events, "oom_kill"),
        number_in(kernel.pids_events, "max")};
    if (!sys::write_all(port, {reinterpret_cast<const char*>(counts.data()), sizeof counts})) {
      return;
    }
  }
}

void mount_files() {
  const int port = open_port(kFilesPort).release();
  const int fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  must(fuse >= 0, "open /dev/fuse");
  make_directory(kRoot);
  mount_new("fuse", kRoot, MS_RDONLY | MS_NOSUID | MS_NODEV,
            "fd=" + std::to_string(fuse) +
                ",rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions");
  // There is nothing to read before the mount, which waits for no answer.
  start([=] { pass_bytes(fuse, port); });
  start([=] { pass_answers(port, fuse); });
}

void load_driver(const UniqueFd& driver, const std::string& name) {
  must(::syscall(SYS_finit_module, driver.get(), "", 0) == 0, "load " + name);
}

// With the driver of its balloon, the kernel tells QEMU which memory it does not use any more, and
// QEMU returns that to the host. Where the driver is not installed, the machine keeps it.
void load_balloon() {
  const UniqueFd driver(::open((kRoot + std::string(kBalloon)).c_str(), O_RDONLY | O_CLOEXEC));
  must(driver || errno == ENOENT, "open the balloon's driver");
  if (driver) {
    load_driver(driver, "the balloon's driver");
  }
}

// Zero: the machine has no card.
std::uint16_t egress_port() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  const char* const port = ::getenv(kEgressWord);
  return port == nullptr ? 0 : static_cast<std::uint16_t>(std::strtoul(port, nullptr, 10));
}

void load_card() {
  for (const std::string name : kCardDrivers) {
    const std::string path = kRoot + std::string(kPrograms) + name;
    const UniqueFd driver(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    must(static_cast<bool>(driver), "open " + name);
    load_driver(driver, name);
  }
}

// The /run of the guests.
struct Run {
  UniqueFd shown;  // What the outside shows.
  UniqueFd fresh;  // What covers it.
};

Run arrange_run() {
  const std::string shown = std::string(kRoot) + "/run";
  const std::string fresh = "/run";
  Run run{.shown = open_directory(shown), .fresh = {}};
  make_directory(fresh);
  mount_new("tmpfs", fresh, MS_NOSUID | MS_NODEV, "mode=0755");
  make_directory("/run/programs");
  for (const std::string path : {warden::kMovingWarden, warden::kMovingArchiver}) {
    must(::mknod(path.c_str(), S_IFREG | 0644, 0) == 0, "create " + path);
    bind(kRoot + path, path);
  }
  make_directory(warden::kMovingPlace);
  make_directory(kPlace);
  mount_new("tmpfs", kPlace, MS_NOSUID | MS_NODEV, "mode=0755");
  bind(kPlace, warden::kMovingPlace);
  bind(fresh, shown);
  run.fresh = open_directory(shown);
  return run;
}

void limit_disk(const Order& order) {
  const std::string size = "size=" + std::to_string(order.disk + kOwnBytes) +
                           ",nr_inodes=" + std::to_string(order.inodes + kOwnInodes);
  must(::mount(nullptr, kPlace, nullptr, MS_REMOUNT | MS_NOSUID | MS_NODEV, size.c_str()) == 0,
       "limit the disk");
}

void show_in_run(const Run& run, const std::string& name) {
  struct stat status {};
  if (::fstatat(run.shown.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(status.st_mode)) {
    return;
  }
  must(::mkdirat(run.fresh.get(), name.c_str(), 0755) == 0, "create /run/" + name);
  const UniqueFd tree(::open_tree(run.shown.get(), name.c_str(), OPEN_TREE_CLONE | O_CLOEXEC));
  must(tree && ::move_mount(tree.get(), "", run.fresh.get(), name.c_str(),
                            MOVE_MOUNT_F_EMPTY_PATH) == 0,
       "mount /run/" + name);
}

void arrange_devices() {
  const std::string dev = std::string(kRoot) + "/dev";
  mount_new("tmpfs", dev, MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k");
  constexpr std::array<std::pair<const char*, unsigned>, 5> kDevices = {
      {{"/null", 3}, {"/zero", 5}, {"/full", 7}, {"/random", 8}, {"/urandom", 9}}};
  for (const auto& [name, number] : kDevices) {
    must(::mknod((dev + name).c_str(), S_IFCHR | 0666, makedev(1, number)) == 0, "mknod " + dev);
  }
  constexpr std::array<std::pair<const char*, const char*>, 5> kLinks = {
      {{"/ptmx", "pts/ptmx"},
       {"/fd", "/proc/self/fd"},
       {"/stdin", "/proc/self/fd/0"},
       {"/stdout", "/proc/self/fd/1"},
       {"/stderr", "/proc/self/fd/2"}}};
  for (const auto& [name, target] : kLinks) {
    must(::symlink(target, (dev + name).c_str()) == 0, "link " + dev);
  }
  make_directory(dev + "/shm", 01777);
  make_directory(dev + "/pts");
  mount_new("devpts", dev + "/pts", MS_NOSUID | MS_NOEXEC,
            "newinstance,mode=0620,ptmxmode=0666,max=64");
}

void raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  must(socket && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "raise the loopback device");
}

// As in the native tier: with an empty file, and an empty directory.
void mask_proc() {
  const std::string file = "/nothing";
  const std::string directory = "/no-directory";
  const UniqueFd made(::open(file.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0444));
  must(static_cast<bool>(made), "create " + file);
  make_directory(directory, 0555);
  const auto mask = [](const std::string& with, const char* path) {
    const std::string at = std::string(kRoot) + "/" + path;
    if (::access(at.c_str(), F_OK) == 0) {
      bind(with, at);
    }
  };
  for (const char* const path : kMaskedFiles) {
    mask(file, path);
  }
  for (const char* const path : kMaskedDirectories) {
    mask(directory, path);
  }
}

// The first process of the guests' namespaces becomes the warden.
[[noreturn]] void become_warden(int control) {
  raise_loopback();
  mount_new("proc", std::string(kRoot) + "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  mount_new("sysfs", std::string(kRoot) + "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
  mask_proc();
  // The machine's first files cannot be left by pivot_root(2).
  must(::chdir(kRoot) == 0 && ::mount(".", "/", nullptr, MS_MOVE, nullptr) == 0 &&
           ::chroot(".") == 0 && ::chdir("/") == 0,
       "enter the files");
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const rlimit files{.rlim_cur = 1U << 20, .rlim_max = 1U << 20};
  const rlimit none{};
  must(null && ::setrlimit(RLIMIT_NOFILE, &files) == 0 && ::setrlimit(RLIMIT_CORE, &none) == 0 &&
           ::setsid() >= 0,
       "set the limits");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    must(::dup2(null.get(), fd) == fd, "dup2");
  }
  must(::dup2(control, kControlFd) == kControlFd && ::close_range(kControlFd + 1, ~0U, 0) == 0 &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
       "prepare the warden");
  constexpr std::array<const char*, 3> kArguments = {"glovebox-warden", "own-kernel", nullptr};
  constexpr std::array<const char*, 1> kNoEnvironment = {nullptr};
  (void)::execve(warden::kMovingWarden, const_cast<char**>(kArguments.data()),
                 const_cast<char**>(kNoEnvironment.data()));
  ::_exit(127);
}

// In the namespaces of the guests, and none of them. `machine` brings the order; once all is as it
// says, `ready` gets a byte for each process that waits for that.
void start_guests(int machine, int control, int ready, const Kernel& kernel) {
  write_text(std::string(kGroup) + "/cgroup.procs", "0");
  const std::uint16_t port = egress_port();
  const UniqueFd mover = port == 0 ? UniqueFd() : open_card_mover();
  must(::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                 CLONE_NEWCGROUP) == 0,
       "make the namespaces");
  if (port != 0) {
    const long taken = mover ? take_card(mover, port) : -errno;
    errno = static_cast<int>(-taken);
    must(taken == 0, "take the network card");
  }
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "keep mounts private");
  const Run run = arrange_run();
  const pid_t first = ::fork();
  must(first >= 0, "fork");
  if (first == 0) {
    become_warden(control);
  }
  (void)::close(control);
  const Order order = receive_order(machine);
  take_seed_and_time(kernel.random, order.seed.data(), order.time_ns);
  set_limits(kernel, order.memory, order.pids);
  must(::sethostname(order.hostname.c_str(), order.hostname.size()) == 0, "set the host name");
  limit_disk(order);
  for (const std::string& name : order.shown) {
    show_in_run(run, name);
  }
  must(::write(ready, kGo.data(), kGo.size()) == std::ssize(kGo), "go on");
  (void)::close(ready);
  int status = 0;
  (void)::waitpid(first, &status, 0);
}

[[noreturn]] void run() {
  (void)::umask(0);
  make_directory("/dev");
  mount_new("devtmpfs", "/dev", MS_NOSUID);
  const UniqueFd console(::open("/dev/console", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    (void)::dup2(console.get(), fd);
  }
  const UniqueFd machine = open_port(kMachinePort);
  make_group();
  mount_files();
  load_balloon();
  if (egress_port() != 0) {
    load_card();
  }
  arrange_devices();
  std::array<int, 2> pair{};
  std::array<int, 2> ready{};
  must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0, "socketpair");
  must(::pipe2(ready.data(), O_CLOEXEC) == 0, "pipe");
  const Kernel kernel;
  start([&] { start_guests(machine.get(), pair[1], ready[1], kernel); });
  (void)::close(pair[1]);
  (void)::close(ready[1]);
  const UniqueFd control = open_port(kControlPort);
  const auto await_go = [&] {
    char byte = 0;
    must(read_exactly(ready[0], &byte, 1), "start the guests");
  };
  start([&] { pass_bytes(pair[0], control.get()); });
  start([&] {
    // The frame with which the warden moves in.
    if (pass_frame(control.get(), pair[0])) {
      await_go();
      pass_bytes(control.get(), pair[0]);
    }
  });
  start([&] {
    await_go();
    answer_questions(machine.get(), kernel);
  });
  int status = 0;
  while (::wait(&status) < 0 && errno == EINTR) {
  }
  power_off();
}

}  // namespace
}  // namespace glovebox::microvm

int main() {
  if (::getpid() != 1) {
    return 2;
  }
  glovebox::microvm::run();
}
