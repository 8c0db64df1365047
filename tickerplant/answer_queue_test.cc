#include "tickerplant/answer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::tickerplant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns an answer that is told apart by its value.
AnswerQueue::Waiting Answer(uint64_t connection, uint64_t upds, int64_t value) {
  return {connection, upds, {{}, std::nullopt, Value::Long(value)}};
}

std::vector<int64_t> ValuesOf(const std::vector<AnswerQueue::Waiting>& answers) {
  std::vector<int64_t> values;
  for (const AnswerQueue::Waiting& waiting : answers) {
    values.push_back(waiting.answer.value->as<int64_t>());
  }
  return values;
}

TEST(AnswerQueue, AnswersInOrderWhenTheRowsAreLogged) {
  AnswerQueue queue;
  queue.Add(Answer(1, 3, 10));
  queue.Add(Answer(2, 3, 20));
  queue.Add(Answer(1, 4, 30));
  EXPECT_THAT(ValuesOf(queue.TakeLogged(2)), IsEmpty());
  EXPECT_THAT(ValuesOf(queue.TakeLogged(3)), ElementsAre(10, 20));
  EXPECT_THAT(ValuesOf(queue.TakeLogged(3)), IsEmpty()) << "each is taken once";
  EXPECT_THAT(ValuesOf(queue.TakeLogged(9)), ElementsAre(30));
  EXPECT_EQ(queue.size(), 0u);
}

// Goal: a request that stages nothing stays behind the ones before it. Method: it names no upd of
// its own, but the last one that was staged.
TEST(AnswerQueue, KeepsAnAnswerWithoutRowsBehindTheOnesBeforeIt) {
  AnswerQueue queue;
  queue.Add(Answer(1, 5, 10));
  queue.Add(Answer(1, 5, 11));
  EXPECT_THAT(ValuesOf(queue.TakeLogged(4)), IsEmpty());
  EXPECT_THAT(ValuesOf(queue.TakeLogged(5)), ElementsAre(10, 11));
  // Rows that were all logged before need no logging.
  queue.Add(Answer(1, 5, 12));
  EXPECT_THAT(ValuesOf(queue.TakeLogged(5)), ElementsAre(12));
}

TEST(AnswerQueue, KnowsWhoseAnswersWait) {
  AnswerQueue queue;
  EXPECT_FALSE(queue.Has(1));
  queue.Add(Answer(1, 1, 10));
  queue.Add(Answer(2, 2, 20));
  EXPECT_TRUE(queue.Has(1));
  EXPECT_TRUE(queue.Has(2));
  EXPECT_FALSE(queue.Has(3));
  queue.TakeLogged(1);
  EXPECT_FALSE(queue.Has(1));
  EXPECT_TRUE(queue.Has(2));
}

TEST(AnswerQueue, DropsTheAnswersOfAConnectionThatHasEnded) {
  AnswerQueue queue;
  queue.Add(Answer(1, 1, 10));
  queue.Add(Answer(2, 1, 20));
  queue.Add(Answer(1, 2, 11));
  queue.Add(Answer(3, 2, 30));
  queue.OnConnectionGone(1);
  queue.OnConnectionGone(4);
  EXPECT_FALSE(queue.Has(1));
  EXPECT_THAT(ValuesOf(queue.TakeLogged(2)), ElementsAre(20, 30));
}

TEST(AnswerQueue, KeepsTheReceiptOfAFeed) {
  AnswerQueue queue;
  AnswerQueue::Waiting asked = Answer(1, 1, 0);
  asked.receipt = Receipt{"f", /*claims=*/true};
  queue.Add(std::move(asked));
  queue.Add(Answer(1, 1, 0));
  const std::vector<AnswerQueue::Waiting> logged = queue.TakeLogged(1);
  ASSERT_EQ(logged.size(), 2u);
  ASSERT_TRUE(logged[0].receipt.has_value());
  EXPECT_EQ(logged[0].receipt->feed, "f");
  EXPECT_TRUE(logged[0].receipt->claims);
  EXPECT_FALSE(logged[1].receipt.has_value());
}

TEST(AnswerQueueDeathTest, HasItsAnswersInTheOrderOfTheirRows) {
  AnswerQueue queue;
  queue.Add(Answer(1, 2, 10));
  EXPECT_DEATH(queue.Add(Answer(2, 1, 20)), "waiting_.back");
}

}  // namespace
}  // namespace tickstack::tickerplant
