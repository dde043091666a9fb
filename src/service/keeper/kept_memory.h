// SPDX-License-Identifier: Apache-2.0
// KeptMemory: what the keeper remembers of one sandbox, in bytes of its own memory.
//
// Histories, logs of executions and output that nobody has read are what a guest said, so a guest
// can make as much of it as it likes. A sandbox has a fixed number of bytes for all of it together;
// beyond that, the oldest goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace glovebox::keeper {

// Safe to use from several threads.
class KeptMemory {
 public:
  static constexpr std::size_t kMostRemembered = 32UL << 20;
  // Including what cannot be dropped, because it is on its way to somebody: no more is accepted.
  static constexpr std::size_t kMost = 96UL << 20;
  // The least that a holder drops at once, if it has that much.
  static constexpr std::size_t kPiece = 256UL << 10;

  // Keeps something, and can drop the oldest of it. Its functions are called from any thread; they
  // may wait for the holder's own lock, but must not call anything of KeptMemory except
  // Share::remove() and stamp().
  class Holder {
   public:
    // The stamp of the oldest that it may drop; nothing when there is none.
    [[nodiscard]] virtual std::optional<std::uint64_t> oldest() const = 0;
    virtual void drop_oldest() = 0;

   protected:
    ~Holder() = default;
  };

  // What one holder keeps. A member of the holder, declared after all that the holder's two
  // functions use.
  class Share {
   public:
    Share(std::shared_ptr<KeptMemory> memory, Holder& holder);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

    void add(std::size_t bytes);
    void remove(std::size_t bytes);
    // Has the oldest dropped until all fits. To be called after add(), without the holder's lock.
    void fit() { memory_->fit(); }
    [[nodiscard]] KeptMemory& memory() const { return *memory_; }

   private:
    const std::shared_ptr<KeptMemory> memory_;
    Holder& holder_;
    std::atomic<std::size_t> bytes_ = 0;
  };

  // Bytes of what is being made; given back at its end. One thread.
  class Claim {
   public:
    explicit Claim(std::shared_ptr<KeptMemory> memory) : memory_(std::move(memory)) {}
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { memory_->total_ -= bytes_; }

    // False when there is no room for that many more.
    bool more(std::size_t bytes);

   private:
    const std::shared_ptr<KeptMemory> memory_;
    std::size_t bytes_ = 0;
  };

  // Later ones are larger.
  [[nodiscard]] std::uint64_t stamp() { return ++last_stamp_; }
  // If so, holders that can wait with more should.
  [[nodiscard]] bool is_full() const { return total_ > kMostRemembered; }
  // The most that it ever was.
  [[nodiscard]] std::size_t peak() const { return peak_; }

  // Guards what takes a large multiple of what is kept, such as a notebook as text.
  [[nodiscard]] std::timed_mutex& rendering() { return rendering_; }

 private:
  void fit();
  void note_peak();

  std::atomic<std::size_t> total_ = 0;
  std::atomic<std::size_t> peak_ = 0;
  std::atomic<std::uint64_t> last_stamp_ = 0;
  std::timed_mutex rendering_;
  std::mutex mutex_;  // Of what follows; taken before any holder's own.
  std::set<Holder*> holders_;
};

}  // namespace glovebox::keeper
