// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tasks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glovebox::mcp {
namespace {

constexpr std::chrono::minutes kLong{1};

Caller caller_of(std::string tenant, std::string key) {
  Caller caller;
  caller.tenant = std::move(tenant);
  caller.key = std::move(key);
  return caller;
}

class TasksTest : public ::testing::Test {
 protected:
  // Done at once.
  static Reply at_once(const Call&) { return Json{{"content", Json::array()}}; }
  // Until it is canceled.
  static Reply asking(const Call& call) {
    (void)call.ask("elicitation/create", Json::object());
    return Json::object();
  }

  std::shared_ptr<Task> begin(const Caller& caller,
                              Task::Work work,
                              std::chrono::milliseconds time_to_live = kLong) {
    Message message{.kind = Message::Kind::kRequest, .id = 1, .method = "tools/call"};
    const Call call(message, std::string(kStateless), Params::object(), caller, conversation_,
                    cancellation_, {.send = [](std::string_view) {}});
    auto task = tasks_.begin(call, time_to_live, std::move(work));
    if (task) {
      task->detach();
    }
    return task;
  }

  // Until it is over or asks.
  void wait(const Task& task) const { task.wait(cancellation_, Task::Clock::now() + kLong); }

  Conversation conversation_{false};
  Cancellation cancellation_;
  Tasks tasks_;
  const Caller one_ = caller_of("tenant", "one");
};

TEST_F(TasksTest, ATaskIsItsKeysAlone) {
  const auto task = begin(one_, at_once);
  EXPECT_EQ(tasks_.find(one_, task->id()), task);
  for (const Caller& other : {caller_of("tenant", "two"), caller_of("other", "one")}) {
    EXPECT_EQ(tasks_.find(other, task->id()), nullptr);
    EXPECT_TRUE(tasks_.all(other).empty());
  }
  EXPECT_EQ(tasks_.find(one_, ""), nullptr);
}

TEST_F(TasksTest, WhoseTimeIsOverIsGoneEvenIfItWorks) {
  const auto task = begin(one_, asking, std::chrono::milliseconds(0));
  wait(*task);
  EXPECT_EQ(tasks_.find(one_, task->id()), nullptr);
  EXPECT_EQ(task->state().status, Task::Status::kInputRequired);  // As long as somebody holds it.
}

TEST_F(TasksTest, AnAnswerGoesToTheQuestionThatItNames) {
  const auto task = begin(one_, [](const Call& call) -> Reply {
    const auto answer = call.ask("elicitation/create", Json::object());
    return Json{{"said", answer ? text_member(*answer, "said").value_or("") : "nothing"}};
  });
  wait(*task);
  const Task::State asks = task->state();
  ASSERT_EQ(asks.questions.size(), 1U);
  const std::string id = asks.questions.front().id;
  task->answer("another", {{"said", "no"}});
  EXPECT_TRUE(task->asks(id));
  task->answer(id, {{"said", "yes"}});
  EXPECT_FALSE(task->asks(id));
  wait(*task);
  const Task::State done = task->state();
  EXPECT_EQ(done.status, Task::Status::kCompleted);
  EXPECT_EQ(std::get<Json>(*done.reply)["said"], "yes");
  EXPECT_GT(task->changes(), 2U);
}

TEST_F(TasksTest, ACanceledTaskStaysCanceledWhateverItsWorkReturns) {
  const auto task = begin(one_, asking);
  wait(*task);
  task->cancel();
  EXPECT_EQ(task->state().status, Task::Status::kCanceled);
  EXPECT_TRUE(task->state().questions.empty());
  EXPECT_EQ(task->state().reply, nullptr);
  task->cancel();
}

TEST_F(TasksTest, ATenantsTasksUnderWayAreBoundedAndOthersFindRoom) {
  std::vector<std::shared_ptr<Task>> held;
  for (std::size_t i = 0; i < Tasks::kMostAtWorkOfTenant; ++i) {
    held.push_back(begin(one_, asking));
    ASSERT_NE(held.back(), nullptr);
  }
  EXPECT_EQ(begin(caller_of("tenant", "two"), asking), nullptr);
  EXPECT_NE(begin(caller_of("other", "one"), asking), nullptr);
  wait(*held.front());
  held.front()->cancel();
  EXPECT_NE(begin(one_, asking), nullptr);
}

TEST_F(TasksTest, TheOldestThatAreOverMakeRoomForNewOnes) {
  const auto works = begin(one_, asking);
  const auto first = begin(one_, at_once);
  for (std::size_t i = 0; i < Tasks::kMostOfTenant; ++i) {
    const auto task = begin(one_, at_once);
    ASSERT_NE(task, nullptr);
    wait(*task);
  }
  EXPECT_EQ(tasks_.find(one_, first->id()), nullptr);
  EXPECT_NE(tasks_.find(one_, works->id()), nullptr);
  EXPECT_LE(tasks_.all(one_).size(), Tasks::kMostOfTenant);
}

TEST_F(TasksTest, WorkThatThrowsHasFailed) {
  const auto task = begin(one_, [](const Call&) -> Reply { throw std::bad_alloc(); });
  wait(*task);
  EXPECT_EQ(task->state().status, Task::Status::kFailed);
  EXPECT_FALSE(task->state().note.empty());
}

}  // namespace
}  // namespace glovebox::mcp
