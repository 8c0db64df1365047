#include "bridge/rows_of_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::bridge {
namespace {

using testing::HasSubstr;

constexpr size_t kA = 0, kB = 1;

BridgeShard Shard(size_t index) {
  return {std::make_shared<const ShardMap>(
              *ShardMap::Create({"a", "b"}, {{"SPY", "a"}, {"IBM", "b"}, {"", "b"}})),
          index,
          {{"trade", {{"venue", Type::kSymbol}, {"sym", Type::kSymbol}}},
           {"event", {{"size", Type::kLong}}}}};
}

// The chosen rows as a value; nullopt: there are none.
absl::StatusOr<std::optional<Value>> Choose(RowsOfShard& rows_of_shard, const Value& table,
                                            std::string_view name = "trade") {
  ByteBuffer encoded;
  wire::Encode(table, encoded);
  wire::UpdDecoder decoder;
  wire::RowsView rows;
  TS_RETURN_IF_ERROR(decoder.DecodeX(encoded.span(), &rows));
  TS_ASSIGN_OR_RETURN(const RowsOfShard::Chosen chosen,
                      rows_of_shard.Choose(name, rows, encoded.span()));
  if (chosen.rows == 0) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Value value, wire::Decode(chosen.table));
  EXPECT_EQ(static_cast<int64_t>(value.FindColumn(value.column_names()[0])->count()), chosen.rows);
  return value;
}

Value Trades(std::vector<std::string_view> symbols, const std::vector<int64_t>& sizes) {
  SymbolVector names;
  std::vector<Value> notes;
  for (const std::string_view symbol : symbols) names.push_back(symbol);
  for (const int64_t size : sizes) notes.push_back(Value::String(fmt::format("note {}", size)));
  return Value::Table({"size", "sym", "note"},
                      {Value::Vector<int64_t>(Type::kLong, sizes), Value::Symbols(std::move(names)),
                       Value::List(notes)});
}

TEST(RowsOfShard, KeepsTheRowsOfItsSymbolsInOrder) {
  const Value all = Trades({"SPY", "IBM", "SPY", "", "SPY"}, {1, 2, 3, 4, 5});
  RowsOfShard a(Shard(kA)), b(Shard(kB));
  for (int turn = 0; turn < 2; ++turn) {  // Nothing is left of the record before.
    EXPECT_EQ(**Choose(a, all), Trades({"SPY", "SPY", "SPY"}, {1, 3, 5}));
    EXPECT_EQ(**Choose(b, all), Trades({"IBM", ""}, {2, 4}));
  }
  EXPECT_EQ(**Choose(a, Trades({"SPY"}, {9})), Trades({"SPY"}, {9}));
  EXPECT_EQ(*Choose(b, Trades({"SPY"}, {9})), std::nullopt);
}

TEST(RowsOfShard, ATableMayGetOtherColumns) {
  RowsOfShard a(Shard(kA));
  EXPECT_EQ(**Choose(a, Trades({"SPY"}, {1})), Trades({"SPY"}, {1}));
  const Value other = Value::Table({"sym", "bid"}, {Value::Symbols({"SPY"}), Value::Longs({7})});
  EXPECT_EQ(**Choose(a, other), other);
}

TEST(RowsOfShard, ATableWithoutSymbolsIsInTheFirstShard) {
  const Value table = Value::Table({"size"}, {Value::Longs({1, 2})});
  RowsOfShard a(Shard(kA)), b(Shard(kB));
  EXPECT_EQ(**Choose(a, table, "event"), table);
  EXPECT_EQ(*Choose(b, table, "event"), std::nullopt);
}

TEST(RowsOfShard, TheStacksTableSaysWhichColumnHasTheSymbols) {
  RowsOfShard a(Shard(kA));
  const auto venues = [](std::string_view sym, std::string_view venue) {
    return Value::Table({"venue", "sym"}, {Value::Symbols({venue}), Value::Symbols({sym})});
  };
  EXPECT_EQ(**Choose(a, venues("SPY", "IBM")), venues("SPY", "IBM"));
  EXPECT_EQ(*Choose(a, venues("IBM", "SPY")), std::nullopt);
  const Value without = Value::Table({"venue"}, {Value::Symbols({"SPY"})});
  EXPECT_THAT(Choose(a, without).status().ToString(), HasSubstr("trade.sym: expected symbols"));
  EXPECT_THAT(Choose(a, without, "order").status().ToString(), HasSubstr("table order: not in"));
}

TEST(RowsOfShard, RowsWithoutNamesAreAnError) {
  RowsOfShard a(Shard(kA));
  EXPECT_THAT(Choose(a, Value::List({Value::Symbols({"SPY"})})).status().ToString(),
              HasSubstr("the payload is no table"));
}

}  // namespace
}  // namespace tickstack::bridge
