// SPDX-License-Identifier: Apache-2.0
// Gunzip: undoes gzip of what comes in pieces (RFC 1952), in bounded memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "files/file_client.h"

namespace glovebox::e2b {

class Gunzip {
 public:
  // `source` gives the compressed bytes. What comes out is not bounded: who stores it bounds it.
  static Result<Gunzip> open(FileClient::Source source);
  Gunzip(Gunzip&&) noexcept;
  Gunzip& operator=(Gunzip&&) noexcept;
  ~Gunzip();

  // The next plain bytes; 0 at the end. kInvalid when they are not gzip, or not the whole of one.
  Result<std::size_t> read(std::span<char> into);

 private:
  struct State;
  explicit Gunzip(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace glovebox::e2b
