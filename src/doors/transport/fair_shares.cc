// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/fair_shares.h"

#include <algorithm>
#include <utility>

namespace glovebox::http {

FairShares::Share::Share(Share&& other) noexcept
    : shares_(std::exchange(other.shares_, nullptr)), at_(other.at_), amount_(other.amount_) {}

FairShares::Share& FairShares::Share::operator=(Share&& other) noexcept {
  std::swap(shares_, other.shares_);
  std::swap(at_, other.at_);
  std::swap(amount_, other.amount_);
  return *this;
}

FairShares::Share::~Share() {
  if (shares_ == nullptr) {
    return;
  }
  const std::scoped_lock lock(shares_->mutex_);
  shares_->used_ -= amount_;
  at_->second -= amount_;
  if (at_->second == 0) {
    shares_->held_.erase(at_);
  }
}

bool FairShares::fits(std::size_t held, std::size_t amount) const {
  const std::size_t left_by_others = total_ - (used_ - held);
  const std::size_t most = std::max<std::size_t>(left_by_others / parts_, 1);
  return amount <= total_ - used_ && held + amount <= most;
}

std::optional<FairShares::Share> FairShares::take(std::string_view owner, std::size_t amount) {
  const std::scoped_lock lock(mutex_);
  auto at = held_.find(owner);
  if (amount == 0 || !fits(at == held_.end() ? 0 : at->second, amount)) {
    return std::nullopt;
  }
  if (at == held_.end()) {
    at = held_.emplace(owner, 0).first;
  }
  at->second += amount;
  used_ += amount;
  return Share(this, at, amount);
}

bool FairShares::has_room(std::string_view owner) const {
  const std::scoped_lock lock(mutex_);
  const auto at = held_.find(owner);
  return fits(at == held_.end() ? 0 : at->second, 1);
}

}  // namespace glovebox::http
