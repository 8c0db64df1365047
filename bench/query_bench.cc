// What queries cost on a day's table in memory: 20 million quotes and 2 million trades of 1,000
// symbols with a Zipf activity, times ascending. Prints ns/row beside the estimate from memory
// bandwidth: ReadMemory is what one core reads from a column of 8-byte elements and does nothing
// with.
//
//   MaxTime      8 bytes a row, read in order: ReadMemory is its bound
//   SumOfSymbol  4 bytes a row at scattered places: a row is on a cache line of its own as long as
//                the symbol has fewer than one row in 16, so 64 bytes a row and their latency
//   AsofJoin     the coarse times of one symbol out of the index, 4 bytes a quote, and four
//   gathered columns
//
// Each benchmark checks its own answer against the figures that the generator counted.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/time.h"
#include "mem/tier.h"
#include "query/query.h"
#include "table/table.h"

namespace tickstack::query {
namespace {

constexpr size_t kSymbols = 1'000;
constexpr size_t kQuotes = 20'000'000;
constexpr size_t kTrades = 2'000'000;
constexpr size_t kBatchRows = 100'000;
constexpr int64_t kOpenNs = 434'453'400'000'000'000;  // 2013.10.07D09:30

// What the generator counts on the way, to check answers by.
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
        switch (table.schema().columns[column].type) {
          case Type::kTimestamp:
            bytes[column].AppendLittle(kOpenNs + static_cast<int64_t>(begin + i) * step_ns);
            break;
          case Type::kSymbol:
            bytes[column].Append(std::string_view(name.c_str(), name.size() + 1));
            break;
          case Type::kFloat:
            bytes[column].AppendLittle(static_cast<double>(rng_() % 10'000) / 100);
            break;
          case Type::kInt:
            bytes[column].AppendLittle(static_cast<int32_t>(size));
            break;
          default:
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

Value Ask(std::string_view text) {
  absl::StatusOr<Value> answer = Evaluate(text, TheDay());
  TS_CHECK(answer.ok());
  return *std::move(answer);
}

int64_t ThreadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

// Runs `f` and reports processor time in ns for each of `rows` rows.
template <typename F>
void RunPerRow(benchmark::State& state, size_t rows, F f) {
  const int64_t begin_ns = ThreadNs();
  for (auto _ : state) f();
  const auto ns = static_cast<double>(ThreadNs() - begin_ns);
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["ns/row"] =
      ns / static_cast<double>(state.iterations()) / static_cast<double>(rows);
}

void Run(benchmark::State& state, std::string_view text, size_t rows) {
  RunPerRow(state, rows, [text] { benchmark::DoNotOptimize(Ask(text)); });
}

// The bound: one core reads the time column and adds up its words.
void ReadMemory(benchmark::State& state) {
  const Snapshot quote = *TheDay().FindTable("quote");
  RunPerRow(state, kQuotes, [&quote] {
    uint64_t sum = 0;
    for (size_t chunk = 0; chunk < quote.chunks(); ++chunk) {
      for (uint64_t word : quote.Chunk<uint64_t>(0, chunk)) sum += word;
    }
    benchmark::DoNotOptimize(sum);
  });
}
BENCHMARK(ReadMemory)->Unit(benchmark::kMillisecond);

void MaxTime(benchmark::State& state) {
  const int64_t step_ns = 23'400 * kNsPerSecond / static_cast<int64_t>(kQuotes);
  TS_CHECK(Ask("exec max time from quote").as<int64_t>() ==
           kOpenNs + static_cast<int64_t>(kQuotes - 1) * step_ns);
  Run(state, "exec max time from quote", kQuotes);
}
BENCHMARK(MaxTime)->Unit(benchmark::kMillisecond);

void CountTable(benchmark::State& state) {
  TS_CHECK(Ask("count quote").as<int64_t>() == static_cast<int64_t>(kQuotes));
  Run(state, "count quote", kQuotes);
}
BENCHMARK(CountTable)->Unit(benchmark::kMicrosecond);

void SumOfLiquidSymbol(benchmark::State& state) {
  const SymbolTotals& totals = TheDay().quotes("S0");
  TS_CHECK(Ask("exec sum bsize from quote where sym=`S0").as<int64_t>() == totals.size);
  Run(state, "exec sum bsize from quote where sym=`S0", totals.rows);
}
BENCHMARK(SumOfLiquidSymbol)->Unit(benchmark::kMillisecond);

void SumOfRareSymbol(benchmark::State& state) {
  const SymbolTotals& totals = TheDay().quotes("S900");
  TS_CHECK(Ask("exec sum bsize from quote where sym=`S900").as<int64_t>() == totals.size);
  Run(state, "exec sum bsize from quote where sym=`S900", totals.rows);
}
BENCHMARK(SumOfRareSymbol)->Unit(benchmark::kMicrosecond);

void SumBySymbol(benchmark::State& state) {
  TS_CHECK(Ask("select sum bsize by sym from quote").count() == kSymbols);
  Run(state, "select sum bsize by sym from quote", kQuotes);
}
BENCHMARK(SumBySymbol)->Unit(benchmark::kMillisecond);

void FilterByPrice(benchmark::State& state) {
  Run(state, "count select time from quote where bid>50", kQuotes);
}
BENCHMARK(FilterByPrice)->Unit(benchmark::kMillisecond);

// One liquid symbol's trades with their prevailing quotes, as the monitor asks; ns a trade.
void AsofJoinOfLiquidSymbol(benchmark::State& state) {
  const size_t trades = TheDay().trades("S0").rows;
  constexpr std::string_view kJoin =
      "aj[`sym`time;select sym,time,price,size from trade where sym=`S0;"
      "select sym,time,bid,ask from quote where sym=`S0]";
  const Value joined = Ask(kJoin);
  TS_CHECK(joined.count() == trades && joined.FindColumn("ask") != nullptr);
  Run(state, kJoin, trades);
}
BENCHMARK(AsofJoinOfLiquidSymbol)->Unit(benchmark::kMillisecond);

void AsofJoinOfAll(benchmark::State& state) {
  constexpr std::string_view kJoin = "count aj[`sym`time;select sym,time,price from trade;quote]";
  TS_CHECK(Ask(kJoin).as<int64_t>() == static_cast<int64_t>(kTrades));
  Run(state, kJoin, kTrades);
}
BENCHMARK(AsofJoinOfAll)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::query

BENCHMARK_MAIN();
