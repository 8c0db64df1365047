#include "disk/row_gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/symbols.h"

namespace tickstack::disk {
namespace {

struct Market {
  std::shared_ptr<Table> Make(std::string_view columns, bool index) {
    return *Table::Create(*ParseSchema("t", columns), &symbols, {tier.get(), {}, nullptr},
                          {.rows_per_chunk = 2048, .index = index});
  }
  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
};

// Appends rows of symbols `a`, `b`, ..., each less frequent than the previous one; `late` in 1,000
// are late.
void AppendRows(size_t count, size_t symbols, uint64_t late, std::mt19937_64& rng, Table& table) {
  std::vector<int64_t> times(count), values(count);
  std::vector<std::string> names;
  const auto first = static_cast<int64_t>(table.rows());
  for (size_t i = 0; i < count; ++i) {
    const size_t rank = std::min<size_t>(rng() % symbols, rng() % symbols);
    names.emplace_back(1, static_cast<char>('a' + rank));
    times[i] = first + static_cast<int64_t>(i) - (rng() % 1000 < late ? 500 : 0);
    values[i] = first + static_cast<int64_t>(i);
  }
  ASSERT_TRUE(table
                  .Append(Batch(count)
                              .Add(Type::kTimestamp, times)
                              .AddSymbols(names)
                              .Add(Type::kLong, values)
                              .view())
                  .ok());
}

// Returns the order as row numbers, by its definition: one run after the other.
std::vector<uint64_t> RowsOf(const RowOrder& order) {
  std::vector<uint64_t> rows;
  for (const std::span<const uint32_t> run : order.runs()) {
    rows.insert(rows.end(), run.begin(), run.end());
  }
  return rows;
}

// Goal: windows of any size have the elements in order. Method: tables with few and with many
// symbols per chunk, in order of time and not, with and without an index; random windows from one
// row to all rows, so that both ways of filling are used.
TEST(RowGather, FillsWindowsOfAnySizeInOrder) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Market market;
    const std::shared_ptr<Table> table = market.Make("time p, sym s, value j", seed % 4 != 0);
    for (int batch = 0; batch < 3; ++batch) {
      AppendRows(1 + rng() % 9'000, 1 + rng() % 20, seed % 3, rng, *table);
    }
    const Snapshot snapshot = table->TakeSnapshot();
    const RowsOfDate of_date(snapshot, 0);
    const RowOrder order(snapshot, of_date, nullptr);
    const RowGather<uint64_t> gather(snapshot, 2, order);
    const size_t window_rows_max = 1 + rng() % (snapshot.rows() + 10);
    std::vector<uint64_t> gathered;
    while (gathered.size() < snapshot.rows()) {
      const size_t left = snapshot.rows() - gathered.size();
      std::vector<uint64_t> window(std::min(1 + rng() % window_rows_max, left), UINT64_MAX);
      gather.Fill(gathered.size(), window);
      gathered.insert(gathered.end(), window.begin(), window.end());
    }
    ASSERT_EQ(gathered, RowsOf(order));  // A row's value is its number.
  }
}

TEST(RowGather, FillsWindowsOfRowsThatAreInOrderOfTimeAlone) {
  Market market;
  const std::shared_ptr<Table> table = market.Make("time p, name s, value j", true);
  std::mt19937_64 rng(1);
  AppendRows(5'000, 3, 100, rng, *table);
  const Snapshot snapshot = table->TakeSnapshot();
  const RowsOfDate of_date(snapshot, 0);
  const RowOrder order(snapshot, of_date, nullptr);
  ASSERT_FALSE(order.in_place());
  std::vector<uint64_t> gathered(snapshot.rows());
  const RowGather<uint64_t> gather(snapshot, 2, order);
  gather.Fill(0, std::span(gathered).first(1'234));
  gather.Fill(1'234, std::span(gathered).subspan(1'234));
  EXPECT_EQ(gathered, RowsOf(order));
}

}  // namespace
}  // namespace tickstack::disk
