// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/watchers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <vector>

#include "doors/e2b/filesystem_service.h"
#include "doors/e2b/tokens.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxWatchers = 64;
constexpr std::size_t kMaxPerSandbox = 16;
constexpr std::size_t kMaxEvents = 10'000;

}  // namespace

struct Watchers::Watcher {
  std::string sandbox;
  UniqueFd stop;
  std::mutex mutex;
  std::deque<Json> events;
  bool ended = false;
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

Result<std::string> Watchers::create(const Visit& visit,
                                     const std::string& directory,
                                     bool recursive,
                                     bool with_entry) {
  auto watcher = std::make_shared<Watcher>();
  watcher->sandbox = visit.info.id;
  watcher->stop = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watcher->stop) {
    return Error::from_errno("eventfd");
  }
  const std::string id = GB_TRY(random_hex(16));
  auto files = std::make_shared<FileClient>(GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse)));
  std::shared_ptr<FileClient> entries;
  if (with_entry) {
    entries = std::make_shared<FileClient>(GB_TRY(service_.files(visit.caller, visit.info.id, FileAccess::kUse)));
  }

  std::vector<std::shared_ptr<Watcher>> ended;  // Joined without the lock.
  {
    const std::lock_guard lock(mutex_);
    std::size_t same = 0;
    for (auto each = watchers_.begin(); each != watchers_.end();) {
      const std::lock_guard inner(each->second->mutex);
      if (each->second->ended) {
        ended.push_back(each->second);
      } else if (each->second->sandbox == visit.info.id) {
        ++same;
      }
      ++each;
    }
    std::erase_if(watchers_, [&ended](const auto& each) {
      for (const auto& gone : ended) {
        if (gone == each.second) {
          return true;
        }
      }
      return false;
    });
    if (watchers_.size() >= kMaxWatchers || same >= kMaxPerSandbox) {
      return Error(ErrorCode::kExhausted, "too many watchers");
    }
    watchers_.emplace(id, watcher);
  }

  auto standing = std::make_shared<std::promise<Result<void>>>();
  auto stands = standing->get_future();
  watcher->thread =
      std::thread([raw = watcher.get(), files, entries, directory, recursive, standing] {
        bool told = false;
        auto done = files->watch(
            directory, recursive, raw->stop.get(),
            [&] {
              told = true;
              standing->set_value({});
            },
            [&](const FileEvent& event) {
              Json json = file_event_json(event, directory, entries.get());
              const std::lock_guard lock(raw->mutex);
              if (raw->events.size() >= kMaxEvents) {
                raw->events.pop_front();
              }
              raw->events.push_back(std::move(json));
              return true;
            });
        if (!told) {
          standing->set_value(done ? Result<void>(Error(ErrorCode::kUnavailable, "the watch ended"))
                                   : done);
        }
        const std::lock_guard lock(raw->mutex);
        raw->ended = true;
      });
  if (auto result = stands.get(); !result) {
    const std::lock_guard lock(mutex_);
    watchers_.erase(id);
    return result.error();
  }
  return id;
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
  const auto watcher = find(visit, id);
  if (!watcher) {
    return Error(ErrorCode::kNotFound, "watcher with id " + id + " not found");
  }
  const std::lock_guard lock(mutex_);
  watchers_.erase(id);
  return {};
}

}  // namespace glovebox::e2b
