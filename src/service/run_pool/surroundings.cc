// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/surroundings.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/sys/raw.h"
#include "base/unique_fd.h"
#include "base/wire.h"

namespace glovebox {
namespace {

// ioprio_get(2).
constexpr int kIoPriorityOfProcess = 1;

Result<void> put_identity(WireWriter& to, const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) {
    return Error::from_errno("stat " + std::string(path));
  }
  to.u64(status.st_dev);
  to.u64(status.st_ino);
  return {};
}

Result<void> put_content(WireWriter& to, const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size < 0) {
    return Error::from_errno("read " + std::string(path));
  }
  to.text({text.data(), static_cast<std::size_t>(size)});
  return {};
}

void put_inherited(WireWriter& to) {
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit limit{};
    (void)::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    to.u64(limit.rlim_cur);
    to.u64(limit.rlim_max);
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  (void)::sched_getaffinity(0, sizeof processors, &processors);
  to.text({reinterpret_cast<const char*>(&processors), sizeof processors});
  to.u32(static_cast<std::uint32_t>(::sched_getscheduler(0)));
  to.u32(static_cast<std::uint32_t>(::getpriority(PRIO_PROCESS, 0)));
  to.u32(static_cast<std::uint32_t>(sys::raw(SYS_ioprio_get, kIoPriorityOfProcess, 0)));
}

}  // namespace

Result<std::string> surroundings() {
  WireWriter writer;
  // The program itself, as it is on disk: another build has another warden and another protocol.
  struct stat program {};
  if (::stat("/proc/self/exe", &program) != 0) {
    return Error::from_errno("stat /proc/self/exe");
  }
  writer.u64(program.st_dev);
  writer.u64(program.st_ino);
  writer.u64(static_cast<std::uint64_t>(program.st_mtim.tv_sec));
  writer.u64(static_cast<std::uint64_t>(program.st_mtim.tv_nsec));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const warden = std::getenv("GLOVEBOX_WARDEN");
  writer.text(warden == nullptr ? "" : warden);
  for (const char* const path :
       {"/", "/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/pid", "/proc/self/ns/cgroup",
        "/proc/self/ns/time"}) {
    GB_TRY(put_identity(writer, path));
  }
  GB_TRY(put_content(writer, "/proc/self/cgroup"));
  GB_TRY(put_content(writer, "/proc/self/oom_score_adj"));
  put_inherited(writer);
  return writer.take();
}

}  // namespace glovebox
