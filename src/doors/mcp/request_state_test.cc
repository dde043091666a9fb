// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/request_state.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::mcp {
namespace {

TEST(RequestStateTest, OpensWhatItSigned) {
  const RequestState states;
  for (const std::string& state :
       {std::string("tool:1"), std::string(), std::string("\0\xff", 2)}) {
    EXPECT_EQ(states.open(states.sign(state)), state);
  }
}

TEST(RequestStateTest, RefusesWhatWasChangedOrMadeElsewhere) {
  const RequestState states;
  const std::string signed_state = states.sign("tool:1");
  const std::size_t dot = signed_state.find('.');
  EXPECT_FALSE(states.open(states.sign("tool:2").substr(0, dot) + signed_state.substr(dot)));
  EXPECT_FALSE(states.open(signed_state.substr(0, signed_state.size() - 1)));
  EXPECT_FALSE(states.open(signed_state.substr(0, dot + 1)));
  EXPECT_FALSE(states.open(""));
  EXPECT_FALSE(states.open(RequestState().sign("tool:1")));
}

}  // namespace
}  // namespace glovebox::mcp
