#include "tplog/position.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tickstack::tplog {
namespace {

TEST(Position, APublicationIsCompleteWhenTheNextOneBegins) {
  Position position;
  EXPECT_TRUE(position.OnPublished("quote", 10, 4));
  EXPECT_EQ(position.seq(), 0u);
  EXPECT_TRUE(position.OnPublished("trade", 1, 4));
  EXPECT_TRUE(position.OnPublished("quote", 10, 8));
  EXPECT_EQ(position.seq(), 4u);
}

TEST(Position, KnowsWhichRowsOfTheLogAreHere) {
  Position position;
  position.OnPublished("quote", 10, 4);
  position.OnPublished("quote", 7, 8);
  position.OnPublished("quote", 2, 8);
  position.OnPublished("trade", 1, 8);
  ASSERT_EQ(position.seq(), 4u);
  EXPECT_EQ(position.RowsHere("quote", 5), 5u);
  position.OnReplayed();
  EXPECT_EQ(position.RowsHere("other", 5), 0u);
  position.OnReplayed();
  EXPECT_EQ(position.RowsHere("quote", 9), 4u);
  position.OnReplayed();
  EXPECT_EQ(position.RowsHere("trade", 3), 1u);
  position.OnReplayed();
  EXPECT_TRUE(position.OnCaughtUp(8));
  EXPECT_EQ(position.seq(), 8u);
}

TEST(Position, SaysWhenTheLogDoesNotHoldWhatWasPublished) {
  Position position;
  position.OnPublished("quote", 10, 4);
  EXPECT_EQ(position.RowsHere("quote", 6), 6u);
  position.OnReplayed();
  EXPECT_FALSE(position.OnCaughtUp(1));
}

TEST(Position, RefusesNumbersThatGoBack) {
  Position position;
  EXPECT_TRUE(position.OnCaughtUp(5));
  EXPECT_FALSE(position.OnPublished("quote", 1, 5)) << "that is in the log part already";
  EXPECT_TRUE(position.OnPublished("quote", 1, 7));
  EXPECT_FALSE(position.OnPublished("quote", 1, 6));
  EXPECT_TRUE(position.OnPublished("quote", 1, 7));
}

TEST(Position, KnowsTheRowsThatCameAheadOfAPublication) {
  Position position;
  EXPECT_TRUE(position.OnPublished("quote", 10, 4));
  EXPECT_TRUE(position.OnPublished("bars", 3, -1 - 4));
  EXPECT_EQ(position.seq(), 4u) << "the publication before it is whole";
  EXPECT_FALSE(position.OnPublished("quote", 1, 4));
  EXPECT_TRUE(position.OnPublished("quote", 5, 8));
  EXPECT_EQ(position.RowsHere("bars", 4), 3u);
}

// Goal: each row counts once, whatever is lost when. Method: a random log of three tables. The last
// one is published as soon as it is logged, the others in random publications, each cut into
// messages at random. The subscriber loses its connection at random messages, and replays a random
// part of the log before it continues.
TEST(Position, TakesEachRowOnceAcrossAnyLosses) {
  struct Message {
    int table;
    uint64_t rows;
  };
  const std::string names[3] = {"quote", "trade", "bars"};
  constexpr int kAhead = 2;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<Message> log;
    for (size_t i = 0; i < 40; ++i) {
      log.push_back({static_cast<int>(rng() % 3), rng() % 6});
    }
    Position position;
    uint64_t taken[3] = {0, 0, 0};
    uint64_t published = 0;  // Published messages of the log, as the tickerplant counts them.
    while (published < log.size()) {
      // Catch up.
      while (position.seq() < published) {
        const Message& message = log[position.seq()];
        const std::string& name = names[message.table];
        taken[message.table] += message.rows - position.RowsHere(name, message.rows);
        position.OnReplayed();
      }
      ASSERT_TRUE(position.OnCaughtUp(published));
      // Go live, until the connection is lost in the middle of some publication.
      bool lost = false;
      while (published < log.size() && !lost) {
        const uint64_t before = published;
        const uint64_t end = std::min<uint64_t>(log.size(), published + 1 + rng() % 5);
        uint64_t rows[3] = {0, 0, 0};
        for (; published < end && !lost; ++published) {
          const Message& message = log[published];
          if (message.table != kAhead) {
            rows[message.table] += message.rows;
          } else if (message.rows > 0) {
            ASSERT_TRUE(position.OnPublished(names[kAhead], message.rows,
                                             -1 - static_cast<int64_t>(before)));
            taken[kAhead] += message.rows;
            lost = rng() % 8 == 0;
          }
        }
        while (rows[0] + rows[1] > 0 && !lost) {
          const int table = rows[0] > 0 && (rows[1] == 0 || rng() % 2 == 0) ? 0 : 1;
          const uint64_t part = 1 + rng() % rows[table];
          ASSERT_TRUE(position.OnPublished(names[table], part, static_cast<int64_t>(end)));
          taken[table] += part;
          rows[table] -= part;
          lost = rng() % 8 == 0;
        }
      }
      if (!lost) break;
    }
    while (position.seq() < log.size()) {
      const Message& message = log[position.seq()];
      taken[message.table] += message.rows - position.RowsHere(names[message.table], message.rows);
      position.OnReplayed();
    }
    uint64_t expected[3] = {0, 0, 0};
    for (const Message& message : log) expected[message.table] += message.rows;
    ASSERT_EQ(taken[0], expected[0]);
    ASSERT_EQ(taken[1], expected[1]);
    ASSERT_EQ(taken[kAhead], expected[kAhead]);
  }
}

}  // namespace
}  // namespace tickstack::tplog
