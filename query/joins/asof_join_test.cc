// Goal: every path through the join gives what q's aj gives.
// Method: the same random rows go through the indexes of both sides, of one side, through one
// symbol's rows, and through hashing; each result must equal a join written row by row.

#include "query/joins/asof_join.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

using Times = std::vector<int64_t>;

constexpr int64_t kOpenNs = 434'453'400'000'000'000;  // 2013.10.07D09:30

// The rows of a random trade or quote table; times may go down.
struct TickRows {
  std::vector<std::string> sym;
  Times time;
  std::vector<int64_t> value;
};

// Returns rows at 50 times, so that there are many ties. The times are all in one coarse unit of
// the index, in two, each in its own, or beyond the last one.
TickRows RandomRows(std::mt19937_64& rng, size_t rows, bool sorted, int time_shift) {
  static constexpr const char* kNames[] = {"a", "b", "c", ""};
  TickRows random;
  for (size_t i = 0; i < rows; ++i) {
    random.sym.emplace_back(kNames[rng() % 4]);
    random.time.push_back(static_cast<int64_t>(rng() % 50) << time_shift);
    if (rng() % 40 == 0) random.time.back() = kNullLong;
    random.value.push_back(static_cast<int64_t>(i));
  }
  if (sorted) std::ranges::sort(random.time);
  return random;
}

// Returns rows of three symbols, of which one has nine rows in ten, 50 us apart on average. If they
// are not `sorted`, one row in 1,000 goes back in time.
TickRows ManyRows(std::mt19937_64& rng, size_t rows, bool sorted) {
  TickRows many;
  int64_t ns = kOpenNs;
  for (size_t i = 0; i < rows; ++i) {
    ns += static_cast<int64_t>(rng() % 100'000);
    const bool back = !sorted && rng() % 1000 == 0;
    many.sym.emplace_back(rng() % 10 < 9 ? "a" : rng() % 2 == 0 ? "b" : "c");
    many.time.push_back(back ? ns - 10'000'000 : ns);
    many.value.push_back(static_cast<int64_t>(i));
  }
  return many;
}

Value TableOf(const TickRows& rows, std::string_view value_name) {
  SymbolVector sym;
  for (const std::string& name : rows.sym) sym.push_back(name);
  return Value::Table({"time", "sym", value_name},
                      {Value::Vector(Type::kTimestamp, std::span<const int64_t>(rows.time)),
                       Value::Symbols(std::move(sym)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(rows.value))});
}

// Returns for each left row the last of the latest right rows of its symbol at or before it, unless
// that is older than `max_age`.
std::vector<int64_t> JoinByDefinition(const TickRows& left, const TickRows& right,
                                      std::optional<int64_t> max_age = std::nullopt) {
  std::vector<int64_t> joined;
  for (size_t i = 0; i < left.sym.size(); ++i) {
    int64_t value = kNullLong, best = kNullLong;
    for (size_t j = 0; j < right.sym.size(); ++j) {
      if (right.sym[j] != left.sym[i] || right.time[j] > left.time[i]) continue;
      if (right.time[j] < best) continue;
      best = right.time[j];
      value = right.value[j];
    }
    const bool equal = best == left.time[i];
    const bool old =
        max_age.has_value() && !equal && (best == kNullLong || left.time[i] - best > *max_age);
    joined.push_back(old ? kNullLong : value);
  }
  return joined;
}

TickRows OnlyOf(const TickRows& rows, std::string_view name) {
  TickRows only;
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
  JoinedTables(const TickRows& left, const TickRows& right) {
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

// Returns a number of rows that makes few, none, one, or several blocks of postings and chunks of
// 64 rows.
size_t SomeRows(std::mt19937_64& rng, size_t most) {
  const size_t counts[] = {0, 1, 2, 65};
  const size_t pick = rng() % 12;
  return pick < 4 ? counts[pick] : rng() % most;
}

TEST(AsofJoin, EveryPathAgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const int time_shift = std::array{0, 10, 20, 45}[rng() % 4];
    const TickRows left = RandomRows(rng, SomeRows(rng, 200), rng() % 2 == 0, time_shift);
    const TickRows right = RandomRows(rng, SomeRows(rng, 600), rng() % 2 == 0, time_shift);
    JoinedTables tables(left, right);
    std::string age;
    std::optional<int64_t> max_age;
    if (rng() % 2 == 0) {
      max_age = static_cast<int64_t>(rng() % 20) << time_shift;
      const int64_t seconds = *max_age / 1'000'000'000;
      age = fmt::format(";{}D{:02}:{:02}:{:02}.{:09}", seconds / 86'400, seconds / 3'600 % 24,
                        seconds / 60 % 60, seconds % 60, *max_age % 1'000'000'000);
    }
    const auto bids = [&](std::string_view from_left, std::string_view from_right) {
      return tables.Bids(
          fmt::format("exec bid from aj[`sym`time;{};{}{}]", from_left, from_right, age));
    };
    const std::vector<int64_t> expected = JoinByDefinition(left, right, max_age);
    ASSERT_EQ(bids("t", "q"), expected);
    ASSERT_EQ(bids("vt", "q"), expected);
    ASSERT_EQ(bids("t", "vq"), expected);
    ASSERT_EQ(bids("vt", "vq"), expected);
    ASSERT_EQ(bids("t", "select from q where bid>=0"), expected);
    ASSERT_EQ(bids("select from t where size>=0", "q"), expected);
    const TickRows left_a = OnlyOf(left, "a"), right_a = OnlyOf(right, "a");
    ASSERT_EQ(bids("t", "select sym,time,bid from q where sym=`a"),
              JoinByDefinition(left, right_a, max_age));
    const std::vector<int64_t> of_a = JoinByDefinition(left_a, right_a, max_age);
    ASSERT_EQ(bids("select from t where sym=`a", "select from q where sym=`a"), of_a);
    ASSERT_EQ(bids("select from t where sym=`a", "q"), of_a);
    const size_t some = rng() % 40;
    const std::vector<int64_t> part(
        of_a.begin(), of_a.begin() + static_cast<ptrdiff_t>(std::min(some, of_a.size())));
    ASSERT_EQ(bids(fmt::format("select[{}] from t where sym=`a", some), "q"), part);
  }
}

// Goal: threads change nothing. Method: tables so large that joins are cut into tasks and symbols
// into parts, some with times that go down, on two threads and on one, through the indexes and
// through hashing.
TEST(AsofJoin, IsTheSameOnSeveralThreads) {
  WorkerPool pool(2);
  Limits helped;
  helped.workers = &pool;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    TestEnvironment environment;
    const size_t quotes = seed % 2 == 0 ? 120'000 : 30'000;
    environment.SetValue("vt", TableOf(ManyRows(rng, 60'000, seed < 2), "size"));
    environment.SetValue("vq", TableOf(ManyRows(rng, quotes, seed < 3), "bid"));
    environment.CaptureTable("t", "vt", 4096);
    environment.CaptureTable("q", "vq", 4096);
    for (const std::string_view age : {"", ";0D00:00:00.000100"}) {
      const auto join = [&](std::string_view left, std::string_view right) {
        return fmt::format("aj[`sym`time;{};{}{}]", left, right, age);
      };
      const absl::StatusOr<Value> expected = Evaluate(join("vt", "vq"), environment);
      ASSERT_TRUE(expected.ok());
      for (const auto& [left, right] :
           {std::pair{"t", "q"}, {"t", "vq"}, {"vt", "q"}, {"vt", "vq"}}) {
        EXPECT_TRUE(*Evaluate(join(left, right), environment, helped) == *expected);
      }
      EXPECT_TRUE(*Evaluate(join("t", "q"), environment) == *expected);
      const std::string of_a = join("select from t where sym=`a", "select from q where sym=`a");
      const std::string values = join("select from vt where sym=`a", "select from vq where sym=`a");
      EXPECT_TRUE(*Evaluate(of_a, environment, helped) == *Evaluate(values, environment));
    }
  }
}

TEST(AsofJoin, AMaximumAgeHasTheUnitsOfTheTimes) {
  TestEnvironment environment;
  const auto ask = [&](std::string_view left, std::string_view right, std::string_view age) {
    return environment.Ask(fmt::format(
        "exec v from aj[`t;([]t:enlist {});([]t:enlist {};v:enlist 7);{}]", left, right, age));
  };
  struct Case {
    std::string_view left, right, within, beyond;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"2013.10.07D09:30:05", "2013.10.07D09:30", "0D00:00:05", "0D00:00:04.999999999"},
           {"2013.10.07D09:30:05", "2013.10.07D09:30", "00:00:05", "00:00:04"},
           {"0D09:30", "0D09:25", "00:05", "00:04"},
           {"09:30", "09:25", "5", "4"},
           {"09:30", "09:25", "5i", "4i"},
           {"09:30", "09:25", "0D00:05:59", "0D00:04:59"},
           {"09:30:05", "09:30:00", "5", "00:00:04"},
           {"09:30:05.000", "09:30:00.000", "5000", "00:00:04"},
           {"2013.10.07", "2013.10.05", "2", "0D47:59:59"},
           {"2013.10m", "2013.08m", "2i", "1i"},
           {"2013.10.07T12:00:00.000", "2013.10.06T00:00:00.000", "1.5", "1.25"},
           {"2013.10.07T12:00:00.000", "2013.10.06T00:00:00.000", "1D12:00:00", "1D11:59:59"},
           {"7", "5", "2", "1"},
           {"7h", "5h", "2h", "1"},
           {"7.5", "5.0", "2.5", "2"},
           {"-1.5", "-4.0", "2.5", "2.25"},
           {"7e", "5e", "2", "1"},
           {"7", "5", "0W", "0"},
           {"0W", "-0W", "0W", "5"},
           {"2013.10.07D09:30", "0Np", "0Wn", "1000D00:00:00"},
           {"0Np", "0Np", "0D00:00:00", "-1"},
       }) {
    EXPECT_EQ(ask(c.left, c.right, c.within), ",7") << c.left << " within " << c.within;
    if (c.beyond == "-1") continue;
    EXPECT_EQ(ask(c.left, c.right, c.beyond), ",0N") << c.left << " beyond " << c.beyond;
  }
  for (const Case& c : std::initializer_list<Case>{
           {"2013.10.07D09:30", "", "5", ""},
           {"2013.10.07D09:30", "", "5.0", ""},
           {"0D09:30", "", "5i", ""},
           {"09:30", "", "5.0", ""},
           {"2013.10m", "", "0D00:05", ""},
           {"7", "", "0D00:05", ""},
           {"7", "", "`a", ""},
           {"7", "", "1 2", ""},
           {"7.5", "", "0D00:05", ""},
           {"2013.10.07D09:30", "", "2013.10.07", ""},
       }) {
    EXPECT_EQ(ask(c.left, c.left, c.within), "'type") << c.left << " " << c.within;
  }
  EXPECT_EQ(ask("7", "7", "-1"), "'domain");
  EXPECT_EQ(ask("7", "7", "0N"), "'domain");
  EXPECT_EQ(ask("2013.10.07D09:30", "2013.10.07D09:30", "0Nn"), "'domain");
  EXPECT_EQ(environment.Ask("aj0[`t;([]t:09:30 09:31);([]t:enlist 09:28;v:enlist 7);2]"),
            "([]t:09:28 09:31;v:7 0N)");
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

// Goal: a join costs only what its query names. Method: a bound that holds two columns of the
// result but not three, and answers that need no column at all.
TEST(AsofJoin, GathersOnlyTheColumnsThatSomebodyNames) {
  TestEnvironment environment;
  environment.CaptureTable("q",
                           "([]time:2013.10.07D09:30+til 20000;sym:`a;bid:til 20000;ask:til 20000;"
                           "x:til 20000)");
  environment.CaptureTable("t", "select time,sym,price:bid from q");
  Limits limits;  // A column has 160,000 bytes; matching takes 80,000 and the runs.
  limits.max_result_bytes = 600'000;
  const std::string join = "aj[`sym`time;t;q]";
  EXPECT_EQ(environment.Ask("exec sum bid from " + join, limits), "199990000");
  EXPECT_EQ(environment.Ask("exec sum bid,max bid,last bid from " + join, limits),
            "`bid`bid1`bid2!199990000 19999 19999");
  EXPECT_EQ(environment.Ask("count " + join, limits), "20000");
  EXPECT_EQ(environment.Ask("last " + join, limits),
            "`time`sym`price`bid`ask`x!(2013.10.07D09:30:00.000019999;`a;19999;19999;19999;19999)");
  EXPECT_EQ(environment.Ask("exec (sum bid)+(sum ask)+sum x from " + join, limits), "599970000");
  EXPECT_EQ(environment.Ask("exec (sum bid)+(sum ask)+(sum x)+sum 1*x from " + join, limits),
            "'limit");
  EXPECT_EQ(environment.Ask("count select from " + join + " where bid<5", limits), "5");
  // Gathers only the items of a few rows.
  limits.max_result_bytes = 350'000;
  EXPECT_EQ(environment.Ask("exec (sum ask)+sum x from " + join + " where bid<5", limits), "20");
  EXPECT_EQ(environment.Ask("select[2] price,bid,x from " + join, limits),
            "([]price:0 1;bid:0 1;x:0 1)");
  EXPECT_EQ(environment.Ask("count select ask+x from " + join, limits), "'limit");
}

// Goal: a deferred column answers like the column that it will become, whoever reads it, and twice.
// Method: compares the join with its copy as a value.
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
