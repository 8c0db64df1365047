// Goal: a query over a table whose days several processes have gives the answer that one process
// with all rows would give. Method: two environments have past days, one the last days; queries
// that are drawn at random, and a list of unusual ones, are compared with one environment that has
// all rows. TICKSTACK_SEED sets the seed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/time.h"
#include "query/language/client_handle.h"
#include "query/query.h"
#include "query/remote/remote_table.h"
#include "query/testing.h"
#include "tests/support/environment.h"

namespace tickstack::query {
namespace {

constexpr int kRowsPerDay = 40;
constexpr int32_t kFirstDay = 8766;  // 2024.01.01
// Days of the first past process, of the second one, and of the last side.
const std::vector<std::vector<int32_t>> kDays = {{kFirstDay, kFirstDay + 1, kFirstDay + 4},
                                                 {kFirstDay + 2, kFirstDay + 4},
                                                 {kFirstDay + 5, kFirstDay + 6}};

class Rows {
 public:
  explicit Rows(std::mt19937_64& random) : random_(random) {}

  // Returns a table of some days as an expression.
  std::string Of(std::vector<int32_t> days, bool with_date) {
    std::string date, time, sym, price, size;
    for (const int32_t day : days) {
      for (const Row& row : RowsOf(day)) {
        date += FormatDate(day) + " ";
        time += row.time + " ";
        sym += row.sym;
        price += row.price + " ";
        size += row.size + " ";
      }
    }
    const bool none = sym.empty();
    return fmt::format("([]{}time:`timespan${};sym:{};price:`float${};size:`long${})",
                       with_date ? fmt::format("date:`date${};", none ? "()" : date) : "",
                       none ? "()" : time, none ? "0#`" : sym, none ? "()" : price,
                       none ? "()" : size);
  }

 private:
  struct Row {
    std::string time, sym, price, size;
  };

  const std::vector<Row>& RowsOf(int32_t day) {
    std::vector<Row>& rows = rows_[day];
    if (rows.empty() && day != kFirstDay + 2) {  // A day without rows.
      for (int i = 0; i < kRowsPerDay; ++i) {
        // Sums of quarters are exact, in whatever order they are added.
        rows.push_back(
            {fmt::format("{}", i * 1'000'000'000LL + static_cast<long long>(Draw(1000))),
             fmt::format("`{}", std::string_view("ABCD").substr(Draw(4), 1)),
             Draw(8) == 0 ? "0n" : fmt::format("{}", static_cast<double>(Draw(400)) * 0.25),
             Draw(8) == 0 ? "0N" : fmt::format("{}", Draw(1000))});
      }
    }
    return rows;
  }
  size_t Draw(size_t n) { return random_() % n; }

  std::mt19937_64& random_;
  std::map<int32_t, std::vector<Row>> rows_;
};

// The processes behind a gateway.
class Processes : public TestEnvironment {
 public:
  explicit Processes(Rows& rows) {
    for (size_t i = 0; i < 2; ++i) past_[i].CaptureTable("trade", rows.Of(kDays[i], true));
    for (const int32_t day : kDays[2]) {
      last_.CaptureTable("trade@" + FormatDate(day), rows.Of({day}, false));
    }
    last_.CaptureTable("trade", rows.Of(kDays[2], false));
    last_.CaptureTable("secret", "([]a:1 2 3)");
  }

  std::shared_ptr<const RemoteTable> FindRemote(std::string_view name) override {
    return name == "trade" ? std::make_shared<const Trade>(*this) : nullptr;
  }

  size_t asked() const { return asked_; }
  size_t rows_sent() const { return rows_sent_; }
  void EndPast() { past_is_down_ = true; }
  // From now on the table is on the past side only.
  void DropLast() { only_past_ = true; }
  // The next question finds that its days have moved, as do `attempts - 1` after it.
  void Move(size_t attempts) { moves_ = attempts; }
  size_t sinks() const { return sinks_; }  // Questions whose answer could have been forwarded.

 private:
  class Trade final : public RemoteTable {
   public:
    explicit Trade(Processes& of) : of_(of) {}
    const std::string& name() const override { return name_; }
    bool IsOn(Side side) const override { return side == Side::kPast || !of_.only_past_; }
    std::vector<std::string> Columns(Side) const override {
      return {"time", "sym", "price", "size"};
    }
    std::span<const int32_t> Days(Side side) const override {
      if (!IsOn(side)) return {};
      return side == Side::kPast ? past_days_ : kDays[2];
    }
    size_t DaysOfOne(Side side, std::span<const int32_t> days) const override {
      return side == Side::kLast ? 1 : std::max(LeadingDays(0, days), LeadingDays(1, days));
    }
    absl::StatusOr<Value> Ask(Side side, std::span<const int32_t> days, Value tree,
                              const Limits& limits) const override {
      ++of_.asked_;
      of_.sinks_ += limits.sink != nullptr ? 1 : 0;
      if (of_.moves_ > 0) {
        --of_.moves_;
        return absl::AbortedError("a day has moved");
      }
      if (side == Side::kPast && of_.past_is_down_) return absl::UnavailableError("past is down");
      if (side == Side::kPast && days.empty()) return absl::AbortedError("no process has all days");
      TestEnvironment* process = &of_.last_;
      if (side == Side::kPast) process = &of_.past_[LeadingDays(0, days) == days.size() ? 0 : 1];
      std::vector<Value> request;
      request.push_back(Value::String("eval"));
      request.push_back(std::move(tree));
      absl::StatusOr<Value> answer =
          EvaluateRequest(Value::List(std::move(request)), *process, limits);
      if (answer.ok()) of_.rows_sent_ += answer->count();
      return answer;
    }

   private:
    static size_t LeadingDays(size_t process, std::span<const int32_t> days) {
      size_t n = 0;
      while (n < days.size() && std::ranges::binary_search(kDays[process], days[n])) ++n;
      return n;
    }

    const std::string name_ = "trade";
    const std::vector<int32_t> past_days_ = {kFirstDay, kFirstDay + 1, kFirstDay + 2,
                                             kFirstDay + 4};
    Processes& of_;
  };

  TestEnvironment past_[2], last_;
  size_t asked_ = 0, rows_sent_ = 0, sinks_ = 0, moves_ = 0;
  bool past_is_down_ = false, only_past_ = false;
};

// One process that has all rows, and calls them `trade`.
std::unique_ptr<TestEnvironment> OneProcess(Rows& rows) {
  auto one = std::make_unique<TestEnvironment>();
  std::vector<int32_t> days;
  for (const std::vector<int32_t>& each : kDays) days.insert(days.end(), each.begin(), each.end());
  std::ranges::sort(days);
  days.erase(std::ranges::unique(days).begin(), days.end());
  one->CaptureTable("trade", rows.Of(days, true));
  return one;
}

class RemoteQueryTest : public testing::Test {
 protected:
  const uint64_t seed_ = NumberFromEnvironment("TICKSTACK_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
  Rows rows_{random_};
  std::unique_ptr<TestEnvironment> one_ = OneProcess(rows_);
  Processes processes_{rows_};
};

TEST_F(RemoteQueryTest, AnswersAreThoseOfOneProcess) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  const auto one_of = [this](std::initializer_list<const char*> texts) -> std::string {
    return *(texts.begin() + random_() % texts.size());
  };
  const auto dates = [&] {
    return one_of({"date within 2024.01.01 2024.01.07", "date within 2024.01.04 2024.01.06",
                   "date=2024.01.02", "date=2024.01.06", "date=2024.01.07", "date=2030.01.01",
                   "date in 2024.01.02 2024.01.03 2024.01.05", "date>2024.01.05",
                   "date in 2024.01.06 2024.01.07", "date>=2024.01.05,date<2024.01.07",
                   "date=max date", "date.month=2024.01m", "date=2024.01.03"});
  };
  const auto condition = [&] {
    return one_of({"", "", ",sym=`A", ",sym in `A`B", ",price>50", ",size within 100 600",
                   ",price=max price", ",price>(avg;price) fby sym", ",sym=`nobody",
                   ",not null size", ",date<2024.01.06", ",time>0D00:00:20", ",sym=first sym",
                   ",price>2*10", ",(price>50)|date=2024.01.06", ",size>{x*2}[100]"});
  };
  const auto aggregate = [&] {
    return one_of({"count i",
                   "sum size",
                   "max price",
                   "min price",
                   "first price",
                   "last size",
                   "avg price",
                   "avg size",
                   "size wavg price",
                   "size wsum price",
                   "sum price*size",
                   "(max price)-min price",
                   "(sum price*size)%sum size",
                   "all size>0",
                   "any price>90",
                   "count price",
                   "dev price",
                   "count distinct sym",
                   "med price",
                   "max date",
                   "sum size*date=2024.01.06",
                   "first sym",
                   "prd 1+0*size",
                   "2*sum size",
                   "neg max price",
                   "max price*2",
                   "sum {x+1}[size]",
                   "last time",
                   "sum price-prev price",
                   "{(max x)-min x}[price]"});
  };
  const auto group = [&] {
    return one_of({"", "", " by sym", " by date", " by date,sym", " by sym,date",
                   " by 0D00:00:10 xbar time", " by s:sym", " by date.month", " by sym,size>500",
                   " by 3 xbar date", " by 2 mod size"});
  };
  const auto columns = [&]() -> std::string {
    switch (random_() % 6) {
      case 0:
        return one_of({"", "time,sym,price", "date,sym", "price,mid:price*2", "distinct sym",
                       "distinct date,sym", "distinct sym,size>500", "sym,date,time", "n:count i",
                       "distinct 10 xbar price"});
      case 1:
        return fmt::format("a:{},b:{},c:{}", aggregate(), aggregate(), aggregate());
      case 2:
        return fmt::format("a:{},b:{}", aggregate(), aggregate());
      default:
        return fmt::format("a:{}", aggregate());
    }
  };
  size_t compared = 0, failed_in_both = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string what = columns();
    const bool rows_only = what.find("distinct ") == 0;
    const std::string verb = one_of({"select", "select", "select", "exec"});
    const std::string limit = random_() % 12 == 0 && !rows_only ? "[3]" : "";
    const std::string query =
        fmt::format("{}{} {}{} from trade where {}{}{}", verb, verb == "exec" ? "" : limit, what,
                    rows_only ? "" : group(), dates(), condition(), condition());
    const std::string expected = one_->Ask(query), found = processes_.Ask(query);
    if (expected.starts_with('\'')) {
      ++failed_in_both;
      EXPECT_TRUE(found.starts_with('\''))
          << query << " should fail with " << expected << ", gives " << found;
    } else {
      ++compared;
      EXPECT_EQ(found, expected) << query;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, failed_in_both);
}

TEST_F(RemoteQueryTest, UnusualQueriesAreThoseOfOneProcess) {
  SCOPED_TRACE(fmt::format("TICKSTACK_SEED={}", seed_));
  for (
      const char* const query : {
          "d:2024.01.02;select n:count i by sym from trade where date>d",
          "s:`A`B;n:40;select from trade where date within 2024.01.02 2024.01.06,sym in s,price>n",
          "f:{x*y};select a:sum f[price;size] by sym from trade where date>2024.01.04",
          "k:3;g:{x*k};exec sum g size from trade where date in 2024.01.05 2024.01.06",
          "n:0;select a:(n+:1)+sum size from trade where date>2024.01.04;n",
          "d:2024.01.06;select from trade where date in (exec max date from trade where date<d)",
          "exec sym!price from select last price by sym from trade where date>2024.01.01",
          "select from (select sum size by date,sym from trade where date>2024.01.01) where size>9",
          "{[d]select max price by date from trade where date>=d}[2024.01.03]",
          "{[d;s]exec max price from trade where date=d,sym=s}'[2024.01.05 2024.01.06;`A`B]",
          "?[`trade;enlist(>;`date;2024.01.03);(enlist`s)!enlist`sym;(enlist`a)!enlist(max;`size)]",
          "?[`trade;((=;`date;2024.01.06);(=;`sym;enlist`A));0b;()]",
          "?[`trade;enlist(=;`date;2024.01.06);();`price]",
          "select count i from `trade where date>2024.01.03",
          "select last price by sym from `trade where date=2024.01.06",
          "t:`trade;exec max price from t where date in 2024.01.02 2024.01.06",
          "{[t;d]select from t where date=d,sym=`A}[`trade;2024.01.06]",
          "?[trade;enlist(>;`date;2024.01.03);(enlist`s)!enlist`sym;(enlist`a)!enlist(max;`size)]",
          "{?[trade;enlist(=;`date;x);0b;()]}2024.01.06",
          "select[5;>price] from trade where date within 2024.01.05 2024.01.06,not null price",
          "count select from trade where date=2024.01.06",
          "count select from trade where date>2024.01.01",
          "count select price,sym from trade where date>2024.01.03,price=max price",
          "count exec price from trade where date>2024.01.03,sym=`A",
          "count exec distinct sym from trade where date>2024.01.03",
          "count select max price from trade where date>2024.01.03",
          "count select by sym from trade where date>2024.01.03",
          "count select distinct sym from trade where date>2024.01.03",
          "count select[3] from trade where date>2024.01.03",
          "count select nothing from trade where date>2024.01.03",
          "count exec 1 2 3 from trade where date>2024.01.03",
          "count select from trade where date=2030.01.01",
          "count select from trade where date=2024.01.03",
          "{[d;s]count select from trade where date>d,sym=s}[2024.01.03;`A]",
          "exec distinct sym from trade where date>2024.01.04",
          "exec last string sym from trade where date>2024.01.04",
          "select a:last string sym by date from trade where date>2024.01.01",
          "select a:first string sym,n:count i by sym from trade where date>2024.01.01",
          "exec sum 0w*size-500 from trade where date>2024.01.01",
          "select a:sum 0w*size-500 by date,sym from trade where date>2024.01.01",
          "exec (size>500) wavg 0w*price from trade where date>2024.01.01",
          "select a:prd size by date,sym from trade where date>2024.01.01",
          "select n:count i by sym from trade where date>2024.01.01,date.month=2024.01m",
          "select x:size+price by sym from trade where date=2024.01.05",
          "select d:enlist`A`B!1 2,sum size from trade where date>2024.01.04",
          "t:`A`B!1 2;select a:sum size*t sym from trade where date>2024.01.04,sym in key t",
          "delete size from select from trade where date=2024.01.07",
          "exec a:max price,b:sum size by sym from trade where date>2024.01.04",
          "exec max price by sym from trade where date>2024.01.04",
          "exec max price by sym,date from trade where date>2024.01.04",
          "select count i by date from trade where date within 2024.01.02 2024.01.03",
          "select count i from trade where date=2024.01.03",
          "select max price, avg price, first sym, n:count i from trade where date=2024.01.03",
          "select max price,avg size,n:count i from trade where date in 2024.01.03 2030.01.01",
          "select n:count i by date from trade where date>2030.01.01",
          "select last price by sym from trade where date>2024.01.01,({x>10};size) fby sym",
      }) {
    EXPECT_EQ(processes_.Ask(query), one_->Ask(query)) << query;
  }
}

TEST_F(RemoteQueryTest, AnyProcessCanAnswerAboutADayWithoutRows) {
  for (const bool ended : {false, true}) {
    if (ended) processes_.EndPast();
    for (const char* const query : {"select from trade where date=2030.01.01",
                                    "exec max price from trade where date<2000.01.01",
                                    "select n:count i by sym from trade where date=2030.01.01",
                                    "select n:count i by date from trade where date=2030.01.01",
                                    "select f:{x}[price] from trade where date=2030.01.01"}) {
      EXPECT_EQ(processes_.Ask(query), one_->Ask(query)) << query;
    }
  }
}

TEST_F(RemoteQueryTest, RowNumbersAreThoseBeforeConditions) {
  TestEnvironment last;
  last.CaptureTable("trade", rows_.Of(kDays[2], false));
  for (const char* const query : {"k:5;f:{x+k};select i,a:f size from trade where sym=`B",
                                  "k:5;f:{x+k};select f size from trade where sym=`B,i<5",
                                  "k:5;f:{x+k};exec i from trade where sym=`B,0<f size"}) {
    EXPECT_EQ(processes_.Ask(query), last.Ask(query)) << query;
  }
}

TEST_F(RemoteQueryTest, OnlyPureFunctionsAreSent) {
  // The processes have `secret`; this environment does not, as if its user may not see it.
  const size_t asked = processes_.asked();
  for (const char* const query :
       {"exec {value y}[sym;\"secret\"] from trade", "exec {get y}[sym;`secret] from trade",
        "exec {x;`secret[`a]}[sym] from trade", "exec `secret[sym] from trade",
        "exec value (\"secret\",0#string first sym) from trade",
        "?[`trade;();();(value;(,;\"secret\";(#;0;(string;(first;`sym)))))]"}) {
    EXPECT_THAT(processes_.Ask(query), testing::StartsWith("'")) << query;
  }
  EXPECT_GT(processes_.asked(), asked);
}

TEST_F(RemoteQueryTest, WithoutDateItIsTheLastDays) {
  TestEnvironment last;
  last.CaptureTable("trade", rows_.Of(kDays[2], false));
  for (const char* const query :
       {"trade", "select from trade", "count trade", "select max price by sym from trade",
        "cols trade", "update price:0f from trade where sym=`A", "delete from trade where sym=`A",
        "delete size from trade", "select from trade where i<5", "exec last price from trade",
        "5#trade", "select from trade where price=max price"}) {
    EXPECT_EQ(processes_.Ask(query), last.Ask(query)) << query;
  }
}

TEST_F(RemoteQueryTest, AggregatesAreNotMadeOfRowsThatAreSent) {
  for (const char* const query :
       {"select max price, avg price, size wavg price, n:count i from trade where date>2024.01.01",
        "select (sum price*size)%sum size by sym from trade where date>2024.01.01,price>10",
        "select distinct sym from trade where date>2024.01.01",
        "count select from trade where date>2024.01.01,price>10",
        "1+count select sym,price from trade where date>2024.01.01",
        "count exec price from trade where date>2024.01.01,sym=`A",
        "{count select from trade where date>x}2024.01.01"}) {
    const size_t before = processes_.rows_sent(), asked = processes_.asked();
    processes_.Ask(query);
    EXPECT_GE(processes_.asked() - asked, 4u) << query;
    EXPECT_LE(processes_.rows_sent() - before, 5u * (processes_.asked() - asked)) << query;
  }
}

TEST_F(RemoteQueryTest, ADayThatMovesMeanwhileIsLookedForAgain) {
  for (const bool only_past : {false, true}) {
    if (only_past) processes_.DropLast();
    for (const char* const query :
         {"select from trade where date>2024.01.02", "exec sum size from trade", "count trade",
          "trade", "trade.price", "5#trade", "delete from trade where sym=`A",
          "count select from trade where date>2024.01.02"}) {
      const std::string right = processes_.Ask(query);
      EXPECT_FALSE(right.starts_with("'")) << query << ": " << right;
      // With an rdb, its answer to this cannot be about a day that has moved.
      const std::string_view name = query;
      const bool cannot = !only_past && (name == "trade" || name == "5#trade" || name[0] == 'd');
      for (const size_t attempts : {size_t{1}, size_t{2}}) {
        processes_.Move(cannot ? 0 : attempts);
        EXPECT_EQ(processes_.Ask(query), right) << query;
      }
      processes_.Move(cannot ? 0 : 3);
      EXPECT_EQ(processes_.Ask(query), cannot ? right : "'a day has moved") << query;
      processes_.Move(0);
    }
  }
}

// Takes nothing.
class Unwilling final : public AnswerSink {
 public:
  bool Begin(size_t) override { return false; }
  void Add(std::span<const std::byte>, const std::shared_ptr<const void>&) override {}
};

TEST_F(RemoteQueryTest, OnlyTheAnswerItselfIsForwarded) {
  const auto is_forwarded = [this](std::string_view query) {
    Unwilling sink;
    Limits limits;
    limits.sink = &sink;
    ClientFacts facts;
    facts.handle = 7;
    ClientHandle client(facts, /*awaits_answer=*/true);
    const size_t before = processes_.sinks();
    const absl::StatusOr<Value> answer =
        EvaluateRequest(Value::String(query), processes_, limits, nullptr, &client);
    EXPECT_TRUE(answer.ok()) << query << ": " << answer.status();
    return processes_.sinks() - before;
  };
  for (const char* const query :
       {"select from trade where date=2024.01.02", "select from trade",
        "exec price from trade where date=2024.01.02,sym=`A",
        "select max price by sym from trade where date in 2024.01.01 2024.01.02"}) {
    EXPECT_EQ(is_forwarded(query), 1u) << query;
  }
  for (const char* const query :
       {"t:select from trade where date=2024.01.02",
        "count select from trade where date=2024.01.02",
        "select from trade where date=2024.01.02;1", "{select from trade where date=2024.01.02}[]",
        "value\"select from trade\"", "select from (select from trade where date=2024.01.02)",
        "select from trade where date in 2024.01.02 2024.01.06",
        "select max price by sym from trade where date in 2024.01.02 2024.01.06",
        "select from trade where date=2024.01.06",  // Its process has no column `date`.
        "select from trade where date=2024.01.02,{(neg .z.w)`first;x}1b", "trade"}) {
    EXPECT_EQ(is_forwarded(query), 0u) << query;
  }
}

TEST_F(RemoteQueryTest, ALambdaOverAKeyedTableKeepsItsKeys) {
  TestEnvironment process;
  process.CaptureTable("pos", "([sym:`A`B`C]qty:1 2 3)");
  GatewayTo gateway(process);
  for (const char* const query :
       {"select from pos where {x>1}[qty]", "f:{x>1};exec qty from pos where f qty", "pos`B",
        "update f:{2*x}[qty] from pos"}) {
    EXPECT_EQ(gateway.Ask(query), process.Ask(query)) << query;
  }
}

TEST_F(RemoteQueryTest, WhatCannotBeRightIsAnError) {
  EXPECT_EQ(processes_.Ask("select from trade where date>2024.01.04,i<5"),
            "'nyi: i over days of several processes");
  EXPECT_EQ(processes_.Ask("update price:0f from trade where date=2024.01.06"),
            "'nyi: update or delete over days of several processes");
  EXPECT_EQ(processes_.Ask("select nothing from trade where date=2024.01.06"), "'nothing");
}

}  // namespace
}  // namespace tickstack::query
