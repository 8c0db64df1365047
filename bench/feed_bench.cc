// Measures what a feed can generate and encode on one core: rows/s, and bytes/s of message data.
//
// Estimate. The simulation writes a quote row of 47 bytes, or a trade row of 27, once at 10 GB/s or
// more: 5 ns. A random number, an alias slot, a walk step and a symbol's record (400 KiB:
// second-level cache) cost 5 to 10 ns, and the loops of eight columns 1 to 2 ns each: in total 20
// to 25 ns, or 40 million rows/s. For LEAN archives, zlib inflates some 300 MB/s of text at 30
// bytes per row: 100 ns per row.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/logging.h"
#include "base/time.h"
#include "feed/feed.h"
#include "feed/sources/lean_source.h"
#include "feed/sources/shard_source.h"
#include "feed/sources/sim_source.h"
#include "table/shard_map.h"

namespace tickstack::feed {
namespace {

// Drains a source whose rows are all due, and checks that no row is lost.
void DrainAll(benchmark::State& state, Source& source, int64_t rows_expected) {
  int64_t rows = 0, bytes = 0;
  for (auto _ : state) {
    TS_CHECK(source.Rewind({}).ok());
    source.Start(0);
    int64_t rows_of_run = 0;
    while (true) {
      const absl::StatusOr<const FeedBatch*> batch = source.Next(kNsPerDay);
      TS_CHECK(batch.ok());
      if (*batch == nullptr) break;
      benchmark::DoNotOptimize((*batch)->data.data());
      rows_of_run += (*batch)->rows;
      bytes += static_cast<int64_t>((*batch)->data.size());
    }
    TS_CHECK(rows_of_run == rows_expected);
    rows += rows_of_run;
  }
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(bytes);
}

void BM_Sim(benchmark::State& state, double rate) {
  SimOptions options;
  options.batch_rows = state.range(0);
  options.rows = 4'000'000;
  options.rate = rate;
  absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(options);
  TS_CHECK(source.ok());
  DrainAll(state, **source, options.rows);
}
BENCHMARK_CAPTURE(BM_Sim, paced, 48'000.0)
    ->Arg(2'400)
    ->Arg(240)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Sim, fast, 0.0)->Arg(2'400)->Unit(benchmark::kMillisecond);

// One of N shards: all rows are made, its own are chosen and copied. 8000 symbols.
void BM_Shard(benchmark::State& state) {
  SimOptions options;
  options.batch_rows = 2'400;
  options.rows = 4'000'000;
  options.rate = 0;
  std::vector<std::string> names;
  for (int64_t i = 0; i < state.range(0); ++i) names.push_back(fmt::format("s{}", i));
  const auto map = std::make_shared<const ShardMap>(*ShardMap::Create(names, {}));
  int64_t rows_of_shard = 0;
  {
    absl::StatusOr<std::unique_ptr<ShardSource>> source =
        ShardSource::Create(*options.Open(), map, 0, DefaultSchemas());
    TS_CHECK(source.ok());
    (*source)->Start(0);
    while ((*source)->next_due_ns() != kNeverDue) {
      const FeedBatch* const batch = *(*source)->Next(kNsPerDay);
      if (batch != nullptr) rows_of_shard += batch->rows;
    }
    int64_t rows = 0;
    for (auto _ : state) {
      TS_CHECK((*source)->Rewind({}).ok());
      (*source)->Start(0);
      while ((*source)->next_due_ns() != kNeverDue) {
        const FeedBatch* const batch = *(*source)->Next(kNsPerDay);
        if (batch == nullptr) continue;
        benchmark::DoNotOptimize(batch->data.data());
        rows += batch->rows;
      }
    }
    TS_CHECK(rows == rows_of_shard * static_cast<int64_t>(state.iterations()));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * options.rows);
}
BENCHMARK(BM_Shard)->Arg(1)->Arg(2)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

// The whole feed without its socket: receives the messages, with headers, that a connection would.
class NullLink final : public Link {
 public:
  void Send(ByteBuffer messages) override { bytes += messages.size(); }
  void Ask(const Value&) override {}
  size_t queued_bytes() const override { return 0; }
  size_t bytes = 0;
};

void BM_Feed(benchmark::State& state) {
  InitLogging("bench", LogLevel::kError);
  SimOptions options;
  options.batch_rows = state.range(0);
  options.rows = 4'000'000;
  int64_t rows = 0, bytes = 0;
  for (auto _ : state) {
    absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(options);
    TS_CHECK(source.ok());
    Feed feed({}, *std::move(source));
    NullLink link;
    feed.Start(0);
    feed.OnConnected(&link, 0);
    feed.OnAnswer(Value::Dict(Value::Symbols({}), Value::Longs({})), 0);
    while (feed.state() == FeedState::kPublishing) feed.Poll(kNsPerDay);
    TS_CHECK(feed.state() == FeedState::kConfirming);
    rows += options.rows;
    bytes += static_cast<int64_t>(link.bytes);
  }
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_Feed)->Arg(2'400)->Arg(240)->Arg(1)->Unit(benchmark::kMillisecond);

// Seeking: what resuming a feed costs, whatever the row.
void BM_SimRewind(benchmark::State& state) {
  absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(SimOptions());
  TS_CHECK(source.ok());
  const NameMap<int64_t> done = {{"quote", 70'000'000}, {"trade", 6'999'000}};
  for (auto _ : state) TS_CHECK((*source)->Rewind(done).ok());
}
BENCHMARK(BM_SimRewind);

void BM_Lean(benchmark::State& state) {
  const char* folder = std::getenv("TICKSTACK_FIXTURES");
  const std::filesystem::path fixtures(folder != nullptr ? folder : "../shared/fixtures");
  LeanOptions options;
  options.path = fixtures / "lean-ticks";
  options.date = "2013.10.07";
  options.symbols = {"aig", "bac", "ibm"};
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
  if (!source.ok())
    return state.SkipWithError("no LEAN ticks: TICKSTACK_FIXTURES names the folder");
  DrainAll(state, **source, 1'665'857 + 137'816);
}
BENCHMARK(BM_Lean)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::feed

BENCHMARK_MAIN();
