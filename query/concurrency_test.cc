// One writer and many readers, without a lock between them: batches go into a plain and a keyed
// table while queries run over both, and every answer has to be that of a prefix of whole batches.
//
// What shows it are sums. Batch k of `quote` has kSymbols * (1 + k % 5) rows, as many of each
// symbol, and over the rows of each symbol `v` sums to k + 1. So a count of rows tells how many
// batches there are, and with them what every sum is, over all rows and for each symbol.
//
// A batch of `bars` adds to `a` in some rows of each symbol, subtracts the same from others,
// appends two rows whose `a` sum to zero, and writes its number into all of them: `a` sums to zero
// for each symbol after every whole batch, and never in the middle of one. `c` is made of a row's
// other values: a torn row does not have it.
//
// Run it under the thread sanitizer for what answers do not show: cmake --preset tsan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "mem/tier.h"
#include "query/query.h"
#include "table/batch_testing.h"
#include "table/table.h"

namespace tickstack::query {
namespace {

constexpr int64_t kSymbols = 6;
constexpr int64_t kBatches = 400;
constexpr int64_t kRowsPerSymbolMax = 5;

std::string NameOf(int64_t symbol) { return "s" + std::to_string(symbol); }
int64_t RowsPerSymbol(int64_t batch) { return 1 + batch % kRowsPerSymbolMax; }
int64_t SumOf(int64_t batches) { return batches * (batches + 1) / 2; }

// Returns how many whole batches have this many rows of each symbol; fails if no number does.
int64_t BatchesOf(int64_t rows_per_symbol) {
  int64_t rows = 0;
  for (int64_t batch = 0; batch <= kBatches; ++batch) {
    if (rows == rows_per_symbol) return batch;
    rows += RowsPerSymbol(batch);
  }
  ADD_FAILURE() << rows_per_symbol << " rows of a symbol are no whole batches";
  return -1;
}

int64_t CheckOf(int64_t minute, int64_t a, int64_t b, int64_t batch) {
  return minute + (31 * a) + (17 * b) + batch;
}

// Makes the tables and writes batches into them, as the ingest thread does.
class Writer {
 public:
  explicit Writer(mem::Tier* tier)
      : trade_(Make("trade", "time p, sym s, k j", tier)),
        quote_(Make("quote", "time p, sym s, v j, k j", tier)),
        bars_(Make("bars", "sym s, m j | a j, b j, batch j, c j", tier)),
        model_(kSymbols) {}

  std::optional<Snapshot> Find(std::string_view name) const {
    for (const auto& table : {trade_, quote_, bars_}) {
      if (table->schema().table == name) return table->TakeSnapshot();
    }
    return std::nullopt;
  }
  const Table& bars() const { return *bars_; }

  void Publish(int64_t k) {
    PublishQuotes(k);
    PublishTrades(k);
    PublishBars(k);
  }

 private:
  std::shared_ptr<Table> Make(std::string_view name, std::string_view columns, mem::Tier* tier) {
    return *Table::Create(*ParseSchema(name, columns), &symbols_, {tier, {}, nullptr},
                          {.rows_per_chunk = 64, .rows_per_block = 64});
  }

  void PublishQuotes(int64_t k) {
    std::vector<int64_t> times, v, numbers;
    std::vector<std::string> names;
    for (int64_t symbol = 0; symbol < kSymbols; ++symbol) {
      int64_t rest = k + 1;
      for (int64_t row = 0; row < RowsPerSymbol(k); ++row) {
        const bool last = row + 1 == RowsPerSymbol(k);
        v.push_back(last ? rest : static_cast<int64_t>(rng_() % 2000) - 1000);
        rest -= v.back();
        times.push_back(k);
        numbers.push_back(k);
        names.push_back(NameOf(symbol));
      }
    }
    Batch batch(v.size());
    batch.Add(Type::kTimestamp, times).AddSymbols(names);
    batch.Add(Type::kLong, v).Add(Type::kLong, numbers);
    TS_CHECK(quote_->Append(batch.view()).ok());
  }

  void PublishTrades(int64_t k) {
    std::vector<std::string> names;
    for (int64_t symbol = 0; symbol < kSymbols; ++symbol) names.push_back(NameOf(symbol));
    Batch batch(kSymbols);
    batch.Add(Type::kTimestamp, std::vector<int64_t>(kSymbols, k)).AddSymbols(names);
    batch.Add(Type::kLong, std::vector<int64_t>(kSymbols, k));
    TS_CHECK(trade_->Append(batch.view()).ok());
  }

  void PublishBars(int64_t k) {
    std::map<std::pair<int64_t, int64_t>, int64_t> changed;  // From symbol and minute to `a`.
    for (int64_t symbol = 0; symbol < kSymbols; ++symbol) {
      std::vector<int64_t>& minutes = model_[static_cast<size_t>(symbol)];
      if (k % 4 == 0) minutes.insert(minutes.end(), 2, 0);
      for (int i = 0; i < 3; ++i) {
        const size_t up = rng_() % minutes.size(), down = rng_() % minutes.size();
        const auto amount = static_cast<int64_t>(rng_() % 1000);
        minutes[up] += amount;
        minutes[down] -= amount;
        for (const size_t minute : {up, down, minutes.size() - 2, minutes.size() - 1}) {
          changed[{symbol, static_cast<int64_t>(minute)}] = 0;
        }
      }
    }
    std::vector<std::string> names;
    std::vector<int64_t> minutes, a, b, numbers, sums;
    for (const auto& [key, unused] : changed) {
      names.push_back(NameOf(key.first));
      minutes.push_back(key.second);
      a.push_back(model_[static_cast<size_t>(key.first)][static_cast<size_t>(key.second)]);
      b.push_back(static_cast<int64_t>(rng_() % 1000));
      numbers.push_back(k);
      sums.push_back(CheckOf(minutes.back(), a.back(), b.back(), k));
    }
    Batch batch(names.size());
    batch.AddSymbols(names).Add(Type::kLong, minutes).Add(Type::kLong, a);
    batch.Add(Type::kLong, b).Add(Type::kLong, numbers).Add(Type::kLong, sums);
    TS_CHECK(bars_->Append(batch.view()).ok());
  }

  SymbolTable symbols_;
  std::shared_ptr<Table> trade_, quote_, bars_;
  std::vector<std::vector<int64_t>> model_;  // For each symbol, `a` by minute.
  std::mt19937_64 rng_{7};
};

class Reader : public Environment {
 public:
  explicit Reader(const Writer& writer) : writer_(writer) {}
  std::optional<Snapshot> FindTable(std::string_view name) override { return writer_.Find(name); }
  std::vector<std::string> TableNames() override { return {"bars", "quote", "trade"}; }
  int64_t NowNs() override { return 0; }

  Value Ask(std::string_view text) {
    absl::StatusOr<Value> answer = Evaluate(text, *this);
    TS_CHECK(answer.ok());
    return *std::move(answer);
  }

 private:
  const Writer& writer_;
};

std::vector<int64_t> Longs(const Value& table, std::string_view column) {
  const Value* const found =
      table.is_keyed_table() && table.keys().FindColumn(column) != nullptr
          ? table.keys().FindColumn(column)
          : (table.is_keyed_table() ? table.values() : table).FindColumn(column);
  const std::span<const int64_t> longs = found->span<int64_t>();
  return {longs.begin(), longs.end()};
}

// ---- The queries. Each checks its answer and returns how many batches of its table it saw.

int64_t ScanOfAll(Reader& reader) {
  const Value answer = reader.Ask("select n:count i, total:sum v, newest:max k from quote");
  const int64_t rows = Longs(answer, "n")[0];
  EXPECT_EQ(rows % kSymbols, 0);
  const int64_t batches = BatchesOf(rows / kSymbols);
  EXPECT_EQ(Longs(answer, "total")[0], kSymbols * SumOf(batches));
  if (batches > 0) {
    EXPECT_EQ(Longs(answer, "newest")[0], batches - 1);
  }
  return batches;
}

int64_t RowsOfOneSymbol(Reader& reader) {
  const Value answer = reader.Ask("select n:count i, total:sum v from quote where sym=`s3");
  const int64_t batches = BatchesOf(Longs(answer, "n")[0]);
  EXPECT_EQ(Longs(answer, "total")[0], SumOf(batches));
  return batches;
}

// Groups by the indexed column and by another one: within one snapshot both kinds have equal
// counts.
int64_t GroupsOfQuotes(Reader& reader) {
  const Value by_sym = reader.Ask("select n:count i, total:sum v by sym from quote");
  int64_t batches = 0;
  for (size_t i = 0; i < Longs(by_sym, "n").size(); ++i) {
    const int64_t seen = BatchesOf(Longs(by_sym, "n")[i]);
    EXPECT_TRUE(i == 0 || seen == batches);
    batches = seen;
    EXPECT_EQ(Longs(by_sym, "total")[i], SumOf(batches));
  }
  const Value by_batch = reader.Ask("select n:count i, total:sum v by k from quote");
  const std::vector<int64_t> numbers = Longs(by_batch, "k");
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
    EXPECT_EQ(Longs(by_batch, "n")[i], kSymbols * RowsPerSymbol(numbers[i]));
    EXPECT_EQ(Longs(by_batch, "total")[i], kSymbols * (numbers[i] + 1));
  }
  return batches;
}

// Arguments are evaluated from the right, so `quote` is as old as `trade` or older: a trade finds
// the quote of its own batch, or the newest one that there was.
int64_t AsofJoin(Reader& reader) {
  const Value answer =
      reader.Ask("aj[`sym`time;select time,sym,trade_k:k from trade;select time,sym,k from quote]");
  const std::vector<int64_t> trade = Longs(answer, "trade_k"), quote = Longs(answer, "k");
  EXPECT_EQ(trade.size() % kSymbols, 0u);
  const int64_t newest = quote.empty() ? -1 : *std::ranges::max_element(quote);
  for (size_t i = 0; i < trade.size(); ++i) {
    EXPECT_EQ(quote[i], newest < 0 ? kNullLong : std::min(trade[i], newest));
  }
  return static_cast<int64_t>(trade.size()) / kSymbols;
}

int64_t ScanOfBars(Reader& reader) {
  const Value answer = reader.Ask(
      "select n:count i, total:sum a, newest:max batch, torn:max abs "
      "c-m+(31*a)+(17*b)+batch from bars");
  if (Longs(answer, "n")[0] == 0) return 0;
  EXPECT_EQ(Longs(answer, "n")[0] % (2 * kSymbols), 0);
  EXPECT_EQ(Longs(answer, "total")[0], 0);
  EXPECT_EQ(Longs(answer, "torn")[0], 0);
  return Longs(answer, "newest")[0] + 1;
}

int64_t BarsOfOneSymbol(Reader& reader) {
  const Value answer =
      reader.Ask("select n:count i, total:sum a, newest:max batch from bars where sym=`s4");
  if (Longs(answer, "n")[0] == 0) return 0;
  EXPECT_EQ(Longs(answer, "n")[0] % 2, 0);
  EXPECT_EQ(Longs(answer, "total")[0], 0);
  return Longs(answer, "newest")[0] + 1;
}

int64_t GroupsOfBars(Reader& reader) {
  const Value by_sym =
      reader.Ask("select total:sum a, newest:max batch, n:count i by sym from bars");
  const std::vector<int64_t> newest = Longs(by_sym, "newest");
  for (size_t i = 0; i < newest.size(); ++i) {
    EXPECT_EQ(Longs(by_sym, "total")[i], 0);
    EXPECT_EQ(newest[i], newest[0]);
    EXPECT_EQ(Longs(by_sym, "n")[i], 2 * (newest[0] / 4 + 1));
  }
  return newest.empty() ? 0 : newest[0] + 1;
}

// Reads the whole table, as a client gets it.
int64_t AllBars(Reader& reader) {
  const Value bars = reader.Ask("bars");
  EXPECT_TRUE(bars.is_keyed_table());
  const std::vector<int64_t> minute = Longs(bars, "m"), a = Longs(bars, "a"), b = Longs(bars, "b"),
                             batch = Longs(bars, "batch"), sum = Longs(bars, "c");
  int64_t total = 0, newest = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sum[i], CheckOf(minute[i], a[i], b[i], batch[i]));
    total += a[i];
    newest = std::max(newest, batch[i]);
  }
  EXPECT_EQ(total, 0);
  return newest + 1;
}

// Goal: every query at any moment sees a prefix of whole batches, and a later query sees no shorter
// one. Method: each reader asks all queries again and again, each starting at another one, until
// the writer is done; another thread holds snapshots of the keyed table meanwhile and checks that
// they stay.
TEST(Concurrency, QueriesSeeWholeBatchesWhileTheyCome) {
  constexpr int kReaders = 4;
  const std::vector<std::function<int64_t(Reader&)>> queries = {
      ScanOfAll,  RowsOfOneSymbol, GroupsOfQuotes, AsofJoin,
      ScanOfBars, BarsOfOneSymbol, GroupsOfBars,   AllBars};
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
  Writer writer(tier.get());
  std::atomic<bool> done = false;
  std::atomic<int64_t> answers = 0, in_the_middle = 0;

  const auto read = [&](size_t first) {
    Reader reader(writer);
    std::vector<int64_t> seen(queries.size(), 0);
    for (size_t next = first; !done && !testing::Test::HasFailure(); ++next) {
      const size_t number = next % queries.size();
      const int64_t batches = queries[number](reader);
      EXPECT_GE(batches, seen[number]);
      seen[number] = batches;
      ++answers;
      if (batches > 0 && batches < kBatches) ++in_the_middle;
    }
    for (const auto& query : queries) EXPECT_TRUE(done && query(reader) == kBatches);
  };
  const auto hold = [&] {
    using Held = std::pair<Snapshot, std::vector<int64_t>>;
    std::vector<Held> held;
    const auto stays = [](const Held& each) { return All<int64_t>(each.first, 2) == each.second; };
    while (!done) {
      const Snapshot snapshot = writer.bars().TakeSnapshot();
      held.emplace_back(snapshot, All<int64_t>(snapshot, 2));
      if (held.size() > 20) {
        EXPECT_TRUE(stays(held[held.size() / 3]));
        held.erase(held.begin() + static_cast<ptrdiff_t>(held.size() / 3));
      }
      std::this_thread::yield();
    }
    for (const Held& each : held) EXPECT_TRUE(stays(each));
  };

  std::vector<std::thread> threads;
  for (size_t i = 0; i < kReaders; ++i) threads.emplace_back(read, i * queries.size() / kReaders);
  threads.emplace_back(hold);
  for (int64_t k = 0; k < kBatches; ++k) {
    // Keeps the writer at most a few answers ahead of the readers. On few cores it would otherwise
    // be done before the readers begin.
    while (answers < k && !testing::Test::HasFailure()) std::this_thread::yield();
    writer.Publish(k);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(in_the_middle, kBatches / 2) << "queries and batches came at the same time";
}

}  // namespace
}  // namespace tickstack::query
