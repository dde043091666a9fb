// SPDX-License-Identifier: Apache-2.0
#include "base/sys/alarm.h"

#include <gtest/gtest.h>

#include <thread>

namespace glovebox::sys {
namespace {

using namespace std::chrono_literals;

TEST(AlarmTest, RingsAtOnceWhereItsTimeHasPassed) {
  const Alarm alarm;
  alarm.set(Alarm::Clock::time_point::min());
  alarm.wait();
  alarm.set(Alarm::Clock::now());
  alarm.wait();
}

TEST(AlarmTest, DoesNotRingBefore) {
  const Alarm alarm;
  const auto when = Alarm::Clock::now() + 20ms;
  alarm.set(when);
  alarm.wait();
  EXPECT_GE(Alarm::Clock::now(), when);
}

TEST(AlarmTest, IsBroughtForwardWhileSomebodyWaits) {
  const Alarm alarm;
  alarm.set(Alarm::Clock::time_point::max());
  std::jthread waiting([&alarm] { alarm.wait(); });
  alarm.set(Alarm::Clock::now());
}

}  // namespace
}  // namespace glovebox::sys
