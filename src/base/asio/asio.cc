// SPDX-License-Identifier: Apache-2.0
// The code of Boost's Asio and Beast, which their headers then only declare.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
