// Measures the end of a day: the quotes and trades of a day, captured by an RDB, are written,
// synced and handed over while the next day is captured. For comparison, in the same run before and
// after it, `dd conv=fsync` writes as many bytes of zeros into the same folder.
//
//   eod_bench --database /mnt/disk/db --quotes 30000000
//
// Estimate. In its partition a quote has 50 bytes (8 columns, the symbol as 8 bytes) and a trade
// 31, so 30 million quotes and 3 million trades are 1.59 GB. 228 million elements are gathered by
// row number, at 3 to 4 ns (disk/row_gather.h), which takes 0.8 s of one core, and are copied once,
// in 0.2 s. The disk reads them from that memory. So with two cores the disk is the bottleneck. dd,
// which copies into the page cache before its disk begins, takes about as long.
//
// Lateness: a batch of the next day is due every --batch-ms, and its lateness is the time from then
// until its rows are visible.

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "bench/day_batches.h"
#include "bench/measured_machine.h"
#include "rdb/end_of_day.h"
#include "rdb/rdb.h"
#include "table/codec.h"
#include "table/value.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack {
namespace {

constexpr int32_t kDate = 7373;  // 2020.03.09

struct Options {
  std::string database = "eod_bench.db";
  size_t quotes = 30'000'000;
  size_t symbols = 8'000;
  int threads = rdb::EndOfDayOptions().threads;
  int nice = rdb::EndOfDayOptions().nice;
  int batch_ms = 50;
  size_t batch_rows = 2'400;
  std::string compression = "none";
};

// (`upd; `table; columns)
void EncodeUpd(std::string_view table, const BatchView& batch, ByteBuffer& out) {
  out.clear();
  wire::UpdEncoder upd(out);
  upd.Head(wire::protocol::kUpd, table);
  upd.Batch(batch);
}

// Publishes a day of two tables as messages, ten quotes to a trade.
class Market {
 public:
  explicit Market(const Options& options)
      : options_(options),
        quotes_(DefaultSchemas()[1], BatchOptions(options)),
        trades_(DefaultSchemas()[0], BatchOptions(options)) {}

  const ByteBuffer& Next() {
    const bool trade = ++batch_ % 11 == 0;
    EncodeUpd(trade ? "trade" : "quote", trade ? trades_.Next() : quotes_.Next(), body_);
    return body_;
  }
  size_t quotes() const { return quotes_.rows(); }
  size_t trades() const { return trades_.rows(); }

 private:
  static bench::DayBatchOptions BatchOptions(const Options& options) {
    bench::DayBatchOptions batches;
    batches.rows_per_batch = options.batch_rows;
    batches.symbols = options.symbols;
    batches.open_ns = int64_t{kDate} * kNsPerDay;
    batches.step_ns = 700'000;
    return batches;
  }

  const Options options_;
  bench::DayBatches quotes_, trades_;
  size_t batch_ = 0;
  ByteBuffer body_;
};

double SecondsOfDd(const std::string& folder, size_t bytes) {
  const std::string file = folder + "/dd";
  const std::string command = "dd if=/dev/zero of='" + file +
                              "' bs=1M count=" + std::to_string((bytes >> 20) + 1) +
                              " conv=fsync 2>/dev/null";
  const int64_t begin_ns = MonotonicNs();
  TS_CHECK(std::system(command.c_str()) == 0);
  const double seconds = static_cast<double>(MonotonicNs() - begin_ns) / 1e9;
  std::filesystem::remove(file);
  return seconds;
}

// Returns the CPU time of all threads so far.
double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

size_t BytesOf(const std::string& folder) {
  size_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

int Run(const Options& options) {
  std::filesystem::remove_all(options.database);
  std::filesystem::create_directories(options.database);
  const std::string folder = std::filesystem::absolute(options.database).parent_path();
  std::printf("%s\n", bench::MachineText().c_str());
  // A virtual machine gets its memory from the host when it first touches it. Without this, dd,
  // which runs first, would use up the available pages.
  bench::WarmMemory(options.quotes * 250);

  // As in an RDB.
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("dram", SIZE_MAX, size_t{64} << 20);
  rdb::Rdb rdb({}, rdb::Placement(tier.get()), &SystemClock::Instance());
  rdb.OnSchemas(DefaultSchemas());
  rdb::EndOfDayOptions how;
  how.database = options.database;
  how.threads = options.threads;
  how.nice = options.nice;
  how.compression.Set("default", *disk::ParseCompression(options.compression));
  rdb::EndOfDay end_of_day(how, &rdb);
  rdb.KeepDays(&end_of_day);
  Market market(options);
  while (market.quotes() < options.quotes) rdb.OnLive(market.Next());
  const size_t quotes = market.quotes(), trades = market.trades();
  const size_t bytes = quotes * 50 + trades * 31;
  std::printf("captured quotes=%zu trades=%zu partition_bytes=%zu\n", quotes, trades, bytes);

  const double dd_before = SecondsOfDd(folder, bytes);
  const size_t memory_before = bench::AnonymousBytes();
  std::atomic<bool> done = false;
  std::atomic<size_t> memory_max = 0;
  std::thread sampler([&] {
    while (!done) {
      memory_max = std::max<size_t>(memory_max, bench::AnonymousBytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });

  ByteBuffer end;
  Encode(Value::List({Value::Symbol(".u.end"), Value::Date(kDate)}), end);
  AskForShortSlices();  // Like the ingest thread of an RDB.
  const double cpu_before = CpuSeconds();
  const int64_t begin_ns = MonotonicNs();
  rdb.OnLive(end);
  const int64_t frozen_ns = MonotonicNs() - begin_ns;
  const int64_t period_ns = int64_t{1'000'000} * options.batch_ms;
  int64_t latest_ns = 0, woken_latest_ns = 0, longest_ns = 0, batches = 0;
  for (int64_t due_ns = begin_ns + period_ns; rdb.days_kept() > 0; due_ns += period_ns) {
    const ByteBuffer& body = market.Next();
    while (MonotonicNs() < due_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(due_ns - MonotonicNs()));
    }
    const int64_t woken_ns = MonotonicNs();
    rdb.OnLive(body);
    const int64_t done_ns = MonotonicNs();
    latest_ns = std::max(latest_ns, done_ns - due_ns);
    woken_latest_ns = std::max(woken_latest_ns, woken_ns - due_ns);
    longest_ns = std::max(longest_ns, done_ns - woken_ns);
    ++batches;
  }
  const double seconds = static_cast<double>(MonotonicNs() - begin_ns) / 1e9;
  const double cpu_seconds = CpuSeconds() - cpu_before;
  done = true;
  sampler.join();
  const double dd_after = SecondsOfDd(folder, bytes);
  const double dd = std::min(dd_before, dd_after);
  std::printf(
      "end of day s=%.2f dd_before_s=%.2f dd_after_s=%.2f ratio=%.2f cpu_s=%.2f bytes=%zu "
      "frozen_us=%lld\n",
      seconds, dd_before, dd_after, seconds / dd, cpu_seconds, BytesOf(options.database),
      static_cast<long long>(frozen_ns / 1000));
  std::printf(
      "extra_anonymous_mib=%.0f batches=%lld latest_batch_ms=%.2f latest_wake_ms=%.2f "
      "longest_append_ms=%.2f\n",
      static_cast<double>(memory_max - std::min<size_t>(memory_max, memory_before)) / (1 << 20),
      static_cast<long long>(batches), static_cast<double>(latest_ns) / 1e6,
      static_cast<double>(woken_latest_ns) / 1e6, static_cast<double>(longest_ns) / 1e6);
  std::filesystem::remove_all(options.database);
  return 0;
}

}  // namespace
}  // namespace tickstack

int main(int argc, char** argv) {
  tickstack::Options options;
  CLI::App app("Write a day down while the next one is captured");
  app.add_option("--database", options.database, "A folder that is made, and removed again");
  app.add_option("--quotes", options.quotes, "A tenth as many trades")->capture_default_str();
  app.add_option("--symbols", options.symbols)->capture_default_str();
  app.add_option("--threads", options.threads, "That write")->capture_default_str();
  app.add_option("--nice", options.nice, "How they stand back")->capture_default_str();
  app.add_option("--batch-ms", options.batch_ms, "Of the next day")->capture_default_str();
  app.add_option("--compression", options.compression)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  tickstack::InitLogging("eod_bench");
  return tickstack::Run(options);
}
