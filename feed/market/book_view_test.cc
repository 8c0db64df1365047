#include "feed/market/book_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "feed/market/event_testing.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;

PriceLevel Coins(double price, double amount) { return {price, kNullLong, amount}; }

class BookViewTest : public testing::Test {
 protected:
  std::vector<std::string> Replace(const std::vector<PriceLevel>& bids,
                                   const std::vector<PriceLevel>& asks) {
    EventTexts events;
    view_.Replace(bids, asks, {}, events);
    return events.texts;
  }

  BookView view_;
};

TEST_F(BookViewTest, SendsWhatChanged) {
  EXPECT_THAT(Replace({Coins(10.2, 5), Coins(10.1, 7)}, {Coins(10.3, 0.5)}),
              ElementsAre("quote bid=10.2 ask=10.3 bamount=5 aamount=0.5",
                          "level side=B price=10.2 incomplete amount=5",
                          "level side=B price=10.1 incomplete amount=7",
                          "level side=S price=10.3 amount=0.5"));
  EXPECT_THAT(
      Replace({Coins(10.2, 5), Coins(10.0, 7)}, {Coins(10.3, 0.5)}),
      ElementsAre("level side=B price=10.1 incomplete amount=0", "level side=B price=10 amount=7"));
  EXPECT_THAT(Replace({Coins(10.2, 5), Coins(10.0, 7)}, {Coins(10.3, 0.5)}), ElementsAre());
  EXPECT_THAT(Replace({Coins(10.2, 4), Coins(10.0, 7)}, {}),
              ElementsAre("quote bid=10.2 bamount=4", "level side=B price=10.2 incomplete amount=4",
                          "level side=S price=10.3 amount=0"));
}

TEST_F(BookViewTest, SizesStaySizes) {
  EXPECT_THAT(Replace({{10.2, 5}}, {}),
              ElementsAre("quote bid=10.2 bsize=5", "level side=B price=10.2 size=5"));
  EXPECT_THAT(Replace({{10.3, 5}}, {}),
              ElementsAre("quote bid=10.3 bsize=5", "level side=B price=10.3 size=5 incomplete",
                          "level side=B price=10.2 size=0"));
}

TEST(BookView, KnowsTheOrderOfLevels) {
  const std::vector<PriceLevel> rising = {{1, 1}, {2, 1}}, falling = {{2, 1}, {1, 1}},
                                twice = {{2, 1}, {2, 1}};
  EXPECT_TRUE(BookView::AreInOrder(falling, 'B'));
  EXPECT_TRUE(BookView::AreInOrder(rising, 'S'));
  EXPECT_FALSE(BookView::AreInOrder(rising, 'B'));
  EXPECT_FALSE(BookView::AreInOrder(falling, 'S'));
  EXPECT_FALSE(BookView::AreInOrder(twice, 'B'));
  EXPECT_FALSE(BookView::AreInOrder(twice, 'S'));
}

// Applies levels to a book, by definition.
class AppliedBook final : public EventSink {
 public:
  void On(const Level& e) override {
    std::map<double, int64_t>& side = e.side == 'B' ? bids : asks;
    if (e.size == 0) {
      EXPECT_EQ(side.erase(e.price), 1u);
    } else {
      EXPECT_NE(side[e.price], e.size);
      side[e.price] = e.size;
    }
    complete = e.complete;
  }
  void On(const Quote& e) override { bid = e.bid; }
  void On(const Trade& /*event*/) override {}
  void On(const TradeBreak& /*event*/) override {}
  void On(const Order& /*event*/) override {}
  void On(const Status& /*event*/) override {}
  void On(const Auction& /*event*/) override {}
  void On(const Instrument& /*event*/) override {}
  void On(const Gap& /*event*/) override {}
  void On(const Bar& /*event*/) override {}
  void On(const Statistic& /*event*/) override {}

  std::map<double, int64_t> bids, asks;
  bool complete = true;
  double bid = kNullPrice;
};

// Goal: the levels lead from each view to the next. Method: random views of few prices, whose
// levels are applied to a map; each must change something.
TEST(BookView, LevelsLeadFromEachViewToTheNext) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    BookView view;
    AppliedBook book;
    for (int step = 0; step < 50; ++step) {
      std::map<double, int64_t> bids, asks;
      for (size_t n = rng() % 6; n > 0; --n) bids[static_cast<double>(rng() % 8)] = 1 + rng() % 3;
      for (size_t n = rng() % 6; n > 0; --n) asks[static_cast<double>(rng() % 8)] = 1 + rng() % 3;
      std::vector<PriceLevel> bid_levels, ask_levels;
      for (auto at = bids.rbegin(); at != bids.rend(); ++at) {
        bid_levels.push_back({at->first, at->second});
      }
      for (const auto& [price, size] : asks) ask_levels.push_back({price, size});
      view.Replace(bid_levels, ask_levels, {}, book);
      ASSERT_EQ(book.bids, bids);
      ASSERT_EQ(book.asks, asks);
      ASSERT_TRUE(book.complete);
      if (bids.empty()) continue;
      ASSERT_EQ(book.bid, bids.rbegin()->first);
    }
  }
}

}  // namespace
}  // namespace tickstack::feed::market
