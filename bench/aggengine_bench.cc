// Measures bars from upd messages on one core: from the bytes of trade and quote upds to messages
// with the changed rows. The input is a day of 8,000 symbols with Zipf activity, 10 quotes to 1
// trade, in upds of 2,400 rows: a tickerplant's batch of 50 ms at the rate of March 2020.
//
// Estimate. A quote is in two bars (minute and day) of 13 words, and in one history. A run of a
// symbol's rows touches two records of 104 bytes, that is four cache lines; for 8,000 symbols these
// are 1.6 MiB, which fit the second or third cache level, and are prefetched for 64 symbols at a
// time: some 5 ns each. Each of 5 aggregates in two bars is a load and a compare or an add, 1 to 2
// ns per row; the mean over time is one exact sum, 3 ns; the grouping 3 ns; a name 5 to 10 ns. That
// is some 50 ns per row if a run has three rows, or 20 million rows/s. Publishing a changed row
// takes 5 conversions, a hash and its bytes, some 150 ns. Of 2,400 quotes, some 900 symbols have
// two such rows each, which makes 110 ns per input row. Late rows, a tenth of them by up to a
// minute, add a binary search and moving a block of the history.
//
// Arguments of BM_Bars: `late` is the percentage of late rows; tier:1 keeps the state in files of
// /dev/shm, with the tier's own code; `rows` is the number of rows in an upd; bars are published
// after `gap` rows, or after each upd for 0. A gap of 60,000 is what publish_gap_ms makes of three
// million updates per second. A feed sends 700 of these at a time, and the engine takes them
// together.

#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "aggengine/engine.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/time.h"
#include "bench/day_batches.h"
#include "mem/tier.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::bench {
namespace {

using aggengine::Engine;

constexpr int64_t kStepNs = 20'000;  // 50,000 rows/s.

// Returns (`upd; `table; columns); the engine reads its bytes in place.
ByteBuffer UpdOf(const Schema& schema, const BatchView& batch) {
  ByteBuffer body;
  wire::UpdEncoder upd(body);
  upd.Head(wire::protocol::kUpd, schema.table);
  upd.Batch(batch);
  return body;
}

// Upds whose times are set before each is handed out, as Next() of DayBatches does.
class Upds {
 public:
  Upds(const Schema& schema, size_t rows, uint64_t seed) : rows_(rows) {
    DayBatches batches(schema, {.rows_per_batch = rows, .batches = 16, .seed = seed});
    for (size_t i = 0; i < batches.pool_size(); ++i) {
      upds_.push_back(UpdOf(schema, batches.InPool(i)));
    }
    // The times come first: after three list headers, two names and the column's header.
    times_at_ = 6 + 5 + (2 + schema.table.size()) + 6 + 6;
  }
  // Returns the upd whose first row is at `begin_ns`; every late_percent-th row is up to a minute
  // late.
  std::span<const std::byte> Next(int64_t begin_ns, int64_t late_percent) {
    ByteBuffer& upd = upds_[next_++ % upds_.size()];
    for (size_t i = 0; i < rows_; ++i) {
      int64_t time_ns = begin_ns + static_cast<int64_t>(i) * kStepNs;
      random_ = random_ * 6364136223846793005 + 1442695040888963407;
      if (static_cast<int64_t>(random_ >> 40) % 100 < late_percent) {
        time_ns -= static_cast<int64_t>(random_ >> 8) % (60 * kNsPerSecond);
      }
      std::memcpy(upd.data() + times_at_ + i * sizeof(time_ns), &time_ns, sizeof(time_ns));
    }
    return upd;
  }

 private:
  const size_t rows_;
  std::vector<ByteBuffer> upds_;
  size_t times_at_ = 0;
  size_t next_ = 0;
  uint64_t random_ = 1;
};

std::unique_ptr<mem::Tier> OpenTier(int64_t which) {
  if (which == 0) return mem::MakeDramTier("dram", SIZE_MAX, size_t{64} << 20);
  mem::TierOptions options{.name = "files",
                           .kind = mem::TierKind::kFilesystem,
                           .path = "/dev/shm",
                           .capacity_bytes = size_t{2} << 30,
                           .touch_ahead_bytes = size_t{64} << 20};
  absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(options);
  TS_CHECK(tier.ok());
  return *std::move(tier);
}

void BM_Bars(benchmark::State& state) {
  InitLogging("bench", LogLevel::kOff);
  const std::vector<Schema> sources = DefaultSchemas();
  const std::vector<aggengine::BarSpec> bars = aggengine::DefaultBars(sources);
  std::vector<Schema> schemas = sources;
  for (const aggengine::BarSpec& spec : bars) {
    schemas.push_back(*SchemaOf(spec, spec.table == "trade" ? sources[0] : sources[1]));
  }
  const std::unique_ptr<mem::Tier> tier = OpenTier(state.range(1));
  Engine engine({.bars = bars}, tier.get(), &SystemClock::Instance());
  engine.OnSchemas(schemas);
  const auto rows_per_upd = static_cast<size_t>(state.range(2));
  Upds trades(sources[0], rows_per_upd, 1), quotes(sources[1], rows_per_upd, 2);
  int64_t now_ns = 0;
  uint64_t rows = 0, bytes_out = 0;
  size_t unpublished = 0;
  int64_t making_ns = 0;
  for (auto _ : state) {
    // Ten upds of quotes and one of trades, published as the tickerplant does; then the changes.
    for (int i = 0; i < 11; ++i) {
      const int64_t begin_ns = MonotonicNs();
      const std::span<const std::byte> upd =
          i == 10 ? trades.Next(now_ns, state.range(0)) : quotes.Next(now_ns, state.range(0));
      making_ns += MonotonicNs() - begin_ns;  // A memcpy of 19 KB and some arithmetic.
      engine.OnLive(upd);
      now_ns += static_cast<int64_t>(rows_per_upd) * kStepNs;
      rows += rows_per_upd;
      unpublished += rows_per_upd;
      if (unpublished < static_cast<size_t>(state.range(3))) continue;
      unpublished = 0;
      while (const std::optional<ByteBuffer> message = engine.NextMessage()) {
        bytes_out += message->size();
        engine.OnAnswer(absl::OkStatus());
      }
    }
  }
  TS_CHECK(engine.counters().rows_in == rows && engine.counters().rows_refused == 0);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  const auto per_row = [&](uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(rows);
  };
  state.counters["rows_out_per_row"] = per_row(engine.counters().rows_out);
  state.counters["bytes_out_per_row"] = per_row(bytes_out);
  state.counters["late_per_row"] = per_row(engine.counters().rows_late);
  state.counters["state_bytes_per_row"] = per_row(tier->Stats().used_bytes);
  state.counters["making_upds_ns_per_row"] = per_row(static_cast<uint64_t>(making_ns));
}
BENCHMARK(BM_Bars)
    ->ArgNames({"late", "tier", "rows", "gap"})
    ->Args({0, 0, 2'400, 0})
    ->Args({10, 0, 2'400, 0})
    ->Args({0, 1, 2'400, 0})
    ->Args({10, 1, 2'400, 0})
    ->Args({0, 0, 20'000, 60'000})
    ->Args({10, 0, 20'000, 60'000})
    ->Args({0, 0, 700, 0})
    ->Args({0, 0, 700, 60'000})
    ->Args({0, 0, 2'400, 60'000})
    ->Args({0, 0, 5'000, 60'000})
    ->MinTime(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::bench

BENCHMARK_MAIN();
