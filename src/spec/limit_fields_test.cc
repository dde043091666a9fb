// SPDX-License-Identifier: Apache-2.0
#include "spec/limit_fields.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/members.h"

namespace glovebox {
namespace {

TEST(LimitFieldsTest, EveryLimitAndEveryWishIsInTheList) {
  std::size_t wishes = 0;
  each_wish([&](const auto& field) {
    EXPECT_TRUE(field.wish != nullptr);
    ++wishes;
  });
  EXPECT_EQ(std::tuple_size_v<decltype(kLimitFields)>, count_of_members<Limits>());
  EXPECT_EQ(wishes, count_of_members<LimitWishes>());
}

TEST(LimitFieldsTest, NamesAreUnique) {
  std::set<std::string> names;
  std::set<std::string> records;
  each_limit([&](const auto& field) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(records.insert(field.record).second) << field.record;
  });
}

TEST(LimitFieldsTest, AWishReplacesItsLimitAndNoOther) {
  each_wish([](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    LimitWishes wishes;
    wishes.*field.wish = Value(1);
    Limits expected;
    expected.*field.limit = Value(1);
    EXPECT_EQ(wishes.over(Limits{}), expected) << field.name;
  });
}

TEST(LimitFieldsTest, AWishComesBeforeThatOfTheBase) {
  each_wish([](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    LimitWishes mine;
    LimitWishes base;
    base.*field.wish = Value(2);
    EXPECT_EQ(mine.over(base), base) << field.name;
    mine.*field.wish = Value(1);
    EXPECT_EQ(mine.over(base), mine) << field.name;
  });
}

}  // namespace
}  // namespace glovebox
