// SPDX-License-Identifier: Apache-2.0
// Asio's coroutines, with what Boost 1.74 forgets to include.
//
// g++ 12 evaluates `co_await` on the right of && and || even where the left decides: each stands in
// a statement of its own.
#pragma once

#include <utility>

// In this order.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

namespace glovebox::egress {

// Has an operation of Asio's awaited, and its failure put into `error` instead of thrown.
inline auto with(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

}  // namespace glovebox::egress
