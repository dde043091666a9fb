// SPDX-License-Identifier: Apache-2.0
#include "audit/query.h"

#include "audit/journal_directory.h"

namespace glovebox::audit {
namespace {

class QueryTest : public JournalDirectory {
 protected:
  Page page(const Query& query) {
    const UniqueFd directory = open_directory(path_).value();
    return read_page(directory.get(), query).value();
  }
};

TEST_F(QueryTest, PagesTogetherAreAllRecordsInOrder) {
  write(50, {.segment_size = 4096});
  std::vector<std::uint64_t> numbers;
  Query query{.limit = 7};
  for (;;) {
    const Page each = page(query);
    for (const Record& record : each.records) {
      numbers.push_back(record.number);
    }
    if (!each.next) {
      break;
    }
    query.after = *each.next;
  }
  ASSERT_EQ(numbers.size(), check().last);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], i + 1);
  }
}

TEST_F(QueryTest, ATenantSeesItsOwnRecordsAlone) {
  write(20);
  const Page own = page({.tenant = "odd"});
  EXPECT_EQ(own.records.size(), 10);
  for (const Record& record : own.records) {
    EXPECT_EQ(record.entry.tenant, "odd");
  }
  EXPECT_TRUE(page({.tenant = "nobody"}).records.empty());
  EXPECT_TRUE(page({.tenant = "od"}).records.empty()) << "a part of a name is no name";
}

TEST_F(QueryTest, ActionsAreFoundByNameOrByKind) {
  write(5);
  EXPECT_EQ(page({.action = "sandbox.create"}).records.size(), 5);
  EXPECT_EQ(page({.action = "sandbox"}).records.size(), 5);
  EXPECT_TRUE(page({.action = "sand"}).records.empty());
  EXPECT_EQ(page({.sandbox = "sb3"}).records.size(), 1);
}

TEST_F(QueryTest, TheNewestComeFromAllSegments) {
  write(50, {.segment_size = 4096});
  const Page last = page({.newest = 30, .action = "sandbox"});
  ASSERT_EQ(last.records.size(), 30);
  EXPECT_EQ(last.records.front().entry.sandbox, "sb20");
  EXPECT_EQ(last.records.back().entry.sandbox, "sb49");
}

}  // namespace
}  // namespace glovebox::audit
