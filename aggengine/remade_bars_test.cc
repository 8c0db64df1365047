#include "aggengine/remade_bars.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "aggengine/engine.h"
#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/row_reader.h"
#include "table/batch_testing.h"
#include "wire/upd.h"
#include "wire/upd_encoder.h"

namespace tickstack::aggengine {
namespace {

Batch RandomTrades(std::mt19937_64& rng, size_t rows) {
  const std::vector<std::string> names = {"A", "BB", ""};
  std::vector<int64_t> times;
  std::vector<std::string> syms;
  std::vector<double> prices;
  std::vector<int32_t> sizes;
  for (size_t i = 0; i < rows; ++i) {
    times.push_back(static_cast<int64_t>(rng() % 300) * kNsPerSecond);
    syms.push_back(names[rng() % names.size()]);
    prices.push_back(static_cast<double>(rng() % 1000) / 7);
    sizes.push_back(rng() % 10 == 0 ? kNullInt : static_cast<int32_t>(rng() % 100));
  }
  Batch batch(rows);
  batch.Add(Type::kTimestamp, times).AddSymbols(syms).Add(Type::kFloat, prices);
  batch.Add(Type::kInt, sizes).AddBytes(Type::kBoolean, std::string(rows, '\0'));
  batch.AddBytes(Type::kChar, std::string(rows, 'c')).AddBytes(Type::kChar, std::string(rows, 'N'));
  return batch;
}

// The rows of a table of bars as bytes, by the bytes of their keys.
std::map<std::string, std::string> RowsOf(const Table& table) {
  const std::unique_ptr<disk::RowReader> reader = disk::ReadRows(table.TakeSnapshot());
  const absl::StatusOr<BatchView> batch = reader->Read(0, reader->rows());
  TS_CHECK(batch.ok());
  std::vector<std::string> keys(batch->rows), rests(batch->rows);
  for (size_t column = 0; column < batch->columns.size(); ++column) {
    std::string_view bytes = AsText(batch->columns[column].data);
    const Type type = batch->columns[column].type;
    for (size_t row = 0; row < batch->rows; ++row) {
      const size_t width = type == Type::kSymbol ? bytes.find('\0') + 1 : WidthOf(type);
      (column < table.schema().key_columns ? keys : rests)[row] += bytes.substr(0, width);
      bytes.remove_prefix(width);
    }
  }
  std::map<std::string, std::string> rows;
  for (size_t row = 0; row < keys.size(); ++row) rows[keys[row]] = rests[row];
  return rows;
}

// Goal: bars that are made again from all rows of a day are those that the engine published for
// these rows, whatever order they came in. Method: random trades with late ones; the engine is
// tested against its definition.
TEST(RemadeBars, AreThoseOfTheEngine) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
  std::vector<Schema> schemas = DefaultSchemas();
  std::vector<BarSpec> specs;
  for (const BarSpec& spec : DefaultBars(schemas)) {
    if (spec.table == "trade") specs.push_back(spec);
  }
  ASSERT_EQ(specs.size(), 2u);
  for (const BarSpec& spec : specs) schemas.push_back(*SchemaOf(spec, schemas[0]));
  ManualClock clock(0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    SymbolTable symbols;
    Engine engine({specs}, tier.get(), &clock);
    engine.OnSchemas(schemas);
    const auto ticks = *Table::Create(schemas[0], &symbols, {tier.get(), {}, nullptr});
    for (int upds = 0; upds < 5; ++upds) {
      Batch batch = RandomTrades(rng, 1 + rng() % 100);
      ASSERT_TRUE(ticks->Append(batch.view()).ok());
      ByteBuffer body;
      wire::UpdEncoder encoder(body);
      encoder.Head("upd", "trade");
      encoder.Batch(batch.view());
      engine.OnLogged(body);
    }
    std::map<std::string, std::shared_ptr<Table>> published;
    for (const BarSpec& spec : specs) {
      published[spec.name] =
          *Table::Create(*SchemaOf(spec, schemas[0]), &symbols, {tier.get(), {}, nullptr});
    }
    wire::UpdDecoder decoder;
    while (const std::optional<ByteBuffer> message = engine.NextMessage()) {
      wire::UpdView upd;
      ASSERT_TRUE(decoder.Decode(message->span().subspan(wire::kHeaderBytes), &upd).ok());
      ASSERT_TRUE(published[std::string(upd.table)]->Append(upd.batch).ok());
      engine.OnAnswer(absl::OkStatus());
    }
    const auto remade = RemakeBars(specs, ticks->TakeSnapshot(), &symbols, tier.get());
    ASSERT_TRUE(remade.ok()) << remade.status();
    ASSERT_EQ(remade->size(), specs.size());
    for (const std::shared_ptr<Table>& table : *remade) {
      EXPECT_FALSE(RowsOf(*table).empty());
      EXPECT_EQ(RowsOf(*table), RowsOf(*published[table->schema().table]));
    }
  }
}

TEST(RemadeBars, NeedTheColumnsOfTheirDefinition) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
  SymbolTable symbols;
  const auto ticks =
      *Table::Create(*ParseSchema("trade", "time p, sym s"), &symbols, {tier.get(), {}, nullptr});
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  EXPECT_TRUE(absl::IsInvalidArgument(
      RemakeBars(std::span(specs).first(1), ticks->TakeSnapshot(), &symbols, tier.get()).status()));
}

}  // namespace
}  // namespace tickstack::aggengine
