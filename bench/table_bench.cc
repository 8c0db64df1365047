// How fast a table takes a day: batches of quotes, 8,000 symbols with a Zipf activity, appended
// from memory that looks like a receive buffer. Prints rows/s and bytes/s.
//
// The physical estimate beside it: a quote row reads 43 to 46 bytes from the receive buffer and
// writes 46 to columns and 12 to the index, about 104 bytes a row. A core copies some 8 GB/s into
// fresh memory on the 2-core machine that this was written on, so memory alone allows about
// 80 million rows/s; the rest is the intern (about 5 ns) and the index (two visits of a cache line
// per row). BM_Memcpy measures the memory part on the machine at hand.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "mem/tier.h"
#include "table/table.h"

namespace tickstack {
namespace {

constexpr size_t kSymbols = 8000;
constexpr size_t kBatches = 256;  // Different batches that are appended in turn.

// One encoded quote batch: the columns of `quote` back to back.
struct QuoteBatch {
  ByteBuffer bytes;
  std::vector<ColumnView> columns;
  size_t rows = 0;

  BatchView view() const { return {columns, rows}; }
};

class Zipf {
 public:
  Zipf() {
    double sum = 0;
    for (size_t k = 1; k <= kSymbols; ++k)
      cumulative_.push_back(sum += 1.0 / static_cast<double>(k));
  }
  size_t Draw(std::mt19937_64& rng) const {
    const double at = std::uniform_real_distribution<>(0, cumulative_.back())(rng);
    return static_cast<size_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), at) -
                               cumulative_.begin()) %
           kSymbols;
  }

 private:
  std::vector<double> cumulative_;
};

std::vector<std::string> Tickers() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kSymbols; ++i) {
    std::string name;
    for (size_t left = i + 18; left > 0; left /= 26) {
      name.push_back(static_cast<char>('A' + left % 26));
    }
    names.push_back(name);
  }
  std::shuffle(names.begin(), names.end(), std::mt19937_64(1));
  return names;
}

QuoteBatch MakeBatch(size_t rows, std::mt19937_64& rng) {
  static const Zipf zipf;
  static const std::vector<std::string> tickers = Tickers();
  QuoteBatch batch;
  batch.rows = rows;
  std::vector<size_t> ends;
  batch.bytes.AppendLittle(uint8_t{0});  // Everything at an odd address.
  const auto fill = [&](size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) batch.bytes.AppendLittle(static_cast<uint8_t>(rng()));
    ends.push_back(batch.bytes.size());
  };
  for (size_t i = 0; i < rows; ++i) batch.bytes.AppendLittle(static_cast<int64_t>(i));
  ends.push_back(batch.bytes.size());
  for (size_t i = 0; i < rows; ++i) {
    batch.bytes.Append(tickers[zipf.Draw(rng)]);
    batch.bytes.AppendLittle(uint8_t{0});
  }
  ends.push_back(batch.bytes.size());
  for (const size_t width : {8u, 8u, 8u, 8u, 1u, 1u}) fill(rows * width);
  size_t begin = 1;
  const Schema schema = DefaultSchemas()[1];
  for (size_t i = 0; i < ends.size(); ++i) {
    batch.columns.push_back({schema.columns[i].type, Attribute::kNone, rows,
                             batch.bytes.span().subspan(begin, ends[i] - begin)});
    begin = ends[i];
  }
  return batch;
}

const std::vector<QuoteBatch>& Batches(size_t rows) {
  static std::vector<QuoteBatch> batches;
  if (batches.empty() || batches.front().rows != rows) {
    std::mt19937_64 rng(42);
    batches.clear();
    for (size_t i = 0; i < kBatches; ++i) batches.push_back(MakeBatch(rows, rng));
  }
  return batches;
}

// A tier that has been touched and given back, so that no measurement pays for a hypervisor that
// fetches the machine's memory.
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

// Arguments: rows per batch, with index or not, warm memory or MiB populated ahead by the tier.
void BM_AppendQuotes(benchmark::State& state) {
  const auto rows_per_batch = static_cast<size_t>(state.range(0));
  const std::vector<QuoteBatch>& batches = Batches(rows_per_batch);
  constexpr size_t kRowsMax = 20'000'000;  // Then a new table, which reuses the memory.
  const auto ahead = static_cast<size_t>(state.range(2)) << 20;
  const auto fresh = mem::MakeDramTier("fresh", SIZE_MAX, ahead);
  mem::Tier* const tier = ahead == 0 ? &WarmTier() : fresh.get();
  SymbolTable symbols;
  std::shared_ptr<Table> table;
  size_t rows = 0, bytes = 0;
  double index_bytes_a_row = 0;
  for (auto _ : state) {
    if (table == nullptr || table->rows() > kRowsMax) {
      state.PauseTiming();
      table = nullptr;
      TableOptions options;
      options.index = state.range(1) != 0;
      table = *Table::Create(DefaultSchemas()[1], &symbols, {tier, {}, nullptr}, options);
      state.ResumeTiming();
    }
    const QuoteBatch& batch = batches[rows / rows_per_batch % kBatches];
    TS_CHECK(table->Append(batch.view()).ok());
    rows += batch.rows;
    bytes += batch.bytes.size();
  }
  TS_CHECK(table->rows() > 0);
  const double column_bytes = 46;
  index_bytes_a_row =
      static_cast<double>(table->bytes()) / static_cast<double>(table->rows()) - column_bytes;
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.counters["index_B_a_row"] = index_bytes_a_row;
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
  const std::vector<QuoteBatch>& batches = Batches(2400);
  const auto tier = mem::MakeDramTier("bench");
  constexpr size_t kBytes = size_t{1} << 30;
  std::byte* const memory = *tier->Allocate(kBytes);
  size_t rows = 0, at = 0, bytes = 0;
  for (auto _ : state) {
    const QuoteBatch& batch = batches[rows / 2400 % kBatches];
    if (at + batch.bytes.size() > kBytes) at = 0;
    std::memcpy(memory + at, batch.bytes.data(), batch.bytes.size());
    benchmark::ClobberMemory();
    at += batch.bytes.size();
    rows += batch.rows;
    bytes += batch.bytes.size();
  }
  tier->Free(memory, kBytes);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Memcpy);

void BM_InternKnownNames(benchmark::State& state) {
  const std::vector<QuoteBatch>& batches = Batches(2400);
  SymbolTable symbols;
  std::vector<SymbolId> ids(2400);
  for (const QuoteBatch& batch : batches) TS_CHECK(symbols.InternAll(batch.columns[1].data, ids));
  size_t rows = 0;
  for (auto _ : state) {
    const QuoteBatch& batch = batches[rows / 2400 % kBatches];
    TS_CHECK(symbols.InternAll(batch.columns[1].data, ids));
    benchmark::DoNotOptimize(ids.data());
    rows += batch.rows;
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}
BENCHMARK(BM_InternKnownNames);

// The postings of the busiest symbol of 10 million rows: what an asof join asks first.
void BM_FindPostings(benchmark::State& state) {
  const std::vector<QuoteBatch>& batches = Batches(2400);
  const auto tier = mem::MakeDramTier("bench");
  SymbolTable symbols;
  const std::shared_ptr<Table> table =
      *Table::Create(DefaultSchemas()[1], &symbols, {tier.get(), {}, nullptr});
  while (table->rows() < 10'000'000) {
    TS_CHECK(table->Append(batches[table->rows() / 2400 % kBatches].view()).ok());
  }
  const Snapshot snapshot = table->TakeSnapshot();
  SymbolId busiest = 0;
  for (SymbolId id = 0; id < symbols.size(); ++id) {
    if (snapshot.RowsOf(id)->rows > snapshot.RowsOf(busiest)->rows) busiest = id;
  }
  for (auto _ : state) benchmark::DoNotOptimize(snapshot.RowsOf(busiest));
}
BENCHMARK(BM_FindPostings);

}  // namespace
}  // namespace tickstack

BENCHMARK_MAIN();
