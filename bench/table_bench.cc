// Measures how fast a table takes a day: batches of quotes of 8,000 symbols with Zipf activity,
// appended from memory that resembles a receive buffer. Prints rows/s and bytes/s, and the memory
// per row of a day of 10 million quotes, including the index and unused tails.
//
// Estimate. A quote row reads 43 to 46 bytes from the receive buffer and writes 46 to columns and 8
// to the index: about 100 bytes per row. A core copies some 8 GB/s into fresh memory on the 2-core
// machine that this was written on, so memory alone allows about 80 million rows/s. The rest is
// interning (about 5 ns) and the index (two accesses to a cache line per row). BM_Memcpy measures
// the memory part on the machine at hand.

#include <benchmark/benchmark.h>

#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "bench/day_batches.h"
#include "mem/tier.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

DayBatches Quotes(size_t rows_per_batch) {
  DayBatchOptions options;
  options.rows_per_batch = rows_per_batch;
  return {DefaultSchemas()[1], options};
}

// Returns a tier that was touched and freed, so that no measurement includes a hypervisor fetching
// the machine's memory.
mem::Tier& WarmTier() {
  static const std::unique_ptr<mem::Tier> tier = [] {
    auto made = mem::MakeDramTier("warm");
    std::vector<std::byte*> chunks;
    for (size_t i = 0; i < 800; ++i) chunks.push_back(*made->Allocate(mem::Tier::kHugePageBytes));
    for (std::byte* chunk : chunks) made->Free(chunk, mem::Tier::kHugePageBytes);
    return made;
  }();
  return *tier;
}

// Arguments: rows per batch; with index or without; warm memory, or MiB that the tier populates in
// advance.
void BM_AppendQuotes(benchmark::State& state) {
  const auto rows_per_batch = static_cast<size_t>(state.range(0));
  const DayBatches batches = Quotes(rows_per_batch);
  constexpr size_t kRowsMax = 20'000'000;  // After that a new table reuses the memory.
  const auto ahead = static_cast<size_t>(state.range(2)) << 20;
  const auto fresh = mem::MakeDramTier("fresh", SIZE_MAX, ahead);
  mem::Tier* const tier = ahead == 0 ? &WarmTier() : fresh.get();
  SymbolTable symbols;
  std::shared_ptr<Table> table;
  size_t rows = 0, bytes = 0;
  for (auto _ : state) {
    if (table == nullptr || table->rows() > kRowsMax) {
      state.PauseTiming();
      table = nullptr;
      TableOptions options;
      options.index = state.range(1) != 0;
      table = *Table::Create(DefaultSchemas()[1], &symbols, {tier, {}, nullptr}, options);
      state.ResumeTiming();
    }
    const size_t number = rows / rows_per_batch;
    TS_CHECK(table->Append(batches.InPool(number)).ok());
    rows += rows_per_batch;
    bytes += batches.BytesInPool(number).size();
  }
  TS_CHECK(table->rows() > 0);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_AppendQuotes)
    ->ArgNames({"rows", "index", "ahead_MiB"})
    ->Args({2400, 1, 0})
    ->Args({2400, 1, 64})
    ->Args({2400, 0, 0})
    ->Args({100'000, 1, 0})
    ->Args({100, 1, 0})
    ->Args({1, 1, 0});

// The memory part alone: the same bytes, copied to fresh memory of a tier.
void BM_Memcpy(benchmark::State& state) {
  const DayBatches batches = Quotes(2400);
  const auto tier = mem::MakeDramTier("bench");
  constexpr size_t kBytes = size_t{1} << 30;
  std::byte* const memory = *tier->Allocate(kBytes);
  size_t rows = 0, at = 0, bytes = 0;
  for (auto _ : state) {
    const std::span<const std::byte> batch = batches.BytesInPool(rows / 2400);
    if (at + batch.size() > kBytes) at = 0;
    std::memcpy(memory + at, batch.data(), batch.size());
    benchmark::ClobberMemory();
    at += batch.size();
    rows += 2400;
    bytes += batch.size();
  }
  tier->Free(memory, kBytes);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Memcpy);

void BM_InternKnownNames(benchmark::State& state) {
  const DayBatches batches = Quotes(2400);
  SymbolTable symbols;
  std::vector<SymbolId> ids(2400);
  for (size_t i = 0; i < batches.pool_size(); ++i) {
    TS_CHECK(symbols.InternAll(batches.InPool(i).columns[1].data, ids));
  }
  size_t rows = 0;
  for (auto _ : state) {
    TS_CHECK(symbols.InternAll(batches.InPool(rows / 2400).columns[1].data, ids));
    benchmark::DoNotOptimize(ids.data());
    rows += 2400;
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}
BENCHMARK(BM_InternKnownNames);

// Finds the postings of the busiest symbol of 10 million rows, which is the first step of an as-of
// join. Also reports the bytes per row of such a day: its columns have 46, without unused chunk
// tails.
void BM_FindPostings(benchmark::State& state) {
  const DayBatches batches = Quotes(2400);
  const auto tier = mem::MakeDramTier("bench");
  SymbolTable symbols;
  const std::shared_ptr<Table> table =
      *Table::Create(DefaultSchemas()[1], &symbols, {tier.get(), {}, nullptr});
  while (table->rows() < 10'000'000) {
    TS_CHECK(table->Append(batches.InPool(table->rows() / 2400)).ok());
  }
  const Snapshot snapshot = table->TakeSnapshot();
  SymbolId busiest = 0;
  for (SymbolId id = 0; id < symbols.size(); ++id) {
    if (snapshot.RowsOf(id)->rows > snapshot.RowsOf(busiest)->rows) busiest = id;
  }
  for (auto _ : state) benchmark::DoNotOptimize(snapshot.RowsOf(busiest));
  const auto rows_of_day = static_cast<double>(table->rows());
  state.counters["index_B_a_row"] = static_cast<double>(table->index_bytes()) / rows_of_day;
  state.counters["B_a_row"] = static_cast<double>(table->bytes()) / rows_of_day;
}
BENCHMARK(BM_FindPostings);

}  // namespace
}  // namespace tickstack::bench

BENCHMARK_MAIN();
