// Goal: functions along a list do what the reference says (code.kx.com/q/ref: sum, prd, max, min,
// deltas, ratios, next). Method: pairs, and a property test against aggregates of every prefix.

#include "query/kernels/running.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "query/kernels/aggregate.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Running, SumsAndProductsLeaveNullsOut) {
  constexpr Pair kPairs[] = {
      {"sums 2 3 5 7", "2 5 10 17"},
      {"sums 2 3 0N 7", "2 5 5 12"},
      {"sums 0N 1", "0 1"},
      {"sums 0n 1.5", "0 1.5"},
      {"sums 7", "7"},
      {"sums 1 2h", "1 3i"},
      {"sums 110b", "1 2 2i"},
      {"sums 0x0102", "1 3i"},
      {"sums 1.5 2.5e", "1.5 4e"},
      {"sums 0D00:00:01 0D00:00:02", "0D00:00:01.000000000 0D00:00:03.000000000"},
      {"sums 09:30 00:01", "09:30 09:31"},
      {"sums 0W 1", "0W 0N"},
      {"sums (1 2 3;2 3 5)", "(1 2 3;3 5 8)"},
      {"sums `a`b`c!1 2 3", "`a`b`c!1 3 6"},
      {"sums `long$()", "`long$()"},
      {"sums ()", "()"},
      {"sums \"abc\"", "'type"},
      {"sums `a`b", "'type"},
      {"sums `a", "'type"},
      {"sums trade", "'type"},
      {"sums select size,price from trade where sym=`aig", "([]size:100 400i;price:48.5 96.75)"},
      {"deltas ([k:`a`b]v:1 3)", "([k:`a`b]v:1 2)"},
      {"select sums size by sym from trade", "([sym:`aig`bac]size:(100 400i;200 600i))"},
      {"exec sums size from trade", "100 300 600 1000i"},
      {"prds 2 3 5 7", "2 6 30 210"},
      {"prds 2 3 0N 7", "2 6 6 42"},
      {"prds 7", "7"},
      {"prds 1.5 2", "1.5 3"},
      {"prds 2 3h", "2 6i"},
      {"prds (1 2 3;2 3 5)", "(1 2 3;2 6 15)"},
      {"prds \"abc\"", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Running, MaximaBeginAtMinusInfinity) {
  constexpr Pair kPairs[] = {
      {"maxs 2 5 7 1 3", "2 5 7 7 7"},
      {"maxs \"genie\"", "\"ggnnn\""},
      {"maxs 0N 5 0N 1 3", "-0W 5 5 5 5"},
      {"maxs 0n 1.5 0n", "-0w 1.5 1.5"},
      {"maxs 0Ni 3", "-0W 3i"},
      {"maxs 0N 3i", "-0W 3i"},
      {"maxs 2013.10.08 2013.10.07", "2013.10.08 2013.10.08"},
      {"maxs 010b", "011b"},
      {"maxs 3", "3"},
      {"maxs (1 5;3 2)", "(1 5;3 5)"},
      {"maxs `a`b", "'type"},
      {"mins 2 5 7 1 3", "2 2 2 1 1"},
      {"mins \"genie\"", "\"geeee\""},
      {"mins 0N 5 0N 1 3", "0W 5 5 1 1"},
      {"mins 0N 3h", "0W 3h"},
      {"mins 0n 2e", "0w 2e"},
      {"mins 0x0305", "0x0303"},
      {"exec mins price from trade", "48.5 13.75 13.75 13.75"},
  };
  ExpectAll(kPairs);
}

TEST(Running, DeltasAreDifferencesToTheItemBefore) {
  constexpr Pair kPairs[] = {
      {"deltas 1 4 9 16", "1 3 5 7"},
      {"deltas 2000 2005 2007 2012 2020", "2000 5 2 5 8"},
      {"deltas 1 0N 3", "1 0N 0N"},
      {"deltas 1.5 4", "1.5 2.5"},
      {"deltas 1 3h", "1 2i"},
      {"deltas 101b", "1 -1 1i"},
      {"deltas 2013.10.07 2013.10.09", "5028 2i"},
      {"deltas 2000.02m 2000.05m", "1 3i"},
      {"deltas 2000.01.01D00:00:01 2000.01.01D00:00:03",
       "0D00:00:01.000000000 0D00:00:02.000000000"},
      {"deltas 09:30 09:33", "09:30 00:03"},
      {"deltas 0D01 0D03", "0D01:00:00.000000000 0D02:00:00.000000000"},
      {"deltas 5", "5"},
      {"deltas `a`b!3 5", "`a`b!3 2"},
      {"deltas (1 2;3 5)", "(1 2;2 3)"},
      {"deltas \"ab\"", "'type"},
      {"deltas `a`b", "'type"},
      {"exec deltas price from trade where sym=`aig", "48.5 -0.25"},
      {"select deltas size by sym from trade", "([sym:`aig`bac]size:(100 200i;200 200i))"},
      {"ratios 2 4 3", "2 2 0.75"},
      {"ratios 0N 2 4", "0n 0n 2"},
      {"ratios 1 0 2", "1 0 0w"},
      {"ratios 2013.10.07 2013.10.07", "5028 1f"},
      {"ratios `a`b", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Running, NeighboursAreNullBeyondTheEnds) {
  constexpr Pair kPairs[] = {
      {"next 2 3 5 7 11", "3 5 7 11 0N"},
      {"prev 2 3 5 7 11", "0N 2 3 5 7"},
      {"prev `a`b`c", "``a`b"},
      {"next \"abc\"", "\"bc \""},
      {"prev 101b", "010b"},
      {"prev 1.5 2.5", "0n 1.5"},
      {"next 2013.10.07 2013.10.08", "2013.10.08 0Nd"},
      {"prev (1 2;\"abc\";`ibm)", "(`long$();1 2;\"abc\")"},
      {"next (1 2;\"abc\";`ibm)", "(\"abc\";`ibm;`long$())"},
      {"prev enlist 1", ",0N"},
      {"prev `long$()", "`long$()"},
      {"prev `a`b!1 2", "`a`b!0N 1"},
      {"prev 1", "'type"},
      {"exec prev sym from trade", "``aig`bac`aig"},
      {"exec next price from trade where sym=`bac", "14 0n"},
      {"exec prev cond from trade where i>1", "(\"\";,\"C\")"},
      {"exec price-prev price from trade where sym=`aig", "0n -0.25"},
      {"select size,wait:(next time)-time from trade where sym=`bac",
       "([]size:200 400i;wait:0D00:02:00.000000000 0Nn)"},
      {"select next price by sym from trade", "([sym:`aig`bac]price:(48.25 0n;14 0n))"},
  };
  ExpectAll(kPairs);
}

// Goal: item k of a running function is the aggregate of the first k items. Method: random vectors
// with few distinct values and nulls, longer than a block.
TEST(Running, EachItemIsTheAggregateOfItsPrefix) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t n = seed == 0 ? 0 : rng() % 3000;
    VectorWriter<int32_t> writer(Type::kInt, n);
    for (int32_t& item : writer.span()) {
      item = rng() % 4 == 0 ? kNullInt : static_cast<int32_t>(rng() % 100) - 50;
    }
    Budget budget(limits);
    const Slice all = Slice::Of(std::move(writer).Finish());
    const Value sums = *Sums(all, budget), maxima = *RunningMax(all, budget),
                minima = *RunningMin(all, budget);
    for (size_t k = 0; k < n; k += 1 + rng() % 50) {
      const Slice prefix{all.column, std::make_shared<const RowSet>(RowSet::Range(0, k + 1))};
      ASSERT_EQ(ItemAt(sums, k), *Sum(prefix, budget)) << k;
      ASSERT_EQ(ItemAt(maxima, k), *Max(prefix, budget)) << k;
      ASSERT_EQ(ItemAt(minima, k), *Min(prefix, budget)) << k;
    }
  }
}

}  // namespace
}  // namespace tickstack::query
