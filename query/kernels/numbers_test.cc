// Goal: functions of numbers, item by item, do what the reference says (code.kx.com/q/ref: floor,
// ceiling, sqrt, exp, log, xexp, xlog, signum, reciprocal, sin, fill, bin, cor). Method: pairs, and
// property tests against the definitions.

#include "query/kernels/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "query/kernels/bins.h"
#include "query/kernels/covariance.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Numbers, AreRounded) {
  constexpr Pair kPairs[] = {
      {"floor -2.1 0 2.1", "-3 0 2"},
      {"floor 2.9", "2"},
      {"floor 2-10 xexp -12 -13", "1 2"},
      {"ceiling 2+10 xexp -12 -13", "3 2"},
      {"floor 1e-20 -1e-20", "0 -1"},
      {"floor 2.5e", "2"},
      {"floor 1 2 3", "1 2 3"},
      {"floor 5i", "5i"},
      {"floor 5 0Nh", "5 0Nh"},
      {"floor 0n 0w -0w", "0N 0W -0W"},
      {"floor 1e300", "0W"},
      {"floor `float$()", "`long$()"},
      {"floor ()", "()"},
      {"floor (1.2;3.4 5.6)", "(1;3 5)"},
      {"floor `a`b!(1.2;3.4 5.6)", "`a`b!(1;3 5)"},
      {"floor ([]a:1.2 3.4;b:5.6 7.8)", "([]a:1 3;b:5 7)"},
      {"floor ([k:`a`b]v:1.5 2.5)", "([k:`a`b]v:1 2)"},
      {"floor 01b", "'type"},
      {"floor 0x01", "'type"},
      {"floor 2013.10.07", "'type"},
      {"floor 09:30", "'type"},
      {"floor \"a\"", "'nyi: floor of text"},
      {"floor `a", "'nyi: floor of text"},
      {"ceiling -2.1 0 2.1", "-2 0 3"},
      {"ceiling 01b", "0 1i"},
      {"ceiling 0x05", "5i"},
      {"ceiling \"a\"", "97i"},
      {"ceiling 0n 0w", "0N 0W"},
      {"ceiling 3h", "3h"},
      {"ceiling 2.0000001 2", "3 2"},
      {"ceiling `a", "'type"},
      {"ceiling 09:30", "'type"},
      {"exec floor price from trade", "48 13 48 14"},
      {"select n:count i by floor price from trade", "([price:13 14 48]n:1 1 2)"},
      {"select sum ceiling price by sym from trade", "([sym:`aig`bac]price:98 28)"},
      {"signum -2 0 1 3", "-1 0 1 1i"},
      {"signum -0.5 0 0.5", "-1 0 1i"},
      {"signum (0n;0N;0Nt;0Nd;0Nz;0Nu;0Nv;0Nm;0Np;0Nn)", "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1i"},
      {"signum 010b", "0 1 0i"},
      {"signum \"a\"", "1i"},
      {"signum 1999.12.31", "-1i"},
      {"signum `a", "'type"},
      {"signum -0w 0w", "-1 1i"},
  };
  ExpectAll(kPairs);
}

TEST(Numbers, HavePowersAndLogarithms) {
  constexpr Pair kPairs[] = {
      {"sqrt 4", "2f"},
      {"sqrt -1 0 2", "0n 0 1.414213562"},
      {"sqrt 0N 0W", "0n 3037000500"},
      {"sqrt 01b", "0 1f"},
      {"sqrt 4 9h", "2 3f"},
      {"sqrt 2.25e", "1.5"},
      {"sqrt 00:04", "2f"},
      {"sqrt \"a\"", "9.848857802"},
      {"sqrt `a", "'type"},
      {"sqrt 0Ng", "'type"},
      {"sqrt 2013.10.07T00:00", "'nyi: sqrt of a datetime"},
      {"sqrt (1 4;9)", "(1 2f;3f)"},
      {"sqrt `a`b!4 9", "`a`b!2 3f"},
      {"sqrt `long$()", "`float$()"},
      {"exp 0 1", "1 2.718281828"},
      {"exp -4.2 0 0.1 0n 0w", "0.01499557682 1 1.105170918 0n 0w"},
      {"exp 0N", "0n"},
      {"log 1", "0f"},
      {"log -2 0n 0 0.1 1 42", "0n 0n -0w -2.302585093 0 3.737669618"},
      {"log 0w", "0w"},
      {"2 xexp 3", "8f"},
      {"-2 2 xexp .5", "0n 1.414213562"},
      {"1.5 xexp -4.2 0 0.1 0n 0w", "0.1821447726 1 1.041379744 0n 0w"},
      {"2 3 xexp 2 3", "4 27f"},
      {"2 xexp 0N", "0n"},
      {"1 xexp 0N", "0n"},
      {"0N xexp 0", "0n"},
      {"2 xexp (1 2;3)", "(2 4f;8f)"},
      {"2 xexp `a`b!1 2", "`a`b!2 4f"},
      {"`a xexp 2", "'type"},
      {"1 2 xexp 1 2 3", "'length"},
      {"2 xlog 8", "3f"},
      {"2 xlog 0.125", "-3f"},
      {"10 xlog 1000", "3f"},
      {"1.5 xlog 0 0.125 1 0n", "-0w -5.128533874 0 0n"},
      {"2 xlog -1", "0n"},
      {"reciprocal 0 0w 0n 3 10", "0w 0 0n 0.3333333333 0.1"},
      {"reciprocal 4i", "0.25"},
      {"reciprocal 1b", "1f"},
      {"reciprocal 0N", "0n"},
      {"reciprocal `a", "'type"},
      {"exec sqrt max size from trade", "20f"},
      {"select s:sum sqrt size by sym from trade where size<200", "([sym:,`aig]s:,10f)"},
  };
  ExpectAll(kPairs);
}

TEST(Numbers, HaveAngles) {
  constexpr Pair kPairs[] = {
      {"sin 0 0.5", "0 0.4794255386"},
      {"cos 0 0.2", "1 0.9800665778"},
      {"tan 0 0.5", "0 0.5463024898"},
      {"asin 0 0.8", "0 0.927295218"},
      {"acos 1 -0.4", "0 1.982313173"},
      {"atan 0 0.5", "0 0.463647609"},
      {"asin 2", "0n"},
      {"acos 1.5 0n", "0n 0n"},
      {"sin 0w", "0n"},
      {"atan 0w", "1.570796327"},
      {"cos 0N", "0n"},
      {"tan `a", "'type"},
      {"{1=(sin[x]xexp 2)+cos[x]xexp 2} 0.1 1 2", "111b"},
  };
  ExpectAll(kPairs);
}

TEST(Numbers, ReplaceNulls) {
  constexpr Pair kPairs[] = {
      {"0^1 2 3 0N", "1 2 3 0"},
      {"100^1 2 -5 0N 10 0N", "1 2 -5 100 10 100"},
      {"1.0^1.2 -4.5 0n 0n 15", "1.2 -4.5 1 1 15"},
      {"`nobody^`tom`dick``harry", "`tom`dick`nobody`harry"},
      {"1 2 3 4 5^6 0N 8 9 0N", "6 2 8 9 5"},
      {"10^11 2.1 3.1 0n 4.5 0n", "11 2.1 3.1 10 4.5 10"},
      {"0^0Ni", "0"},
      {"0i^0N 1", "0 1"},
      {"2.5^0N 1", "2.5 1"},
      {"\"x\"^\"a b\"", "\"axb\""},
      {"1b^01b", "01b"},
      {"0D^0Nn 0D00:01", "0D00:00:00.000000000 0D00:01:00.000000000"},
      {"2013.10.07^0Nd", "2013.10.07"},
      {"0^0Nt", "00:00:00.000"},
      {"09:30^0Np", "09:30"},
      {"0N^1 0N", "1 0N"},
      {"`a`b^`", "`a`b"},
      {"`^`a`", "`a`"},
      {"0^`a`b!1 0N", "`a`b!1 0"},
      {"0^(1 0N;0N)", "(1 0;0)"},
      {"0^()", "()"},
      {"0^`long$()", "`long$()"},
      {"`a^1 2", "'type"},
      {"0^`a", "'type"},
      {"0^\"a\"", "'nyi: ^ of a number and text"},
      {"1 2^1 2 3", "'length"},
      {"exec 0^prev size from trade", "0 100 200 300"},
      {"select 0^prev price from trade where sym=`aig", "([]price:0 48.5)"},
  };
  ExpectAll(kPairs);
}

TEST(Bins, FindTheNeighbour) {
  constexpr Pair kPairs[] = {
      {"0 2 4 6 8 10 bin 5", "2"},
      {"0 2 4 6 8 10 bin -10 0 4 5 6 20", "-1 0 2 2 3 5"},
      {"1 2 3 3 4 bin 2 3", "1 3"},
      {"0 2 4 6 8 10 binr 5", "3"},
      {"0 2 4 6 8 10 binr -10 0 4 5 6 20", "0 0 2 3 3 6"},
      {"1 2 3 3 4 binr 2 3", "1 2"},
      {"`a`c`e bin `d`a`", "1 0 -1"},
      {"`a`c`e binr `d`f", "2 3"},
      {"1.5 2.5 bin 2 0n", "0 -1"},
      {"0n 1 bin 0n", "0"},
      {"0N 1 5 bin 0N", "0"},
      {"09:30 09:31 bin 09:30", "0"},
      {"\"aeiou\" bin \"f\"", "1"},
      {"(`long$()) bin 3", "-1"},
      {"(`long$()) binr 3", "0"},
      {"() bin 3", "-1"},
      {"1 2 bin `long$()", "`long$()"},
      {"1 2 3 bin (1 2;3)", "(0 1;2)"},
      {"1 2 3 bin `a`b!0 3", "`a`b!-1 2"},
      {"1 2 3 bin 2i", "'type"},
      {"1 2 3 bin 2f", "'type"},
      {"1 bin 1", "'type"},
      {"(1 2;3 4) bin 1", "'nyi: bin of a list"},
      {"exec time bin 2013.10.07D09:32 from trade", "2"},
  };
  ExpectAll(kPairs);
}

TEST(Bins, OfADictionaryFindTheKey) {
  constexpr Pair kPairs[] = {
      {"(`a`b`c!0 2 4) bin -1 3", "``b"},
      {"(`a`b`c!0 2 4) bin 4", "`c"},
      {"(`a`b`c!0 2 4) binr 1 5", "`b`"},
      {"([]a:1 2) bin ([]a:1 2)", "'nyi: bin of a table"},
      {"([k:1 2]a:1 2) bin ([]a:1 2)", "'nyi: bin of a table"},
  };
  ExpectAll(kPairs);
}

TEST(Covariances, LeaveOutRowsWithANull) {
  constexpr Pair kPairs[] = {
      {"2 3 5 7 cov 3 3 5 9", "4.5"},
      {"2 3 5 7 cov 4 3 0 2", "-1.8125"},
      {"2 3 5 7 scov 3 3 5 9", "6f"},
      {"1 2 3 cor 2 4 6", "1f"},
      {"1 2 3 cor 6 4 2", "-1f"},
      {"1f=1 2 3 cor 1 2 3", "1b"},
      {"1 2 3 cor 1e200 2e200 3e200", "0n"},
      {"29 10 54 cor 1 3 9", "0.7727745727"},
      {"1 2 3 cor 5 5 5", "0n"},
      {"1 0N 3 cov 2 100 6", "2f"},
      {"1 2 cov 3 0n", "0f"},
      {"1 2 scov 3 0n", "0n"},
      {"0N 0N cov 1 2", "0n"},
      {"(`long$()) cov `long$()", "0n"},
      {"() cor ()", "0n"},
      {"1 2i cov 1 2h", "0.25"},
      {"1 2 cov 1 2 3", "'length"},
      {"`a`b cov 1 2", "'type"},
      {"1 2 cor \"ab\"", "'type"},
      {"1 cov 2", "'type"},
      {"(1 2;3 4) cov (1 2;3 4)", "1 1f"},
      {"exec price cov size from trade where sym=`aig", "-12.5"},
      {"select price cor size by sym from trade", "([sym:`aig`bac]size:-1 1f)"},
      // Squares of these numbers would lose all digits in which they differ.
      {"1000000000.25 1000000000.75 cov 1 2", "0.125"},
  };
  ExpectAll(kPairs);
}

// Goal: bin and binr agree with counting the items that are at most, or below, each one. Method:
// random ascending vectors with ties and nulls.
TEST(Bins, AgreeWithTheirDefinitions) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> sorted(rng() % 20), wanted(1 + rng() % 20);
    for (int64_t& item : sorted)
      item = rng() % 8 == 0 ? kNullLong : static_cast<int64_t>(rng() % 10);
    for (int64_t& item : wanted)
      item = rng() % 8 == 0 ? kNullLong : static_cast<int64_t>(rng() % 10);
    std::ranges::sort(sorted);
    Budget budget(limits);
    const Value x = Value::Vector(Type::kLong, std::span<const int64_t>(sorted));
    const Value y = Value::Vector(Type::kLong, std::span<const int64_t>(wanted));
    const Value last = *LastAtMost(x, y, budget), first = *FirstAtLeast(x, y, budget);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto count = [&](auto f) { return std::ranges::count_if(sorted, f); };
      EXPECT_EQ(last.span<int64_t>()[i], count([&](int64_t z) { return z <= wanted[i]; }) - 1);
      EXPECT_EQ(first.span<int64_t>()[i], count([&](int64_t z) { return z < wanted[i]; }));
    }
  }
}

}  // namespace
}  // namespace tickstack::query
