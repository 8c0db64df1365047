#include "table/keyed_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/table.h"

namespace tickstack {
namespace {

constexpr std::string_view kBars = "sym s, minute p | high f, trades j";

struct KeyedFixture {
  explicit KeyedFixture(std::string_view columns, size_t capacity_bytes = SIZE_MAX,
                        TableOptions options = {.rows_per_block = 64})
      : tier(mem::MakeDramTier("t", capacity_bytes)) {
    absl::StatusOr<std::shared_ptr<Table>> created =
        Table::Create(*ParseSchema("bars", columns), &symbols, {tier.get(), {}, nullptr}, options);
    TS_CHECK(created.ok());
    table = *std::move(created);
  }
  std::string Sym(const Snapshot& snapshot, size_t row) const {
    return std::string(symbols.NameOf(All<SymbolId>(snapshot, 0)[row]));
  }
  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier;
  std::shared_ptr<Table> table;  // Destroyed before its tier.
};

struct Bar {
  std::string sym;
  int64_t minute;
  double high;
  int64_t trades;
  friend bool operator==(const Bar&, const Bar&) = default;
};

std::ostream& operator<<(std::ostream& out, const Bar& bar) {
  return out << bar.sym << " " << bar.minute << " " << bar.high << " " << bar.trades;
}

Batch BatchOf(const std::vector<Bar>& bars) {
  std::vector<std::string> sym;
  std::vector<int64_t> minute, trades;
  std::vector<double> high;
  for (const Bar& bar : bars) {
    sym.push_back(bar.sym);
    minute.push_back(bar.minute);
    high.push_back(bar.high);
    trades.push_back(bar.trades);
  }
  Batch batch(bars.size());
  batch.AddSymbols(sym).Add(Type::kTimestamp, minute);
  batch.Add(Type::kFloat, high).Add(Type::kLong, trades);
  return batch;
}

std::vector<Bar> BarsOf(const Snapshot& snapshot) {
  const auto sym = All<SymbolId>(snapshot, 0);
  const auto minute = All<int64_t>(snapshot, 1);
  const auto high = All<double>(snapshot, 2);
  const auto trades = All<int64_t>(snapshot, 3);
  std::vector<Bar> bars;
  for (size_t i = 0; i < sym.size(); ++i) {
    bars.push_back(
        {std::string(snapshot.table().symbols().NameOf(sym[i])), minute[i], high[i], trades[i]});
  }
  return bars;
}

TEST(KeyedTable, ReplacesTheRowOfAKeyWhereItIsAndAppendsNewKeys) {
  KeyedFixture f(kBars);
  ASSERT_TRUE(f.table->Append(BatchOf({{"IBM", 1, 10, 1}, {"AIG", 1, 20, 1}}).view()).ok());
  const Snapshot before = f.table->TakeSnapshot();
  ASSERT_TRUE(f.table->Append(BatchOf({{"IBM", 2, 11, 1}, {"IBM", 1, 12, 2}}).view()).ok());
  EXPECT_THAT(
      BarsOf(f.table->TakeSnapshot()),
      testing::ElementsAre(Bar{"IBM", 1, 12, 2}, Bar{"AIG", 1, 20, 1}, Bar{"IBM", 2, 11, 1}));
  EXPECT_THAT(BarsOf(before), testing::ElementsAre(Bar{"IBM", 1, 10, 1}, Bar{"AIG", 1, 20, 1}));
  EXPECT_EQ(f.table->rows(), 3u);
}

TEST(KeyedTable, TheLastRowOfAKeyInABatchCounts) {
  KeyedFixture f(kBars);
  ASSERT_TRUE(
      f.table->Append(BatchOf({{"A", 1, 1, 1}, {"B", 1, 2, 1}, {"A", 1, 3, 2}}).view()).ok());
  EXPECT_THAT(BarsOf(f.table->TakeSnapshot()),
              testing::ElementsAre(Bar{"A", 1, 3, 2}, Bar{"B", 1, 2, 1}));
  ASSERT_TRUE(f.table->Append(BatchOf({{"A", 1, 4, 3}, {"A", 1, 5, 4}}).view()).ok());
  EXPECT_EQ(BarsOf(f.table->TakeSnapshot())[0], (Bar{"A", 1, 5, 4}));
}

TEST(KeyedTable, HasAKeyOfAnyTypes) {
  KeyedFixture f("b b, g g, h h, i i, f f, e e, c c, s s, p p | v j");
  const auto batch = [](bool flag, std::string_view guid, int16_t h, double x, float y, char c,
                        const std::string& sym, int64_t value) {
    Batch one(1);
    one.AddBytes(Type::kBoolean, std::string(1, static_cast<char>(flag)))
        .AddBytes(Type::kGuid, guid)
        .Add<int16_t>(Type::kShort, {h})
        .Add<int32_t>(Type::kInt, {kNullInt})
        .Add<double>(Type::kFloat, {x})
        .Add<float>(Type::kReal, {y})
        .AddBytes(Type::kChar, std::string(1, c))
        .AddSymbols({sym})
        .Add<int64_t>(Type::kTimestamp, {5})
        .Add<int64_t>(Type::kLong, {value});
    return one;
  };
  constexpr std::string_view kGuid = "0123456789abcdef", kOther = "0123456789abcdeX";
  ASSERT_TRUE(f.table->Append(batch(true, kGuid, 1, 0.0, 1, 'x', "", 1).view()).ok());
  for (Batch other :
       {batch(false, kGuid, 1, 0.0, 1, 'x', "", 2), batch(true, kOther, 1, 0.0, 1, 'x', "", 3),
        batch(true, kGuid, 2, 0.0, 1, 'x', "", 4), batch(true, kGuid, 1, 0.5, 1, 'x', "", 5),
        batch(true, kGuid, 1, 0.0, 2, 'x', "", 6), batch(true, kGuid, 1, 0.0, 1, 'y', "", 7),
        batch(true, kGuid, 1, 0.0, 1, 'x', "a", 8)}) {
    ASSERT_TRUE(f.table->Append(other.view()).ok());
  }
  EXPECT_EQ(f.table->rows(), 8u);
  ASSERT_TRUE(f.table->Append(batch(true, kGuid, 1, -0.0, 1, 'x', "", 9).view()).ok());
  EXPECT_EQ(f.table->rows(), 8u) << "-0 is 0";
  EXPECT_EQ(All<int64_t>(f.table->TakeSnapshot(), 9)[0], 9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(f.table->Append(batch(true, kGuid, 1, nan, 1, 'x', "", 10).view()).ok());
  ASSERT_TRUE(f.table->Append(batch(true, kGuid, 1, -nan, 1, 'x', "", 11).view()).ok());
  EXPECT_EQ(f.table->rows(), 9u) << "a null is a key like others";
}

TEST(KeyedTable, IndexesASymbolOfItsKey) {
  KeyedFixture f(kBars);
  ASSERT_TRUE(
      f.table->Append(BatchOf({{"A", 1, 1, 1}, {"B", 1, 1, 1}, {"A", 2, 1, 1}}).view()).ok());
  ASSERT_TRUE(f.table->Append(BatchOf({{"A", 1, 2, 2}, {"A", 3, 1, 1}}).view()).ok());
  const Snapshot snapshot = f.table->TakeSnapshot();
  EXPECT_THAT(RowNumbers(snapshot, "A"), testing::ElementsAre(0, 2, 3));
  EXPECT_THAT(RowNumbers(snapshot, "B"), testing::ElementsAre(1));
  EXPECT_FALSE(snapshot.RowsOf(0)->times.has_value());
  EXPECT_EQ(f.table->indexed_column(), 0);
  KeyedFixture alone("sym s | price f");
  EXPECT_EQ(alone.table->indexed_column(), -1);
  EXPECT_TRUE(alone.table->has_index());
  KeyedFixture changing("id j, venue s | sym s");
  EXPECT_EQ(changing.table->indexed_column(), -1) << "a value column changes";
}

TEST(KeyedTable, RefusesColumnsWhoseBytesAreNotTheirRows) {
  const auto refuse = [](Batch batch, std::string_view message) {
    KeyedFixture f(kBars);
    ASSERT_TRUE(f.table->Append(BatchOf({{"A", 1, 1, 1}}).view()).ok());
    const absl::Status status = f.table->Append(batch.view());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), message);
    EXPECT_THAT(BarsOf(f.table->TakeSnapshot()), testing::ElementsAre(Bar{"A", 1, 1, 1}));
  };
  const auto batch = [](std::string_view names, std::string_view minutes) {
    Batch made(2);
    made.AddBytes(Type::kSymbol, names).AddBytes(Type::kTimestamp, minutes);
    made.Add<double>(Type::kFloat, {1, 2}).Add<int64_t>(Type::kLong, {1, 2});
    return made;
  };
  constexpr std::string_view kNames("A\0B\0", 4), kMinutes = "1234567812345678";
  refuse(batch(kNames, "12345678"),
         "table bars: minute: 8 bytes do not hold 2 values of type timestamp");
  refuse(batch(kNames, "12345678123456789"),
         "table bars: minute: 17 bytes do not hold 2 values of type timestamp");
  refuse(batch(kNames.substr(0, 2), kMinutes),
         "table bars: sym: 2 bytes do not hold 2 values of type symbol");
  refuse(batch(std::string_view("A\0B\0C\0", 6), kMinutes),
         "table bars: sym: 6 bytes do not hold 2 values of type symbol");
}

TEST(KeyedTable, RefusesWhatCannotBeReplacedInPlace) {
  SymbolTable symbols;
  const auto tier = mem::MakeDramTier("t");
  const auto create = [&](std::string_view columns, TableOptions options) {
    return std::string(Message(
        Table::Create(*ParseSchema("bars", columns), &symbols, {tier.get(), {}, nullptr}, options)
            .status()));
  };
  EXPECT_EQ(create("sym s | note *", {}),
            "table bars: column note is of strings or other nested values, expected types of one "
            "width each: rows of a keyed table are replaced in place");
  EXPECT_EQ(create(kBars, {.rows_per_block = 2048}),
            "table bars: 2048 rows per block, expected a power of two from 64 to 1,024");
}

TEST(KeyedTable, TakesColumnsAndIndexFromTheTiersThatThePlacementNames) {
  SymbolTable symbols;
  const auto rest = mem::MakeDramTier("rest"), high = mem::MakeDramTier("high"),
             index = mem::MakeDramTier("index");
  const std::shared_ptr<Table> table =
      *Table::Create(*ParseSchema("bars", kBars), &symbols,
                     {rest.get(), {nullptr, nullptr, high.get()}, index.get()});
  std::vector<Bar> bars;
  for (int64_t minute = 0; minute < 2000; ++minute) bars.push_back({"A", minute, 1, 1});
  ASSERT_TRUE(table->Append(BatchOf(bars).view()).ok());
  EXPECT_EQ(high->Stats().used_bytes, table->column_bytes(2));
  EXPECT_EQ(index->Stats().used_bytes, table->index_bytes());
  EXPECT_EQ(rest->Stats().used_bytes + table->column_bytes(2) + table->index_bytes(),
            table->bytes());
  EXPECT_EQ(table->column_bytes(2), 2048 * sizeof(double));
  EXPECT_EQ(table->column_bytes(0), 2048 * sizeof(SymbolId));
  EXPECT_LT(table->index_bytes(), 2000 * 40u);
}

// Goal: a full tier refuses a batch as a whole, whatever it lacked, and takes the next one that
// fits. Method: batches of new and known keys into tiers of many sizes.
TEST(KeyedTable, AFullTierRefusesABatchWhole) {
  int refused = 0;
  for (size_t capacity = 256; capacity < (size_t{64} << 10); capacity += 1280) {
    SCOPED_TRACE(capacity);
    KeyedFixture f(kBars, capacity);
    std::vector<Bar> model;
    std::mt19937_64 rng(capacity);
    for (int64_t batch = 0; batch < 40; ++batch) {
      std::vector<Bar> bars;
      for (const Bar& bar : model) {
        if (rng() % 4 == 0)
          bars.push_back({bar.sym, bar.minute, 1.0 * static_cast<double>(batch), batch});
      }
      const size_t known = bars.size();
      for (int64_t i = 0; i < 20; ++i) bars.push_back({"s" + std::to_string(i), batch, 0, batch});
      const std::vector<Bar> before = BarsOf(f.table->TakeSnapshot());
      const absl::Status status = f.table->Append(BatchOf(bars).view());
      if (!status.ok()) {
        ++refused;
        ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
        ASSERT_EQ(BarsOf(f.table->TakeSnapshot()), before);
        for (const auto& [sym, count] : std::map<std::string, int>{{"s1", 0}, {"s19", 0}}) {
          ASSERT_EQ(RowNumbers(f.table->TakeSnapshot(), sym).size(), model.size() / 20);
        }
        continue;
      }
      for (size_t i = 0; i < known; ++i) {
        *std::ranges::find_if(model, [&](const Bar& bar) {
          return bar.sym == bars[i].sym && bar.minute == bars[i].minute;
        }) = bars[i];
      }
      model.insert(model.end(), bars.begin() + static_cast<ptrdiff_t>(known), bars.end());
      ASSERT_EQ(BarsOf(f.table->TakeSnapshot()), model);
    }
    EXPECT_LE(f.tier->Stats().used_bytes, capacity);
  }
  EXPECT_GT(refused, 100);
}

TEST(KeyedTable, RefusesRowsBeyondItsLimitAndStillReplaces) {
  KeyedFixture f(kBars, SIZE_MAX, {.rows_per_block = 64, .rows_max = 2});
  ASSERT_TRUE(f.table->Append(BatchOf({{"A", 1, 1, 1}, {"B", 1, 1, 1}}).view()).ok());
  const absl::Status status = f.table->Append(BatchOf({{"A", 1, 2, 2}, {"C", 1, 1, 1}}).view());
  EXPECT_EQ(Message(status), "table bars: 1 rows more than 2: it takes 2 rows");
  EXPECT_EQ(BarsOf(f.table->TakeSnapshot())[0], (Bar{"A", 1, 1, 1}))
      << "the batch is refused whole";
  EXPECT_TRUE(f.table->Append(BatchOf({{"A", 1, 3, 3}}).view()).ok());
}

// Goal: at every point the table agrees with its definition, a map and the order in which keys
// came, and old snapshots stay. Method: random batches with repeated keys over few and many blocks;
// random snapshots are compared with the model's copy of their moment.
TEST(KeyedTable, AgreesWithAMapAndSnapshotsStay) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    KeyedFixture f(kBars);
    std::map<std::pair<std::string, int64_t>, size_t> rows;
    std::vector<Bar> model;
    std::vector<std::pair<Snapshot, std::vector<Bar>>> held;
    const size_t symbols = 1 + rng() % 60, minutes = 1 + rng() % 40;
    for (int64_t batch = 0; batch < 120; ++batch) {
      std::vector<Bar> bars;
      for (size_t i = rng() % (rng() % 8 == 0 ? 300 : 10); i > 0; --i) {
        const std::string sym = rng() % 20 == 0 ? "" : "s" + std::to_string(rng() % symbols);
        const auto minute = rng() % 30 == 0 ? kNullLong : static_cast<int64_t>(rng() % minutes);
        bars.push_back({sym, minute, static_cast<double>(rng() % 1000), batch});
        const auto [at, is_new] = rows.emplace(std::pair(sym, minute), model.size());
        if (is_new) model.push_back(bars.back());
        model[at->second] = bars.back();
      }
      ASSERT_TRUE(f.table->Append(BatchOf(bars).view()).ok());
      if (rng() % 4 == 0) held.emplace_back(f.table->TakeSnapshot(), model);
      if (!held.empty() && rng() % 5 == 0) {
        held.erase(held.begin() + static_cast<ptrdiff_t>(rng() % held.size()));
      }
    }
    ASSERT_EQ(BarsOf(f.table->TakeSnapshot()), model);
    for (const auto& [snapshot, bars] : held) {
      ASSERT_EQ(BarsOf(snapshot), bars);
      std::vector<uint32_t> expected;
      for (uint32_t row = 0; row < bars.size(); ++row) {
        if (bars[row].sym == "s0") expected.push_back(row);
      }
      ASSERT_EQ(RowNumbers(snapshot, "s0"), expected);
    }
    held.clear();
    // The next batch sees that no view is held; then the rows are stored once.
    ASSERT_TRUE(f.table->Append(BatchOf({model[0]}).view()).ok());
    EXPECT_EQ(f.table->column_bytes(2), (model.size() + 63) / 64 * 64 * sizeof(double));
    EXPECT_EQ(f.table->bytes(), f.tier->Stats().used_bytes);
  }
}

// Goal: keys are found while the index doubles many times.
TEST(KeyedTable, FindsKeysInAnIndexThatGrew) {
  KeyedFixture f("k j | v j", SIZE_MAX, {});
  constexpr int64_t kKeys = 200'000, kBatch = 1000;
  for (int round = 0; round < 2; ++round) {
    for (int64_t begin = 0; begin < kKeys; begin += kBatch) {
      std::vector<int64_t> keys, values;
      for (int64_t key = begin; key < begin + kBatch; ++key) {
        keys.push_back(key << 20);  // Hashes have to spread these keys.
        values.push_back(key + round);
      }
      Batch batch(kBatch);
      batch.Add(Type::kLong, keys).Add(Type::kLong, values);
      ASSERT_TRUE(f.table->Append(batch.view()).ok());
    }
  }
  const Snapshot snapshot = f.table->TakeSnapshot();
  const auto keys = All<int64_t>(snapshot, 0), values = All<int64_t>(snapshot, 1);
  ASSERT_EQ(keys.size(), static_cast<size_t>(kKeys));
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(keys[i], static_cast<int64_t>(i) << 20);
    ASSERT_EQ(values[i], static_cast<int64_t>(i) + 1);
  }
  EXPECT_LT(f.table->index_bytes(), kKeys * 21u);
}

}  // namespace
}  // namespace tickstack
