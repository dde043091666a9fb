// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/watchers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <system_error>
#include <vector>

#include "base/random.h"
#include "doors/e2b/filesystem_service.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMostOfTenant = 64;
constexpr std::size_t kMostOfSandbox = 16;
constexpr std::size_t kMaxEvents = 10'000;
// How long setting up a watch may take.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

struct Watchers::Watcher {
  std::string tenant;
  std::string sandbox;
  UniqueFd stop;
  std::mutex mutex;
  std::deque<Json> events;
  std::atomic<bool> ended = false;
  std::thread thread;

  ~Watcher() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(stop.get(), &one, sizeof one);
    if (thread.joinable()) {
      thread.join();
    }
  }
};

Watchers::~Watchers() = default;

Result<void> Watchers::add(const std::string& id, const std::shared_ptr<Watcher>& watcher) {
  std::vector<std::shared_ptr<Watcher>> ended;  // Joined without the lock.
  const std::lock_guard lock(mutex_);
  std::size_t of_tenant = 0;
  std::size_t of_sandbox = 0;
  for (auto next = watchers_.begin(); next != watchers_.end();) {
    const auto each = next++;
    const Watcher& other = *each->second;
    if (other.ended) {
      ended.push_back(std::move(each->second));
      watchers_.erase(each);
      continue;
    }
    of_tenant += other.tenant == watcher->tenant ? 1 : 0;
    of_sandbox += other.sandbox == watcher->sandbox ? 1 : 0;
  }
  if (of_sandbox >= kMostOfSandbox || of_tenant >= kMostOfTenant) {
    return Error(ErrorCode::kExhausted,
                 of_sandbox >= kMostOfSandbox
                     ? "a sandbox can have at most " + std::to_string(kMostOfSandbox) + " watchers"
                     : "a tenant can have at most " + std::to_string(kMostOfTenant) + " watchers",
                 "remove one of them");
  }
  watchers_.emplace(id, watcher);
  return {};
}

void Watchers::drop(const std::string& id) {
  std::shared_ptr<Watcher> gone;  // Joined without the lock.
  const std::lock_guard lock(mutex_);
  if (const auto found = watchers_.find(id); found != watchers_.end()) {
    gone = std::move(found->second);
    watchers_.erase(found);
  }
}

Result<std::string> Watchers::create(const Visit& visit,
                                     const std::string& directory,
                                     bool recursive,
                                     bool with_entry) {
  auto watcher = std::make_shared<Watcher>();
  watcher->tenant = visit.caller.tenant;
  watcher->sandbox = visit.info.id;
  watcher->stop = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watcher->stop) {
    return Error::from_errno("eventfd");
  }
  const std::string id = random_hex(16);
  GB_TRY(add(id, watcher));
  auto begun = begin(visit, watcher, directory, recursive, with_entry);
  if (!begun) {
    drop(id);
    return std::move(begun).error();
  }
  return id;
}

Result<void> Watchers::begin(const Visit& visit,
                             const std::shared_ptr<Watcher>& watcher,
                             const std::string& directory,
                             bool recursive,
                             bool with_entry) {
  auto files = std::make_shared<FileClient>(
      GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse)));
  std::shared_ptr<FileClient> entries;
  if (with_entry) {
    entries = std::make_shared<FileClient>(
        GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse)));
  }
  auto standing = std::make_shared<std::promise<Result<void>>>();
  auto stands = standing->get_future();
  const auto watch = [raw = watcher.get(), files, entries, directory, recursive, standing] {
    bool told = false;
    const auto stands_now = [&] {
      told = true;
      standing->set_value({});
    };
    const auto happens = [&](const FileEvent& event) {
      Json json = file_event_json(event, directory, entries.get());
      const std::lock_guard lock(raw->mutex);
      if (raw->events.size() >= kMaxEvents) {
        raw->events.pop_front();
      }
      raw->events.push_back(std::move(json));
      return true;
    };
    Result<void> done = Error(ErrorCode::kUnavailable, "the watch ended");
    try {
      if (auto watched = files->watch(directory, recursive, raw->stop.get(), stands_now, happens);
          !watched) {
        done = std::move(watched);
      }
    } catch (const std::exception&) {  // No memory for the events: the watch is over.
    }
    if (!told) {
      standing->set_value(std::move(done));
    }
    raw->ended = true;
  };
  try {
    watcher->thread = std::thread(watch);
  } catch (const std::system_error&) {
    return Error(ErrorCode::kExhausted, "cannot start more threads", "try again in a moment");
  }
  if (stands.wait_for(kPatience) != std::future_status::ready) {
    return Error(ErrorCode::kUnavailable, "the sandbox did not start the watch",
                 "try again in a moment");
  }
  return stands.get();
}

std::shared_ptr<Watchers::Watcher> Watchers::find(const Visit& visit, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = watchers_.find(id);
  return found != watchers_.end() && found->second->sandbox == visit.info.id ? found->second
                                                                             : nullptr;
}

Result<Json> Watchers::take(const Visit& visit, const std::string& id) {
  const auto watcher = find(visit, id);
  if (!watcher) {
    return Error(ErrorCode::kNotFound, "watcher with id " + id + " not found");
  }
  Json events = Json::array();
  const std::lock_guard lock(watcher->mutex);
  for (Json& event : watcher->events) {
    events.push_back(std::move(event));
  }
  watcher->events.clear();
  return events;
}

Result<void> Watchers::remove(const Visit& visit, const std::string& id) {
  if (!find(visit, id)) {
    return Error(ErrorCode::kNotFound, "watcher with id " + id + " not found");
  }
  drop(id);
  return {};
}

}  // namespace glovebox::e2b
