// SPDX-License-Identifier: Apache-2.0
// FairShares: a fixed amount of something that many owners use.
//
// An owner may hold a part of what the others leave, so whatever some take, the next owner finds
// something: with a half, the first can have 1/2, a second 1/4, a third 1/8 of it all.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox::http {

// Safe to use from any thread. Outlives its shares.
class FairShares {
  using Held = std::map<std::string, std::size_t, std::less<>>;

 public:
  // An owner may hold one in `parts` of what the others leave, and always at least one.
  FairShares(std::size_t total, std::size_t parts) : total_(total), parts_(parts) {}
  FairShares(const FairShares&) = delete;
  FairShares& operator=(const FairShares&) = delete;

  // Given back at its end.
  class Share {
   public:
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

   private:
    friend FairShares;
    Share(FairShares* shares, Held::iterator at, std::size_t amount)
        : shares_(shares), at_(at), amount_(amount) {}
    FairShares* shares_;
    Held::iterator at_;
    std::size_t amount_;
  };

  // Nothing when the owner would hold too much, or when too little is left.
  std::optional<Share> take(std::string_view owner, std::size_t amount = 1);
  // Whether take() of one would succeed now.
  [[nodiscard]] bool has_room(std::string_view owner) const;

 private:
  [[nodiscard]] bool fits(std::size_t held, std::size_t amount) const;

  const std::size_t total_;
  const std::size_t parts_;
  mutable std::mutex mutex_;
  Held held_;  // Without owners that hold nothing.
  std::size_t used_ = 0;
};

}  // namespace glovebox::http
