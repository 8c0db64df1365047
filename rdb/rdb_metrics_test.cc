#include "rdb/rdb_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tickstack::rdb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Longs = std::initializer_list<std::pair<std::string_view, int64_t>>;

Value Dict(Longs entries) {
  SymbolVector names;
  std::vector<int64_t> values;
  for (const auto& [name, value] : entries) {
    names.push_back(name);
    values.push_back(value);
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(values)));
}

Value Tier(int64_t used, int64_t capacity, bool holds_rows, int64_t overflow_used = 0,
           bool passes_on = false) {
  return Value::Table(
      {"tier", "used", "capacity", "holds_rows", "overflow_used", "overflow_capacity", "passes_on"},
      {Value::Symbols({"pmem"}), Value::Longs({used}), Value::Longs({capacity}),
       Value::Longs({holds_rows ? 1 : 0}), Value::Longs({overflow_used}), Value::Longs({50}),
       Value::Longs({passes_on ? 1 : 0})});
}

class RdbReasonsTest : public testing::Test {
 protected:
  serve::Reasons Reasons(bool subscribes = true) const {
    serve::StatusFacts facts;
    facts.answers.push_back({".rdb.stats", stats_});
    facts.answers.push_back({".rdb.stale", stale_});
    facts.answers.push_back({".rdb.blocked", blocked_});
    facts.answers.push_back({".tier.stats", tier_});
    return ReasonsOf(facts, {}, subscribes);
  }
  Value stats_ = Dict({{"connected", 1}, {"live", 1}, {"incomplete", 0}});
  Value stale_ = Dict({});
  Value blocked_ = Value::String("");
  Value tier_ = Tier(80, 100, true);
};

TEST_F(RdbReasonsTest, ALiveRdbWithRoomIsReady) { EXPECT_THAT(Reasons(), IsEmpty()); }

TEST_F(RdbReasonsTest, ATierThatPassesItsRowsOnMayBeFull) {
  tier_ = Tier(100, 100, /*holds_rows=*/true, /*overflow_used=*/0, /*passes_on=*/true);
  EXPECT_THAT(Reasons(), IsEmpty());
}

TEST_F(RdbReasonsTest, ItNeedsATickerplantUnlessItServesALog) {
  stats_ = Dict({{"connected", 0}, {"live", 0}, {"incomplete", 0}});
  EXPECT_THAT(Reasons(), ElementsAre("it is not connected to the tickerplant"));
  EXPECT_THAT(Reasons(/*subscribes=*/false), IsEmpty());
}

TEST_F(RdbReasonsTest, ReadingTheLogIsBeingBehind) {
  stats_ = Dict({{"connected", 1}, {"live", 0}, {"incomplete", 0}});
  EXPECT_THAT(Reasons(), ElementsAre(HasSubstr("it is behind")));
}

TEST_F(RdbReasonsTest, MissingRowsAreCounted) {
  stats_ = Dict({{"connected", 1}, {"live", 0}, {"incomplete", 1}, {"rows_refused", 12}});
  EXPECT_THAT(Reasons(), ElementsAre("today's tables lack rows: messages_missing=0 rows_refused=12 "
                                     "upds_refused=0"));
}

TEST_F(RdbReasonsTest, AStaleTableIsNamed) {
  stale_ = Dict({{"quote", 1500}});
  EXPECT_THAT(Reasons(), ElementsAre("table quote has lacked rows that it refused for 1.50 s"));
}

TEST_F(RdbReasonsTest, ATierWithRowsMayBeFullToItsLimit) {
  tier_ = Tier(81, 100, true);
  EXPECT_THAT(Reasons(),
              ElementsAre("tier pmem is 81 % full: 81 B of 100 B, expected at most 80 %"));
  tier_ = Tier(100, 100, false);
  EXPECT_THAT(Reasons(), IsEmpty()) << "queries may fill their tier";
  tier_ = Tier(80, 100, true, 7);
  EXPECT_THAT(Reasons(),
              ElementsAre("tier pmem was full: 7 B in DRAM, its overflow has at most 50 B"));
  tier_ = Tier(1 << 30, kInfinityLong, true);
  EXPECT_THAT(Reasons(), IsEmpty());
}

TEST_F(RdbReasonsTest, ABlockedDayIsNamedWithItsReason) {
  blocked_ = Value::String("2020.03.09: its log is damaged");
  EXPECT_THAT(Reasons(), ElementsAre("a day is not written until an operator acts: 2020.03.09: its "
                                     "log is damaged"));
}

TEST_F(RdbReasonsTest, ADayThatIsBeingWrittenIsNoReasonButFailedAttemptsAre) {
  stats_ = Dict({{"connected", 1}, {"live", 1}, {"days_kept", 1}, {"day_errors", 0}});
  EXPECT_THAT(Reasons(), IsEmpty());
  stats_ = Dict({{"connected", 1}, {"live", 1}, {"days_kept", 1}, {"day_errors", 2}});
  EXPECT_THAT(Reasons(), ElementsAre("ended days that are not written, or unknown to the hdb: 1"));
}

}  // namespace
}  // namespace tickstack::rdb
