#include "disk/column_cast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/batch_testing.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename To>
std::vector<To> CastTo(Type type, Batch batch) {
  ByteBuffer out;
  const BatchView view = batch.view();
  const absl::Status cast = CastColumn(view.columns[0], /*first_row=*/0, type, out);
  EXPECT_TRUE(cast.ok()) << cast;
  std::vector<To> values(out.size() / sizeof(To));
  if (!values.empty()) std::memcpy(values.data(), out.data(), values.size() * sizeof(To));
  return values;
}

std::string CastError(Type type, Batch batch) {
  ByteBuffer out;
  const BatchView view = batch.view();
  return std::string(Message(CastColumn(view.columns[0], /*first_row=*/100, type, out)));
}

template <typename T>
Batch Column(Type type, const std::vector<T>& values) {
  Batch batch(values.size());
  batch.Add(type, values);
  return batch;
}

TEST(ColumnCast, KeepsNumbersNullsAndInfinities) {
  const std::vector<int32_t> ints = {1, -70000, kNullInt, kInfinityInt, -kInfinityInt};
  EXPECT_THAT(CastTo<int64_t>(Type::kLong, Column(Type::kInt, ints)),
              ElementsAre(1, -70000, kNullLong, kInfinityLong, -kInfinityLong));
  const auto floats = CastTo<double>(Type::kFloat, Column(Type::kInt, ints));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(floats[1], -70000);
  EXPECT_EQ(std::bit_cast<uint64_t>(floats[2]), kNullFloatBits);
  EXPECT_EQ(floats[3], kInfinity);
  EXPECT_EQ(floats[4], -kInfinity);
  EXPECT_THAT(CastTo<int32_t>(Type::kInt, Column(Type::kFloat, floats)),
              ElementsAre(1, -70000, kNullInt, kInfinityInt, -kInfinityInt));
  EXPECT_THAT(CastTo<int64_t>(Type::kLong, Column<uint8_t>(Type::kBoolean, {0, 1})),
              ElementsAre(0, 1));
  EXPECT_THAT(CastTo<float>(Type::kReal, Column<double>(Type::kFloat, {0.5, -3})),
              ElementsAre(0.5F, -3));
  EXPECT_THAT(
      CastTo<int64_t>(Type::kTimespan, Column<int32_t>(Type::kTime, {1, kNullInt, kInfinityInt})),
      ElementsAre(1'000'000, kNullLong, kInfinityLong));
  EXPECT_THAT(CastTo<int64_t>(Type::kTimespan, Column<int32_t>(Type::kMinute, {-1})),
              ElementsAre(-60'000'000'000));
}

TEST(ColumnCast, NamesTheRowOfAValueThatDoesNotFit) {
  EXPECT_THAT(CastError(Type::kShort, Column<int64_t>(Type::kLong, {1, 70000})),
              HasSubstr("row 101: 70000 is no short"));
  // A short's null and infinity as numbers.
  EXPECT_THAT(CastError(Type::kShort, Column<int64_t>(Type::kLong, {-32768})),
              HasSubstr("row 100"));
  EXPECT_THAT(CastError(Type::kShort, Column<int64_t>(Type::kLong, {32767})), HasSubstr("row 100"));
  EXPECT_THAT(CastError(Type::kInt, Column<double>(Type::kFloat, {1.5})), HasSubstr("1.5"));
  EXPECT_THAT(CastError(Type::kLong, Column<double>(Type::kFloat, {1e300})), HasSubstr("row 100"));
  EXPECT_THAT(CastError(Type::kReal, Column<double>(Type::kFloat, {0.1})), HasSubstr("0.1"));
  EXPECT_THAT(CastError(Type::kFloat, Column<int64_t>(Type::kLong, {(int64_t{1} << 53) + 1})),
              HasSubstr("row 100"));
  // In ns, this minute is beyond the largest timespan.
  EXPECT_THAT(CastError(Type::kTimespan, Column<int32_t>(Type::kMinute, {0, 200'000'000})),
              HasSubstr("row 101: 200000000 minutes are no timespan"));
}

TEST(ColumnCast, MakesStringsOfSymbolsAndBack) {
  Batch symbols(3);
  symbols.AddSymbols({"IBM", "", "a"});
  ByteBuffer strings;
  ASSERT_TRUE(CastColumn(symbols.view().columns[0], 0, Type::kList, strings).ok());
  Batch batch(3);
  batch.AddItems({std::string(AsText(strings))});
  ByteBuffer again;
  ASSERT_TRUE(CastColumn(batch.view().columns[0], 0, Type::kSymbol, again).ok());
  EXPECT_EQ(AsText(again), std::string_view("IBM\0\0a\0", 7));
  Batch longs(1);
  longs.AddItems({std::string("\xf9", 1) + std::string(8, '\1')});
  EXPECT_THAT(CastError(Type::kSymbol, longs),
              HasSubstr("row 100: 72340172838076673, expected a string"));
}

TEST(ColumnCast, IsBetweenTypesThatMeanTheSame) {
  EXPECT_TRUE(CanCast(Type::kInt, Type::kLong));
  EXPECT_TRUE(CanCast(Type::kSecond, Type::kTimespan));
  for (const auto& [from, to] :
       {std::pair(Type::kTimestamp, Type::kLong), std::pair(Type::kLong, Type::kSymbol),
        std::pair(Type::kSymbol, Type::kLong), std::pair(Type::kChar, Type::kSymbol),
        std::pair(Type::kLong, Type::kBoolean), std::pair(Type::kTime, Type::kTimestamp)}) {
    EXPECT_FALSE(CanCast(from, to)) << NameOf(from) << " " << NameOf(to);
  }
}

}  // namespace
}  // namespace tickstack::disk
