// SPDX-License-Identifier: Apache-2.0
#include "service/runs/compiled_modules.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "service/runs/transfer.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostCompileTime = 10s;
constexpr std::ptrdiff_t kMostJobs = 16;
constexpr std::ptrdiff_t kMostJobsOfTenant = 4;
constexpr const char* kModule = "module.wasm";

Result<std::string> compile_in_sandbox(const ReadyKind& kind,
                                       const std::string& code,
                                       int cancel_fd) {
  ReadySandbox sandbox = GB_TRY(make_ready(kind));
  GB_TRY(write_program(*sandbox, code, kModule, 0644));
  RunOptions options{.limits = kind.limits, .cancel_fd = cancel_fd};
  options.limits.wall = kMostCompileTime;
  options.limits.output = Bytes{CompiledModules::Bounds{}.of_one + 1};
  RunOutcome outcome = GB_TRY(sandbox.compile(kind.directory + "/" + kModule, options));
  (void)sandbox->end();
  if (outcome.status != Status::kOk || outcome.out.truncated) {
    return Error(ErrorCode::kInvalid, "the module was not compiled");
  }
  return std::move(outcome.out.bytes);
}

}  // namespace

CompiledModules::CompiledModules() : CompiledModules(compile_in_sandbox, {}) {}

CompiledModules::CompiledModules(Compile compile, const Bounds& bounds)
    : compile_(std::move(compile)), bounds_(bounds), stop_(::eventfd(0, EFD_CLOEXEC)) {}

CompiledModules::~CompiledModules() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  (void)::eventfd_write(stop_.get(), 1);
  if (worker_.joinable()) {
    worker_.join();
  }
}

std::shared_ptr<const std::string> CompiledModules::find(const ModuleKey& key,
                                                         const ReadyKind& kind,
                                                         const std::string& code) {
  const std::scoped_lock lock(mutex_);
  const auto [found, is_new] = entries_.try_emplace(key);
  Entry& entry = found->second;
  entry.used = ++uses_;
  if (is_new) {
    if (entries_.size() > bounds_.known) {
      forget_oldest();
    }
  } else if (!entry.tried && has_room_for(key.tenant)) {
    entry.tried = true;
    jobs_.push_back({.key = key, .kind = kind, .code = code});
    if (!worker_.joinable()) {
      worker_ = std::thread([this] { work(); });
    }
    changed_.notify_all();
  }
  return entry.compiled;
}

bool CompiledModules::has_room_for(const std::string& tenant) const {
  return std::ssize(jobs_) < kMostJobs && std::ranges::count(jobs_, tenant, [](const Job& job) {
                                            return job.key.tenant;
                                          }) < kMostJobsOfTenant;
}

void CompiledModules::await_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
}

std::size_t CompiledModules::bytes() {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void CompiledModules::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (jobs_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Job& job = jobs_.front();  // A deque: it stays where it is.
    lock.unlock();
    Result<std::string> compiled = Error(ErrorCode::kUnavailable, "there is no memory");
    try {
      compiled = compile_(job.kind, job.code, stop_.get());
    } catch (const std::exception&) {  // As `compiled` says.
    }
    lock.lock();
    if (compiled) {
      keep(job.key, std::move(compiled).value());
    } else if (const auto found = entries_.find(job.key);
               found != entries_.end() && compiled.error().code() != ErrorCode::kInvalid) {
      found->second.tried = false;
    }
    jobs_.pop_front();
    changed_.notify_all();
  }
}

void CompiledModules::keep(const ModuleKey& key, std::string compiled) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || compiled.empty() || compiled.size() > bounds_.of_one) {
    return;
  }
  const std::size_t size = compiled.size();
  const auto make_room = [&](const auto& is_full, const auto& may_go) {
    while (is_full()) {
      auto oldest = entries_.end();
      for (auto each = entries_.begin(); each != entries_.end(); ++each) {
        if (each->second.compiled && may_go(each->first) &&
            (oldest == entries_.end() || each->second.used < oldest->second.used)) {
          oldest = each;
        }
      }
      if (oldest == entries_.end()) {
        return;
      }
      drop(oldest);
    }
  };
  make_room([&] { return bytes_of_[key.tenant] + size > bounds_.of_tenant; },
            [&](const ModuleKey& other) { return other.tenant == key.tenant; });
  make_room([&] { return bytes_ + size > bounds_.all; }, [](const ModuleKey&) { return true; });
  found->second.compiled = std::make_shared<const std::string>(std::move(compiled));
  bytes_ += size;
  bytes_of_[key.tenant] += size;
}

// It is compiled again after two more requests for it.
void CompiledModules::drop(Entries::iterator which) {
  if (const auto& compiled = which->second.compiled; compiled) {
    bytes_ -= compiled->size();
    const auto of_tenant = bytes_of_.find(which->first.tenant);
    of_tenant->second -= compiled->size();
    if (of_tenant->second == 0) {
      bytes_of_.erase(of_tenant);
    }
  }
  entries_.erase(which);
}

void CompiledModules::forget_oldest() {
  drop(std::ranges::min_element(entries_, {},
                                [](const Entries::value_type& each) { return each.second.used; }));
}

}  // namespace glovebox
