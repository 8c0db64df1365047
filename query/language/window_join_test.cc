// Goal: wj and wj1 do what the public reference says (code.kx.com/q/ref/wj).
// Method: pairs; and random tables, captured and as values, compared with the definition: a select
// with an aggregate for each row.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <string_view>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

TEST(WindowJoin, AggregatesWhatIsInTheWindow) {
  TestEnvironment environment;
  environment.SetValue(
      "t",
      *Evaluate("([]sym:3#`ibm;time:10:01:01 10:01:04 10:01:08;price:100 101 105)", environment));
  environment.SetValue(
      "q", *Evaluate("([]sym:9#`ibm;time:10:01:01+til 9;ask:101 103 103 104 104 107 108 107 108;"
                     "bid:98 99 102 103 103 104 106 106 107)",
                     environment));
  environment.SetValue("u", *Evaluate("([]sym:`a`b`a;time:3 3 10)", environment));
  environment.SetValue(
      "r", *Evaluate("([]sym:`a`a`a`a`a`b;time:1 3 4 9 12 9;v:1 2 3 4 5 6)", environment));
  const Pair kPairs[] = {
      {"wj[-2 1+\\:t`time;`sym`time;t;(q;(max;`ask);(min;`bid))]",
       "([]sym:`ibm`ibm`ibm;time:10:01:01 10:01:04 10:01:08;price:100 101 105;ask:103 104 108;"
       "bid:98 99 104)"},
      {"exec ask from wj[-2 1+\\:t`time;`sym`time;t;(q;(::;`ask))]",
       "(101 103;103 103 104 104;107 108 107 108)"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;(sum;`v))]", "6 0 4"},
      {"exec v from wj1[(2 2 9;4 4 11);`sym`time;u;(r;(sum;`v))]", "5 0 4"},
      {"exec v from wj1[(2 2 9;4 4 11);`sym`time;u;(r;(::;`v))]", "(2 3;`long$();,4)"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;(count;`v))]", "3 0 1"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;(max;`v))]", "3 -0W 4"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;(avg;`v))]", "2 0n 4"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;({x wavg y};`time;`v))]", "2.375 0n 4"},
      {"exec v from wj[(2 2 9;4 4 11);`sym`time;u;(r;(wavg;`time;`v))]", "2.375 0n 4"},
      {"cols wj[(2 2 9;4 4 11);`sym`time;u;(r;(max;`v);(min;`v))]", "`sym`time`v`v1"},
      {"cols wj[(2 2 9;4 4 11);`sym`time;update v:0 from u;(r;(max;`v))]", "`sym`time`v"},
      {"exec v from wj1[(2 9;4 11);`time;([]time:3 10);(r;(count;`v))]", "2 2"},
      {"spec:(r;(sum;`v));exec v from wj[(2 2 9;4 4 11);`sym`time;u;spec]", "6 0 4"},
      {"f:wj[(2 2 9;4 4 11);`sym`time];exec v from f[u;(r;(sum;`v))]", "6 0 4"},
      {"exec v from wj[(4 4 11;2 2 9);`sym`time;u;(r;(count;`v))]", "0 0 1"},
      {"wj[(0#0;0#0);`sym`time;0#u;(r;(sum;`v);(::;`v))]",
       "([]sym:`symbol$();time:`long$();v:`long$();v1:())"},
      {"exec bid from wj[(time-0D00:01;time:exec time from trade);`sym`time;trade;"
       "(quote;(last;`bid))]",
       "48.5 13.75 48.5 13.75"},
      {"wj[(1 2;3 4);`sym`time;u;(r;(sum;`v))]", "'length"},
      {"wj[(1 2 3i;4 5 6i);`sym`time;u;(r;(sum;`v))]", "'type"},
      {"wj[1 2;`sym`time;u;(r;(sum;`v))]", "'type"},
      {"wj[(1 1 1;2 2 2);`sym`time;u;(r;(sum;`nope))]", "'nope"},
      {"wj[(1 1 1;2 2 2);`sym`nope;u;(r;(sum;`v))]", "'nope"},
      {"wj[(1 1 1;2 2 2);`sym`time;u;(r;sum)]", "'type"},
      {"wj[(1 1 1;2 2 2);`sym`time;u;r]", "'type"},
      {"wj[(1 1 1;2 2 2);`sym`time;u;(r;(sum;`sym))]", "'type"},
  };
  AddSampleTables(environment);
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(environment.Ask(pair.expression), pair.result) << pair.expression;
  }
}

// Returns the rows of a key in the order of their times, from the window's begin to its end.
constexpr std::string_view kDefinition =
    "ranges:{{[s;b;e] r:`time xasc select from vq where sym=s;"
    "n:exec count i from r where time<=e;"
    "m:exec count i from r where time{}b;"
    "(0|m-{}) _ n#exec v from r}}'[vt`sym;w 0;w 1];";

TEST(WindowJoin, AgreesWithItsDefinition) {
  constexpr std::string_view kFunctions[] = {"count", "first", "last", "max", "min",
                                             "sum",   "avg",   "dev",  "{x}"};
  std::mt19937 rng(11);
  for (int round = 0; round < 25; ++round) {
    SCOPED_TRACE(round);
    const bool ascending = round % 2 == 0;
    const size_t rights = rng() % 40, lefts = 1 + rng() % 12;
    const auto number = [&](unsigned n) {
      return rng() % 10 == 0 ? std::string(" 0N") : fmt::format(" {}", rng() % n);
    };
    std::string sym = "(0#`)", time = "(0#0)", v = "(0#0)", begin, length;
    std::string left_sym = "(0#`)";
    for (size_t i = 0; i < rights; ++i) {
      sym += fmt::format(",`s{}", rng() % 3);
      time += ascending ? fmt::format(",{}", 3 * i + rng() % 3) : "," + number(60);
      v += "," + number(100);
    }
    for (size_t i = 0; i < lefts; ++i) {
      left_sym += fmt::format(",`s{}", rng() % 4);
      begin += number(100);
      length += fmt::format(" {}", rng() % (round % 5 == 0 ? 200 : 20));
    }
    TestEnvironment environment;
    const auto set = [&](std::string_view name, const std::string& text) {
      const absl::StatusOr<Value> value = Evaluate(text, environment);
      ASSERT_TRUE(value.ok()) << text << " " << value.status();
      environment.SetValue(name, *value);
    };
    set("vq", fmt::format("([]time:`timestamp${};sym:{};v:{})", time, sym, v));
    set("vt", fmt::format("([]time:`timestamp$til {};sym:{})", lefts, left_sym));
    set("w", fmt::format("l:(),{};b:(),{};(`timestamp$b;`timestamp$b+l)", length, begin));
    environment.CaptureTable("q", "vq");
    for (const std::string_view join : {"wj", "wj1"}) {
      const bool prevailing = join == "wj";
      const std::string ranges =
          fmt::format(kDefinition, prevailing ? "<=" : "<", prevailing ? 1 : 0);
      for (const std::string_view function : kFunctions) {
        const std::string expected =
            environment.Ask(fmt::format("{}{} each ranges", ranges, function));
        ASSERT_NE(expected[0], '\'') << expected;
        for (const std::string_view right : {"q", "vq"}) {
          EXPECT_EQ(environment.Ask(fmt::format("exec v from {}[w;`sym`time;vt;({};({};`v))]", join,
                                                right, function)),
                    expected)
              << join << " " << function << " " << right;
        }
      }
    }
  }
}

// Goal: windows of half the day around each of many rows cost a logarithm each; quadratic work
// would take minutes.
TEST(WindowJoin, LongWindowsCostALogarithm) {
  TestEnvironment environment;
  environment.CaptureTable("q", "([]time:`timestamp$til 40000;sym:40000#`a`b;v:40000#1 2 3)");
  const std::string join =
      "w:(`timestamp$til[40000]-20000;`timestamp$til[40000]+20000);"
      "exec sum v from wj[w;`sym`time;q;(q;(sum;`v))]";
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  EXPECT_EQ(environment.Ask(join, limits).find('\''), std::string::npos);
}

}  // namespace
}  // namespace tickstack::query
