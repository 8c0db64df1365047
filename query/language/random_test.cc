// Goal: random items have the type, the range and the number that was asked for; they differ
// between requests, and are equal after equal seeds. Method: pairs over properties, not over the
// numbers.

#include "query/language/random.h"

#include <gtest/gtest.h>

#include <array>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Random, NumbersBelowAnAtom) {
  constexpr Pair kPairs[] = {
      {"count 10?5", "10"},
      {"type each (10?5;10?5i;10?5h;10?2f;10?2e;10?0x05;10?0b;10?\" \";10?0Ng;10?`3)",
       "7 6 5 9 8 4 1 10 2 11h"},
      {"type each (3?0D01;3?2013.10.07;3?09:30;3?09:30:00;3?09:30:00.000;3?2013.10m;"
       "3?2013.10.07D01)",
       "16 14 17 18 19 13 12h"},
      {"asc distinct 1000?5", "0 1 2 3 4"},
      {"asc distinct 1000?1b", "01b"},
      {"all(1000?0D01)within 0D00 0D00:59:59.999999999", "1b"},
      {"all(1000?2.5)within 0 2.5", "1b"},
      {"(avg 100000?1f)within .49 .51", "1b"},
      {"(asc distinct 10000?\" \")~.Q.a", "1b"},
      {"all(string 100?`3)like\"[a-p][a-p][a-p]\"", "1b"},
      {"990<count distinct 1000?0", "1b"},
      {"0?5", "`long$()"},
      {"5?-1", "'domain"},
      {"5?\"c\"", "'domain"},
      {"5?`x", "'domain"},
      {"1.5?5", "'type"},
      {"3?`a`b!1 2", "'type"},
      {"5?0N", "'domain"},
      {"1000000000000?5", "'limit"},
  };
  ExpectAll(kPairs);
}

TEST(Random, OfAZeroTimeAreAnyOfADayOrOfFourYears) {
  constexpr Pair kPairs[] = {
      {"type each 3?/:(0t;0p;0d;0m;0u;0v;0D;0z;0e;0f)", "19 12 14 13 17 18 16 15 8 9h"},
      {"all (1000?0t)within 00:00:00.000 23:59:59.999", "1b"},
      {"12:00<max 1000?0t", "1b"},
      {"all (1000?0D)within 0D 0D23:59:59.999999999", "1b"},
      {"0D12<max 1000?0D", "1b"},
      {"all (1000?0u)within 00:00 23:59", "1b"},
      {"all (1000?0v)within 00:00:00 23:59:59", "1b"},
      {"all (1000?0p)within 2000.01.01D 2003.12.31D23:59:59.999999999", "1b"},
      {"distinct asc`year$1000?0p", "2000 2001 2002 2003i"},
      {"distinct asc`year$1000?0d", "2000 2001 2002 2003i"},
      {"distinct asc`year$1000?0m", "2000 2001 2002 2003i"},
      {"distinct asc`year$1000?0z", "2000 2001 2002 2003i"},
      {"3?0f", "0 0 0f"},
      {"-3?0t", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Random, ItemsOfAList) {
  constexpr Pair kPairs[] = {
      {"all(100?`a`b`c)in`a`b`c", "1b"},
      {"count distinct 1000?`a`b`c", "3"},
      {"type -3?(1;`a;\"x\")", "0h"},
      {"meta 3?([]a:1 2;b:`x`y)", "([c:`a`b]t:\"js\";f:``;a:``)"},
      {"count 3?trade", "3"},
      {"3?0#0", "'length"},
      {"0?0#0", "`long$()"},
      {"3?([k:1 2]v:3 4)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Random, DifferentOnes) {
  constexpr Pair kPairs[] = {
      {"asc -5?5", "0 1 2 3 4"},
      {"count distinct -100?1000000000", "100"},
      {"count distinct -1000?1100", "1000"},
      {"all(-100?1000)within 0 999", "1b"},
      {"type -2?5i", "6h"},
      {"-6?5", "'length"},
      {"asc -3?`a`b`c", "`a`b`c"},
      {"-4?`a`b`c", "'length"},
      {"count distinct -50?`2", "50"},
      {"count distinct -3?0Ng", "3"},
      {"-2?1f", "'type"},
      {"asc 0N?5", "0 1 2 3 4"},
      {"asc 0N?3 1 2", "1 2 3"},
      {"`a xasc 0N?([]a:1 2 3)", "([]a:1 2 3)"},
      {"0N?0", "`long$()"},
      {"0N?1.5", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Random, OneOfThem) {
  constexpr Pair kPairs[] = {
      {"type rand 5", "-7h"},   {"(rand 5)within 0 4", "1b"}, {"(rand`a`b)in`a`b", "1b"},
      {"type rand 0Ng", "-2h"}, {"type rand 1f", "-9h"},      {"type rand([]a:1 2)", "99h"},
  };
  ExpectAll(kPairs);
}

TEST(Random, ASeedBeginsThemAnew) {
  constexpr Pair kPairs[] = {
      {"type system\"S\"", "-6h"},
      {"s:system\"S\";a:5?100;system\"S \",string s;a~5?100", "1b"},
      {"a:5?100;system\"S 42\";a~5?100", "0b"},
      {"system\"S 42\";a:5?100;system\"S 42\";a~5?100", "1b"},
      {"system\"S 42\";system\"S\"", "42i"},
      {"(5?100)~5?100", "0b"},
      {"system\"S x\"", "'domain"},
  };
  ExpectAll(kPairs);
}

TEST(Random, RequestsDiffer) {
  TestEnvironment environment;
  for (const std::string_view expression :
       {"6?1000000000", "-6?1000000000", "1?0Ng", "-1?0Ng", "6?1f", "rand 1000000000000", "8?`8"}) {
    EXPECT_NE(environment.Ask(expression), environment.Ask(expression)) << expression;
  }
  EXPECT_EQ(environment.Ask("system\"S 42\";6?1000000000"),
            environment.Ask("system\"S 42\";6?1000000000"));
}

TEST(Random, AClientGoesOnWhereItWas) {
  TestEnvironment environment;
  KeptNames one, other;
  const auto ask = [&](KeptNames& names, std::string_view text) {
    const absl::StatusOr<Value> answer =
        EvaluateRequest(Value::String(text), environment, {}, &names);
    return answer.ok() ? Show(*answer) : std::string(answer.status().message());
  };
  EXPECT_NE(ask(one, "6?1000000000"), ask(one, "6?1000000000"));
  EXPECT_NE(ask(one, "6?1000000000"), ask(other, "6?1000000000"));
  EXPECT_EQ(ask(one, "system\"S\""), ask(one, "system\"S\""));
  EXPECT_NE(ask(one, "system\"S\""), ask(other, "system\"S\""));
  // A seed makes their numbers equal, over several requests.
  for (KeptNames* const names : {&one, &other}) ask(*names, "system\"S 42\"");
  EXPECT_EQ(ask(one, "3?1000000000"), ask(other, "3?1000000000"));
  EXPECT_EQ(ask(one, "nope"), ask(other, "x:rand 5;nope"));
  EXPECT_NE(ask(one, "3?1000000000"), ask(other, "3?1000000000"));
  EXPECT_EQ(ask(one, "system\"S\""), "42i");
}

TEST(Random, GuidsAreNeverEqual) {
  constexpr Pair kPairs[] = {
      {"system\"S 42\";a:1?0Ng;system\"S 42\";a~1?0Ng", "0b"},
      {"count distinct 10000?0Ng", "10000"},
      {"count distinct{first -1?0Ng}each til 100", "100"},
      {"0?0Ng", "`guid$()"},
      {"1000000000000?0Ng", "'limit"},
  };
  ExpectAll(kPairs);
}

// Each of the numbers below a bound comes about as often as the others, also where the bound does
// not divide 2^64.
TEST(Random, BelowIsUniform) {
  Random random;
  random.Seed(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[random.Below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  const uint64_t bound = (uint64_t{3} << 62) + 1;
  int low = 0;
  for (int i = 0; i < 10'000; ++i) low += random.Below(bound) < bound / 2 ? 1 : 0;
  EXPECT_NEAR(low, 5'000, 300);
}

}  // namespace
}  // namespace tickstack::query
