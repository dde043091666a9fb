// SPDX-License-Identifier: Apache-2.0
// History: the cells that a context has finished, with their outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "context/notebook/notebook.h"
#include "service/api/sandbox_service.h"
#include "service/keeper/kept_memory.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class History final : public KeptMemory::Holder {
 public:
  explicit History(std::shared_ptr<KeptMemory> memory) : share_(std::move(memory), *this) {}
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() = default;

  // What is kept of a cell's source: if it is very long, the beginning and a line that says so.
  static std::string source_to_keep(const std::string& source);

  // Adds a finished cell. Beyond 1,000 cells, or when the sandbox's memory is wanted for something
  // newer, the oldest go.
  void add(glovebox::notebook::Cell cell);

  // Writes a document that begins by saying how many cells are missing, if any are. A sandbox
  // writes one at a time: kExhausted after waiting too long for the others.
  [[nodiscard]] Result<std::string> write(const std::string& language) const;

  [[nodiscard]] std::optional<std::uint64_t> oldest() const override;
  void drop_oldest() override;

 private:
  struct Kept {
    std::shared_ptr<const glovebox::notebook::Cell> cell;
    std::size_t size = 0;
    std::uint64_t stamp = 0;
  };
  void forget_first();

  mutable std::mutex mutex_;
  std::deque<Kept> cells_;
  std::uint64_t dropped_ = 0;
  KeptMemory::Share share_;
};

}  // namespace glovebox::keeper
