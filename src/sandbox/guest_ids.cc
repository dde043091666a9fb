// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guest_ids.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/sys/raw.h"
#include "sandbox/id_range.h"

namespace glovebox {
namespace {

// Fewer would soon be taken.
constexpr std::uint64_t kFewestSlots = 64;
// Each slot takes two ids, and most of a namespace is left to its other users.
constexpr std::uint64_t kShare = 32;
constexpr std::uint64_t kNobody = 65534;
constexpr std::uint64_t kAfterOverflow = 65536;

constexpr const char* kUidMap = "/proc/self/uid_map";
constexpr const char* kGidMap = "/proc/self/gid_map";

struct IdSpan {
  std::uint64_t first = 0;
  std::uint64_t end = 0;  // Behind the last.
};

// In ascending order; neighbours are one.
std::vector<IdSpan> spans_of(std::string_view map) {
  std::vector<IdSpan> spans;
  std::istringstream text{std::string(map)};
  for (std::uint64_t first = 0, outside = 0, count = 0; text >> first >> outside >> count;) {
    spans.push_back({first, first + count});
  }
  std::ranges::sort(spans, {}, &IdSpan::first);
  std::vector<IdSpan> joined;
  for (const IdSpan& span : spans) {
    if (!joined.empty() && joined.back().end == span.first) {
      joined.back().end = span.end;
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

std::vector<IdSpan> in_both(const std::vector<IdSpan>& one, const std::vector<IdSpan>& other) {
  std::vector<IdSpan> both;
  for (const IdSpan& a : one) {
    for (const IdSpan& b : other) {
      const IdSpan common{std::max(a.first, b.first), std::min(a.end, b.end)};
      if (common.first < common.end) {
        both.push_back(common);
      }
    }
  }
  return both;
}

bool has(const std::vector<IdSpan>& spans, std::uint64_t first, std::uint64_t count) {
  return std::ranges::any_of(spans, [first, count](const IdSpan& span) {
    return span.first <= first && first + count <= span.end;
  });
}

// Also true if the map cannot be read: then it may map root to root.
bool maps_root_to_root(const std::string& map) {
  std::istringstream text(map);
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  for (std::uint64_t count = 0; text >> inside >> outside >> count;) {
    if (inside == 0) {
      return outside == 0;
    }
  }
  return true;
}

// CAP_CHOWN for a guest's files; CAP_SETPCAP to lock the rest before the guest has it.
bool may_change_ids() {
  constexpr std::uint32_t kNeeded =
      1U << CAP_CHOWN | 1U << CAP_SETGID | 1U << CAP_SETUID | 1U << CAP_SETPCAP;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> held{};
  return sys::raw(SYS_capget, &header, held.data()) == 0 &&
         (held[0].effective & kNeeded) == kNeeded;
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<GuestIds> guest_ids_in(std::string_view uid_map, std::string_view gid_map) {
  const std::vector<IdSpan> spans = in_both(spans_of(uid_map), spans_of(gid_map));
  if (has(spans, GuestIds::kFirst, 2 * std::uint64_t{GuestIds::kSlots})) {
    return GuestIds{.first = GuestIds::kFirst,
                    .slots = GuestIds::kSlots,
                    .has_ranges = has(spans, IdRange::kFirst,
                                      std::uint64_t{IdRange::kRanges} * IdRange::kSize)};
  }
  const auto longest =
      std::ranges::max_element(spans, {}, [](const IdSpan& span) { return span.end - span.first; });
  if (longest == spans.end()) {
    return std::nullopt;
  }
  const std::uint64_t slots = std::min<std::uint64_t>(
      std::bit_floor((longest->end - longest->first) / kShare), GuestIds::kSlots);
  std::uint64_t end = longest->end;
  if (end > kNobody && end - 2 * slots < kAfterOverflow) {
    end = kNobody;
  }
  if (slots < kFewestSlots || end < longest->first + 2 * slots) {
    return std::nullopt;
  }
  return GuestIds{.first = static_cast<uid_t>(end - 2 * slots),
                  .slots = static_cast<std::uint32_t>(slots)};
}

std::optional<GuestIds> guest_ids() {
  if (::geteuid() != 0) {
    return std::nullopt;
  }
  static const std::optional<GuestIds> kOfRoot =
      may_change_ids() ? guest_ids_in(text_of(kUidMap), text_of(kGidMap)) : std::nullopt;
  return kOfRoot;
}

Result<void> check_guest_is_not_root() {
  if (::geteuid() != 0 || guest_ids()) {
    return {};
  }
  static const bool kIsRootOutside = maps_root_to_root(text_of(kUidMap));
  if (!kIsRootOutside) {
    return {};
  }
  return Error(ErrorCode::kUnsupported,
               may_change_ids()
                   ? "this user namespace maps root to root and too few other ids: code that runs "
                     "here would be root outside"
                   : "root may not change user ids here, so code that runs here would be root",
               "run glovebox as an ordinary user, or give root the capabilities CHOWN, SETGID, "
               "SETUID and SETPCAP and all user ids");
}

}  // namespace glovebox
