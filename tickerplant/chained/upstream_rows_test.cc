#include "tickerplant/chained/upstream_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;

const std::vector<Schema> kSchemas = {*ParseSchema("trade", "time p, sym s, n j, note *"),
                                      *ParseSchema("news", "time p, headline *")};

ByteBuffer Encoded(const Value& value) {
  ByteBuffer bytes;
  wire::Encode(value, bytes);
  return bytes;
}

ByteBuffer Upd(std::string_view table, Value x) {
  return Encoded(Value::List({Value::Symbol("upd"), Value::Symbol(table), std::move(x)}));
}

// Rows of trade with these names; their numbers count up from `first`.
ByteBuffer Trades(const std::vector<std::string>& names, int64_t first) {
  SymbolVector syms;
  std::vector<int64_t> times, numbers;
  std::vector<Value> notes;
  for (const std::string& name : names) {
    syms.push_back(name);
    times.push_back(first);
    notes.push_back(Value::String(std::string(static_cast<size_t>(first % 5), 'x')));
    numbers.push_back(first++);
  }
  return Upd("trade", Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                   Value::Symbols(std::move(syms)),
                                   Value::Vector(Type::kLong, std::span<const int64_t>(numbers)),
                                   Value::List(std::move(notes))}));
}

UpstreamRows RowsOf(std::vector<std::string> symbols) {
  static std::vector<Schema> one = {kSchemas[0]};
  return *UpstreamRows::Create(symbols.empty() ? std::span(kSchemas) : std::span<const Schema>(one),
                               symbols);
}

// Returns what is taken of a message of which something is.
UpstreamRows::Taken TakeFrom(UpstreamRows& rows, const ByteBuffer& message) {
  auto taken = rows.Take(message);
  EXPECT_TRUE(taken.ok() && taken->has_value());
  return taken.ok() ? taken->value_or(UpstreamRows::Taken()) : UpstreamRows::Taken();
}

TEST(UpstreamRows, TakesEachRowOfItsTablesWithoutSymbols) {
  UpstreamRows rows = RowsOf({});
  const ByteBuffer message = Trades({"A", "B"}, 0);
  const UpstreamRows::Taken first = TakeFrom(rows, message);
  EXPECT_EQ(first.first_row, 0);
  EXPECT_EQ(first.owner, nullptr);
  // The bytes are those of the message.
  EXPECT_EQ(AsText(first.x), AsText(message.span()).substr(message.size() - first.x.size()));
  EXPECT_EQ(TakeFrom(rows, Trades({"C"}, 2)).first_row, 2);
  EXPECT_FALSE(rows.Take(Upd("other", Value::List({Value::Long(1)})))->has_value());
  EXPECT_FALSE(rows.Take(Encoded(Value::Symbol("trade")))->has_value());
  EXPECT_EQ(rows.rows().at("trade"), 3);
  UpstreamRows all = *UpstreamRows::Create(kSchemas, {}, /*all_tables=*/true);
  EXPECT_THAT(all.Take(Upd("other", Value::List({Value::Long(1)}))).status().ToString(),
              testing::HasSubstr("table other is missing here"));
}

// Goal: the filter agrees with its definition, and rows that are read again have the same numbers.
// Method: random messages; every row says its number among all rows.
TEST(UpstreamRows, NumbersTheRowsOfItsSymbolsInOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::vector<std::string> names = {"A", "B", "CC", ""};
    UpstreamRows rows = RowsOf({"A", "CC"});
    std::vector<int64_t> expected, found;
    int64_t number = 0;
    for (int message = 0; message < 8; ++message) {
      std::vector<std::string> of_message(rng() % 6);
      for (std::string& name : of_message) name = names[rng() % names.size()];
      const int64_t first = number;
      for (const std::string& name : of_message) {
        if (name == "A" || name == "CC") expected.push_back(number);
        ++number;
      }
      const ByteBuffer bytes = Trades(of_message, first);
      const auto taken = rows.Take(bytes);
      ASSERT_TRUE(taken.ok()) << taken.status();
      if (!taken->has_value()) continue;
      EXPECT_EQ((*taken)->first_row, static_cast<int64_t>(found.size()));
      const Value x = *wire::Decode((*taken)->x);
      for (const int64_t each : x.items()[2].span<int64_t>()) found.push_back(each);
      // Cells of all columns are of the same rows.
      for (size_t row = 0; row < x.items()[2].count(); ++row) {
        const int64_t n = x.items()[2].span<int64_t>()[row];
        EXPECT_EQ(x.items()[0].span<int64_t>()[row], n);
        EXPECT_EQ(x.items()[3].items()[row].count(), static_cast<size_t>(n % 5));
      }
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(UpstreamRows, GivesRowsThatWereTakenBackTheirNumbersAgain) {
  UpstreamRows rows = RowsOf({"A"});
  const ByteBuffer bytes = Trades({"A", "B", "A"}, 0);
  const UpstreamRows::Taken taken = TakeFrom(rows, bytes);
  EXPECT_EQ(taken.rows, 2U);
  rows.TakeBack(taken);
  EXPECT_EQ(TakeFrom(rows, bytes).first_row, 0);
}

TEST(UpstreamRows, RefusesRowsThatDoNotFit) {
  UpstreamRows rows = RowsOf({"A"});
  const auto short_row = rows.Take(Upd("trade", Value::List({Value::Timestamp(1)})));
  EXPECT_EQ(short_row.status().code(), absl::StatusCode::kInvalidArgument);
  const auto no_symbol = rows.Take(Upd("trade", Value::List({Value::Timestamp(1), Value::Long(1),
                                                             Value::Long(1), Value::String("")})));
  EXPECT_EQ(no_symbol.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(rows.Take(Upd("trade", Value::Long(1))).ok());
}

TEST(UpstreamRows, CannotSelectRowsOfATableWithoutSym) {
  const std::vector<std::string> symbols = {"A"};
  EXPECT_THAT(Message(UpstreamRows::Create(kSchemas, symbols).status()),
              HasSubstr("table news has no symbol column sym"));
}

TEST(UpstreamName, DependsOnTheSymbolsAndNotOnTheirOrder) {
  const int32_t day = DaysFromCivil(2020, 3, 9);
  const auto name = [day](std::vector<std::string> symbols) { return UpstreamName(day, symbols); };
  EXPECT_EQ(name({}), ".upstream@2020.03.09");
  EXPECT_EQ(name({"A", "B"}), name({"B", "A", "B"}));
  EXPECT_NE(name({"A", "B"}), name({"A"}));
  EXPECT_NE(name({"A", "B"}), name({"AB"}));
  EXPECT_TRUE(IsUpstreamName(name({"A"})));
  EXPECT_FALSE(IsUpstreamName("upstream@sim.march2020"));
}

}  // namespace
}  // namespace tickstack::tickerplant
