// Goal: the join means what q's aj means, whatever path it takes.
// Method: the kernel against its definition on random short columns; then whole joins, where the
// same random rows go through the index, through one symbol's rows, and through hashing, and each
// result must equal a join written row by row.

#include "query/asof_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "query/testing.h"
#include "table/posting_testing.h"

namespace tickstack::query {
namespace {

using Times = std::vector<int64_t>;

Times AscendingTimes(std::mt19937_64& rng, size_t most, int64_t span) {
  Times times(rng() % (most + 1));
  for (int64_t& time : times) time = static_cast<int64_t>(rng() % static_cast<uint64_t>(span));
  std::ranges::sort(times);
  return times;
}

std::vector<uint32_t> Prevailing(const Times& trade_ns, const Times& quote_ns) {
  std::vector<uint32_t> prevailing(trade_ns.size());
  EXPECT_TRUE(AsofMatch(trade_ns, quote_ns, prevailing).ok());
  return prevailing;
}

std::vector<uint32_t> PrevailingByDefinition(const Times& trade_ns, const Times& quote_ns) {
  std::vector<uint32_t> prevailing;
  for (const int64_t now : trade_ns) {
    uint32_t last = kNoRow;
    for (uint32_t i = 0; i < quote_ns.size(); ++i) {
      if (quote_ns[i] <= now) last = i;
    }
    prevailing.push_back(last);
  }
  return prevailing;
}

TEST(AsofMatch, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Times trade_ns = AscendingTimes(rng, 20, 30), quote_ns = AscendingTimes(rng, 40, 30);
    ASSERT_EQ(Prevailing(trade_ns, quote_ns), PrevailingByDefinition(trade_ns, quote_ns));
  }
}

TEST(AsofMatch, AgreesWithTheDefinitionWhereTradesAreSparse) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Times trade_ns = AscendingTimes(rng, 5, 5'000),
                quote_ns = AscendingTimes(rng, 3'000, 5'000);
    ASSERT_EQ(Prevailing(trade_ns, quote_ns), PrevailingByDefinition(trade_ns, quote_ns));
  }
}

// Goal: coarse times change nothing. Method: trades and quotes in few coarse units, at the borders
// of units, beyond both ends of the clock, null and infinite.
TEST(AsofMatch, OfPostingsAgreesWithTheDefinition) {
  constexpr int64_t kBaseNs = 434'419'200'000'000'000;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Times trade_ns = TimesForTest(rng, kBaseNs, 30), quote_ns = TimesForTest(rng, kBaseNs, 100);
    std::ranges::sort(trade_ns);
    std::ranges::sort(quote_ns);
    const PostingsForTest quotes(quote_ns, kBaseNs);
    std::vector<uint32_t> prevailing(trade_ns.size());
    ASSERT_TRUE(AsofMatch(trade_ns, quotes.run(), quotes.times(), prevailing).ok());
    ASSERT_EQ(prevailing, PrevailingByDefinition(trade_ns, quote_ns));
  }
}

TEST(AsofMatch, TakesNullsAndInfinitiesAsTimes) {
  EXPECT_EQ(Prevailing({kNullLong, 0, kInfinityLong}, {kNullLong, kInfinityLong}),
            (std::vector<uint32_t>{0, 0, 1}));
}

TEST(AsofMatch, RefusesResultsOfAnotherCount) {
  std::vector<uint32_t> prevailing = {7};
  EXPECT_FALSE(AsofMatch({}, {}, prevailing).ok());
  EXPECT_EQ(prevailing[0], 7u);
}

// Rows of a random trade or quote table; times may go down.
struct Rows {
  std::vector<std::string> sym;
  Times time;
  std::vector<int64_t> value;
};

// Of 50 times, so that ties are many: all in one coarse unit of the index, in two, each in its own,
// or beyond the last one.
Rows RandomRows(std::mt19937_64& rng, size_t rows, bool sorted, int time_shift) {
  static constexpr const char* kNames[] = {"a", "b", "c", ""};
  Rows random;
  for (size_t i = 0; i < rows; ++i) {
    random.sym.emplace_back(kNames[rng() % 4]);
    random.time.push_back(static_cast<int64_t>(rng() % 50) << time_shift);
    if (rng() % 40 == 0) random.time.back() = kNullLong;
    random.value.push_back(static_cast<int64_t>(i));
  }
  if (sorted) std::ranges::sort(random.time);
  return random;
}

Value TableOf(const Rows& rows, std::string_view value_name) {
  SymbolVector sym;
  for (const std::string& name : rows.sym) sym.push_back(name);
  return Value::Table({"time", "sym", value_name},
                      {Value::Vector(Type::kTimestamp, std::span<const int64_t>(rows.time)),
                       Value::Symbols(std::move(sym)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(rows.value))});
}

// For each left row: of the right rows of its symbol at or before it, the last of the latest.
std::vector<int64_t> JoinByDefinition(const Rows& left, const Rows& right) {
  std::vector<int64_t> joined;
  for (size_t i = 0; i < left.sym.size(); ++i) {
    int64_t value = kNullLong, best = kNullLong;
    for (size_t j = 0; j < right.sym.size(); ++j) {
      if (right.sym[j] != left.sym[i] || right.time[j] > left.time[i]) continue;
      if (right.time[j] < best) continue;
      best = right.time[j];
      value = right.value[j];
    }
    joined.push_back(value);
  }
  return joined;
}

Rows OnlyOf(const Rows& rows, std::string_view name) {
  Rows only;
  for (size_t i = 0; i < rows.sym.size(); ++i) {
    if (rows.sym[i] != name) continue;
    only.sym.push_back(rows.sym[i]);
    only.time.push_back(rows.time[i]);
    only.value.push_back(rows.value[i]);
  }
  return only;
}

class JoinedTables {
 public:
  JoinedTables(const Rows& left, const Rows& right) {
    environment_.SetValue("vt", TableOf(left, "size"));
    environment_.SetValue("vq", TableOf(right, "bid"));
    environment_.CaptureTable("t", "vt");
    environment_.CaptureTable("q", "vq");
  }
  std::vector<int64_t> Bids(std::string_view join) {
    const absl::StatusOr<Value> bids = Evaluate(join, environment_);
    if (!bids.ok()) {
      ADD_FAILURE() << join << ": " << bids.status();
      return {};
    }
    const std::span<const int64_t> span = bids->span<int64_t>();
    return {span.begin(), span.end()};
  }

 private:
  TestEnvironment environment_;
};

TEST(AsofJoin, EveryPathAgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const int time_shift = std::array{0, 10, 20, 45}[rng() % 4];
    const Rows left = RandomRows(rng, rng() % 200, rng() % 2 == 0, time_shift);
    const Rows right = RandomRows(rng, rng() % 400, rng() % 2 == 0, time_shift);
    JoinedTables tables(left, right);
    const std::vector<int64_t> expected = JoinByDefinition(left, right);
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;t;q]"), expected);
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;vt;q]"), expected);
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;t;vq]"), expected);
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;t;select from q where bid>=0]"), expected);
    const Rows right_a = OnlyOf(right, "a");
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;t;select sym,time,bid from q where sym=`a]"),
              JoinByDefinition(left, right_a));
    ASSERT_EQ(tables.Bids("exec bid from aj[`sym`time;select from t where sym=`a;"
                          "select from q where sym=`a]"),
              JoinByDefinition(OnlyOf(left, "a"), right_a));
  }
}

TEST(AsofJoin, MatchesSeveralKeys) {
  TestEnvironment environment;
  EXPECT_EQ(environment.Ask("exec v from aj[`a`b`t;([]a:1 1 2;b:`x`y`x;t:5 5 5);"
                            "([]a:1 1 2 1;b:`y`x`x`x;t:1 2 3 9;v:10 20 30 40)]"),
            "20 10 30");
}

TEST(AsofJoin, JoinsOnTimesOfEveryType) {
  TestEnvironment environment;
  for (const char* times : {"1 3h", "1 3i", "1 3", "1 3e", "-1.5 3f", "09:30 09:31",
                            "2013.10.07 2013.10.08", "2013.10m 2013.11m", "\"ac\"", "0x0103"}) {
    const std::string table = std::string("([]t:") + times + ";v:1 2)";
    EXPECT_EQ(environment.Ask("exec v from aj[`t;select t from " + table + ";" + table + "]"),
              "1 2")
        << times;
  }
}

TEST(AsofJoin, KeepsTheLeftValueOfACommonColumnWhereNoRowWasFound) {
  TestEnvironment environment;
  EXPECT_EQ(environment.Ask("aj[`k`t;([]k:1 2;t:5 5;v:10 20;n:`l`l);([]k:,2;t:,5;v:,0N;n:,`r)]"),
            "'nyi: ,");
  EXPECT_EQ(environment.Ask("aj[`k`t;([]k:1 2;t:5 5;v:10 20;n:`l`l);"
                            "([]k:enlist 2;t:enlist 5;v:enlist 0N;n:enlist `r)]"),
            "([]k:1 2;t:5 5;v:10 0N;n:`l`r)");
}

// Goal: what a join costs is what its query names. Method: a bound that holds two columns of the
// result, and not three; and answers that need no column at all.
TEST(AsofJoin, GathersOnlyTheColumnsThatSomebodyNames) {
  TestEnvironment environment;
  environment.CaptureTable("q",
                           "([]time:til 20000;sym:`a;bid:til 20000;ask:til 20000;x:til 20000)");
  environment.CaptureTable("t", "select time,sym,price:bid from q");
  Limits limits;  // A column is 160,000 bytes; matching takes less than seven of them.
  limits.max_result_bytes = 1'400'000;
  const std::string join = "aj[`sym`time;select from t where time>=0;q]";
  EXPECT_EQ(environment.Ask("exec sum bid from " + join, limits), "199990000");
  EXPECT_EQ(environment.Ask("exec sum bid,max bid,last bid from " + join, limits),
            "`bid`bid1`bid2!199990000 19999 19999");
  EXPECT_EQ(environment.Ask("count " + join, limits), "20000");
  EXPECT_EQ(environment.Ask("last " + join, limits),
            "`time`sym`price`bid`ask`x!(19999;`a;19999;19999;19999;19999)");
  EXPECT_EQ(environment.Ask("exec (sum bid)+(sum ask)+(sum x)+sum price from " + join, limits),
            "'limit");
  EXPECT_EQ(environment.Ask("count select from " + join + " where bid<5", limits), "5");
}

// Goal: a deferred column is the column that it stands for, whoever looks at it, and twice. Method:
// the join as it is against its copy as a value.
TEST(AsofJoin, DeferredColumnsAnswerLikeCopiedOnes) {
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const std::string join :
       {"aj[`sym`time;trade;quote]", "aj0[`sym`time;select from trade where sym=`bac;quote]",
        "aj[`sym`time;select from vtrade where price>14;vquote]",
        "aj[`sym`time;trade;select time,sym,price:bid,bsize from quote where bid<48.4]",
        "aj[`sym`time;aj[`sym`time;select[1 2] from trade;quote];select time,sym,ask,px:2*bid from "
        "quote]"}) {
    SCOPED_TRACE(join);
    const absl::StatusOr<Value> copy = Evaluate(join, environment);
    ASSERT_TRUE(copy.ok()) << copy.status();
    environment.SetValue("j", *copy);
    for (const std::string query :
         {"select from %", "% 1", "%[`sym]", "%`price`time", "%[2 0 7]", "first %", "last %",
          "count %", "cols %", "exec t from meta %", "exec bsize from %",
          "exec last price,sum price from %", "select sum price,max price,n:count i by sym from %",
          "select by sym from %", "select price,2*price from % where price>48", "select[-1] from %",
          "select x:price from % where price in 14 48.25",
          "aj[`sym`time;select time,sym from trade;%]", "aj[`sym`time;%;quote]"}) {
      std::string deferred = query, copied = query;
      deferred.replace(deferred.find('%'), 1, join);
      copied.replace(copied.find('%'), 1, "j");
      EXPECT_EQ(environment.Ask(deferred), environment.Ask(copied)) << query;
    }
  }
}

}  // namespace
}  // namespace tickstack::query
