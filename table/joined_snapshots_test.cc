#include "table/joined_snapshots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "mem/tier.h"
#include "table/batch_testing.h"

namespace tickstack {
namespace {

// Tables of one process, which share their names.
struct ProcessTables {
  std::shared_ptr<Table> NewTable(std::string_view columns) {
    absl::StatusOr<std::shared_ptr<Table>> created =
        Table::Create(*ParseSchema("trade", columns), &symbols, {tier.get(), {}, nullptr},
                      {.rows_per_chunk = 64, .rows_per_block = 64});
    TS_CHECK(created.ok());
    return *created;
  }
  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
};

constexpr std::string_view kColumns = "time p, sym s, price f";

// Appends rows of which row `first + i` has that time; its symbol is one of three.
void AddRows(Table& table, int64_t first, size_t rows) {
  Batch batch(rows);
  std::vector<int64_t> times;
  std::vector<std::string> names;
  std::vector<double> prices;
  for (size_t i = 0; i < rows; ++i) {
    times.push_back(first + static_cast<int64_t>(i));
    names.push_back("s" + std::to_string((static_cast<size_t>(first) + i) % 3));
    prices.push_back(static_cast<double>(first) + static_cast<double>(i));
  }
  batch.Add(Type::kTimestamp, times).AddSymbols(names).Add(Type::kFloat, prices);
  TS_CHECK(table.Append(batch.view()).ok());
}

std::vector<int64_t> TimesOf(const Snapshot& snapshot) {
  std::vector<int64_t> times;
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    const std::span<const int64_t> part = snapshot.Chunk<int64_t>(0, chunk);
    times.insert(times.end(), part.begin(), part.end());
  }
  return times;
}

std::vector<uint32_t> RowsOf(const Snapshot& snapshot, std::string_view name) {
  const Postings found = *snapshot.RowsOf(*snapshot.table().symbols().Find(name));
  std::vector<uint32_t> rows;
  for (const PostingRun& run : found.runs) {
    rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  }
  EXPECT_EQ(rows.size(), found.rows);
  return rows;
}

TEST(JoinedSnapshots, RowNumbersRunThroughAllTables) {
  ProcessTables process;
  const auto old_day = process.NewTable(kColumns), new_day = process.NewTable(kColumns);
  AddRows(*old_day, 0, 100);
  AddRows(*new_day, 100, 70);
  const Snapshot joined = Snapshot::Join({old_day->TakeSnapshot(), new_day->TakeSnapshot()});
  ASSERT_EQ(joined.rows(), 170u);
  const std::vector<int64_t> times = TimesOf(joined);
  ASSERT_EQ(times.size(), 170u);
  for (size_t row = 0; row < 170; ++row) {
    ASSERT_EQ(times[row], static_cast<int64_t>(row));
    const ChunkLayout::Chunk chunk = joined.layout().ChunkOf(row);
    ASSERT_EQ(joined.Chunk<int64_t>(0, chunk.number)[row - chunk.begin_row],
              static_cast<int64_t>(row));
    const TimeBounds bounds = *joined.TimesOf(0, chunk.number);
    ASSERT_LE(bounds.min_ns, static_cast<int64_t>(row));
    ASSERT_GE(bounds.max_ns, static_cast<int64_t>(row));
  }
}

TEST(JoinedSnapshots, ASymbolHasItsRowsInEveryTable) {
  ProcessTables process;
  const auto old_day = process.NewTable(kColumns), new_day = process.NewTable(kColumns);
  AddRows(*old_day, 0, 100);
  AddRows(*new_day, 100, 70);
  const Snapshot joined = Snapshot::Join({old_day->TakeSnapshot(), new_day->TakeSnapshot()});
  for (uint32_t symbol = 0; symbol < 3; ++symbol) {
    std::vector<uint32_t> expected;
    for (uint32_t row = symbol; row < 170; row += 3) expected.push_back(row);
    EXPECT_EQ(RowsOf(joined, "s" + std::to_string(symbol)), expected);
    const PostingEnds ends = *joined.EndsOf(*process.symbols.Find("s" + std::to_string(symbol)));
    EXPECT_EQ(ends.rows, expected.size());
    EXPECT_EQ(ends.first_row, expected.front());
    EXPECT_EQ(ends.last_row, expected.back());
  }
}

TEST(JoinedSnapshots, TablesWithoutRowsAreNotSeen) {
  ProcessTables process;
  const auto old_day = process.NewTable(kColumns), new_day = process.NewTable(kColumns);
  const auto join = [&] {
    return Snapshot::Join({old_day->TakeSnapshot(), new_day->TakeSnapshot()});
  };
  EXPECT_EQ(join().rows(), 0u);
  EXPECT_EQ(&join().table(), new_day.get());
  AddRows(*new_day, 0, 5);
  EXPECT_EQ(&join().table(), new_day.get()) << "one table is not worth joining";
  EXPECT_EQ(RowsOf(join(), "s1"), (std::vector<uint32_t>{1, 4}));
  AddRows(*old_day, 0, 5);
  EXPECT_EQ(join().rows(), 10u);
}

TEST(JoinedSnapshots, AKeyedTableIsJoinedAsItsBatchesLeftIt) {
  ProcessTables process;
  constexpr std::string_view kKeyed = "time p, sym s | price f";
  const auto old_day = process.NewTable(kKeyed), new_day = process.NewTable(kKeyed);
  AddRows(*old_day, 0, 100);
  AddRows(*new_day, 100, 20);
  const Snapshot joined = Snapshot::Join({old_day->TakeSnapshot(), new_day->TakeSnapshot()});
  AddRows(*new_day, 120, 20);
  EXPECT_EQ(joined.rows(), 120u);
  EXPECT_EQ(TimesOf(joined).size(), 120u);
  EXPECT_EQ(RowsOf(joined, "s0").size(), 40u);
}

TEST(JoinedSnapshots, ItemsOfListsAreFoundByRow) {
  ProcessTables process;
  const auto old_day = process.NewTable("time p, text C");
  const auto new_day = process.NewTable("time p, text C");
  const auto add = [](Table& table, std::string_view text) {
    std::string item("\x0a\x00", 2);
    const auto size = static_cast<int32_t>(text.size());
    item.append(reinterpret_cast<const char*>(&size), 4);
    Batch batch(1);
    batch.Add<int64_t>(Type::kTimestamp, {1}).AddItems({item + std::string(text)});
    TS_CHECK(table.Append(batch.view()).ok());
  };
  add(*old_day, "old");
  add(*new_day, "new");
  add(*new_day, "newer");
  const Snapshot joined = Snapshot::Join({old_day->TakeSnapshot(), new_day->TakeSnapshot()});
  const auto text_of = [&](size_t row) {
    const std::span<const std::byte> item = joined.Item(1, row).subspan(6);
    return std::string(reinterpret_cast<const char*>(item.data()), item.size());
  };
  EXPECT_EQ(text_of(0), "old");
  EXPECT_EQ(text_of(1), "new");
  EXPECT_EQ(text_of(2), "newer");
}

}  // namespace
}  // namespace tickstack
