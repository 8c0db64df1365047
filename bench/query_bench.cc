// Measures queries on a day's table in memory: 30 million quotes and 3 million trades of 8,000
// symbols with Zipf activity and ascending times, on one thread and with one helper. Times are
// wall-clock times. Beside them are their bounds:
//
//   bound_ms    the bytes that the query has to read, divided by the bandwidth that ReadMemory
//               measures with as many threads, each of which only reads its part of a column of
//               8-byte elements
//   gathers     items at scattered rows, each on a separate cache line as long as its symbol has
//               fewer than one row in 16
//
// Each benchmark checks its answer against figures that the generator counted.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "mem/tier.h"
#include "query/query.h"
#include "table/table.h"

namespace tickstack::query {
namespace {

constexpr size_t kSymbols = 8'000;
constexpr size_t kQuotes = 30'000'000;
constexpr size_t kTrades = 3'000'000;
constexpr size_t kBatchRows = 100'000;
constexpr int64_t kOpenNs = 434'453'400'000'000'000;  // 2013.10.07D09:30

// Totals that the generator counts, to check answers.
struct SymbolTotals {
  size_t rows = 0;
  int64_t size = 0;
};

class Day : public Environment {
 public:
  Day() : tier_(mem::MakeDramTier("bench")) {
    for (size_t k = 1; k <= kSymbols; ++k) cumulative_.push_back(Weight(k) + Last(cumulative_));
    for (size_t i = 0; i < kSymbols; ++i) names_.push_back("S" + std::to_string(i));
    trade_ = Fill("trade", "time p, sym s, price f, size i", kTrades, trade_totals_);
    quote_ = Fill("quote", "time p, sym s, bid f, ask f, bsize j, asize j", kQuotes, quote_totals_);
  }

  std::optional<Snapshot> FindTable(std::string_view name) override {
    if (name == "trade") return trade_->TakeSnapshot();
    if (name == "quote") return quote_->TakeSnapshot();
    return std::nullopt;
  }
  std::vector<std::string> TableNames() override { return {"quote", "trade"}; }
  int64_t NowNs() override { return kOpenNs; }

  const SymbolTotals& trades(const std::string& name) const { return trade_totals_.at(name); }
  const SymbolTotals& quotes(const std::string& name) const { return quote_totals_.at(name); }
  int64_t trade_size() const {
    int64_t size = 0;
    for (const auto& [name, totals] : trade_totals_) size += totals.size;
    return size;
  }

 private:
  static double Weight(size_t rank) { return 1.0 / static_cast<double>(rank); }
  static double Last(const std::vector<double>& sums) { return sums.empty() ? 0 : sums.back(); }

  const std::string& DrawName() {
    const double at = std::uniform_real_distribution<>(0, cumulative_.back())(rng_);
    const auto rank = std::ranges::lower_bound(cumulative_, at) - cumulative_.begin();
    return names_[static_cast<size_t>(rank)];
  }

  std::shared_ptr<Table> Fill(std::string_view name, std::string_view columns, size_t rows,
                              std::map<std::string, SymbolTotals>& totals) {
    const Schema schema = *ParseSchema(name, columns);
    std::shared_ptr<Table> table =
        *Table::Create(schema, &symbols_, TablePlacement{tier_.get(), {}, nullptr});
    for (size_t begin = 0; begin < rows; begin += kBatchRows) {
      AppendBatch(*table, begin, 23'400 * kNsPerSecond / static_cast<int64_t>(rows), totals);
    }
    return table;
  }

  void AppendBatch(Table& table, size_t begin, int64_t step_ns,
                   std::map<std::string, SymbolTotals>& totals) {
    std::vector<ByteBuffer> bytes(table.schema().columns.size());
    for (size_t i = 0; i < kBatchRows; ++i) {
      const std::string& name = DrawName();
      const int64_t size = static_cast<int64_t>(1 + rng_() % 1'000);
      SymbolTotals& total = totals[name];
      ++total.rows;
      total.size += size;
      for (size_t column = 0; column < bytes.size(); ++column) {
        const Type type = table.schema().columns[column].type;
        if (type == Type::kTimestamp) {
          bytes[column].AppendLittle(kOpenNs + static_cast<int64_t>(begin + i) * step_ns);
        } else if (type == Type::kSymbol) {
          bytes[column].Append(std::string_view(name.c_str(), name.size() + 1));
        } else if (type == Type::kFloat) {
          bytes[column].AppendLittle(static_cast<double>(rng_() % 10'000) / 100);
        } else if (type == Type::kInt) {
          bytes[column].AppendLittle(static_cast<int32_t>(size));
        } else {
          bytes[column].AppendLittle(size);
        }
      }
    }
    std::vector<ColumnView> views;
    for (size_t column = 0; column < bytes.size(); ++column) {
      views.push_back({table.schema().columns[column].type, Attribute::kNone, kBatchRows,
                       bytes[column].span()});
    }
    TS_CHECK(table.Append({views, kBatchRows}).ok());
  }

  std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::mt19937_64 rng_{1};
  std::vector<double> cumulative_;
  std::vector<std::string> names_;
  std::map<std::string, SymbolTotals> trade_totals_, quote_totals_;
  std::shared_ptr<Table> trade_, quote_;
};

Day& TheDay() {
  static Day day;
  return day;
}

// Returns the helping threads: none for one benchmark thread, one for two.
WorkerPool* Helpers(int64_t threads) {
  static WorkerPool one(1);
  return threads == 1 ? nullptr : &one;
}

Value Ask(std::string_view text, int64_t threads = 1) {
  Limits limits;
  limits.workers = Helpers(threads);
  limits.max_result_bytes = size_t{4} << 30;
  absl::StatusOr<Value> answer = Evaluate(text, TheDay(), limits);
  TS_CHECK(answer.ok());
  return *std::move(answer);
}

template <typename F>
double SecondsOf(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Adds up the words of the quotes' time column, whose chunks the threads share.
uint64_t ReadColumn(const Snapshot& quote, int64_t threads) {
  std::atomic<uint64_t> total = 0;
  const auto read = [&](size_t chunk) {
    uint64_t sum = 0;
    for (uint64_t word : quote.Chunk<uint64_t>(0, chunk)) sum += word;
    total += sum;
    return absl::OkStatus();
  };
  if (WorkerPool* const helpers = Helpers(threads)) {
    TS_CHECK(helpers->ParallelFor(quote.chunks(), read).ok());
  } else {
    for (size_t chunk = 0; chunk < quote.chunks(); ++chunk) TS_CHECK(read(chunk).ok());
  }
  return total;
}

// Returns bytes per second, the best of several reads.
double Bandwidth(int64_t threads) {
  static std::map<int64_t, double> known;
  double& bandwidth = known[threads];
  if (bandwidth > 0) return bandwidth;
  const Snapshot quote = *TheDay().FindTable("quote");
  for (int i = 0; i < 9; ++i) {
    const double seconds = SecondsOf([&] { benchmark::DoNotOptimize(ReadColumn(quote, threads)); });
    bandwidth = std::max(bandwidth, 8.0 * kQuotes / seconds);
  }
  return bandwidth;
}

// What a query has to read.
struct Work {
  size_t rows = 0;
  size_t bytes = 0;    // Bytes in order.
  size_t gathers = 0;  // Scattered items.
};

void Run(benchmark::State& state, std::string_view text, const Work& work) {
  double seconds = 0;
  for (auto _ : state) {
    seconds += SecondsOf([&] { benchmark::DoNotOptimize(Ask(text, state.range(0))); });
  }
  seconds /= static_cast<double>(state.iterations());
  state.counters["rows"] = static_cast<double>(work.rows);
  if (work.rows > 0) state.counters["ns/row"] = seconds * 1e9 / static_cast<double>(work.rows);
  if (work.bytes > 0) {
    const double bound = static_cast<double>(work.bytes) / Bandwidth(state.range(0));
    state.counters["bound_ms"] = bound * 1e3;
    state.counters["of_bound"] = bound / seconds;
  }
  if (work.gathers > 0) {
    state.counters["gathers"] = static_cast<double>(work.gathers);
    state.counters["ns/gather"] = seconds * 1e9 / static_cast<double>(work.gathers);
  }
}

void Threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

// The bound of every query that reads a column in order.
void ReadMemory(benchmark::State& state) {
  const Snapshot quote = *TheDay().FindTable("quote");
  for (auto _ : state) benchmark::DoNotOptimize(ReadColumn(quote, state.range(0)));
  state.counters["GB/s"] = Bandwidth(state.range(0)) / 1e9;
}
BENCHMARK(ReadMemory)->Apply(Threads);

void MaxTime(benchmark::State& state) {
  const int64_t step_ns = 23'400 * kNsPerSecond / static_cast<int64_t>(kQuotes);
  TS_CHECK(Ask("exec max time from quote", state.range(0)).as<int64_t>() ==
           kOpenNs + static_cast<int64_t>(kQuotes - 1) * step_ns);
  Run(state, "exec max time from quote", {kQuotes, 8 * kQuotes});
}
BENCHMARK(MaxTime)->Apply(Threads);

void SumOfColumn(benchmark::State& state) {
  Run(state, "exec sum bsize from quote", {kQuotes, 8 * kQuotes});
}
BENCHMARK(SumOfColumn)->Apply(Threads);

void AvgOfColumn(benchmark::State& state) {
  Run(state, "exec avg bid from quote", {kQuotes, 8 * kQuotes});
}
BENCHMARK(AvgOfColumn)->Apply(Threads);

void MinOfColumn(benchmark::State& state) {
  Run(state, "exec min bid from quote", {kQuotes, 8 * kQuotes});
}
BENCHMARK(MinOfColumn)->Apply(Threads);

void CountTable(benchmark::State& state) {
  TS_CHECK(Ask("count quote").as<int64_t>() == static_cast<int64_t>(kQuotes));
  Run(state, "count quote", {});
}
BENCHMARK(CountTable)->Arg(1)->Unit(benchmark::kMicrosecond);

void SumOfSymbol(benchmark::State& state, const char* name) {
  const SymbolTotals& totals = TheDay().quotes(name);
  const std::string query = std::string("exec sum bsize from quote where sym=`") + name;
  TS_CHECK(Ask(query, state.range(0)).as<int64_t>() == totals.size);
  Run(state, query, {totals.rows, 0, totals.rows});
}
BENCHMARK_CAPTURE(SumOfSymbol, liquid, "S0")->Apply(Threads);
BENCHMARK_CAPTURE(SumOfSymbol, rare, "S5000")->Apply(Threads);

void FilterByPrice(benchmark::State& state) {
  Run(state, "count select time from quote where bid>50", {kQuotes, 8 * kQuotes + 2 * kQuotes});
}
BENCHMARK(FilterByPrice)->Apply(Threads);

void FilterByTime(benchmark::State& state) {
  constexpr std::string_view kQuery =
      "count select time from quote where time within 2013.10.07D10:00 2013.10.07D10:01";
  TS_CHECK(Ask(kQuery).as<int64_t>() > 0);
  Run(state, kQuery, {kQuotes, 8 * kQuotes});
}
BENCHMARK(FilterByTime)->Apply(Threads);

// Bars of a minute: five columns, read once each.
void MinuteBars(benchmark::State& state) {
  constexpr std::string_view kBars =
      "select open:first price,high:max price,low:min price,close:last price,volume:sum size,"
      "vwap:size wavg price by sym,time.minute from trade";
  const Value bars = Ask(kBars, state.range(0));
  int64_t volume = 0;
  for (int32_t sum : bars.values().FindColumn("volume")->span<int32_t>()) volume += sum;
  TS_CHECK(volume == TheDay().trade_size());
  Run(state, kBars, {kTrades, kTrades * (8 + 4 + 8 + 4)});
  state.counters["groups"] = static_cast<double>(bars.keys().count());
}
BENCHMARK(MinuteBars)->Apply(Threads);

void SumBySymbol(benchmark::State& state) {
  TS_CHECK(Ask("select sum bsize by sym from quote").keys().columns()[0].count() <= kSymbols);
  Run(state, "select sum bsize by sym from quote", {kQuotes, 12 * kQuotes});
}
BENCHMARK(SumBySymbol)->Apply(Threads);

void LastBySymbol(benchmark::State& state) {
  Run(state, "select last bid,last ask by sym from quote", {kQuotes, 0, 2 * kSymbols});
}
BENCHMARK(LastBySymbol)->Apply(Threads);

void LastRowBySymbol(benchmark::State& state) {
  Run(state, "select by sym from quote", {kQuotes, 0, 5 * kSymbols});
}
BENCHMARK(LastRowBySymbol)->Apply(Threads);

// One symbol in a hundred, four hours.
void WeightedBidOfSome(benchmark::State& state) {
  std::string symbols;
  size_t rows = 0;
  for (size_t i = 37; i < kSymbols; i += 100) {
    symbols += "`S" + std::to_string(i);
    rows += TheDay().quotes("S" + std::to_string(i)).rows;
  }
  const std::string query = "select bsize wavg bid by sym from quote where sym in " + symbols +
                            ",time within 2013.10.07D10:00 2013.10.07D14:00";
  TS_CHECK(Ask(query, state.range(0)).keys().columns()[0].count() == kSymbols / 100);
  rows = rows * 240 / 390;
  Run(state, query, {rows, 0, 2 * rows});
}
BENCHMARK(WeightedBidOfSome)->Apply(Threads);

// One liquid symbol's trades with their prevailing quotes, as the monitor asks; ns per trade.
void AsofJoinOfLiquidSymbol(benchmark::State& state) {
  const size_t trades = TheDay().trades("S0").rows;
  constexpr std::string_view kJoin =
      "aj[`sym`time;select sym,time,price,size from trade where sym=`S0;"
      "select sym,time,bid,ask from quote where sym=`S0]";
  const Value joined = Ask(kJoin);
  TS_CHECK(joined.count() == trades && joined.FindColumn("ask") != nullptr);
  Run(state, kJoin, {trades, 0, 2 * trades});
}
BENCHMARK(AsofJoinOfLiquidSymbol)->Apply(Threads);

void AsofJoinOfAll(benchmark::State& state) {
  constexpr std::string_view kJoin = "count aj[`sym`time;select sym,time,price from trade;quote]";
  TS_CHECK(Ask(kJoin).as<int64_t>() == static_cast<int64_t>(kTrades));
  Run(state, kJoin, {kTrades, 0, 0});
}
BENCHMARK(AsofJoinOfAll)->Apply(Threads);

}  // namespace
}  // namespace tickstack::query

BENCHMARK_MAIN();
