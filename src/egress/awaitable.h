// SPDX-License-Identifier: Apache-2.0
// Asio's coroutines, with what Boost 1.74 forgets to include.
//
// g++ 12 evaluates `co_await` on the right of && and || even where the left decides: each stands in
// a statement of its own.
#pragma once

#include <utility>

// In this order.
#include <boost/asio/awaitable.hpp>
