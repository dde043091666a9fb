// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/history.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/json/json.h"
#include "context/notebook/write.h"

namespace glovebox::keeper {
namespace {

namespace nb = glovebox::notebook;

constexpr std::size_t kMostCells = 1'000;
constexpr std::size_t kMostSource = 1UL << 20;
// Of a document: escapes make it longer than what it holds, and it must fit in one message.
constexpr std::size_t kMostText = 48UL << 20;
constexpr std::chrono::seconds kPatience{10};

// What a cell takes of our memory: output in short pieces costs more than its bytes.
std::size_t size_of(const nb::Cell& cell) {
  std::size_t size = sizeof(nb::Cell) + cell.source.size();
  for (const nb::Output& output : cell.outputs) {
    size += sizeof(nb::Output) + output.name.size() + output.text.size() + output.metadata.size();
    for (const std::string& line : output.traceback) {
      size += sizeof line + line.size();
    }
    for (const auto& [mime, value] : output.data) {
      size += sizeof mime + sizeof value + mime.size() + value.size();
    }
  }
  return size;
}

// As text with escapes, whether JSON or HTML: an upper bound that is cheap to compute.
std::size_t written_size(std::string_view text) {
  std::size_t size = 0;
  for (const char letter : text) {
    const bool plain = static_cast<unsigned char>(letter) >= 0x20 && letter != '"' &&
                       letter != '&' && letter != '<' && letter != '>' && letter != '\'' &&
                       letter != '\\' && letter != '\x7f';
    size += plain ? 1 : letter == '\n' ? 8 : 6;
  }
  return size;
}

std::size_t written_size(const nb::Cell& cell) {
  std::size_t size = written_size(cell.source);
  for (const nb::Output& output : cell.outputs) {
    size += written_size(output.text) + output.metadata.size();
    for (const std::string& line : output.traceback) {
      size += written_size(line);
    }
    for (const auto& [mime, value] : output.data) {
      size += written_size(value);
    }
  }
  return size;
}

using Cells = std::vector<std::shared_ptr<const nb::Cell>>;

nb::Notebook document(const Cells& cells, std::uint64_t dropped, const std::string& language) {
  nb::Notebook notebook;
  notebook.metadata =
      nlohmann::json{{"kernelspec", {{"name", language}, {"display_name", language}}},
                     {"language_info", {{"name", language}}}}
          .dump();
  if (dropped > 0) {
    nb::Cell& note = notebook.cells.emplace_back();
    note.kind = nb::Cell::Kind::kMarkdown;
    note.source = "*" + std::to_string(dropped) +
                  (dropped == 1 ? " earlier cell is" : " earlier cells are") + " no longer kept.*";
  }
  for (const auto& cell : cells) {
    notebook.cells.push_back(*cell);
  }
  return notebook;
}

}  // namespace

std::string History::source_to_keep(const std::string& source) {
  if (source.size() <= kMostSource) {
    return source;
  }
  return source.substr(0, kMostSource) + "\n[" + to_string(Bytes{source.size() - kMostSource}) +
         " more of this source not kept]\n";
}

void History::add(nb::Cell cell) {
  const std::size_t size = size_of(cell);
  {
    const std::scoped_lock lock(mutex_);
    if (cells_.size() >= kMostCells) {
      forget_first();
    }
    cells_.push_back({.cell = std::make_shared<const nb::Cell>(std::move(cell)),
                      .size = size,
                      .stamp = share_.memory().stamp()});
    share_.add(size);
  }
  share_.fit();
}

Result<std::string> History::write(const std::string& language) const {
  const std::unique_lock turn(share_.memory().rendering(), kPatience);
  if (!turn) {
    return Error(ErrorCode::kExhausted, "other notebooks of this sandbox are being written",
                 "request one notebook at a time");
  }
  Cells cells;
  std::uint64_t dropped = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (const Kept& kept : cells_) {
      cells.push_back(kept.cell);
    }
    dropped = dropped_;
  }
  // Most of what cannot fit is not even written.
  std::size_t expected = 0;
  auto first = cells.end();
  while (first != cells.begin() && expected <= kMostText) {
    --first;
    expected += written_size(**first);
  }
  if (expected > kMostText && first != cells.end() - 1) {
    ++first;
  }
  dropped += static_cast<std::uint64_t>(first - cells.begin());
  cells.erase(cells.begin(), first);
  for (;;) {
    const nb::Notebook notebook = document(cells, dropped, language);
    std::string text = nb::write_notebook(notebook);
    if (text.size() <= kMostText || cells.empty()) {
      return text;
    }
    const std::size_t half = (cells.size() + 1) / 2;
    cells.erase(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(half));
    dropped += half;
  }
}

std::optional<std::uint64_t> History::oldest() const {
  const std::scoped_lock lock(mutex_);
  return cells_.empty() ? std::nullopt : std::optional(cells_.front().stamp);
}

void History::drop_oldest() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t freed = 0; !cells_.empty() && freed < KeptMemory::kPiece;) {
    freed += cells_.front().size;
    forget_first();
  }
}

void History::forget_first() {
  share_.remove(cells_.front().size);
  cells_.pop_front();
  ++dropped_;
}

}  // namespace glovebox::keeper
