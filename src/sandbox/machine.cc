// SPDX-License-Identifier: Apache-2.0
#include "sandbox/machine.h"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/unique_fd.h"
#include "base/wire.h"
#include "sandbox/cgroup_host.h"

namespace glovebox {
namespace {

// More processors than this are not described one by one.
constexpr unsigned kMostProcessors = 32;
// Longer descriptions of one processor are cut.
constexpr std::size_t kMostDescription = 3072;

// Lines of that description that differ from one processor to the next, or count them.
constexpr std::array<std::string_view, 4> kNumbers = {"processor", "core id", "apicid",
                                                      "initial apicid"};
constexpr std::array<std::string_view, 2> kCounts = {"siblings", "cpu cores"};

unsigned processors(const Limits& limits) {
  const double most = std::min(limits.cpus, cgroup_host().processors);
  return static_cast<unsigned>(std::max(1.0, std::ceil(most)));
}

std::string memory_text(const Limits& limits) {
  struct sysinfo host {};
  std::uint64_t bytes = limits.memory.count;
  if (::sysinfo(&host) == 0) {
    bytes = std::min<std::uint64_t>(bytes, std::uint64_t{host.totalram} * host.mem_unit);
  }
  const std::string total = std::to_string(bytes / 1024);
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& kilobytes) {
    text.append(name).append(":");
    text.append(name.size() + kilobytes.size() < 23 ? 23 - name.size() - kilobytes.size() : 1, ' ');
    text.append(kilobytes).append(" kB\n");
  };
  for (const char* const name : {"MemTotal", "MemFree", "MemAvailable"}) {
    line(name, total);
  }
  for (const char* const name :
       {"Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Dirty",
        "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim"}) {
    line(name, "0");
  }
  return text;
}

// The host's first processor, as /proc/cpuinfo has it, without the empty line after it. Read once:
// it does not change, and kernels may take long to write it.
const std::string& first_processor() {
  static const std::string kText = [] {
    std::string text(kMostDescription, '\0');
    const UniqueFd file(::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    // Whole lines, of one processor.
    const std::size_t end = text.find("\n\n");
    text.resize((end == std::string::npos ? text.rfind('\n') : end) + 1);
    return text.starts_with("processor") ? text : std::string("processor\t: 0\n");
  }();
  return kText;
}

std::string processors_text(unsigned count) {
  std::string text;
  for (unsigned index = 0; index < count; ++index) {
    std::string_view rest = first_processor();
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n') + 1);
      rest.remove_prefix(line.size());
      const std::size_t colon = line.find(':');
      const std::string_view name = line.substr(0, std::min(line.find('\t'), colon));
      const bool number = std::ranges::find(kNumbers, name) != kNumbers.end();
      const bool all = std::ranges::find(kCounts, name) != kCounts.end();
      if (colon == std::string_view::npos || !(number || all)) {
        text.append(line);
      } else {
        text.append(line.substr(0, colon + 1)).append(" ");
        text.append(std::to_string(number ? index : count)).append("\n");
      }
    }
    text.append("\n");
  }
  return text;
}

std::string statistics_text(unsigned count) {
  timespec now{};
  timespec up{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  (void)::clock_gettime(CLOCK_BOOTTIME, &up);
  constexpr std::string_view kIdle = " 0 0 0 0 0 0 0 0 0 0\n";
  std::string text = "cpu ";
  text.append(kIdle);
  for (unsigned index = 0; index < count; ++index) {
    text.append("cpu").append(std::to_string(index)).append(kIdle);
  }
  text.append("intr 0\nctxt 0\nbtime ").append(std::to_string(now.tv_sec - up.tv_sec));
  return text.append("\nprocesses 0\nprocs_running 1\nprocs_blocked 0\n");
}

}  // namespace

std::array<std::string, warden::kMachineFiles> machine_texts(const Limits& limits) {
  const unsigned count = processors(limits);
  const unsigned described = std::min(count, kMostProcessors);
  return {memory_text(limits), processors_text(described), statistics_text(count),
          count == 1 ? "0\n" : "0-" + std::to_string(count - 1) + "\n"};
}

std::string machine_request(const Limits& limits) {
  const auto texts = machine_texts(limits);
  WireWriter writer;
  writer.texts({texts.begin(), texts.end()});
  return writer.take();
}

std::uint64_t machine_room() {
  static const std::uint64_t kRoom = [] {
    constexpr std::uint64_t kPage = 4096;
    Limits all;
    all.cpus = cgroup_host().processors;
    std::uint64_t pages = 0;
    for (const std::string& text : machine_texts(all)) {
      pages += (text.size() + kPage - 1) / kPage;
    }
    return pages * kPage;
  }();
  return kRoom;
}

Environment machine_environment(const Limits& limits) {
  const std::string count = std::to_string(processors(limits));
  return {{"OMP_NUM_THREADS", count}, {"GOMAXPROCS", count}};
}

}  // namespace glovebox
