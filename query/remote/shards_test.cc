// Goal: a query over a table whose symbols are spread over shards gives the answer that one process
// with all rows would give, or an error if this answer depends on an unknown order of rows. Method:
// each shard is two environments, one with past days and one with the last day; queries that are
// drawn at random, and a list of unusual ones, are compared with one environment that has all rows.
// TICKSTACK_SEED sets the seed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "query/columns/errors.h"
#include "query/query.h"
#include "query/remote/remote_table.h"
#include "query/testing.h"
#include "tests/support/environment.h"

namespace tickstack::query {
namespace {

// Rows whose symbols are spread over shards: each has past days, partitioned by symbol, and last
// days in order of time. On each day a symbol is in one shard, which one is drawn for each day.
class ShardedProcesses : public TestEnvironment {
 public:
  static constexpr int kSymbols = 8;
  static constexpr int32_t kFirstDay = 8766;  // 2024.01.01
  static constexpr int32_t kPastDays = 3, kToday = kFirstDay + kPastDays;

  // `times_ascend`: those of the last day do. `ties`: always two rows of one time.
  ShardedProcesses(std::mt19937_64& random, size_t count, bool times_ascend, bool ties = false)
      : shards_(count) {
    std::vector<std::string> all_days, whole_last;
    for (int32_t day = kFirstDay; day <= kToday; ++day) {
      std::vector<size_t> shard_of(kSymbols);
      for (size_t& shard : shard_of) shard = random() % count;
      std::vector<Row> rows;
      for (int i = 0; i < 40; ++i) {
        const int time = ties ? i / 2 : i;
        rows.push_back({times_ascend || day < kToday ? time : static_cast<int>(random() % 1000),
                        static_cast<int>(random() % kSymbols), random() % 400, random() % 1000});
      }
      const bool past = day < kToday;
      if (past) std::ranges::stable_sort(rows, {}, &Row::sym);
      for (size_t k = 0; k < count; ++k) {
        std::vector<Row> own;
        for (const Row& row : rows) {
          if (shard_of[static_cast<size_t>(row.sym)] == k) own.push_back(row);
        }
        auto& of = past ? shards_[k].past_rows : shards_[k].last_rows;
        of.push_back(TextOf(day, own, past));
      }
      all_rows_.push_back(TextOf(day, rows, true));
      if (!past) {
        today_.CaptureTable("trade", TextOf(day, rows, false));
        shard_of_ = shard_of;
      }
    }
    one_.CaptureTable("trade", Razed(all_rows_));
    std::vector<int> all(kSymbols);
    std::iota(all.begin(), all.end(), 0);
    today_.CaptureTable("close", TextOfKeyed(all));
    for (size_t k = 0; k < count; ++k) {
      std::vector<int> own;
      for (const int sym : all) {
        if (ShardOfToday(sym) == k) own.push_back(sym);
      }
      for (const char* const name : {"close", "close@2024.01.04"}) {
        shards_[k].last.CaptureTable(name, TextOfKeyed(own));
      }
    }
    for (Shard& shard : shards_) {
      shard.past.CaptureTable("trade", Razed(shard.past_rows));
      shard.last.CaptureTable("trade", shard.last_rows[0]);
      shard.last.CaptureTable("trade@" + FormatDate(kToday), shard.last_rows[0]);
    }
  }

  std::shared_ptr<const RemoteTable> FindRemote(std::string_view name) override {
    const bool known = name == "trade" || name == "close" || name == "ids";
    return known ? std::make_shared<const Trade>(*this, std::string(name)) : nullptr;
  }

  static std::string NameOf(int sym) { return std::string(1, static_cast<char>('A' + sym)); }
  TestEnvironment& one() { return one_; }
  TestEnvironment& today() { return today_; }
  size_t ShardOfToday(int sym) const { return shard_of_[static_cast<size_t>(sym)]; }
  // From now on the shard answers no question; if `unknown`, it has not answered any.
  void End(size_t shard, bool unknown) { (unknown ? unknown_ : down_) = shard; }
  // From now on the shard has fallen silent before today began.
  void MissToday(size_t shard) { before_today_ = shard; }
  size_t asked() const { return asked_; }

 private:
  struct Row {
    int time, sym;
    size_t price, size;
  };
  struct Shard {
    TestEnvironment past, last;
    std::vector<std::string> past_rows, last_rows;
  };

  static std::string TextOf(int32_t day, const std::vector<Row>& rows, bool with_date) {
    std::string date, time, sym, price, size;
    for (const Row& row : rows) {
      date += FormatDate(day) + " ";
      time += fmt::format("{} ", row.time * 1'000'000'000LL);
      sym += "`" + NameOf(row.sym);
      price += fmt::format("{} ", static_cast<double>(row.price) * 0.25);
      size += fmt::format("{} ", row.size);
    }
    const bool none = rows.empty();
    return fmt::format("([]{}time:`timespan$(),{};sym:(0#`),{};price:`float${};size:`long${})",
                       with_date ? fmt::format("date:`date$(),{};", none ? "()" : date) : "",
                       none ? "()" : time, none ? "()" : sym, none ? "()" : price,
                       none ? "()" : size);
  }
  // A table with a key: two dates of each symbol.
  static std::string TextOfKeyed(const std::vector<int>& symbols) {
    std::string sym, date, price;
    for (const int symbol : symbols) {
      sym += fmt::format("`{0}`{0}", NameOf(symbol));
      date += "2024.01.04 2024.01.03 ";
      price += fmt::format("{} {} ", symbol, symbol + 100);
    }
    const bool none = symbols.empty();
    return fmt::format("([sym:(0#`),{};date:`date${}]price:`long${})", none ? "()" : sym,
                       none ? "()" : date, none ? "()" : price);
  }
  static std::string Razed(const std::vector<std::string>& tables) {
    std::string text;
    for (const std::string& table : tables) text += (text.empty() ? "" : ",") + table;
    return text;
  }

  class Trade final : public RemoteTable {
   public:
    Trade(ShardedProcesses& of, std::string name, size_t shard)
        : name_(std::move(name)), of_(of), shard_(shard) {}
    Trade(ShardedProcesses& of, std::string name) : name_(std::move(name)), of_(of) {
      for (size_t i = 0; i < of.shards_.size(); ++i) {
        shards_.push_back(std::make_unique<Trade>(of, name_, i));
      }
    }
    const std::string& name() const override { return name_; }
    bool IsOn(Side side) const override { return name_ == "trade" || side == Side::kLast; }
    std::vector<std::string> Columns(Side) const override {
      if (name_ == "close") return {"sym", "price"};
      if (name_ == "ids") return {"id", "sym"};
      return {"time", "sym", "price", "size"};
    }
    std::vector<std::string> LastColumns() const override {
      if (name_ == "close") return {"sym", "date", "price"};
      return Columns(Side::kLast);
    }
    size_t KeyColumns() const override { return name_ == "close" ? 2 : name_ == "ids" ? 1 : 0; }
    std::span<const int32_t> Days(Side side) const override {
      if (side == Side::kLast && shard_ == of_.before_today_) return {};
      if (!IsOn(side)) return {};
      return side == Side::kPast ? past_days_ : last_days_;
    }
    absl::Status StatusOf(int32_t day) const override {
      return shard_ == of_.before_today_ && day > past_days_.back()
                 ? absl::UnavailableError("shard is silent")
                 : absl::OkStatus();
    }
    size_t DaysOfOne(Side, std::span<const int32_t> days) const override { return days.size(); }
    absl::StatusOr<Value> Ask(Side side, std::span<const int32_t>, Value tree,
                              const Limits& limits) const override {
      ++of_.asked_;
      if (shard_ == of_.down_) return absl::UnavailableError("shard is down");
      std::vector<Value> request;
      request.push_back(Value::String("eval"));
      request.push_back(std::move(tree));
      Shard& shard = of_.shards_[shard_];
      return EvaluateRequest(Value::List(std::move(request)),
                             side == Side::kPast ? shard.past : shard.last, limits);
    }
    std::vector<const RemoteTable*> Shards() const override {
      std::vector<const RemoteTable*> shards;
      for (const auto& shard : shards_) shards.push_back(shard.get());
      return shards;
    }
    std::string_view ShardColumn() const override { return "sym"; }
    std::optional<size_t> ShardOf(std::string_view symbol) const override {
      const auto number = static_cast<size_t>(symbol[0] - 'A');
      return number < kSymbols ? of_.shard_of_[number] : 0;
    }
    absl::Status status() const override {
      return shard_ == of_.unknown_ ? absl::UnavailableError("shard is unknown") : absl::OkStatus();
    }

   private:
    const std::string name_;
    const std::vector<int32_t> past_days_ = {kFirstDay, kFirstDay + 1, kFirstDay + 2};
    const std::vector<int32_t> last_days_ = {kToday};
    ShardedProcesses& of_;
    size_t shard_ = SIZE_MAX;
    std::vector<std::unique_ptr<Trade>> shards_;
  };

  std::deque<Shard> shards_;
  std::vector<size_t> shard_of_;  // Today, by symbol.
  std::vector<std::string> all_rows_;
  TestEnvironment one_, today_;
  size_t down_ = SIZE_MAX, unknown_ = SIZE_MAX, asked_ = 0;
  std::optional<size_t> before_today_;
};

class ShardsTest : public testing::Test {
 protected:
  std::string OneOf(std::initializer_list<const char*> texts) {
    return *(texts.begin() + random_() % texts.size());
  }

  // Draws a query. `ordered`: its result may depend on the order of the rows of different symbols.
  std::string Draw(bool ordered, bool* of_today) {
    const std::string dates =
        OneOf({"", "", "date=2024.01.04", "date>2023.12.31", "date within 2024.01.02 2024.01.03",
               "date in 2024.01.01 2024.01.04", "date=2030.01.01", "date=max date"});
    std::string conditions = dates;
    for (int i = 0; i < 2; ++i) {
      const std::string next =
          OneOf({"", "", "", "sym=`A", "sym in `A`C`F", "`B=sym", "sym in 0#`", "price>50",
                 "sym<>`A", "size within 100 600", "(price>50)|sym=`A", "sym=`nobody"});
      if (!next.empty()) conditions += (conditions.empty() ? "" : ",") + next;
    }
    if (ordered && random_() % 4 == 0) {
      const std::string next = OneOf({"price=max price", "price>(avg;price) fby sym",
                                      "sym=first sym", "size=(last;size) fby sym"});
      conditions += (conditions.empty() ? "" : ",") + next;
    }
    const std::string aggregate =
        ordered ? OneOf({"first price", "last size", "sum deltas size", "first time", "last sym",
                         "{first x}[price]", "count i", "sum price-prev price"})
                : OneOf({"count i", "sum size", "max price", "avg price", "size wavg price",
                         "dev size", "med price", "count distinct sym", "(max price)-min price",
                         "2*sum size", "any price>90"});
    const std::string by_symbol =
        OneOf({"first price", "last size", "sum deltas size", "last time", "{last x}[size]",
               "count i", "max price", "price", "a:first price,b:sum size"});
    const std::string without_group =
        ordered ? OneOf({"select ", "select[3] ", "select[-3] ", "select[4;>size] ", "exec "}) +
                      OneOf({"time,sym,price", "sym,size,mid:price*2", "sym", "sums size"})
                : OneOf({"select ", "exec "}) + aggregate;
    *of_today = dates.empty();
    const std::string where = conditions.empty() ? "" : " where " + conditions;
    switch (random_() % 4) {
      case 0:
        return "select " + by_symbol + " by sym from trade" + where;
      case 1:
        return "select " + by_symbol +
               OneOf({" by sym,size>500", " by s:sym", " by 0D00:00:10 xbar time,sym"}) +
               " from trade" + where;
      case 2:
        return "select a:" + aggregate +
               OneOf({"", " by size>500", " by 0D00:00:10 xbar time", " by 3 mod size"}) +
               " from trade" + where;
      default:
        return without_group + " from trade" + where;
    }
  }

  const uint64_t seed_ = NumberFromEnvironment("TICKSTACK_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
};

TEST_F(ShardsTest, AnswersAreThoseOfOneProcess) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  for (int i = 0; i < 60; ++i) {
    ShardedProcesses shards(random_, 2 + random_() % 2, /*times_ascend=*/true);
    for (int k = 0; k < 40; ++k) {
      bool of_today = false;
      const std::string query = Draw(/*ordered=*/true, &of_today);
      const std::string expected = (of_today ? shards.today() : shards.one()).Ask(query);
      EXPECT_EQ(shards.Ask(query), expected) << query;
    }
    for (const char* const query :
         {"trade", "select from trade", "count trade", "5#trade", "-5#trade", "cols trade",
          "update price:0f from trade where sym=`A", "select count distinct sym from trade",
          "exec distinct sym from trade", "aj[`sym`time;trade;select time,sym,size from trade]",
          "s:`A`C;exec sum size from trade where sym in s", "delete from trade where sym=`B",
          "update a:sums size from trade", "delete from trade where i<5",
          "update a:sums size by sym from trade"}) {
      EXPECT_EQ(shards.Ask(query), shards.today().Ask(query)) << query;
    }
    for (const char* const query :
         {"asc exec s from select distinct s:sym from trade", "select from trade where sym in 0#`",
          "select from trade where sym=`A,sym=`B",
          "select from trade where sym in exec distinct sym from trade where price>1e9",
          "select count i from trade where sym in 0#`", "update x:1 from trade where sym in 0#`"}) {
      EXPECT_EQ(shards.Ask(query), shards.today().Ask(query)) << query;
    }
    if (HasFailure()) return;
  }
}

TEST_F(ShardsTest, AnOrderThatIsNotKnownIsAnError) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  size_t errors = 0, answers = 0;
  for (int i = 0; i < 60; ++i) {
    ShardedProcesses shards(random_, 2 + random_() % 2, /*times_ascend=*/false);
    for (int k = 0; k < 40; ++k) {
      bool of_today = false;
      const bool ordered = random_() % 2 == 0;
      const std::string query = Draw(ordered, &of_today);
      const std::string found = shards.Ask(query);
      if (found.starts_with("'nyi: the order of rows")) {
        EXPECT_TRUE(ordered) << query << ": " << found;
        ++errors;
        continue;
      }
      // The few rows that meet conditions may ascend by chance, and are merged.
      if (ordered) continue;
      EXPECT_EQ(found, (of_today ? shards.today() : shards.one()).Ask(query)) << query;
      ++answers;
    }
    for (const char* const query :
         {"`sym`time`price`size xasc select from trade", "`sym xasc trade", "`sym xdesc trade",
          "`sym`time xasc update price:2*price from trade where sym=`A",
          "asc exec price from trade", "count select from trade where price>50",
          "exec count i from trade where sym in exec sym from trade where price>50",
          "max exec size from trade", "`sym xasc delete from trade where sym=`A",
          "{`sym xasc select sym,size from trade}[]",
          "t:`sym xasc select from trade;select last price by sym from t"}) {
      EXPECT_EQ(shards.Ask(query), shards.today().Ask(query)) << query;
    }
    const char* const sums = "update a:sums size from trade";
    EXPECT_THAT(shards.Ask(sums), testing::AnyOf(testing::StartsWith("'nyi: the order of rows"),
                                                 shards.today().Ask(sums)));
    if (HasFailure()) return;
  }
  EXPECT_GT(errors, 100u);
  EXPECT_GT(answers, 100u);
}

// Goal: rows in the order of the shards are an answer, but nothing is made of them. Method: what
// depends on their order is right or an error; the answer itself has the same rows.
TEST_F(ShardsTest, RowsInTheOrderOfShardsAreOnlyAnswers) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  size_t errors = 0;
  for (int i = 0; i < 40; ++i) {
    const bool ties = i % 2 == 1;
    ShardedProcesses shards(random_, 2 + random_() % 2, /*times_ascend=*/ties, ties);
    for (const char* const query : {"last exec size from trade",
                                    "exec last size from select from trade",
                                    "last trade.size",
                                    "first trade",
                                    "-2#trade",
                                    "t:trade;exec last size from t",
                                    "`size xdesc trade",
                                    "group exec sym from trade",
                                    "exec last size from trade",
                                    "-3#select distinct sym from trade",
                                    "exec first sym from select distinct sym from trade",
                                    "raze string exec sym from trade",
                                    "{x}[trade]",
                                    "exec last size from {select from trade}[]",
                                    "t:select from trade;last t",
                                    "`sym xasc select size,sym:first sym from trade",
                                    "last value \"trade\"",
                                    "`time xasc trade",
                                    "exec last x from update x:2*size from trade",
                                    "(trade;1)",
                                    "aj[`time;trade;select time,size from trade]",
                                    "first{trade}[]",
                                    "{[n]r:last trade;$[n;r;.z.s 1b]}[0b]",
                                    "last`sym xasc trade lj([size:til 1000]sym:1000#`Q)",
                                    "last`sym xasc trade ij([size:til 1000]sym:1000#`Q)",
                                    "last`sym xasc aj[`time;trade;select time,sym from trade]",
                                    "last aj[`sym`time;trade]([]sym:`A`B;time:2#0D01;bid:1 2)",
                                    "select a:distinct sym,b:distinct size from trade",
                                    "last`sym xasc select sym:size,sym,price from trade",
                                    "([]sym:1#`X;date:2024.01.04)lj update sym:`X from close",
                                    "select from trade where price=last price",
                                    "select sym,size from trade where size=(last;size) fby size>9",
                                    "`sym xasc update x:max size by differ sym from trade",
                                    "`price xasc exec price from trade"}) {
      const std::string found = shards.Ask(query), right = shards.today().Ask(query);
      if (found.starts_with("'nyi: the order of rows")) {
        ++errors;
      } else {
        EXPECT_EQ(found, right) << query;
      }
    }
    for (const char* const query :
         {"trade", "select from trade", "select sym,price from trade where price>50", "n:1;trade",
          "update price:2*price from trade", "delete from trade where price>50",
          "{select from trade}[]", "{[p]q:2*p;select from trade where price>q}[20]",
          "select distinct sym,time,price,size from trade", "exec price from trade",
          "aj[`sym`time;trade;select sym,time,bid:size from trade]"}) {
      const auto sorted = [query](TestEnvironment& process) {
        const absl::StatusOr<Value> rows = Evaluate(query, process);
        TestEnvironment with_rows;
        if (!rows.ok()) return "'" + QErrorText(rows.status());
        with_rows.SetValue("rows", *rows);
        return with_rows.Ask("asc `$.Q.s1 each rows");
      };
      const std::string right = sorted(shards.today());
      EXPECT_FALSE(right.starts_with("'")) << query << ": " << right;
      EXPECT_EQ(sorted(shards), right) << query;
    }
  }
  EXPECT_GT(errors, 100u);
}

// Goal: a query that has one result for any order of the rows is answered. Method: rows whose order
// is not known.
TEST_F(ShardsTest, WhatNeedsNoOrderIsAnswered) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  for (int i = 0; i < 20; ++i) {
    ShardedProcesses shards(random_, 2 + random_() % 2, /*times_ascend=*/false);
    for (const char* const query :
         {"exec count i from trade where size=max size",
          "select sum size by sym from trade where size>avg size",
          "exec sum size from trade where size=(max;size) fby sym,price>10",
          "exec max price from trade where size=(max;size) fby size>500",
          "select s:sum size by g:size>500 from trade where size>2*avg size,size<>min size",
          "`sym xasc select sym,size,flag:1b from trade where size>avg size",
          "`sym xasc delete from trade where size<avg size",
          "`sym xasc update x:size-max size from trade where size>avg size",
          "`sym xasc update x:size-max size by size>500 from trade",
          "([]sym:`A`B;date:2024.01.04)lj close", "type select from close",
          "type select from trade", "cols select from trade where size>avg size",
          "count select from trade", "count select from trade where size>avg size",
          "count select price from trade where sym in `A`B", "count exec sym from trade",
          "count select from close", "count select sym from close where price>3"}) {
      const std::string right = shards.today().Ask(query);
      EXPECT_FALSE(right.starts_with("'")) << query << ": " << right;
      EXPECT_EQ(shards.Ask(query), right) << query;
    }
  }
}

TEST_F(ShardsTest, OnlyTheShardsOfTheSymbolsAreAsked) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  ShardedProcesses shards(random_, 3, /*times_ascend=*/true);
  const auto asked = [&shards](std::string_view query) {
    const size_t before = shards.asked();
    shards.Ask(query);
    return shards.asked() - before;
  };
  EXPECT_EQ(asked("select from trade where sym=`A"), 1u);
  EXPECT_EQ(asked("s:`A;select from trade where price>1,sym=s"), 1u);
  EXPECT_EQ(asked("select max price from trade where date=2024.01.04,sym in enlist`A"), 1u);
  EXPECT_EQ(asked("select max price from trade where date=2024.01.03,sym=`A"), 3u);
  EXPECT_EQ(asked("select max price from trade where date>=2024.01.03,sym=`A"), 4u);
  EXPECT_EQ(asked("select max price from trade"), 3u);
  EXPECT_EQ(asked("select from trade where price=max price,sym=`A"), 3u);
}

TEST_F(ShardsTest, AShardThatIsDownIsMissedOnlyByQueriesThatNeedIt) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  for (const bool unknown : {false, true}) {
    ShardedProcesses shards(random_, 2, /*times_ascend=*/true);
    const size_t down = shards.ShardOfToday(0);
    shards.End(down, unknown);
    const std::string error = unknown ? "'shard is unknown" : "'shard is down";
    for (const char* const query :
         {"select from trade", "select max price by sym from trade",
          "select from trade where sym=`A", "select max price from trade where date=2024.01.03",
          "select from trade where date>=2024.01.03"}) {
      EXPECT_EQ(shards.Ask(query), error) << query;
    }
    for (int sym = 1; sym < ShardedProcesses::kSymbols; ++sym) {
      for (const char* const query :
           {"select from trade where sym=`{}",
            "select max price from trade where date=2024.01.04,sym=`{}"}) {
        const std::string text = fmt::format(fmt::runtime(query), ShardedProcesses::NameOf(sym));
        const std::string found = shards.Ask(text);
        if (shards.ShardOfToday(sym) == down) {
          EXPECT_EQ(found, error) << text;
        } else {
          EXPECT_FALSE(found.starts_with("'")) << text << ": " << found;
        }
      }
    }
  }
}

TEST_F(ShardsTest, AShardThatIsSilentSinceTheDayBeforeIsNotTakenForOneWithoutRows) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  ShardedProcesses shards(random_, 2, /*times_ascend=*/true);
  shards.MissToday(shards.ShardOfToday(0));
  for (const char* const query :
       {"exec count i from trade where date=last date", "select from trade where date>2024.01.02",
        "exec count i from trade where date=2024.01.04,sym=`A",
        "select count i by date from trade"}) {
    EXPECT_EQ(shards.Ask(query), "'shard is silent") << query;
  }
  for (const char* const query : {"exec count i from trade where date<=2024.01.03",
                                  "select count i by sym from trade where date=2024.01.02"}) {
    EXPECT_EQ(shards.Ask(query), shards.one().Ask(query)) << query;
  }
}

TEST_F(ShardsTest, GroupsAndChangesThatAreAboutAllRowsNeedTheirOrder) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  ShardedProcesses ascend(random_, 2, /*times_ascend=*/true);
  ShardedProcesses others(random_, 2, /*times_ascend=*/false);
  std::string numbers;
  for (int i = 0; i < 40; ++i) numbers += fmt::format("{} ", i);
  for (const std::string& query : std::vector<std::string>{
           "select count i by sym,b:1000 xbar sums size from trade",
           "select n:count i by sym,d:differ sym from trade", "select[5] price by sym from trade",
           "exec sum x*size from update x:sums size by sym,g:1000 xbar sums size from trade",
           "exec sum size from delete from trade where 1010101010101010101010101010101010101010b",
           fmt::format("exec sum x*size from update x:{}from trade", numbers)}) {
    EXPECT_EQ(ascend.Ask(query), ascend.today().Ask(query)) << query;
    const std::string right = others.today().Ask(query);
    EXPECT_THAT(others.Ask(query),
                testing::AnyOf(testing::StartsWith("'nyi: the order of rows"), right))
        << query;
  }
}

TEST_F(ShardsTest, RowsOfAKeyedTableKeepTheirKeys) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  ShardedProcesses shards(random_, 2, /*times_ascend=*/true);
  for (const char* const query :
       {"count close", "exec sum price from close", "select max price by sym from close",
        "select from close where sym=`A", "`sym xasc select from close",
        "`sym xasc select from close where sym in `A`B`C,price>1",
        "f:{x>100};select from close where sym=`A,f price", "`sym xasc close",
        "cols `sym xasc close", "keys `sym xasc close", "(`sym xasc close)[(`B;2024.01.03)]",
        "([]sym:`A`B;date:2024.01.04)lj `sym xasc close",
        "`sym xasc update price:2*price from close where price>100"}) {
    EXPECT_EQ(shards.Ask(query), shards.today().Ask(query)) << query;
  }
  // As in the partition, rows of other dates are not there.
  const char* const of_day = "`sym xasc select date,sym,price from close where date=2024.01.04";
  EXPECT_EQ(shards.Ask(of_day),
            shards.today().Ask("`sym xasc select date,sym,price from 0!close where "
                               "date=2024.01.04"));
  EXPECT_EQ(shards.Ask("exec count i from close where date=2024.01.04"), "8");
  for (const char* const query : {"count ids", "select from ids", "ids", "update x:1 from ids",
                                  "select from ids where sym=`A"}) {
    EXPECT_THAT(shards.Ask(query), testing::StartsWith("'nyi: ids over shards")) << query;
  }
}

TEST_F(ShardsTest, RowNumbersAreAnError) {
  ShardedProcesses shards(random_, 2, /*times_ascend=*/true);
  for (const char* const query : {"select from trade where i<5", "select i from trade",
                                  "select from trade where sym=`A,i<5"}) {
    EXPECT_EQ(shards.Ask(query), "'nyi: i over rows of several shards") << query;
  }
}

}  // namespace
}  // namespace tickstack::query
