// Goal: sorts do what the reference says (code.kx.com/q/ref: asc, desc, reverse). Method: pairs,
// and property tests against a stable sort by comparison.

#include "query/kernels/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Sort, ListsAscendAndDescend) {
  constexpr Pair kPairs[] = {
      {"asc 2 1 3 4 2 1 2", "1 1 2 2 2 3 4"},
      {"desc 2 1 3 4 2 1 2", "4 3 2 2 2 1 1"},
      {"asc 3 0N 1 -0W 0W", "0N -0W 1 3 0W"},
      {"desc 3 0N 1", "3 1 0N"},
      {"asc 1.5 0n -0w 0w -2.5 0", "0n -0w -2.5 0 1.5 0w"},
      {"asc 2 0N 1h", "0N 1 2h"},
      {"asc 2 -1 0Ni 1i", "0N -1 1 2i"},
      {"asc `b`a``C", "``C`a`b"},
      {"asc \"hello\"", "\"ehllo\""},
      {"asc 101b", "011b"},
      {"asc 0xff01", "0x01ff"},
      {"desc 2013.10.07 2013.10.09", "2013.10.09 2013.10.07"},
      {"asc 09:31 09:30", "09:30 09:31"},
      {"asc `long$()", "`long$()"},
      {"asc ()", "()"},
      {"asc (1;1b;\"b\";2009.01.01;\"a\";0)", "(1b;0;1;\"a\";\"b\";2009.01.01)"},
      {"asc (2f;3;4i;5h)", "(5h;4i;3;2f)"},
      {"desc (1;1b;\"b\";0)", "(\"b\";1;0;1b)"},
      {"asc (\"bc\";\"a\";\"ab\";\"b\")", "(\"a\";\"ab\";\"b\";\"bc\")"},
      {"asc (1 2;1 1;0 9)", "(0 9;1 1;1 2)"},
      {"asc (([]a:1 2);1)", "'nyi: sort of a list that holds tables"},
      {"asc 5", "'type"},
      {"desc `a", "'type"},
      {"iasc 2 1 3 4 2 1 2", "1 5 0 4 6 2 3"},
      {"idesc 2 1 3 4 2 1 2", "3 2 0 4 6 1 5"},
      {"iasc `c`a`b", "1 2 0"},
      {"iasc `a`c`b!1 2 3", "`a`c`b"},
      {"idesc `a`c`b!1 2 3", "`b`c`a"},
      {"iasc 5", "'type"},
      {"asc `a`b`c!2 1 3", "`b`a`c!1 2 3"},
      {"desc `a`b`c!2 1 3", "`c`a`b!3 2 1"},
      {"exec asc price from trade", "13.75 14 48.25 48.5"},
      {"exec desc sym from trade where size>100", "`bac`bac`aig"},
      {"exec iasc price from trade", "1 3 2 0"},
      {"exec asc cond from trade", "(\"\";\"AB\";\"AB\";,\"C\")"},
      {"select asc price by sym from trade", "([sym:`aig`bac]price:(48.25 48.5;13.75 14))"},
      {"attr asc 3 1 2", "`s"},
      {"attr desc 3 1 2", "`"},
      {"attr 1_asc 3 1 2", "`"},
      {"attr 1 2", "`"},
      {"attr reverse asc 3 1 2", "`"},
  };
  ExpectAll(kPairs);
}

TEST(Sort, TablesByColumns) {
  constexpr Pair kPairs[] = {
      {"asc ([]a:3 4 1;b:`a`d`s)", "([]a:1 3 4;b:`s`a`d)"},
      {"asc ([]a:4 3 4;b:`s`a`d)", "([]a:3 4 4;b:`a`d`s)"},
      {"desc ([]a:4 4 1;b:`a`d`s)", "([]a:4 4 1;b:`d`a`s)"},
      {"asc ([k:1 2 3]a:4 3 4;b:`s`a`d)", "([k:2 3 1]a:3 4 4;b:`a`d`s)"},
      {"desc ([]a:3 4 1;b:`a`d`s)", "([]a:4 3 1;b:`d`a`s)"},
      {"asc ([c1:`a`b]c2:2 1)", "([c1:`b`a]c2:1 2)"},
      {"exec a from meta asc ([]a:3 4 1;b:`a`d`s)", "`p`"},
      {"exec a from meta asc ([]a:3 4 1)", ",`s"},
      {"exec a from meta asc ([c1:`a`b]c2:2 1;c3:01b)", "``p`"},
      {"exec a from meta asc ([c1:`a`b]c2:2 1)", "``s"},
      {"exec a from meta desc ([]a:3 4 1)", ",`"},
      {"`a xasc ([]a:3 1 2;b:`x`y`z)", "([]a:1 2 3;b:`y`z`x)"},
      {"`a xdesc ([]a:3 1 2;b:`x`y`z)", "([]a:3 2 1;b:`x`z`y)"},
      {"`b`a xasc ([]a:3 1 2 0;b:`y`x`x`y)", "([]a:1 2 0 3;b:`x`x`y`y)"},
      {"`b`a xdesc ([]a:3 1 2 0;b:`y`x`x`y)", "([]a:3 0 2 1;b:`y`y`x`x)"},
      {"`b xasc ([]a:3 1 2 0;b:`y`x`x`y)", "([]a:1 2 3 0;b:`x`x`y`y)"},
      {"`p xasc `q xdesc ([]p:`b`a`a;q:1 2 3)", "([]p:`a`a`b;q:3 2 1)"},
      {"`city xasc ([s:1 2 3]city:`p`l`a)", "([s:3 2 1]city:`a`l`p)"},
      {"exec a from meta `b`a xasc ([]a:3 1;b:`y`x)", "``s"},
      {"exec a from meta `b xdesc ([]a:3 1;b:`y`x)", "``"},
      {"() xasc ([]a:3 1)", "([]a:3 1)"},
      {"`a xasc ([]a:`long$();b:`long$())", "([]a:`long$();b:`long$())"},
      {"`price xasc select sym,price from trade",
       "([]sym:`bac`bac`aig`aig;price:13.75 14 48.25 48.5)"},
      {"`sym`size xdesc select sym,size from trade",
       "([]sym:`bac`bac`aig`aig;size:400 200 300 100i)"},
      {"exec size from `sym xasc trade", "100 300 200 400i"},
      {"exec cond from `price xasc trade", "(\"\";\"AB\";,\"C\";\"AB\")"},
      {"`price xasc select sym,price from trade where sym=`aig",
       "([]sym:`aig`aig;price:48.25 48.5)"},
      {"first `size xdesc select sym,size from trade", "`sym`size!(`bac;400i)"},
      {"select last size by sym from `price xasc trade", "([sym:`aig`bac]size:100 400i)"},
      {"`nope xasc trade", "'nope"},
      {"1 xasc trade", "'type"},
      {"`a`a xasc ([]a:1 2)", "'domain"},
      {"`sym xasc `trade", "'assign: trade"},
      {"`sym xasc 5", "'type"},
      {"reverse 1 2 3", "3 2 1"},
      {"reverse \"abc\"", "\"cba\""},
      {"reverse 5", "5"},
      {"reverse `a`b!1 2", "`b`a!2 1"},
      {"reverse ([]a:1 2;b:`x`y)", "([]a:2 1;b:`y`x)"},
      {"reverse select size from trade", "([]size:400 300 200 100i)"},
      {"exec reverse sym from trade", "`bac`aig`bac`aig"},
      {"exec reverse price from trade where sym=`bac", "14 13.75"},
  };
  ExpectAll(kPairs);
}

template <typename T>
Slice SliceOf(Type type, const std::vector<T>& items) {
  return Slice::Of(Value::Vector(type, std::span<const T>(items)));
}

// Returns the order by comparing items: nulls first, equal ones in their own order.
std::vector<uint32_t> OrderByDefinition(std::span<const Slice> columns, Direction direction) {
  std::vector<uint32_t> order(columns.front().count());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    for (const Slice& column : columns) {
      const int comparison = CompareItems(*column.column.value(), a, b);
      if (comparison != 0) return (comparison < 0) == (direction == Direction::kAscending);
    }
    return false;
  });
  return order;
}

std::vector<uint32_t> GradeOf(std::span<const Slice> columns, Direction direction,
                              size_t wanted = SIZE_MAX) {
  const Limits limits;
  Budget budget(limits);
  const absl::StatusOr<ScratchVector<uint32_t>> order = Grade(columns, direction, budget, wanted);
  TS_CHECK(order.ok());
  return {order->begin(), order->end()};
}

Slice RandomColumn(std::mt19937_64& rng, size_t n) {
  const uint64_t distinct = std::array<uint64_t, 3>{3, 100, uint64_t{1} << 50}[rng() % 3];
  switch (rng() % 5) {
    case 0: {
      std::vector<int64_t> items(n);
      for (int64_t& item : items) {
        item = rng() % 9 == 0 ? kNullLong : static_cast<int64_t>(rng() % distinct) - 50;
      }
      return SliceOf(Type::kLong, items);
    }
    case 1: {
      std::vector<double> items(n);
      for (double& item : items) {
        item = rng() % 9 == 0
                   ? NullElement<double>(Type::kFloat)
                   : static_cast<double>(static_cast<int64_t>(rng() % distinct) - 50) / 4;
      }
      return SliceOf(Type::kFloat, items);
    }
    case 2: {
      std::vector<int16_t> items(n);
      for (int16_t& item : items) item = static_cast<int16_t>(rng());
      return SliceOf(Type::kShort, items);
    }
    case 3: {
      std::vector<uint8_t> items(n);
      for (uint8_t& item : items) item = static_cast<uint8_t>(rng() % 2);
      return SliceOf(Type::kBoolean, items);
    }
    default: {
      SymbolVector names;
      for (size_t i = 0; i < n; ++i) names.push_back(std::to_string(rng() % 20));
      return Slice::Of(Value::Symbols(std::move(names)));
    }
  }
}

// Goal: Grade is a stable sort as defined. Method: one to three random columns of every kind, from
// empty to long enough for the radix sort, with packed keys and keys beyond 64 bits.
TEST(Sort, GradeAgreesWithAStableSort) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t n = std::array<size_t, 5>{0, 1, 10, 300, 3000}[rng() % 5];
    std::vector<Slice> columns;
    for (uint64_t i = 0; i <= rng() % 3; ++i) columns.push_back(RandomColumn(rng, n));
    for (const Direction direction : {Direction::kAscending, Direction::kDescending}) {
      const std::vector<uint32_t> expected = OrderByDefinition(columns, direction);
      ASSERT_EQ(GradeOf(columns, direction), expected);
      const size_t wanted = rng() % (n + 10);
      const std::vector<uint32_t> first(
          expected.begin(), expected.begin() + static_cast<ptrdiff_t>(std::min(wanted, n)));
      ASSERT_EQ(GradeOf(columns, direction, wanted), first) << wanted;
    }
  }
}

// Goal: Grade sorts keys of all 64 bits and of none. Method: extremes beside each other, and
// columns of one value.
TEST(Sort, GradeSortsExtremesAndTies) {
  std::vector<int64_t> extremes, ties(1000, 7);
  for (size_t i = 0; i < 1000; ++i) {
    extremes.push_back(std::array<int64_t, 4>{kInfinityLong, kNullLong, 0, -1}[i % 4]);
  }
  const Slice both[] = {SliceOf(Type::kLong, ties), SliceOf(Type::kLong, extremes),
                        SliceOf(Type::kLong, extremes)};
  for (const Direction direction : {Direction::kAscending, Direction::kDescending}) {
    EXPECT_EQ(GradeOf(both, direction), OrderByDefinition(both, direction));
    EXPECT_EQ(GradeOf(std::span(both).first(1), direction),
              OrderByDefinition(std::span(both).first(1), direction));
  }
}

// Goal: a sort keeps to its budget and stops in time. Method: a bound below its memory, and a
// deadline that has passed.
TEST(Sort, ChargesWhatItUsesAndStops) {
  TestEnvironment environment;
  AddSampleTables(environment);
  EXPECT_EQ(environment.Ask("count asc til 1000", {.max_result_bytes = 10'000}), "'limit");
  EXPECT_EQ(environment.Ask("count asc reverse til 1000", {.max_result_bytes = 200'000}), "1000");
  EXPECT_EQ(environment.Ask("asc 1 2", {.deadline = std::chrono::steady_clock::now()}), "'stop");
}

}  // namespace
}  // namespace tickstack::query
