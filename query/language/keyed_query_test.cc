// Goal: queries see a captured table with a key as they see the same rows as a value.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

// Has 300 bars of three symbols in blocks of 64 rows: captured as `bars`, and as the value `vbars`.
class KeyedQueryTest : public testing::Test {
 protected:
  KeyedQueryTest() {
    constexpr std::string_view kNames[] = {"aig", "bac", "ibm"};
    constexpr int64_t kOpen = 434'453'400'000'000'000, kMinute = 60'000'000'000;  // 09:30.
    SymbolVector sym;
    std::vector<int64_t> m, time;
    std::vector<double> high;
    std::vector<int32_t> trades;
    for (int64_t i = 0; i < 300; ++i) {
      sym.push_back(kNames[i % 3]);
      m.push_back(i);
      time.push_back(kOpen + (i * kMinute));
      high.push_back(100 + (0.5 * static_cast<double>(i)));
      trades.push_back(static_cast<int32_t>(i * i % 7));
    }
    environment_.SetValue(
        "vbars",
        Value::KeyedTable(
            Value::Table({"sym", "m"}, {Value::Symbols(std::move(sym)), Vector(Type::kLong, m)}),
            Value::Table({"time", "high", "trades"},
                         {Vector(Type::kTimestamp, time), Vector(Type::kFloat, high),
                          Vector(Type::kInt, trades)})));
    environment_.CaptureTable("bars", "vbars");
  }
  template <typename T>
  static Value Vector(Type type, const std::vector<T>& items) {
    return Value::Vector(type, std::span<const T>(items));
  }

  void ExpectSame(std::string_view expression) {
    const auto ask = [&](std::string_view table) {
      std::string text(expression);
      for (size_t at = 0; (at = text.find("TABLE", at)) != std::string::npos;) {
        text.replace(at, 5, table);
      }
      return environment_.Ask(text);
    };
    const std::string captured = ask("bars");
    EXPECT_EQ(captured, ask("vbars")) << expression;
    EXPECT_NE(captured[0], '\'') << expression << ": " << captured;
  }

  TestEnvironment environment_;
};

TEST_F(KeyedQueryTest, IsAKeyedTable) {
  EXPECT_EQ(environment_.Ask("keys bars"), "`sym`m");
  EXPECT_EQ(environment_.Ask("cols bars"), "`sym`m`time`high`trades");
  EXPECT_EQ(environment_.Ask("type bars"), "99h");
  EXPECT_EQ(environment_.Ask("count bars"), "300");
  EXPECT_EQ(environment_.Ask("tables[]"), ",`bars");
  EXPECT_EQ(environment_.Ask("exec t from meta bars"), "\"sjpfi\"");
  EXPECT_EQ(environment_.Ask("select from bars where m=7,sym=`bac"),
            "([sym:,`bac;m:,7]time:,2013.10.07D09:37:00.000000000;high:,103.5;trades:,0i)");
}

TEST_F(KeyedQueryTest, AnswersAsTheSameRowsAsAValue) {
  for (const std::string_view expression :
       {"TABLE",
        "select from TABLE",
        "select from TABLE where sym=`aig",
        "select from TABLE where sym in `aig`ibm,high>200",
        "select high,trades from TABLE",
        "select[-3] from TABLE",
        "select[60 10] from TABLE",
        "exec high from TABLE where m within 60 70",
        "exec max high from TABLE",
        "exec sum trades from TABLE where sym=`ibm",
        "select n:count i,last high,sum trades by sym from TABLE",
        "select by sym from TABLE",
        "select avg high by trades from TABLE where high<240",
        "exec last high by sym from TABLE",
        "select max time from TABLE where sym=`bac,trades=1",
        "key TABLE",
        "value TABLE",
        "aj[`sym`time;([]sym:`aig`bac`ibm`x;time:2013.10.07D12:00:30 2013.10.07D12:00:30 "
        "2013.10.07D09:30:30 2013.10.07D12:00:30);select sym,time,high from "
        "TABLE]",
        "aj[`sym`time;([]sym:`aig`bac`ibm`x;time:2013.10.07D12:00:30 2013.10.07D12:00:30 "
        "2013.10.07D09:30:30 2013.10.07D12:00:30);TABLE]",
        "aj0[`time;([]time:2013.10.07D09:00 2013.10.07D10:00:01);select time,high from TABLE]"}) {
    ExpectSame(expression);
  }
}

}  // namespace
}  // namespace tickstack::query
