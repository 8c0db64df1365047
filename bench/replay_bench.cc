// Measures how fast an RDB restores the day: a log of quotes and trades, 10 to 1, is replayed into
// tables with their index. Prints rows/s and the log's bytes/s, for batches and for single rows.
//
// Estimate. A quote row has 47 bytes in the log. They are read once from the page cache into the
// reader's block, checked (CRC32C), parsed and appended: about 200 bytes of traffic per row, so at
// 8 GB/s per core some 40 million rows/s. table_bench shows how much of the rest is interning and
// index. A single row has some 110 bytes and a parse of nine values.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/time.h"
#include "mem/tier.h"
#include "rdb/rdb.h"
#include "tplog/log_replay.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_writer.h"
#include "wire/codec.h"

namespace tickstack {
namespace {

constexpr size_t kSymbols = 8000;
constexpr int64_t kRows = 4'000'000;  // Rows in a log; single rows: a quarter.

// Draws roughly by Zipf's law: the symbol's number is e to a uniform power.
std::string Ticker(std::mt19937_64& rng) {
  const double power = std::uniform_real_distribution<>(0, std::log(kSymbols))(rng);
  std::string name;
  for (auto left = static_cast<size_t>(std::exp(power)) * 7919 % 456'976; left > 0; left /= 26) {
    name.push_back(static_cast<char>('A' + left % 26));
  }
  return name.empty() ? "A" : name;
}

template <typename T>
Value Filled(Type type, size_t rows, T value) {
  const std::vector<T> values(rows, value);
  return Value::Vector(type, std::span<const T>(values));
}

Value Quotes(size_t rows, std::mt19937_64& rng) {
  std::vector<int64_t> times(rows);
  SymbolVector names;
  for (size_t i = 0; i < rows; ++i) {
    times[i] = static_cast<int64_t>(i);
    names.push_back(Ticker(rng));
  }
  return Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                      Value::Symbols(std::move(names)), Filled(Type::kFloat, rows, 10.25),
                      Filled(Type::kFloat, rows, 10.5), Filled<int64_t>(Type::kLong, rows, 100),
                      Filled<int64_t>(Type::kLong, rows, 200), Filled(Type::kChar, rows, 'R'),
                      Filled(Type::kChar, rows, 'N')});
}

Value Trades(size_t rows, std::mt19937_64& rng) {
  const Value quotes = Quotes(rows, rng);
  return Value::List({quotes.items()[0], quotes.items()[1], quotes.items()[2],
                      Filled<int32_t>(Type::kInt, rows, 100),
                      Filled<uint8_t>(Type::kBoolean, rows, 0), Filled(Type::kChar, rows, '@'),
                      Filled(Type::kChar, rows, 'N')});
}

// Returns the row as a list of atoms, as a feed without batches sends it.
Value OneRow(const Value& columns) {
  std::vector<Value> atoms;
  for (const Value& column : columns.items()) {
    atoms.push_back(
        column.is(Type::kSymbol)
            ? Value::Symbol(column.symbols()[0])
            : Value::AtomFromBytes(column.type(), column.elements().first(WidthOf(column.type()))));
  }
  return Value::List(std::move(atoms));
}

class LogOfTheDay {
 public:
  LogOfTheDay(size_t batch_rows, int64_t rows) : rows_(rows) {
    std::string name = (std::filesystem::temp_directory_path() / "tickstack_bench_XXXXXX").string();
    TS_CHECK(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::mt19937_64 rng(1);
    struct Message {
      ByteBuffer body;
      tplog::TplogBlock::Rows rows;
    };
    std::vector<Message> pool;
    for (size_t i = 0; i < 110; ++i) {
      const bool trade = i % 11 == 10;
      Value x = trade ? Trades(batch_rows, rng) : Quotes(batch_rows, rng);
      if (batch_rows == 1) x = OneRow(x);
      Message message{{}, {trade ? "trade" : "quote", static_cast<uint32_t>(batch_rows)}};
      wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol(message.rows.table), x}),
                   message.body);
      pool.push_back(std::move(message));
    }
    absl::StatusOr<std::unique_ptr<tplog::TplogWriter>> writer =
        tplog::TplogWriter::Open(path(), {});
    TS_CHECK(writer.ok());
    // A block has the messages of one read: at most some 256 KiB.
    for (int64_t row = 0, i = 0; row < rows;) {
      std::vector<std::span<const std::byte>> segments;
      tplog::TplogBlock::Rows counted[2] = {{"quote", 0}, {"trade", 0}};
      size_t bytes = 0;
      while (row < rows && bytes < 200'000) {
        const Message& message = pool[static_cast<size_t>(i++) % pool.size()];
        segments.push_back(message.body);
        counted[message.rows.table == "trade"].rows += message.rows.rows;
        bytes += message.body.size();
        row += static_cast<int64_t>(batch_rows);
      }
      std::vector<tplog::TplogBlock::Rows> present;
      for (const tplog::TplogBlock::Rows& table : counted) {
        if (table.rows > 0) present.push_back(table);
      }
      tplog::TplogBlock block;
      block.segments = segments;
      block.messages = static_cast<uint32_t>(segments.size());
      block.rows = present;
      TS_CHECK((*writer)->Append(block).ok());
    }
    TS_CHECK((*writer)->Close().ok());
  }
  ~LogOfTheDay() { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "sym2020.03.09").string(); }
  int64_t rows() const { return rows_; }

 private:
  std::filesystem::path folder_;
  const int64_t rows_;
};

void BM_ReplayLog(benchmark::State& state) {
  const auto batch_rows = static_cast<size_t>(state.range(0));
  const bool indexed = state.range(1) != 0;
  const LogOfTheDay log(batch_rows, batch_rows == 1 ? kRows / 4 : kRows);
  if (!indexed) std::filesystem::remove(tplog::TplogIndexPath(log.path()));
  const auto tier = mem::MakeDramTier("bench");
  const ManualClock clock(0);
  int64_t rows = 0;
  uint64_t bytes = 0;
  const auto replay = [&] {
    rdb::Rdb rdb({}, rdb::Placement(tier.get()), &clock);
    rdb.OnSchemas(DefaultSchemas());
    const auto reader = *tplog::LogReplay::Open(log.path());
    TS_CHECK(*reader->Step(rdb, UINT64_MAX, std::chrono::minutes(10)) ==
             tplog::LogReplay::Progress::kLogEnds);
    const auto replayed =
        static_cast<int64_t>(rdb.FindTable("quote")->rows() + rdb.FindTable("trade")->rows());
    TS_CHECK(replayed >= log.rows() && rdb.counters().upds_refused == 0);
    rows += replayed;
    bytes += std::filesystem::file_size(log.path());
  };
  replay();  // Warms up the memory and the page cache.
  rows = 0;
  bytes = 0;
  for (auto _ : state) replay();
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_ReplayLog)
    ->ArgNames({"batch_rows", "index"})
    ->Args({2400, 1})
    ->Args({2400, 0})
    ->Args({100, 1})
    ->Args({1, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack

int main(int argc, char** argv) {
  tickstack::InitLogging("replay_bench", tickstack::LogLevel::kError);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
