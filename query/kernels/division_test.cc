// Goal: div, mod and xbar do what the reference says (code.kx.com/q/ref: div, mod, xbar). Method:
// pairs for types and names, and a property test against the definition in wider numbers.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "query/columns/elements.h"
#include "query/kernels/atomic.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Division, DivRoundsDownAndKeepsTheLeftType) {
  constexpr Pair kPairs[] = {
      {"7 div 3", "2"},
      {"7 div 2 3 4", "3 2 1"},
      {"-7 7 div 2", "-4 3"},
      {"-7 7 div -2", "3 -4"},
      {"-7 7 div 2.5", "-3 2"},
      {"-7 7 div -2.5", "2 -3"},
      {"7f div 2", "3f"},
      {"6i div 4", "1i"},
      {"7h div 3", "2i"},
      {"0x80 div 0x10", "8i"},
      {"7e div 2", "3f"},
      {"1b div 1b", "1i"},
      {"\"\\023\" div 8", "2i"},
      {"2014.10.13 div 365", "2000.01.15"},
      {"0D00:00:01 div 2", "0D00:00:00.500000000"},
      {"7 div 0", "0N"},
      {"7 div 0N", "0N"},
      {"0N div 7", "0N"},
      {"7f div 0", "0w"},
      {"7 div 0f", "0W"},
      {"0W div 2", "4611686018427387903"},
      {"-0W div -1", "0W"},
      {"`a div 1", "'type"},
      {"1 div `a", "'type"},
      {"(10;20 30) div (3 4;-5)", "(3 2;-4 -6)"},
      {"(`a`b!(10 -21 3;4 5 -6)) div 5", "`a`b!(2 -5 0;0 1 -2)"},
      {"div[7;3]", "2"},
      {"1 2 div 1 2 3", "'length"},
  };
  ExpectAll(kPairs);
}

TEST(Division, ModHasTheSignOfTheDivisor) {
  constexpr Pair kPairs[] = {
      {"-3 -2 -1 0 1 2 3 4 mod 3", "0 1 2 0 1 2 0 1"},
      {"7 mod 2 3 4", "1 1 3"},
      {"-7 7 mod -2.5", "-2 -0.5"},
      {"-7 7 mod 2.5", "0.5 2"},
      {"-7 7 mod -2", "-1 -1"},
      {"7i mod 4", "3"},
      {"7h mod 4h", "3i"},
      {"7e mod 4", "3f"},
      {"7 mod 4e", "3e"},
      {"7 mod 0", "0N"},
      {"0N mod 3", "0N"},
      {"2013.10.07 mod 7", "2i"},
      {"09:31 mod 5", "00:01"},
      {"2000.01.01D00:00:01.5 mod 1000000000", "0D00:00:00.500000000"},
      {"2013.10.07 mod 2013.10.06", "'type"},
      {"\"a\" mod 2", "'type"},
      {"(10;20 30) mod (7 13;-12)", "(3 10;-4 -6)"},
      {"5 mod `a`b!3 4", "`a`b!2 1"},
      {"exec size from trade where 0=i mod 2", "100 300i"},
  };
  ExpectAll(kPairs);
}

TEST(Division, XbarRoundsDownToAMultiple) {
  constexpr Pair kPairs[] = {
      {"3 xbar til 8", "0 0 0 3 3 3 6 6"},
      {"3 xbar -4 -3 -1", "-6 -3 -3"},
      {"2.5 xbar 0 2 3 5", "0 0 2.5 5"},
      {"0.1 xbar 0.3 0.7", "0.3 0.7"},
      {"5 xbar 11:00 11:02 11:05 11:13", "11:00 11:00 11:05 11:10"},
      {"5 xbar 09:33:17", "09:33:15"},
      {"1000 xbar 09:33:17.250", "09:33:17.000"},
      {"0D00:05 xbar 2013.10.07D09:33:17", "2013.10.07D09:30:00.000000000"},
      {"0D00:05 xbar 1999.12.31D23:58", "1999.12.31D23:55:00.000000000"},
      {"0D01 xbar 0D03:59", "0D03:00:00.000000000"},
      {"7 xbar 2013.10.07", "2013.10.05"},
      {"3 xbar 2013.11m", "2013.10m"},
      {"3i xbar 7i", "6i"},
      {"3h xbar 7h", "6i"},
      {"3 xbar 7i", "6"},
      {"3 xbar 7f", "6f"},
      {"5 xbar 7e", "5f"},
      {"5 xbar 0N 7", "0N 5"},
      {"5 xbar 0n", "0n"},
      {"0 xbar 7", "0N"},
      {"0N xbar 7", "0N"},
      {"5 xbar 0Np", "0Np"},
      {"2013.10.07 xbar 2013.10.08", "'type"},
      {"5 xbar `a", "'type"},
      {"(3;4 5) xbar (10;20 -30)", "(9;20 -30)"},
      {"3 xbar `a`b!(10 -21 3;4 5 -6)", "`a`b!(9 -21 3;3 3 -6)"},
      {"select last price by 0D00:02 xbar time from trade",
       "([time:2013.10.07D09:30:00.000000000 2013.10.07D09:32:00.000000000]price:48.25 14)"},
      {"select n:count i by 10 xbar price from trade", "([price:10 40f]n:2 2)"},
  };
  ExpectAll(kPairs);
}

int64_t FloorQuotient(__int128 x, __int128 y) {
  __int128 quotient = x / y;
  if (x % y != 0 && (x < 0) != (y < 0)) --quotient;
  return static_cast<int64_t>(quotient);
}

// Goal: the integer kernels agree with floor division in 128 bits. Method: all pairs of edge
// values, multiples and random ones of every magnitude.
TEST(Division, AgreesWithTheDefinitionOverEdgeValues) {
  std::vector<int64_t> values = {
      kNullLong, -kInfinityLong,  1 - kInfinityLong, kInfinityLong, -3, -2, -1, 0, 1, 2,
      3,         int64_t{1} << 53};
  std::mt19937_64 rng(1);
  for (int i = 0; i < 200; ++i) values.push_back(static_cast<int64_t>(rng()) >> (rng() % 64));
  // Covers divisors near those that are multiplied by their reciprocal, and near multiples of a
  // minute.
  constexpr int64_t kMinuteNs = 60'000'000'000;
  for (int64_t near : {int64_t{1} << 12, int64_t{1} << 61, kMinuteNs, -kMinuteNs}) {
    for (int64_t off : {-1, 0, 1}) values.push_back(near + off);
  }
  for (int i = 0; i < 50; ++i) {
    const int64_t minutes = static_cast<int64_t>(rng() % 300'000'000) - 150'000'000;
    values.push_back(minutes * kMinuteNs + static_cast<int64_t>(rng() % 3) - 1);
  }
  const Limits limits;
  Budget budget(limits);
  const Value x = Value::Vector(Type::kLong, std::span<const int64_t>(values));
  for (const int64_t y : values) {
    SCOPED_TRACE(y);
    const auto apply = [&](AtomicOp op, const Value& a, const Value& b) {
      absl::StatusOr<Value> result = ApplyAtomic(op, a, b, budget);
      TS_CHECK(result.ok());
      return *std::move(result);
    };
    const Value atom = Value::Long(y);
    const Value div = apply(Arithmetic::kFloorDivide, x, atom);
    const Value mod = apply(Arithmetic::kModulo, x, atom);
    const Value bar = apply(Arithmetic::kRoundDown, atom, x);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t v = values[i];
      if (v == kNullLong || y == kNullLong || y == 0) {
        ASSERT_EQ(div.span<int64_t>()[i], kNullLong);
        ASSERT_EQ(mod.span<int64_t>()[i], kNullLong);
        ASSERT_EQ(bar.span<int64_t>()[i], kNullLong);
        continue;
      }
      const int64_t quotient = FloorQuotient(v, y);
      ASSERT_EQ(div.span<int64_t>()[i], quotient) << v;
      ASSERT_EQ(mod.span<int64_t>()[i], static_cast<int64_t>(v - __int128{y} * quotient)) << v;
      ASSERT_EQ(bar.span<int64_t>()[i],
                static_cast<int64_t>(static_cast<uint64_t>(__int128{y} * quotient)))
          << v;
    }
  }
}

}  // namespace
}  // namespace tickstack::query
