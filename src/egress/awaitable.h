// SPDX-License-Identifier: Apache-2.0
// Asio's coroutines, with what Boost 1.74 forgets to include.
//
// g++ 12 evaluates `co_await` on the right of && and || even if the left side decides, so each
// `co_await` needs a statement of its own.
#pragma once

#include <utility>

// In this order.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

namespace glovebox::egress {

// Makes an Asio operation awaitable, and puts its failure into `error` instead of throwing it.
inline auto with(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

}  // namespace glovebox::egress
