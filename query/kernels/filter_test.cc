// Goal: a condition keeps the same rows on every path.
// Method: random conditions on random tables, captured (kernels, index, chunks) and as values
// (general operators on copies); both must agree. Then each interval kernel is compared with the
// operator that defines it, at the edges of its type.

#include "query/kernels/filter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kOperators[] = {"=", "<>", "<", ">", "<=", ">="};

template <typename T, size_t n>
const T& OneOf(const T (&all)[n], std::mt19937_64& rng) {
  return all[rng() % n];
}

template <typename T>
Value RandomVector(Type type, size_t rows, std::mt19937_64& rng) {
  std::vector<T> values(rows);
  for (T& value : values) {
    value = static_cast<T>(static_cast<int64_t>(rng() % 9) - 4);
    if (rng() % 10 == 0) value = std::numeric_limits<T>::min();
    if (rng() % 20 == 0) value = std::numeric_limits<T>::max();
    if (std::is_floating_point_v<T> && rng() % 10 == 0) value = std::numeric_limits<T>::quiet_NaN();
  }
  return Value::Vector(type, std::span<const T>(values));
}

Value RandomTable(size_t rows, std::mt19937_64& rng) {
  static constexpr const char* kNames[] = {"a", "b", "c", "dd", ""};
  SymbolVector sym;
  std::vector<int64_t> time;
  // The steps are within a coarse unit of the index, about a unit, or beyond its last one.
  const int64_t step_ns = OneOf({int64_t{1}, int64_t{20'000}, int64_t{1} << 45}, rng);
  for (size_t i = 0; i < rows; ++i) {
    sym.push_back(OneOf(kNames, rng));
    time.push_back((static_cast<int64_t>(i) / 2 - 20) * step_ns);
  }
  if (rng() % 2 == 0 && rows > 0) time[rng() % rows] = 3;  // The index is then not sorted.
  return Value::Table(
      {"time", "sym", "h", "i", "j", "e", "f"},
      {Value::Vector(Type::kTimestamp, std::span<const int64_t>(time)),
       Value::Symbols(std::move(sym)), RandomVector<int16_t>(Type::kShort, rows, rng),
       RandomVector<int32_t>(Type::kInt, rows, rng), RandomVector<int64_t>(Type::kLong, rows, rng),
       RandomVector<float>(Type::kReal, rows, rng), RandomVector<double>(Type::kFloat, rows, rng)});
}

std::string RandomCondition(std::mt19937_64& rng) {
  static constexpr std::string_view kColumns[] = {"h", "i", "j", "e", "f"};
  static constexpr std::string_view kConstants[] = {
      "0",   "-1", "2h",  "3i",  "0N", "0Ni", "0W",   "1f",          "0n",
      "2.5", "0w", "-0W", "-0w", "1e", "1b",  "0x01", "99999999999", "-99999999999"};
  static constexpr std::string_view kSymbols[] = {
      "sym=`a",           "sym=`",  "sym=`none",       "sym<>`b",       "sym in `a`c",
      "sym in ``dd`none", "sym<`b", "sym like \"*d\"", "sym=first sym", "not sym=`a",
      "sym in enlist `b"};
  static constexpr std::string_view kTimes[] = {"2000.01.01D",
                                                "2000.01.01D00:00:00.000000003",
                                                "1999.12.31D23:59:59.999999990",
                                                "2000.01.01D00:00:00.000040000",
                                                "2000.01.07",
                                                "0Np",
                                                "0Wp",
                                                "2000.01.01",
                                                "2000.01m",
                                                "00:00",
                                                "5"};
  switch (rng() % 6) {
    case 0:
      return std::string(OneOf(kSymbols, rng));
    case 1:
      return fmt::format("time{}{}", OneOf(kOperators, rng), OneOf(kTimes, rng));
    case 2:
      return fmt::format("time within ({};{})", OneOf(kTimes, rng), OneOf(kTimes, rng));
    case 3:
      return fmt::format("{} within ({};{})", OneOf(kColumns, rng), OneOf(kConstants, rng),
                         OneOf(kConstants, rng));
    case 4:
      return fmt::format("{}{}{}", OneOf(kColumns, rng), OneOf(kOperators, rng),
                         OneOf(kColumns, rng));
    default:
      return fmt::format("{}{}{}", OneOf(kColumns, rng), OneOf(kOperators, rng),
                         OneOf(kConstants, rng));
  }
}

void ExpectCaptureAndCopyAnswerTheSame(uint64_t seed, size_t rows_max, size_t rows_per_chunk) {
  std::mt19937_64 rng(seed);
  TestEnvironment environment;
  environment.SetValue("v", RandomTable(rng() % rows_max, rng));
  environment.CaptureTable("t", "v", rows_per_chunk);
  for (int i = 0; i < 20; ++i) {
    std::string conditions = RandomCondition(rng);
    while (rng() % 2 == 0) conditions += "," + RandomCondition(rng);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, conditions));
    for (const char* columns : {"", "h,f,i", "n:count i,s:sum j,m:max f,l:min e,last sym"}) {
      const std::string query = fmt::format("select {} from ", columns);
      ASSERT_EQ(environment.Ask(query + "t where " + conditions),
                environment.Ask(query + "v where " + conditions));
    }
    ASSERT_EQ(environment.Ask("select sum j,max f,count i by sym from t where " + conditions),
              environment.Ask("select sum j,max f,count i by sym from v where " + conditions));
  }
  ASSERT_EQ(environment.Ask("select sum j,n:count i,first i,last f by sym from t"),
            environment.Ask("select sum j,n:count i,first i,last f by sym from v"));
  ASSERT_EQ(environment.Ask("select sum j by h,sym from t"),
            environment.Ask("select sum j by h,sym from v"));
}

TEST(Filter, CapturedAndCopiedTablesAnswerTheSame) {
  for (uint64_t seed = 0; seed < 300; ++seed) ExpectCaptureAndCopyAnswerTheSame(seed, 300, 64);
}

TEST(Filter, CapturedAndCopiedTablesAnswerTheSameWhereChunksGrow) {
  for (uint64_t seed = 0; seed < 20; ++seed) ExpectCaptureAndCopyAnswerTheSame(seed, 8'000, 2048);
}

// Expects the kernel's rows to be those of the general operator, for one column and many constants.
void ExpectKernelIsOperator(const Value& column, std::span<const std::string_view> constants) {
  TestEnvironment environment;
  environment.SetValue("c", column);
  environment.SetValue("v", Value::Table({"c"}, {column}));
  environment.CaptureTable("t", "v");
  for (const std::string_view constant : constants) {
    for (const std::string_view op : kOperators) {
      const std::string condition = fmt::format("c{}{}", op, constant);
      EXPECT_EQ(environment.Ask("exec i from t where " + condition),
                environment.Ask("exec i from v where (" + condition + ")"))
          << condition;
    }
  }
}

TEST(Filter, IntervalsHoldAtTheEdgesOfATypeOfIntegers) {
  constexpr std::string_view kConstants[] = {
      "0",           "0N",         "0Nh",         "-0W",  "0W",  "32767", "-32767",
      "32768",       "-32768",     "-32769",      "255",  "256", "-1",    "2147483647",
      "-2147483648", "2147483648", "-2147483649", "0x00", "0b",  "0Wi"};
  const std::vector<int16_t> shorts = {kNullShort, -32767, -1, 0, 1, 32767};
  const std::vector<int32_t> ints = {kNullInt, -kInfinityInt, -32769, 0, 32768, kInfinityInt};
  const std::vector<int64_t> longs = {kNullLong, -kInfinityLong, -2147483649, 0, kInfinityLong};
  const std::vector<uint8_t> bytes = {0, 1, 127, 128, 255};
  ExpectKernelIsOperator(Value::Vector(Type::kShort, std::span(shorts)), kConstants);
  ExpectKernelIsOperator(Value::Vector(Type::kInt, std::span(ints)), kConstants);
  ExpectKernelIsOperator(Value::Vector(Type::kLong, std::span(longs)), kConstants);
  ExpectKernelIsOperator(Value::Vector(Type::kByte, std::span(bytes)), kConstants);
}

// Goal: intervals end where tolerance ends. Method: floats within a few units in the last place of
// that end.
TEST(Filter, IntervalsEndWhereToleranceEnds) {
  constexpr std::string_view kConstants[] = {"48.25", "-48.25", "1e300", "1e-300", "0f",
                                             "0n",    "0w",     "-0w",   "3",      "0N"};
  std::vector<double> values = {0, -0.0, std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), std::nan("")};
  for (const double center : {48.25, -48.25, 1e300, 1e-300, 3.0}) {
    for (const double edge : {center, center * (1 - 0x1p-43), center / (1 - 0x1p-43)}) {
      double value = edge;
      for (int i = 0; i < 5; ++i) value = std::nextafter(value, -1e308);
      for (int i = 0; i < 10; ++i) values.push_back(value = std::nextafter(value, 1e308));
    }
  }
  ExpectKernelIsOperator(Value::Vector(Type::kFloat, std::span<const double>(values)), kConstants);
}

}  // namespace
}  // namespace tickstack::query
