// SPDX-License-Identifier: Apache-2.0
// Gunzip: decompresses gzip (RFC 1952) that comes in pieces, in bounded memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "files/file_client.h"

namespace glovebox::e2b {

class Gunzip {
 public:
  // `source` gives the compressed bytes. The output is not bounded: the code that stores it must
  // bound it.
  static Result<Gunzip> open(FileClient::Source source);
  Gunzip(Gunzip&&) noexcept;
  Gunzip& operator=(Gunzip&&) noexcept;
  ~Gunzip();

  // The next plain bytes; 0 at the end. kInvalid if the input is not gzip, or is incomplete.
  Result<std::size_t> read(std::span<char> into);

 private:
  struct State;
  explicit Gunzip(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace glovebox::e2b
