// Measures as-of joins and the best bid and offer on a captured day: 30 million quotes and 3
// million trades of 8,000 symbols with Zipf activity, in arrival order, in chunks of 262,144 rows,
// with the per-symbol index.
//
//   asof_bench [--benchmark_filter=...]        the argument of each benchmark is its threads
//
// Their bounds are measured here as well:
//
//   Gather         one column of one symbol's quotes, at the rows that prevail for its trades: a
//                  cache miss per item. A query gathers 5 columns of its trades (time, price, size,
//                  and two of the right table).
//   Coarse         the symbol's coarse quote times, in order: 4 bytes per quote
//   Merge          matching alone, on coarse times that are in the cache
//   Clustered      the same query if the columns were clustered by symbol, so that every item is
//                  next to the previous one. No other layout of the table can be faster.
//
// So a query of n trades with m quotes should cost
//
//   n * 5 * Gather + (n + m) * 4 bytes read + n * Merge,    divided by the threads
//
// and prints that as `bound_ms` beside its time. Every answer is compared with a walk through both
// tables in the order of their times.
//
// On two cores of a shared virtual machine (2.6 GHz), in processor time with other load: Gather 11
// to 14 ns, Merge 8 to 9 ns. So 31,665 trades with 317,567 quotes have a bound of 2.5 ms on one
// thread; they took 2.7 ms, and clustered 0.42 ms.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "bench/day_batches.h"
#include "mem/tier.h"
#include "query/joins/asof_match.h"
#include "query/query.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

constexpr size_t kQuotes = 30'000'000;
constexpr size_t kTrades = 3'000'000;
constexpr size_t kBatchRows = 2'400;
constexpr int64_t kOpenNs = 637'075'800 * kNsPerSecond;  // 2020.03.09D13:30, New York's 09:30.
constexpr int64_t kDayNs = 23'400 * kNsPerSecond;

double NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

struct Captured {
  Captured(std::string_view name, std::string_view columns, size_t rows, uint64_t seed,
           mem::Tier* tier, SymbolTable* symbols)
      : batches(*ParseSchema(name, columns), Options(rows, seed)) {
    table = *Table::Create(*ParseSchema(name, columns), symbols, TablePlacement{tier, {}, nullptr});
    while (table->rows() < rows) TS_CHECK(table->Append(batches.Next()).ok());
  }
  static DayBatchOptions Options(size_t rows, uint64_t seed) {
    DayBatchOptions options;
    options.rows_per_batch = kBatchRows;
    options.open_ns = kOpenNs;
    options.step_ns = kDayNs / static_cast<int64_t>(rows);
    options.seed = seed;
    options.chars = 10;  // Exchanges.
    return options;
  }

  DayBatches batches;
  std::shared_ptr<Table> table;
};

class Day final : public query::Environment {
 public:
  std::optional<Snapshot> FindTable(std::string_view name) override {
    if (name == "trade") return trade.table->TakeSnapshot();
    if (name == "quote") return quote.table->TakeSnapshot();
    return std::nullopt;
  }
  std::vector<std::string> TableNames() override { return {"quote", "trade"}; }
  int64_t NowNs() override { return kOpenNs + kDayNs; }

  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("bench");
  SymbolTable symbols;
  Captured quote{"quote",    "time p, sym s, bid f, ask f, bsize j, asize j, ex c",
                 kQuotes,    1,
                 tier.get(), &symbols};
  Captured trade{"trade", "time p, sym s, price f, size i", kTrades, 2, tier.get(), &symbols};
};

Day& TheDay() {
  static Day day;
  return day;
}

Value Ask(const std::string& text, size_t threads) {
  static WorkerPool pool(1);
  query::Limits limits;
  limits.max_result_bytes = size_t{2} << 30;
  if (threads > 1) limits.workers = &pool;
  absl::StatusOr<Value> answer = query::Evaluate(text, TheDay(), limits);
  if (!answer.ok()) fmt::print("{}: {}\n", text, answer.status().ToString());
  TS_CHECK(answer.ok());
  return *std::move(answer);
}

// Reads the columns of both tables in the order of their times, quotes first. Calls f(trade row,
// quote row or kNoRow) for each trade.
template <typename F>
void Walk(F f) {
  const Snapshot trade = *TheDay().FindTable("trade"), quote = *TheDay().FindTable("quote");
  std::vector<uint32_t> last(static_cast<size_t>(TheDay().symbols.size()), query::kNoRow);
  const auto column = [](const Snapshot& of, size_t i, size_t row) {
    const ChunkLayout::Chunk chunk = of.layout().ChunkOf(row);
    return std::pair(of.ChunkBytes(i, chunk.number), row - chunk.begin_row);
  };
  const auto time = [&](const Snapshot& of, size_t row) {
    const auto [bytes, at] = column(of, 0, row);
    return LoadLittle<int64_t>(bytes.data() + 8 * at);
  };
  const auto symbol = [&](const Snapshot& of, size_t row) {
    const auto [bytes, at] = column(of, 1, row);
    return static_cast<size_t>(LoadLittle<SymbolId>(bytes.data() + 4 * at));
  };
  size_t next = 0;
  for (size_t row = 0; row < trade.rows(); ++row) {
    const int64_t now = time(trade, row);
    for (; next < quote.rows() && time(quote, next) <= now; ++next) {
      last[symbol(quote, next)] = static_cast<uint32_t>(next);
    }
    f(row, symbol(trade, row), last[symbol(trade, row)]);
  }
}

double BidOf(uint32_t row) {
  const Snapshot quote = *TheDay().FindTable("quote");
  const ChunkLayout::Chunk chunk = quote.layout().ChunkOf(row);
  return quote.Chunk<double>(2, chunk.number)[row - chunk.begin_row];
}

// Returns the prevailing quote row of each trade, from the walk.
const std::vector<uint32_t>& Expected() {
  static const std::vector<uint32_t> rows = [] {
    std::vector<uint32_t> found;
    Walk([&](size_t, size_t, uint32_t row) { found.push_back(row); });
    return found;
  }();
  return rows;
}

// Returns the same for one symbol's trades.
std::vector<uint32_t> ExpectedOf(const std::string& name) {
  std::vector<uint32_t> rows;
  const Postings trades = *TheDay().FindTable("trade")->RowsOf(*TheDay().symbols.Find(name));
  for (const PostingRun& run : trades.runs) {
    for (const uint32_t row : run.rows) rows.push_back(Expected()[row]);
  }
  return rows;
}

void CheckBids(const Value& joined, const std::vector<uint32_t>& rows) {
  const std::span<const double> bids = joined.FindColumn("bid")->span<double>();
  TS_CHECK(bids.size() == rows.size());
  for (size_t i = 0; i < rows.size(); i += 1 + rows.size() / 100'000) {
    TS_CHECK(rows[i] == query::kNoRow ? bids[i] != bids[i] : bids[i] == BidOf(rows[i]));
  }
}

// Returns the symbol with the rank-th most quotes: about 3.1 million / (rank + 1).
const std::string& NameOf(size_t rank) { return TheDay().quote.batches.NameOf(rank); }
constexpr size_t kLiquid = 9;  // 1 % of all rows: 310,000 quotes, 31,000 trades.

std::string JoinOf(const std::string& name) {
  return fmt::format(
      "select time,price,size,bid,ask from aj[`sym`time;select from trade where sym=`{};quote]",
      name);
}

// ---- What bounds it

struct Bound {
  double gather_ns, coarse_ns, merge_ns;  // Per item, posting and trade.
};

// Returns the best of `runs` in ns per item.
double BestNs(size_t items, const std::function<void()>& f, int runs = 9) {
  double best = 1e18;
  for (int i = 0; i < runs; ++i) {
    const double begin = NowMs();
    f();
    best = std::min(best, NowMs() - begin);
  }
  return best * 1e6 / static_cast<double>(items);
}

Bound MeasureBound(size_t rank) {
  const std::vector<uint32_t> rows = ExpectedOf(NameOf(rank));
  const Snapshot quote = *TheDay().FindTable("quote");
  const Postings quotes = *quote.RowsOf(*TheDay().symbols.Find(NameOf(rank)));
  std::vector<const double*> chunks;
  for (size_t i = 0; i < quote.chunks(); ++i) chunks.push_back(quote.Chunk<double>(2, i).data());
  std::vector<double> out(rows.size());
  const ChunkLayout layout = quote.layout();
  Bound bound{};
  const auto at = [&](uint32_t row) {
    const size_t chunk = layout.NumberOf(row);
    return chunks[chunk] + (row - layout.BeginRow(chunk));
  };
  // Reads another column's worth of memory in between, so that no gathered item is in a cache.
  std::vector<uint64_t> other(size_t{8} << 20, 1);
  double best = 1e18;
  for (int run = 0; run < 5; ++run) {
    for (uint64_t& word : other) ++word;
    best = std::min(best, BestNs(
                              rows.size(),
                              [&] {
                                for (size_t i = 0; i < rows.size(); ++i) {
                                  if (i + 16 < rows.size() && rows[i + 16] != query::kNoRow) {
                                    __builtin_prefetch(at(rows[i + 16]));
                                  }
                                  out[i] = rows[i] == query::kNoRow ? 0 : *at(rows[i]);
                                }
                              },
                              1));
  }
  bound.gather_ns = best;
  best = 1e18;
  for (int run = 0; run < 5; ++run) {
    for (uint64_t& word : other) ++word;
    best = std::min(best, BestNs(
                              quotes.rows,
                              [&] {
                                uint32_t sum = 0;
                                for (const PostingRun& r : quotes.runs) {
                                  for (uint32_t coarse : r.coarse) sum += coarse;
                                }
                                benchmark::DoNotOptimize(sum);
                              },
                              1));
  }
  bound.coarse_ns = best;
  const Postings trades =
      *TheDay().FindTable("trade")->RowsOf(*TheDay().symbols.Find(NameOf(rank)));
  std::vector<uint32_t> prevailing;
  // The last run of both, which is the largest.
  const PostingRun &left = trades.runs.back(), &right = quotes.runs.back();
  prevailing.resize(left.rows.size());
  bound.merge_ns = BestNs(left.rows.size(), [&] {
    TS_CHECK(query::AsofMatch(left, *trades.times, right, *quotes.times, prevailing).ok());
  });
  return bound;
}

// ---- Queries

// Reports the wall time of one query, and its bound.
void RunQuery(benchmark::State& state, const std::string& text, double bound_ms) {
  const auto threads = static_cast<size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Ask(text, threads));
  if (bound_ms > 0) state.counters["bound_ms"] = bound_ms / static_cast<double>(threads);
}

void OneSymbol(benchmark::State& state, size_t rank) {
  const std::vector<uint32_t> expected = ExpectedOf(NameOf(rank));
  CheckBids(Ask(JoinOf(NameOf(rank)), 2), expected);
  static std::map<size_t, Bound> bounds;
  if (!bounds.contains(rank)) bounds[rank] = MeasureBound(rank);
  const Bound& bound = bounds[rank];
  const auto quotes = static_cast<double>(
      TheDay().FindTable("quote")->RowsOf(*TheDay().symbols.Find(NameOf(rank)))->rows);
  const auto trades = static_cast<double>(expected.size());
  state.counters["trades"] = trades;
  state.counters["quotes"] = quotes;
  state.counters["gather_ns"] = bound.gather_ns;
  state.counters["merge_ns"] = bound.merge_ns;
  RunQuery(state, JoinOf(NameOf(rank)),
           (trades * (5 * bound.gather_ns + bound.merge_ns) + (trades + quotes) * bound.coarse_ns) /
               1e6);
}

void AsofOfLiquidSymbol(benchmark::State& state) { OneSymbol(state, kLiquid); }
BENCHMARK(AsofOfLiquidSymbol)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void AsofOfMostLiquidSymbol(benchmark::State& state) { OneSymbol(state, 0); }
BENCHMARK(AsofOfMostLiquidSymbol)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void AsofOfLiquidSymbolWithAge(benchmark::State& state) {
  RunQuery(state,
           fmt::format("select time,price,size,bid,ask from aj[`sym`time;select from trade where "
                       "sym=`{};quote;0D00:00:05]",
                       NameOf(kLiquid)),
           0);
}
BENCHMARK(AsofOfLiquidSymbolWithAge)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

constexpr const char* kAll = "select time,price,size,bid,ask from aj[`sym`time;trade;quote]";

void AsofOfAll(benchmark::State& state) {
  CheckBids(Ask(kAll, 2), Expected());
  RunQuery(state, kAll, 0);
}
BENCHMARK(AsofOfAll)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Matching alone: no column is gathered.
void MatchOfAll(benchmark::State& state) { RunQuery(state, "count aj[`sym`time;trade;quote]", 0); }
BENCHMARK(MatchOfAll)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// With the symbols' names, which a client gets as text.
void AsofOfAllWithNames(benchmark::State& state) {
  RunQuery(state, "select sym,time,price,size,bid,ask from aj[`sym`time;trade;quote]", 0);
}
BENCHMARK(AsofOfAllWithNames)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Compares with the last quotes of all exchanges, kept in a plain array by symbol and exchange.
void CheckNbbo(const Value& best) {
  const Snapshot quote = *TheDay().FindTable("quote");
  const std::span<const double> bids = best.FindColumn("bid")->span<double>();
  const std::span<const double> asks = best.FindColumn("ask")->span<double>();
  struct Last {
    std::array<double, 10> bid{}, ask{};
  };
  std::vector<Last> last(static_cast<size_t>(TheDay().symbols.size()));
  size_t row = 0;
  for (size_t chunk = 0; chunk < quote.chunks(); ++chunk) {
    const auto symbols = quote.Chunk<SymbolId>(1, chunk);
    for (size_t i = 0; i < symbols.size(); ++i, ++row) {
      Last& of = last[static_cast<size_t>(symbols[i])];
      const auto exchange = static_cast<size_t>(quote.Chunk<char>(6, chunk)[i] - 'A');
      of.bid[exchange] = quote.Chunk<double>(2, chunk)[i];
      of.ask[exchange] = quote.Chunk<double>(3, chunk)[i];
      if (row % 997 != 0) continue;
      double ask = 1e9;
      for (const double each : of.ask) ask = each == 0 ? ask : std::min(ask, each);
      TS_CHECK(bids[row] == std::ranges::max(of.bid) && asks[row] == ask);
    }
  }
}

void Nbbo(benchmark::State& state) {
  CheckNbbo(Ask("nbbo[`sym`ex`bid`ask;quote]", static_cast<size_t>(state.range(0))));
  RunQuery(state, "count nbbo[`sym`ex`bid`ask;quote]", 0);
}
BENCHMARK(Nbbo)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// As a client gets it, with times and the symbols' names: 1.1 GB.
void NbboWithNames(benchmark::State& state) {
  RunQuery(state, "select time,sym,bid,ask from nbbo[`sym`ex`bid`ask;quote]", 0);
}
BENCHMARK(NbboWithNames)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void NbboWithSizes(benchmark::State& state) {
  RunQuery(state, "count nbbo[`sym`ex`bid`ask`bsize`asize;quote]", 0);
}
BENCHMARK(NbboWithSizes)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// ---- Another layout

// One symbol's join on clustered columns: a copy of them, exact times, the same kernel.
void ClusteredLiquidSymbol(benchmark::State& state) {
  const std::string& name = NameOf(kLiquid);
  const Value trades = Ask(fmt::format("select time,price,size from trade where sym=`{}", name), 1);
  const Value quotes = Ask(fmt::format("select time,bid,ask from quote where sym=`{}", name), 1);
  const auto column = [](const Value& table, std::string_view of) { return table.FindColumn(of); };
  std::vector<uint32_t> prevailing(trades.count());
  std::vector<int64_t> time(trades.count());
  std::vector<double> price(trades.count()), bid(trades.count()), ask(trades.count());
  std::vector<int32_t> size(trades.count());
  for (auto _ : state) {
    TS_CHECK(query::AsofMatch(column(trades, "time")->span<int64_t>(),
                              column(quotes, "time")->span<int64_t>(), prevailing)
                 .ok());
    std::ranges::copy(column(trades, "time")->span<int64_t>(), time.begin());
    std::ranges::copy(column(trades, "price")->span<double>(), price.begin());
    std::ranges::copy(column(trades, "size")->span<int32_t>(), size.begin());
    const auto bids = column(quotes, "bid")->span<double>();
    const auto asks = column(quotes, "ask")->span<double>();
    for (size_t i = 0; i < prevailing.size(); ++i) {
      const uint32_t at = prevailing[i];
      bid[i] = at == query::kNoRow ? 0 : bids[at];
      ask[i] = at == query::kNoRow ? 0 : asks[at];
    }
    benchmark::DoNotOptimize(ask.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(ClusteredLiquidSymbol)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::bench

BENCHMARK_MAIN();
