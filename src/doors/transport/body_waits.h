// SPDX-License-Identifier: Apache-2.0
// BodyWaits: how many handlers may wait for bytes of a request's body at once.
//
// A client decides how slowly it sends. With a bound below the number of handlers, however many
// such clients there are, some handlers are left for everybody else. When the bound is reached, the
// slowest body is cut off to make room for the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

namespace glovebox::http {

// One body, as far as it has come.
struct BodyProgress {
  int fd = -1;  // Of its connection; open for as long as it waits.
  std::uint64_t bytes = 0;
  std::chrono::steady_clock::time_point since{};
};

// Safe to use from several threads. Outlives its places.
class BodyWaits {
  struct Waiting {
    BodyProgress body;
    bool cut = false;
  };

 public:
  // A body younger than `grace` is not cut off: it has had no time to show how fast it is.
  BodyWaits(std::size_t most, std::chrono::milliseconds grace) : most_(most), grace_(grace) {}
  BodyWaits(const BodyWaits&) = delete;
  BodyWaits& operator=(const BodyWaits&) = delete;

  // Held while a handler waits.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend BodyWaits;
    Place(BodyWaits* waits, std::list<Waiting>::iterator at) : waits_(waits), at_(at) {}
    BodyWaits* waits_;
    std::list<Waiting>::iterator at_;
  };

  // Nothing if young bodies take all places. The handler of a body that is cut off finds its
  // connection shut down.
  std::optional<Place> enter(const BodyProgress& body);

 private:
  const std::size_t most_;
  const std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::list<Waiting> waiting_;
  std::size_t uncut_ = 0;
};

}  // namespace glovebox::http
