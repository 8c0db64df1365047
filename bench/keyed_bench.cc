// Measures upserts into a keyed table, and what its blocks cost readers.
//
// The table is a day of minute bars: 8,000 symbols by 390 minutes, 3.1 million rows of 84 bytes. A
// batch has bars of the newest minute in random order, as from an engine that publishes what
// changed.
//
// Estimate. An upserted row writes 84 bytes and copies as many. It finds its key by one slot, which
// is in no cache but was prefetched, and compares it with a row of the newest minute, which has
// been in the cache since the last batch: some 50 ns.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/time.h"
#include "mem/tier.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

constexpr size_t kSymbols = 8000;
constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr std::string_view kColumns =
    "sym s, minute p | time p, open f, high f, low f, close f, volume j, vwap f, trades j";

// Bars of one minute: `rows` symbols, starting with the first of `order`.
class Bars {
 public:
  Bars(std::span<const uint32_t> order, int64_t minute, const Schema& schema) {
    bytes_.resize(schema.columns.size());
    for (const uint32_t symbol : order) {
      bytes_[0].Append("S" + std::to_string(symbol));
      bytes_[0].AppendLittle(uint8_t{0});
      bytes_[1].AppendLittle(minute * kMinuteNs);
      for (size_t i = 2; i < bytes_.size(); ++i) {
        if (schema.columns[i].type == Type::kFloat) {
          bytes_[i].AppendLittle(static_cast<double>(symbol));
        } else {
          bytes_[i].AppendLittle(minute);
        }
      }
    }
    for (size_t i = 0; i < bytes_.size(); ++i) {
      columns_.push_back(
          {schema.columns[i].type, Attribute::kNone, order.size(), bytes_[i].span()});
    }
  }
  BatchView view() const { return {columns_, columns_[0].rows}; }

 private:
  std::vector<ByteBuffer> bytes_;
  std::vector<ColumnView> columns_;
};

struct Day {
  Day(mem::Tier* tier, int64_t minutes) : order(kSymbols) {
    table = *Table::Create(*ParseSchema("bars", kColumns), &symbols, {tier, {}, nullptr});
    std::iota(order.begin(), order.end(), 0);
    for (int64_t minute = 0; minute < minutes; ++minute) {
      std::ranges::shuffle(order, rng);
      TS_CHECK(table->Append(Bars(order, minute, table->schema()).view()).ok());
    }
    last_minute = minutes - 1;
  }
  // Returns what an engine publishes repeatedly: bars of the newest minute, in a new order each
  // time.
  std::vector<Bars> Batches(size_t rows) {
    std::vector<Bars> batches;
    for (int i = 0; i < 16; ++i) {
      std::ranges::shuffle(order, rng);
      batches.emplace_back(std::span(order).first(rows), last_minute, table->schema());
    }
    return batches;
  }
  SymbolTable symbols;
  std::shared_ptr<Table> table;
  std::vector<uint32_t> order;
  int64_t last_minute = 0;
  std::mt19937_64 rng{1};
};

Day& TheDay() {
  static const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("day");
  static Day day(tier.get(), 390);
  return day;
}

void BM_UpsertBars(benchmark::State& state) {
  Day& day = TheDay();
  const auto rows = static_cast<size_t>(state.range(0));
  const std::vector<Bars> batches = day.Batches(rows);
  const size_t before = day.table->bytes();
  size_t next = 0;
  for (auto _ : state) {
    TS_CHECK(day.table->Append(batches[next++ % batches.size()].view()).ok());
  }
  TS_CHECK(day.table->bytes() == before);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_row"] =
      static_cast<double>(before) / static_cast<double>(day.table->rows());
}
BENCHMARK(BM_UpsertBars)->Arg(1)->Arg(100)->Arg(8000);

// Batches of new keys over a whole day: growth of blocks and indexes, and the slowest batch.
void BM_AppendBars(benchmark::State& state) {
  const Day& like = TheDay();
  std::vector<Bars> batches;
  for (int64_t minute = 0; minute < 390; ++minute) {
    batches.emplace_back(like.order, minute, like.table->schema());
  }
  // Touched memory: otherwise a hypervisor's first touches would be the slowest batches.
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("warm");
  {
    const Day warm(tier.get(), 390);
  }
  double slowest_ms = 0;
  for (auto _ : state) {
    const Day day(tier.get(), 0);
    for (const Bars& batch : batches) {
      const int64_t begin_ns = MonotonicNs();
      TS_CHECK(day.table->Append(batch.view()).ok());
      slowest_ms = std::max(slowest_ms, static_cast<double>(MonotonicNs() - begin_ns) / 1'000'000);
    }
  }
  state.SetItemsProcessed(state.iterations() * 390 * static_cast<int64_t>(kSymbols));
  state.counters["slowest_batch_ms"] = slowest_ms;
}
BENCHMARK(BM_AppendBars)->Unit(benchmark::kMillisecond);

// A column of all rows, in blocks, as a query goes through it.
void BM_ScanBars(benchmark::State& state) {
  const Day& day = TheDay();
  for (auto _ : state) {
    const Snapshot snapshot = day.table->TakeSnapshot();
    double sum = 0;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      for (const double high : snapshot.Chunk<double>(4, chunk)) sum += high;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(day.table->rows() * 8));
}
BENCHMARK(BM_ScanBars)->Unit(benchmark::kMillisecond);

void BM_TakeSnapshot(benchmark::State& state) {
  const Day& day = TheDay();
  for (auto _ : state) benchmark::DoNotOptimize(day.table->TakeSnapshot());
}
BENCHMARK(BM_TakeSnapshot)->ThreadRange(1, 2);

}  // namespace
}  // namespace tickstack::bench

BENCHMARK_MAIN();
