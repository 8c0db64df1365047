#include "table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "mem/tier.h"
#include "table/batch_testing.h"

namespace tickstack {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::string EncodedString(std::string_view text) {
  std::string item("\x0a\x00", 2);
  const auto size = static_cast<int32_t>(text.size());
  item.append(reinterpret_cast<const char*>(&size), 4);
  return item + std::string(text);
}

struct TableFixture {
  explicit TableFixture(std::string_view columns, TableOptions options = {},
                        size_t capacity_bytes = SIZE_MAX)
      : tier(mem::MakeDramTier("t", capacity_bytes)) {
    absl::StatusOr<std::shared_ptr<Table>> created = Table::Create(
        *ParseSchema("trade", columns), &symbols, TablePlacement{tier.get(), {}, nullptr}, options);
    TS_CHECK(created.ok());
    table = *created;
  }
  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier;
  std::shared_ptr<Table> table;  // Destroyed before its tier.
};

Batch OneTrade(int64_t time, const std::string& name, double price) {
  Batch batch(1);
  batch.Add<int64_t>(Type::kTimestamp, {time})
      .AddSymbols({name})
      .Add<double>(Type::kFloat, {price});
  return batch;
}

TEST(Table, ShowsWhatWasAppendedToSnapshotsTakenAfterwards) {
  TableFixture f("time p, sym s, price f");
  const Snapshot before = f.table->TakeSnapshot();
  ASSERT_TRUE(f.table->Append(OneTrade(5, "IBM", 1.5).view()).ok());
  EXPECT_EQ(before.rows(), 0u);
  EXPECT_EQ(before.RowsOf(0)->rows, 0u) << "an older snapshot has no newer rows";
  const Snapshot after = f.table->TakeSnapshot();
  EXPECT_THAT(All<int64_t>(after, 0), testing::ElementsAre(5));
  EXPECT_THAT(All<SymbolId>(after, 1), testing::ElementsAre(0));
  EXPECT_THAT(All<double>(after, 2), testing::ElementsAre(1.5));
  EXPECT_THAT(RowNumbers(after, "IBM"), testing::ElementsAre(0));
  const Postings postings = *after.RowsOf(0);
  EXPECT_EQ(postings.times->ExactNs(postings.runs[0].rows[0]), 5);
}

TEST(Table, KeepsEveryTypeOfColumn) {
  TableFixture f(
      "b b, g g, x x, h h, i i, j j, e e, f f, c c, s s, p p, m m, d d, z z, n n, u u, v v, "
      "t t, l *");
  Batch batch(2);
  batch.AddBytes(Type::kBoolean, std::string_view("\x01\x00", 2))
      .AddBytes(Type::kGuid, "0123456789abcdefFEDCBA9876543210")
      .AddBytes(Type::kByte, "\xfe\x01")
      .Add<int16_t>(Type::kShort, {-1, kNullShort})
      .Add<int32_t>(Type::kInt, {-2, kNullInt})
      .Add<int64_t>(Type::kLong, {-3, kNullLong})
      .Add<float>(Type::kReal, {1.5f, -2.5f})
      .Add<double>(Type::kFloat, {3.25, -4.25})
      .AddBytes(Type::kChar, "NT")
      .AddSymbols({"", "a symbol of some length"})
      .Add<int64_t>(Type::kTimestamp, {11, 12})
      .Add<int32_t>(Type::kMonth, {13, 14})
      .Add<int32_t>(Type::kDate, {15, 16})
      .Add<double>(Type::kDatetime, {17.5, 18.5})
      .Add<int64_t>(Type::kTimespan, {19, 20})
      .Add<int32_t>(Type::kMinute, {21, 22})
      .Add<int32_t>(Type::kSecond, {23, 24})
      .Add<int32_t>(Type::kTime, {25, 26})
      .AddItems({EncodedString("hello"), "\xf6x"});
  const BatchView view = batch.view();
  ASSERT_TRUE(f.table->Append(view).ok()) << f.table->Append(view);
  const Snapshot snapshot = f.table->TakeSnapshot();
  for (size_t i = 0; i < view.columns.size(); ++i) {
    SCOPED_TRACE(snapshot.schema().columns[i].name);
    if (!IsFixedWidth(view.columns[i].type)) continue;
    EXPECT_EQ(AsText(snapshot.ChunkBytes(i, 0)), AsText(view.columns[i].data));
  }
  EXPECT_THAT(All<SymbolId>(snapshot, 9), testing::ElementsAre(kNullSymbol, 0));
  EXPECT_EQ(AsText(snapshot.Item(18, 0)), EncodedString("hello"));
  EXPECT_EQ(AsText(snapshot.Item(18, 1)), "\xf6x");
}

TEST(Table, AListColumnTakesTypedVectorsAsAtoms) {
  TableFixture f("l *");
  ASSERT_TRUE(f.table->Append(Batch(2).AddBytes(Type::kChar, "xy").view()).ok());
  ASSERT_TRUE(f.table->Append(Batch(1).AddSymbols({"IBM"}).view()).ok());
  ASSERT_TRUE(f.table->Append(Batch(1).Add<int16_t>(Type::kShort, {0x4142}).view()).ok());
  const Snapshot snapshot = f.table->TakeSnapshot();
  EXPECT_EQ(AsText(snapshot.Item(0, 0)), "\xf6x");
  EXPECT_EQ(AsText(snapshot.Item(0, 1)), "\xf6y");
  EXPECT_EQ(AsText(snapshot.Item(0, 2)), std::string_view("\xf5IBM\0", 5));
  EXPECT_EQ(AsText(snapshot.Item(0, 3)), "\xfb\x42\x41");
}

TEST(Table, RefusesBatchesThatDoNotFitTheSchema) {
  TableFixture f("time p, sym s, price f");
  EXPECT_EQ(Message(f.table->Append(Batch(1).Add<int64_t>(Type::kTimestamp, {1}).view())),
            "length: 1 columns, table trade has 3");
  Batch wrong_type(1);
  wrong_type.Add<int64_t>(Type::kTimestamp, {1}).AddSymbols({"A"}).Add<int64_t>(Type::kLong, {1});
  EXPECT_EQ(Message(f.table->Append(wrong_type.view())),
            "type: trade.price is long, expected float");
  EXPECT_EQ(f.table->rows(), 0u);
}

TEST(Table, RefusesColumnsWhoseBytesAreNotTheirRows) {
  const auto refuse = [](std::string_view columns, Type type, std::string_view bytes) {
    TableFixture f(columns);
    const absl::Status status = f.table->Append(Batch(2).AddBytes(type, bytes).view());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(f.table->rows(), 0u);
    // A refused batch leaves the table as it was.
    if (type == Type::kSymbol) {
      EXPECT_TRUE(f.table->Append(Batch(2).AddSymbols({"A", "B"}).view()).ok());
      EXPECT_THAT(RowNumbers(f.table->TakeSnapshot(), "A"), testing::ElementsAre(0));
    }
  };
  refuse("j j", Type::kLong, "1234567812345678.");
  refuse("j j", Type::kLong, "12345678");
  refuse("sym s", Type::kSymbol, std::string_view("A\0", 2));
  refuse("sym s", Type::kSymbol, std::string_view("A\0BB", 4));
  refuse("sym s", Type::kSymbol, std::string_view("A\0B\0C\0", 6));
  refuse("l *", Type::kList, "\xf6x");
  refuse("l *", Type::kList, "\xf6x\xf6y\xf6z");
  refuse("l *", Type::kList, "\xf6x\x0a");
  refuse("l *", Type::kDict, "\xf6x\xf6y");
}

TEST(Table, RefusesRowsBeyondItsLimitByName) {
  TableFixture f("j j", {.rows_per_chunk = 64, .rows_max = 3});
  ASSERT_TRUE(f.table->Append(Batch(2).Add<int64_t>(Type::kLong, {1, 2}).view()).ok());
  const absl::Status status = f.table->Append(Batch(2).Add<int64_t>(Type::kLong, {3, 4}).view());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status), "table trade: 2 rows more than 2: it takes 3 rows");
  ASSERT_TRUE(f.table->Append(Batch(1).Add<int64_t>(Type::kLong, {3}).view()).ok());
  EXPECT_THAT(All<int64_t>(f.table->TakeSnapshot(), 0), testing::ElementsAre(1, 2, 3));
}

TEST(Table, CreateRefusesWhatNoTableCanBe) {
  SymbolTable symbols;
  const auto tier = mem::MakeDramTier("t");
  const TablePlacement placement{tier.get(), {}, nullptr};
  EXPECT_FALSE(Table::Create(Schema{"t", {}, 0}, &symbols, placement).ok());
  EXPECT_FALSE(
      Table::Create(*ParseSchema("t", "j j"), &symbols, placement, {.rows_per_chunk = 100}).ok());
}

TEST(Table, SaysWhetherTheTimesOfASymbolEverWentDown) {
  TableFixture f("time n, sym s, price f");
  const auto add = [&](int64_t time, const std::string& name) {
    Batch batch(1);
    batch.Add<int64_t>(Type::kTimespan, {time}).AddSymbols({name}).Add<double>(Type::kFloat, {0});
    ASSERT_TRUE(f.table->Append(batch.view()).ok());
  };
  add(5, "A");
  add(9, "B");
  add(5, "A");
  add(8, "B");
  const Snapshot snapshot = f.table->TakeSnapshot();
  EXPECT_TRUE(snapshot.RowsOf(0)->time_sorted);
  EXPECT_FALSE(snapshot.RowsOf(1)->time_sorted);
  EXPECT_TRUE(snapshot.RowsOf(7)->runs.empty()) << "a symbol that this table never saw";
}

TEST(Table, IndexesWithoutTimesAndNotAtAllIfThereIsNothingToIndex) {
  TableFixture no_times("time t, sym s");
  ASSERT_TRUE(
      no_times.table->Append(Batch(1).Add<int32_t>(Type::kTime, {1}).AddSymbols({"A"}).view())
          .ok());
  const Postings postings = *no_times.table->TakeSnapshot().RowsOf(0);
  EXPECT_THAT(postings.runs[0].rows, testing::ElementsAre(0));
  EXPECT_TRUE(postings.runs[0].coarse.empty());
  EXPECT_FALSE(postings.times.has_value());
  EXPECT_FALSE(TableFixture("time p, price f").table->TakeSnapshot().RowsOf(0).has_value());
  EXPECT_EQ(TableFixture("time p, sym c").table->indexed_column(), -1);
  EXPECT_EQ(TableFixture("sym s", {.index = false}).table->indexed_column(), -1);
}

TEST(Table, GivesEverythingBackToItsTiers) {
  const auto columns = mem::MakeDramTier("columns");
  const auto index = mem::MakeDramTier("index");
  const auto strings = mem::MakeDramTier("strings");
  SymbolTable symbols;
  {
    std::shared_ptr<Table> table = *Table::Create(
        *ParseSchema("t", "time p, sym s, text *"), &symbols,
        {columns.get(), {nullptr, nullptr, strings.get()}, index.get()}, {.rows_per_chunk = 1024});
    for (int i = 0; i < 5000; ++i) {
      Batch batch(1);
      batch.Add<int64_t>(Type::kTimestamp, {i}).AddSymbols({"S" + std::to_string(i % 7)});
      batch.AddItems({EncodedString(std::string(static_cast<size_t>(i % 300), 'x'))});
      ASSERT_TRUE(table->Append(batch.view()).ok());
    }
    EXPECT_GT(strings->Stats().used_bytes, 5000u * 150);
    EXPECT_EQ(table->column_bytes(0) + table->column_bytes(1), columns->Stats().used_bytes);
    EXPECT_EQ(table->column_bytes(2), strings->Stats().used_bytes);
    EXPECT_EQ(table->index_bytes(), index->Stats().used_bytes);
    EXPECT_EQ(table->bytes(), columns->Stats().used_bytes + index->Stats().used_bytes +
                                  strings->Stats().used_bytes);
  }
  for (const auto* tier : {columns.get(), index.get(), strings.get()}) {
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
  }
}

Batch Quotes(size_t rows) {
  Batch batch(rows);
  batch.Add(Type::kTimestamp, std::vector<int64_t>(rows, 1));
  batch.AddSymbols(std::vector<std::string>(rows, "IBM"));
  for (int price = 0; price < 2; ++price) batch.Add(Type::kFloat, std::vector<double>(rows, 1.5));
  for (int size = 0; size < 2; ++size) batch.Add(Type::kLong, std::vector<int64_t>(rows, 100));
  for (int code = 0; code < 2; ++code) batch.AddBytes(Type::kChar, std::string(rows, 'N'));
  return batch;
}

TEST(Table, ASmallTableIsSmall) {
  TableFixture f("time p, sym s, bid f, ask f, bsize j, asize j, mode c, ex c");
  ASSERT_TRUE(f.table->Append(Quotes(100).view()).ok());
  EXPECT_EQ(f.table->TakeSnapshot().chunks(), 1u);
  EXPECT_LE(f.table->bytes(), 1024u * 46 + 4096);
  ASSERT_TRUE(f.table->Append(Quotes(10'000).view()).ok());
  EXPECT_LE(f.table->bytes(), 2u * 10'100 * 46 + 256 * 1024);
}

TEST(Table, ALargeTableTakesTheBytesOfItsRows) {
  TableFixture f("time p, sym s, bid f, ask f, bsize j, asize j, mode c, ex c", {.index = false});
  for (size_t rows = 0; rows < size_t{1} << 20; rows += size_t{1} << 16) {
    ASSERT_TRUE(f.table->Append(Quotes(size_t{1} << 16).view()).ok());
  }
  EXPECT_EQ(f.table->bytes(), 46u << 20);
}

TEST(Table, TakesListValuesLargerThanAnArenaBlock) {
  TableFixture f("l *");
  const std::vector<std::string> items = {
      EncodedString("small"), EncodedString(std::string(5 * kMiB, 'x')),
      EncodedString(std::string(kMiB, 'y')), EncodedString("last")};
  ASSERT_TRUE(f.table->Append(Batch(4).AddItems(items).view()).ok());
  ASSERT_TRUE(f.table->Append(Batch(4).AddItems(items).view()).ok());
  const Snapshot snapshot = f.table->TakeSnapshot();
  for (size_t row = 0; row < 8; ++row) {
    ASSERT_TRUE(AsText(snapshot.Item(0, row)) == items[row % 4]) << row;
  }
}

// Goal: the table agrees with plain vectors. Method: random batches of 0 to 500 rows into chunks of
// 64 and 256 rows and of 1,024 to 4,096, so that batches start, end and lie across borders
// everywhere; every snapshot is compared again at the end.
TEST(Table, AgreesWithPlainVectorsAcrossChunkBorders) {
  struct Model {
    std::vector<int64_t> time;
    std::vector<std::string> sym;
    std::vector<char> cond;
    std::vector<std::string> text;
  };
  for (const size_t rows_per_chunk : {size_t{64}, size_t{256}, size_t{4096}}) {
    SCOPED_TRACE(rows_per_chunk);
    TableFixture f("time p, sym s, cond c, text *", {.rows_per_chunk = rows_per_chunk});
    std::mt19937_64 rng(rows_per_chunk);
    Model model;
    std::vector<Snapshot> snapshots;
    for (int round = 0; round < 60; ++round) {
      const size_t rows = rng() % 4 == 0 ? rng() % 3 : rng() % 500;
      Model batch;
      for (size_t i = 0; i < rows; ++i) {
        batch.time.push_back(static_cast<int64_t>(rng() % 1'000'000));
        const uint64_t s = rng() % 40;
        batch.sym.push_back(s == 0 ? "" : "SYM" + std::to_string(s * s * s * s * s));
        batch.cond.push_back(static_cast<char>('A' + rng() % 26));
        batch.text.push_back(EncodedString(std::string(rng() % 40, 'z')));
      }
      Batch built(rows);
      built.Add(Type::kTimestamp, batch.time).AddSymbols(batch.sym).Add(Type::kChar, batch.cond);
      built.AddItems(batch.text);
      const absl::Status status = f.table->Append(built.view());
      ASSERT_TRUE(status.ok()) << status;
      model.time.insert(model.time.end(), batch.time.begin(), batch.time.end());
      model.sym.insert(model.sym.end(), batch.sym.begin(), batch.sym.end());
      model.cond.insert(model.cond.end(), batch.cond.begin(), batch.cond.end());
      model.text.insert(model.text.end(), batch.text.begin(), batch.text.end());
      ASSERT_EQ(f.table->rows(), model.time.size());
      snapshots.push_back(f.table->TakeSnapshot());
    }
    for (const Snapshot& snapshot : snapshots) {
      const auto rows = static_cast<std::ptrdiff_t>(snapshot.rows());
      ASSERT_EQ(All<int64_t>(snapshot, 0),
                std::vector(model.time.begin(), model.time.begin() + rows));
      ASSERT_EQ(All<char>(snapshot, 2), std::vector(model.cond.begin(), model.cond.begin() + rows));
      const std::vector<SymbolId> ids = All<SymbolId>(snapshot, 1);
      std::map<std::string, std::vector<uint32_t>> rows_of;
      for (size_t row = 0; row < snapshot.rows(); ++row) {
        ASSERT_EQ(f.symbols.NameOf(ids[row]), model.sym[row]);
        ASSERT_EQ(AsText(snapshot.Item(3, row)), model.text[row]);
        rows_of[model.sym[row]].push_back(static_cast<uint32_t>(row));
      }
      for (const auto& [name, expected] : rows_of) {
        ASSERT_EQ(RowNumbers(snapshot, name), expected) << name;
        const Postings postings = *snapshot.RowsOf(*f.symbols.Find(name));
        ASSERT_EQ(postings.rows, expected.size());
        for (const PostingRun& run : postings.runs) {
          for (size_t i = 0; i < run.rows.size(); ++i) {
            ASSERT_EQ(postings.times->ExactNs(run.rows[i]), model.time[run.rows[i]]);
            ASSERT_EQ(run.coarse[i], postings.times->CoarseOf(model.time[run.rows[i]]));
          }
        }
      }
    }
  }
}

// Goal: rows that are written past the caches are the same rows, and exist when they are published.
// Method: batches around the size from which a tier streams, into a tier that always does.
TEST(Table, StreamsLargePartsIntoATierThatWantsThat) {
  mem::TierOptions tier_options;
  tier_options.capacity_bytes = 64 * kMiB;
  tier_options.streaming = mem::Streaming::kOn;
  const std::unique_ptr<mem::Tier> tier = *mem::OpenTier(tier_options);
  SymbolTable symbols;
  const auto table = *Table::Create(*ParseSchema("t", "time p, sym s, size j"), &symbols,
                                    {tier.get(), {}, nullptr});
  std::vector<int64_t> expected;
  for (const size_t rows : {size_t{1}, size_t{511}, size_t{512}, size_t{3000}, size_t{10'000}}) {
    std::vector<int64_t> values;
    std::vector<std::string> names;
    for (size_t i = 0; i < rows; ++i) {
      values.push_back(static_cast<int64_t>(expected.size()));
      expected.push_back(values.back());
      names.push_back("s" + std::to_string(i % 7));
    }
    Batch batch(rows);
    batch.Add(Type::kTimestamp, values).AddSymbols(names).Add(Type::kLong, values);
    ASSERT_TRUE(table->Append(batch.view()).ok());
    const Snapshot snapshot = table->TakeSnapshot();
    std::vector<int64_t> found;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      const auto part = snapshot.Chunk<int64_t>(2, chunk);
      found.insert(found.end(), part.begin(), part.end());
    }
    ASSERT_EQ(found, expected);
  }
}

// A tier that refuses one allocation, after as many as FailAfter permits.
class FailingTier final : public mem::Tier {
 public:
  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    if (allowed_-- == 0) return ResourceExhausted("full by design");
    return inner_->Allocate(bytes);
  }
  std::byte* TryAllocate(size_t bytes) override { return Allocate(bytes).value_or(nullptr); }
  void Free(std::byte* memory, size_t bytes) override { inner_->Free(memory, bytes); }
  bool Has(const std::byte* memory) const override { return inner_->Has(memory); }
  mem::TierStats Stats() const override { return inner_->Stats(); }
  size_t ResidentBytes() const override { return 0; }
  void FailAfter(int allocations) { allowed_ = allocations; }
  bool failed() const { return allowed_ < 0; }

 private:
  std::unique_ptr<mem::Tier> inner_ = mem::MakeDramTier("inner");
  int allowed_ = INT32_MAX;
};

// Goal: a batch that a full tier refuses leaves no trace, wherever it was refused. Method: tries
// one batch with the first, second, third... allocation failing, then takes it.
TEST(Table, ABatchThatATierRefusesLeavesNoTrace) {
  FailingTier tier;
  SymbolTable symbols;
  std::shared_ptr<Table> table =
      *Table::Create(*ParseSchema("t", "time p, sym s, text *"), &symbols, {&tier, {}, nullptr},
                     {.rows_per_chunk = 64});
  std::vector<int64_t> times;
  std::vector<std::string> names, texts;
  for (int i = 0; i < 1000; ++i) {
    times.push_back(i);
    names.push_back(i % 3 == 0 ? "A" : "S" + std::to_string(i % 50));
    texts.push_back(EncodedString(std::string(200, static_cast<char>('a' + i % 26))));
  }
  Batch batch(1000);
  batch.Add(Type::kTimestamp, times).AddSymbols(names).AddItems(texts);
  int refused = 0;
  for (size_t taken = 0; taken < 3; ++taken) {
    while (true) {
      // Fails at the first allocation each time. Memory that was reserved before stays, so each try
      // gets one allocation further.
      tier.FailAfter(1);
      const absl::Status status = table->Append(batch.view());
      if (status.ok()) break;
      ++refused;
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      ASSERT_EQ(table->rows(), taken * 1000);
      ASSERT_EQ(RowNumbers(table->TakeSnapshot(), "A").size(), taken * 334);
    }
    ASSERT_EQ(table->rows(), (taken + 1) * 1000);
  }
  EXPECT_GT(refused, 90);
  const Snapshot snapshot = table->TakeSnapshot();
  for (size_t row = 0; row < 3000; ++row) {
    ASSERT_EQ(AsText(snapshot.Item(2, row)), texts[row % 1000]);
  }
  const std::vector<uint32_t> rows = RowNumbers(snapshot, "A");
  ASSERT_EQ(rows.size(), 1002u);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i], i / 334 * 1000 + i % 334 * 3);
  }
}

TEST(Table, StaysUsableWhenItsTierIsFull) {
  TableFixture f("time p, sym s, price f", {.rows_per_chunk = 1024}, 90'000);
  size_t rows = 0;
  absl::Status status;
  while (status.ok()) {
    status = f.table->Append(OneTrade(1, "A", 2).view());
    rows += status.ok();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(status)), testing::StartsWith("table trade: index: tier t: "));
  EXPECT_EQ(f.table->rows(), rows);
  EXPECT_EQ(RowNumbers(f.table->TakeSnapshot(), "A").size(), rows);
  EXPECT_FALSE(f.table->Append(OneTrade(1, "A", 2).view()).ok());
  EXPECT_TRUE(f.table->Append(OneTrade(1, "B", 2).view()).ok()) << "what still fits is taken";
  EXPECT_EQ(All<double>(f.table->TakeSnapshot(), 2).size(), rows + 1);
}

// Goal: the index of a Zipf day wastes less than a third. Method: 8,000 symbols and 5 million rows,
// where symbol k has 1/k of the rows of the first; compares the index's bytes with 8 bytes a
// posting.
TEST(Table, TheIndexOfAZipfDayWastesLessThanAThird) {
  const auto columns = mem::MakeDramTier("columns");
  const auto index = mem::MakeDramTier("index");
  SymbolTable symbols;
  std::shared_ptr<Table> table = *Table::Create(*ParseSchema("t", "time p, sym s"), &symbols,
                                                {columns.get(), {}, index.get()});
  size_t rows = 0;
  for (int k = 1; k <= 8000; ++k) {
    const auto of_symbol = static_cast<size_t>(530'000 / k);
    Batch batch(of_symbol);
    batch.Add(Type::kTimestamp, std::vector<int64_t>(of_symbol, k));
    batch.AddSymbols(std::vector<std::string>(of_symbol, "S" + std::to_string(k)));
    ASSERT_TRUE(table->Append(batch.view()).ok());
    rows += of_symbol;
  }
  EXPECT_LT(static_cast<double>(index->Stats().used_bytes), 8.0 * 1.33 * static_cast<double>(rows));
}

// Goal: readers see whole batches only, and postings that agree with the rows. Method: one writer
// appends batches whose values sum to zero over column `amount` and whose rows carry one batch
// number; two readers check every snapshot they take.
TEST(Table, ReadersSeeWholeBatchesWhileTheWriterAppends) {
  TableFixture f("time p, sym s, amount j, text *", {.rows_per_chunk = 256});
  constexpr int kBatches = 2000;
  std::atomic<int> wrong = 0;
  std::atomic<bool> done = false;
  const auto check = [&] {
    const Snapshot snapshot = f.table->TakeSnapshot();
    int64_t sum = 0;
    for (size_t c = 0; c < snapshot.chunks(); ++c) {
      for (const int64_t amount : snapshot.Chunk<int64_t>(2, c)) sum += amount;
    }
    if (sum != 0) ++wrong;
    size_t postings_rows = 0;
    const int32_t names = f.symbols.size();
    for (SymbolId id = 0; id < names; ++id) {
      const Postings postings = *snapshot.RowsOf(id);
      postings_rows += postings.rows;
      if (!postings.time_sorted) ++wrong;
      for (const PostingRun& run : postings.runs) {
        const uint32_t row = run.rows.back();
        const ChunkLayout::Chunk chunk = snapshot.layout().ChunkOf(row);
        const size_t in_chunk = row - chunk.begin_row;
        if (row >= snapshot.rows() || snapshot.Chunk<SymbolId>(1, chunk.number)[in_chunk] != id ||
            postings.times->CoarseOf(snapshot.Chunk<int64_t>(0, chunk.number)[in_chunk]) !=
                run.coarse.back() ||
            snapshot.Item(3, row).size() != 6u + row % 5) {
          ++wrong;
        }
      }
    }
    if (postings_rows != snapshot.rows()) ++wrong;
  };
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) check();
    });
  }
  std::mt19937_64 rng(3);
  size_t row = 0;
  for (int b = 0; b < kBatches; ++b) {
    const size_t rows = 2 + rng() % 30;
    std::vector<int64_t> amounts(rows);
    std::vector<std::string> names, texts;
    for (size_t i = 0; i + 1 < rows; ++i) {
      amounts[i] = static_cast<int64_t>(rng() % 1000);
      amounts.back() -= amounts[i];
    }
    for (size_t i = 0; i < rows; ++i, ++row) {
      names.push_back("S" + std::to_string(rng() % static_cast<uint64_t>(1 + b / 20)));
      texts.push_back(EncodedString(std::string(row % 5, 'x')));
    }
    Batch batch(rows);
    batch.Add(Type::kTimestamp, std::vector<int64_t>(rows, int64_t{b} << 14)).AddSymbols(names);
    batch.Add(Type::kLong, amounts).AddItems(texts);
    ASSERT_TRUE(f.table->Append(batch.view()).ok());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  check();
  EXPECT_EQ(wrong, 0);
}

// Fills a tier with the default tables, ten quotes to a trade, and returns its figures at the first
// refusal.
mem::TierStats FigureAtFirstRefusal(const mem::TierOptions& options) {
  const std::unique_ptr<mem::Tier> tier = *mem::OpenTier(options);
  SymbolTable symbols;
  std::vector<std::shared_ptr<Table>> tables;
  for (const Schema& schema : DefaultSchemas()) {
    tables.push_back(*Table::Create(schema, &symbols, TablePlacement{tier.get(), {}, nullptr}));
  }
  constexpr size_t kRows = 100;
  const auto rows_of = [&](const Schema& schema, size_t rows, size_t first) {
    Batch batch(rows);
    for (const ColumnSpec& column : schema.columns) {
      if (column.type == Type::kSymbol) {
        std::vector<std::string> names;
        for (size_t i = 0; i < rows; ++i) names.push_back(fmt::format("S{}", (first + i) % 100));
        batch.AddSymbols(names);
      } else {
        batch.AddBytes(column.type, std::string(rows * WidthOf(column.type), 0));
      }
    }
    return batch;
  };
  for (size_t at = 0;; at += kRows) {
    for (const std::shared_ptr<Table>& table : tables) {
      const size_t rows = table->schema().table == "quote" ? kRows : kRows / 10;
      const absl::Status status = table->Append(rows_of(table->schema(), rows, at).view());
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      tables.clear();  // Clears before the tier ends; the high-water mark keeps what was used.
      return tier->Stats();
    }
  }
}

TEST(Table, UsesMostOfASmallTierBeforeItIsRefused) {
  for (const size_t capacity : {16 * kMiB, 32 * kMiB, 48 * kMiB, 128 * kMiB}) {
    for (const bool is_file : {false, true}) {
      SCOPED_TRACE(fmt::format("{} bytes, file {}", capacity, is_file));
      mem::TierOptions options;
      options.capacity_bytes = capacity;
      if (is_file) options.kind = mem::TierKind::kFilesystem;
      if (is_file) options.path = "/dev/shm";
      const mem::TierStats stats = FigureAtFirstRefusal(options);
      EXPECT_GE(stats.high_water_bytes, stats.capacity_bytes / 10 * 8);
    }
  }
}

TEST(Table, HasFullChunksInALargeTier) {
  TableFixture f("time p, sym s, price f", {}, 32 * 20 * (size_t{1} << 18));
  EXPECT_EQ(f.table->TakeSnapshot().layout().Rows(40), size_t{1} << 18);
}

}  // namespace
}  // namespace tickstack
