// SPDX-License-Identifier: Apache-2.0
// CallBudget: how many calls may be under way, for each sandbox, for each tenant, and in all.
//
// A call holds a thread and a socket of the keeper's, or a socket alone. A tenant that fills its
// share is refused before threads or descriptors run out for the others, and calls that end
// something have room of their own: a tenant with too much under way can always stop it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace glovebox::keeper {

// Safe to use from several threads; must outlive each Place.
class CallBudget {
 public:
  struct Bounds {
    std::size_t all = 2'048;
    std::size_t of_tenant = 1'024;
    std::size_t of_sandbox = 512;
    std::size_t reserve = 256;  // Beside `all`, for calls that end something;
    std::size_t reserve_of_tenant = 64;
  };

  explicit CallBudget(Bounds bounds) : bounds_(bounds) {}

  // Held while a call is under way.
  class Place {
   public:
    Place(Place&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          tenant_(std::move(other.tenant_)),
          sandbox_(std::move(other.sandbox_)),
          reserved_(other.reserved_) {}
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend class CallBudget;
    Place(CallBudget* budget, std::string_view tenant, std::string_view sandbox, bool reserved)
        : budget_(budget), tenant_(tenant), sandbox_(sandbox), reserved_(reserved) {}

    CallBudget* budget_;
    std::string tenant_;
    std::string sandbox_;
    bool reserved_;
  };

  // A call of this tenant, to this sandbox; either may be empty, and is then not counted.
  // kExhausted when a share is used up.
  Result<Place> enter(std::string_view tenant, std::string_view sandbox);
  // A call that ends something. Without a tenant: one of the daemon's own.
  Result<Place> enter_reserve(std::string_view tenant);

 private:
  using Counts = std::map<std::string, std::size_t, std::less<>>;
  void leave(const Place& place);

  const Bounds bounds_;
  std::mutex mutex_;
  std::size_t all_ = 0;
  std::size_t reserved_ = 0;
  Counts tenants_;  // Without those that have none.
  Counts sandboxes_;
  Counts reserved_of_;  // Tenants.
};

}  // namespace glovebox::keeper
