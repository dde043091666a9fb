// SPDX-License-Identifier: Apache-2.0
// Migrations: the steps by which a database of any older version becomes today's.
//
// A released step never changes; any further change becomes a new step.
#pragma once

#include <cstdint>
#include <span>

#include "store/sql.h"

namespace glovebox {

struct Migration {
  std::int64_t number;  // From 1 on, without gaps: the version of the database after this step.
  Sql sql;
};

std::span<const Migration> migrations();

}  // namespace glovebox
