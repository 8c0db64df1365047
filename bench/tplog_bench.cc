// Measures the tickerplant log: checksum, append, replay.
//
// Blocks are those of a feed at full speed: one message of 2,400 quotes (48-byte rows and their
// symbols), and for contrast one row. Estimates:
//   Crc32c   8 bytes per cycle in cache; beyond it, the bandwidth of one core
//   Append   one pass for the checksum, one copy into the page cache, two system calls
//   Replay   one copy from the page cache, one pass for the checksum, one walk over the symbols
// Logs are written to TMPDIR; they stay in the page cache, since none exceeds 512 MiB.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "table/value.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_writer.h"
#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kLogBytesMax = uint64_t{512} << 20;

template <typename T>
Value RandomColumn(Type type, size_t rows, std::mt19937_64& rng) {
  std::vector<T> values(rows);
  for (T& value : values) value = static_cast<T>(rng() % 100'000);
  return Value::Vector(type, std::span<const T>(values));
}

// Returns columns time sym bid ask bsize asize mode ex, as in the default schema.
ByteBuffer Quotes(size_t rows) {
  std::mt19937_64 rng(rows);
  SymbolVector syms;
  for (size_t row = 0; row < rows; ++row) syms.push_back("S" + std::to_string(rng() % 8000));
  const std::string letters(rows, 'N');
  ByteBuffer body;
  Encode(Value::List({Value::Symbol("upd"), Value::Symbol("quote"),
                      Value::List({RandomColumn<int64_t>(Type::kTimestamp, rows, rng),
                                   Value::Symbols(std::move(syms)),
                                   RandomColumn<double>(Type::kFloat, rows, rng),
                                   RandomColumn<double>(Type::kFloat, rows, rng),
                                   RandomColumn<int64_t>(Type::kLong, rows, rng),
                                   RandomColumn<int64_t>(Type::kLong, rows, rng),
                                   Value::String(letters), Value::String(letters)})}),
         body);
  return body;
}

// A temporary log.
class ScratchLog {
 public:
  ScratchLog() {
    folder_ = (std::filesystem::temp_directory_path() / "ts_bench_XXXXXX").string();
    TS_CHECK(::mkdtemp(folder_.data()) != nullptr);
  }
  ~ScratchLog() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/log"; }
  std::unique_ptr<TplogWriter> Create(const TplogOptions& options = {}) const {
    std::filesystem::remove(path());
    std::filesystem::remove(TplogIndexPath(path()));
    return TplogWriter::Open(path(), options).value();
  }

 private:
  std::string folder_;
};

void Append(TplogWriter& writer, const ByteBuffer& body, uint32_t rows) {
  const std::span<const std::byte> segments[] = {body};
  const TplogBlock::Rows table_rows[] = {{"quote", rows}};
  TS_CHECK(writer.Append({segments, 1, 1, "sim", table_rows}).ok());
}

// Fills a log with about `bytes` bytes, in blocks of one message of `rows` rows.
uint64_t Fill(const ScratchLog& log, size_t rows, uint64_t bytes) {
  const ByteBuffer body = Quotes(rows);
  const auto writer = log.Create();
  while (writer->totals().log_bytes < bytes) Append(*writer, body, static_cast<uint32_t>(rows));
  return writer->totals().messages;
}

void SetRates(benchmark::State& state, uint64_t bytes, uint64_t rows) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}

void BM_Crc32c(benchmark::State& state) {
  ByteBuffer bytes;
  bytes.resize(static_cast<size_t>(state.range(0)));
  std::memset(bytes.data(), 7, bytes.size());
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc32c)->Arg(128)->Arg(4 << 10)->Arg(128 << 10)->Arg(256 << 20);

// Rows a message; fsync policy.
void BM_Append(benchmark::State& state) {
  const auto rows = static_cast<uint32_t>(state.range(0));
  TplogOptions options;
  options.fsync = static_cast<FsyncPolicy>(state.range(1));
  const ByteBuffer body = Quotes(rows);
  const ScratchLog log;
  auto writer = log.Create(options);
  for (auto _ : state) {
    Append(*writer, body, rows);
    if (writer->totals().log_bytes > kLogBytesMax) {
      state.PauseTiming();
      writer = nullptr;
      writer = log.Create(options);
      state.ResumeTiming();
    }
  }
  const auto blocks = static_cast<uint64_t>(state.iterations());
  SetRates(state, blocks * body.size(), blocks * rows);
}
BENCHMARK(BM_Append)
    ->ArgNames({"rows", "fsync"})
    ->Args({2400, static_cast<int>(FsyncPolicy::kNone)})
    ->Args({2400, static_cast<int>(FsyncPolicy::kInterval)})
    ->Args({2400, static_cast<int>(FsyncPolicy::kBatch)})
    ->Args({1, static_cast<int>(FsyncPolicy::kNone)})
    ->UseRealTime();

// Reads a log of 256 MiB message by message, with and without its index and its checksums.
void BM_Replay(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const ScratchLog log;
  const uint64_t messages = Fill(log, rows, uint64_t{256} << 20);
  TplogReaderOptions options;
  options.use_index = state.range(1) != 0;
  options.verify = state.range(2) != 0;
  uint64_t bytes = 0;
  for (auto _ : state) {
    const auto reader = TplogReader::Open(log.path(), options).value();
    while (reader->Next()->has_value()) continue;
    TS_CHECK(reader->next_seq() == messages);
    bytes += reader->offset();
  }
  SetRates(state, bytes, messages * rows * static_cast<uint64_t>(state.iterations()));
}
BENCHMARK(BM_Replay)
    ->ArgNames({"rows", "index", "verify"})
    ->Args({2400, 1, 1})
    ->Args({2400, 1, 0})
    ->Args({2400, 0, 0})
    ->Args({1, 1, 1})
    ->Args({1, 0, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// The same, and decodes every upd into column spans: what a subscriber's replay does before it
// copies the columns.
void BM_ReplayAndDecode(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const ScratchLog log;
  const uint64_t messages = Fill(log, rows, uint64_t{256} << 20);
  uint64_t bytes = 0;
  for (auto _ : state) {
    const auto reader = TplogReader::Open(log.path()).value();
    wire::UpdDecoder decoder;
    wire::UpdView upd;
    for (auto message = reader->Next(); message->has_value(); message = reader->Next()) {
      TS_CHECK(decoder.Decode((*message)->body, &upd).ok() && upd.batch.rows == rows);
    }
    bytes += reader->offset();
  }
  SetRates(state, bytes, messages * rows * static_cast<uint64_t>(state.iterations()));
}
BENCHMARK(BM_ReplayAndDecode)
    ->ArgNames({"rows"})
    ->Arg(2400)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_Check(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const ScratchLog log;
  const uint64_t messages = Fill(log, rows, uint64_t{256} << 20);
  uint64_t bytes = 0;
  for (auto _ : state) {
    const auto report = CheckTplog(log.path()).value();
    TS_CHECK(report.problem_count == 0 && report.totals.messages == messages);
    bytes += report.log_bytes;
  }
  SetRates(state, bytes, messages * rows * static_cast<uint64_t>(state.iterations()));
}
BENCHMARK(BM_Check)
    ->ArgNames({"rows"})
    ->Arg(2400)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Opens a log for writing: reads the index of 256 MiB of single rows, two million records.
void BM_Reopen(benchmark::State& state) {
  const ScratchLog log;
  const uint64_t messages = Fill(log, 1, uint64_t{256} << 20);
  for (auto _ : state) {
    TS_CHECK(TplogWriter::Open(log.path(), {}).value()->totals().messages == messages);
  }
  state.SetItemsProcessed(static_cast<int64_t>(messages) * state.iterations());
}
BENCHMARK(BM_Reopen)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tickstack::tplog

BENCHMARK_MAIN();
