// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/admission.h"

#include <algorithm>
#include <utility>

#include "service/tenants/retry_after.h"
#include "trace/span.h"

namespace glovebox {
namespace detail {

using Time = std::chrono::steady_clock::time_point;

class AdmissionDesk {
 public:
  AdmissionDesk(FairQueue::Bounds bounds, Admission::Clock clock)
      : queue_(bounds), slots_(std::max<std::size_t>(bounds.slots, 1)), clock_(std::move(clock)) {}

  Result<FairQueue::Ticket> enter(std::string_view tenant,
                                  std::size_t most_of_tenant,
                                  std::chrono::milliseconds most_wait) {
    std::unique_lock lock(mutex_);
    Result<FairQueue::Ticket> ticket = queue_.arrive(tenant, most_of_tenant);
    if (!ticket) {
      return exhausted(ticket.error().message(), expected_wait());
    }
    Guest& guest = guests_[*ticket];
    call_next();
    if (!guest.called.wait_for(lock, most_wait, [&] { return guest.runs; })) {
      const std::chrono::nanoseconds wait = expected_wait();
      guests_.erase(*ticket);
      queue_.leave(*ticket);
      call_next();
      return exhausted("no execution could start in time", wait);
    }
    return ticket;
  }

  void leave(FairQueue::Ticket ticket) {
    const std::scoped_lock lock(mutex_);
    const auto guest = guests_.find(ticket);
    GB_CHECK(guest != guests_.end());
    const auto held = std::chrono::duration<double>(clock_() - guest->second.since).count();
    // A mean over about the last few dozen.
    constexpr double kWeight = 1.0 / 16;
    mean_held_ += (std::max(held, 0.0) - mean_held_) * kWeight;
    guests_.erase(guest);
    queue_.leave(ticket);
    call_next();
  }

  Admission::Load load() {
    const std::scoped_lock lock(mutex_);
    return {queue_.running(), queue_.waiting()};
  }

 private:
  struct Guest {
    std::condition_variable called;  // One each: the others sleep on.
    bool runs = false;
    Time since{};
  };

  void call_next() {
    for (const FairQueue::Ticket ticket : queue_.next()) {
      Guest& guest = guests_.at(ticket);
      guest.runs = true;
      guest.since = clock_();
      guest.called.notify_one();
    }
  }

  // Until those before it will have run, judging by the past.
  [[nodiscard]] std::chrono::nanoseconds expected_wait() const {
    constexpr double kMostSeconds = 60;
    const double seconds =
        mean_held_ * static_cast<double>(queue_.waiting() + 1) / static_cast<double>(slots_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::min(seconds, kMostSeconds)));
  }

  std::mutex mutex_;
  FairQueue queue_;
  std::size_t slots_;
  Admission::Clock clock_;
  std::map<FairQueue::Ticket, Guest> guests_;
  double mean_held_ = 0;  // Seconds.
};

}  // namespace detail

ExecutionLease& ExecutionLease::operator=(ExecutionLease&& other) noexcept {
  std::swap(desk_, other.desk_);
  std::swap(ticket_, other.ticket_);
  // What this one held goes back now, not when `other` ends.
  (void)ExecutionLease(std::move(other));
  return *this;
}

ExecutionLease::~ExecutionLease() {
  if (desk_ != nullptr) {
    desk_->leave(ticket_);
  }
}

Admission::Admission(FairQueue::Bounds bounds, MemoryPressure& pressure, Clock clock)
    : pressure_(pressure),
      desk_(std::make_shared<detail::AdmissionDesk>(bounds, std::move(clock))) {}

Result<ExecutionLease> Admission::enter(std::string_view tenant,
                                        std::size_t most_of_tenant,
                                        std::chrono::milliseconds most_wait) {
  const trace::Span span("admission");
  GB_TRY(pressure_.check());
  const FairQueue::Ticket ticket = GB_TRY(desk_->enter(tenant, most_of_tenant, most_wait));
  return ExecutionLease(desk_, ticket);
}

Admission::Load Admission::load() const { return desk_->load(); }

}  // namespace glovebox
