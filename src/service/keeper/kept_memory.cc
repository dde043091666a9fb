// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/kept_memory.h"

namespace glovebox::keeper {
namespace {

// How much more than needed is dropped, so that not every new byte causes a drop.
constexpr std::size_t kSlack = 4UL << 20;

}  // namespace

KeptMemory::Share::Share(std::shared_ptr<KeptMemory> memory, Holder& holder)
    : memory_(std::move(memory)), holder_(holder) {
  const std::scoped_lock lock(memory_->mutex_);
  memory_->holders_.insert(&holder_);
}

KeptMemory::Share::~Share() {
  const std::scoped_lock lock(memory_->mutex_);
  memory_->holders_.erase(&holder_);
  memory_->total_ -= bytes_;
}

void KeptMemory::Share::add(std::size_t bytes) {
  bytes_ += bytes;
  memory_->total_ += bytes;
  memory_->note_peak();
}

void KeptMemory::Share::remove(std::size_t bytes) {
  bytes_ -= bytes;
  memory_->total_ -= bytes;
}

bool KeptMemory::Claim::more(std::size_t bytes) {
  memory_->total_ += bytes;
  memory_->fit();
  if (memory_->total_ > kMost) {
    memory_->total_ -= bytes;
    return false;
  }
  bytes_ += bytes;
  memory_->note_peak();
  return true;
}

void KeptMemory::note_peak() {
  const std::size_t total = total_;
  if (total > peak_) {
    peak_ = total;
  }
}

void KeptMemory::fit() {
  if (!is_full()) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  while (total_ > kMostRemembered - kSlack) {
    Holder* first = nullptr;
    std::uint64_t oldest = UINT64_MAX;
    for (Holder* const holder : holders_) {
      const auto stamp = holder->oldest();
      if (stamp && *stamp < oldest) {
        oldest = *stamp;
        first = holder;
      }
    }
    if (first == nullptr) {
      return;
    }
    first->drop_oldest();
  }
}

}  // namespace glovebox::keeper
