// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace glovebox::e2b {

struct Gunzip::State {
  explicit State(FileClient::Source from) : source(std::move(from)), input(64 * 1024) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { (void)::inflateEnd(&stream); }

  FileClient::Source source;
  std::vector<char> input;
  z_stream stream{};
  bool ended = false;
};

Gunzip::Gunzip(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gunzip::Gunzip(Gunzip&&) noexcept = default;
Gunzip& Gunzip::operator=(Gunzip&&) noexcept = default;
Gunzip::~Gunzip() = default;

Result<Gunzip> Gunzip::open(FileClient::Source source) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  auto state = std::make_unique<State>(std::move(source));
  if (::inflateInit2(&state->stream, kGzipOnly) != Z_OK) {
    return Error(ErrorCode::kExhausted, "out of memory while decompressing");
  }
  return Gunzip(std::move(state));
}

Result<std::size_t> Gunzip::read(std::span<char> into) {
  z_stream& stream = state_->stream;
  const std::size_t room = std::min<std::size_t>(into.size(), std::numeric_limits<uInt>::max());
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(room);
  while (!state_->ended && stream.avail_out == room) {
    if (stream.avail_in == 0) {
      const std::size_t got = GB_TRY(state_->source(state_->input));
      if (got == 0) {
        return Error(ErrorCode::kInvalid, "the gzip data is truncated");
      }
      stream.next_in = reinterpret_cast<Bytef*>(state_->input.data());
      stream.avail_in = static_cast<uInt>(got);
    }
    const int done = ::inflate(&stream, Z_NO_FLUSH);
    if (done == Z_STREAM_END) {
      state_->ended = true;
    } else if (done != Z_OK) {
      return Error(ErrorCode::kInvalid, "malformed gzip data");
    }
  }
  return room - stream.avail_out;
}

}  // namespace glovebox::e2b
