// SPDX-License-Identifier: Apache-2.0
#include "sandbox/out_of_memory.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(OutOfMemoryTest, TakesTheRuntimesWordsAndUsedMemoryTogether) {
  EXPECT_TRUE(gave_up_on_memory("java.lang.OutOfMemoryError: Java heap space", 160_MiB, 256_MiB));
  EXPECT_TRUE(gave_up_on_memory("terminate called ... 'std::bad_alloc'", 256_MiB, 256_MiB));
  EXPECT_FALSE(gave_up_on_memory("java.lang.OutOfMemoryError", 20_MiB, 256_MiB));
  EXPECT_FALSE(gave_up_on_memory("java.lang.OutOfMemoryError", std::nullopt, 256_MiB));
  EXPECT_FALSE(gave_up_on_memory("java.lang.ArithmeticException", 256_MiB, 256_MiB));
}

}  // namespace
}  // namespace glovebox
