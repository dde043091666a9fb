// SPDX-License-Identifier: Apache-2.0
// Migrations: the steps by which a database of any older version becomes today's.
//
// A step that was ever released is never changed; what is to be different becomes a new step.
#pragma once

#include <cstdint>
#include <span>

#include "store/sql.h"

namespace glovebox {

struct Migration {
  std::int64_t number;  // From 1 on, without a gap: the version of the database after it.
  Sql sql;
};

std::span<const Migration> migrations();

}  // namespace glovebox
