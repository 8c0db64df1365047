// stack_bench: measures the whole path, and its parts, as separate processes over loopback, beside
// a relay in plain system calls that does the least a tickerplant can do, in the same run on the
// same machine.
//
//   stack_bench [--workload NAME,...] [--seconds N] [--rounds N] [--dir DIR] [--query-nice N]
//
// Workloads: tickerplant, tickerplant_rows, path, path_rows, latency, latency_busy, latency_batch;
// by default all of these. These run only on request:
//
//   queries     what queries cost incoming rows (queries_workload.h); takes 20 times --seconds plus
//               a minute, and uses --query-nice
//   protection  what users and TLS cost (protection_workload.h), in --rounds rounds
//   scrapes     what scrapes of /metrics cost (scrapes_workload.h), in --rounds rounds

#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "base/time.h"
#include "bench/loopback.h"
#include "bench/measured_machine.h"
#include "bench/protection_workload.h"
#include "bench/queries_workload.h"
#include "bench/row_sender.h"
#include "bench/scrapes_workload.h"
#include "rdb/rdb_main.h"
#include "tickerplant/tickerplant_main.h"

namespace tickstack::bench {
namespace {

constexpr size_t kPool =
    64;  // Distinct messages; 7 MB of batches, more than the caches near a core.

struct Settings {
  double seconds = 30;
  std::string directory;
  int rounds = 5;
  int query_nice = rdb::RdbMainOptions().query_nice;
};

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

tickerplant::TickerplantMainOptions TickerplantOptions(const Settings& settings,
                                                       const Listener& listener, double batch_ms) {
  tickerplant::TickerplantMainOptions options;
  options.listener.listen_fd = listener.socket;
  options.data = settings.directory;
  options.batch_ms = batch_ms;
  options.max_queue_bytes = size_t{2} << 30;
  return options;
}

std::unique_ptr<Child> StartTickerplant(const Settings& settings, const Listener& listener,
                                        double batch_ms, bool busy_poll = false) {
  tickerplant::TickerplantMainOptions options = TickerplantOptions(settings, listener, batch_ms);
  options.busy_poll = busy_poll;
  return std::make_unique<Child>([options] { return RunTickerplant(options); });
}

std::unique_ptr<Child> StartRdb(const Listener& listener, uint16_t tickerplant_port) {
  rdb::RdbMainOptions options;
  options.listener.listen_fd = listener.socket;
  options.tickerplant = "127.0.0.1:" + std::to_string(tickerplant_port);
  return std::make_unique<Child>([options] { return RunRdb(options); });
}

void Subscribe(Peer& peer) {
  peer.Ask(Value::List({Value::Symbol(".u.sub"), Value::Symbol("quote"), Value::Symbol("")}));
}

int64_t Count(Peer& peer, const char* table) {
  return peer.Ask(Value::String(std::string("count ") + table)).as<int64_t>();
}

void Report(const char* name, const Sent& sent, int64_t end_ns,
            const std::vector<std::pair<const char*, double>>& cpu) {
  const double seconds = Seconds(end_ns - sent.start_ns);
  const double rows = static_cast<double>(sent.rows);
  std::printf("%-22s %8.2f million rows/s  %6.2f GB/s in  %5.1f s  %5.1f bytes/row", name,
              rows / seconds / 1e6, static_cast<double>(sent.bytes) / seconds / 1e9, seconds,
              static_cast<double>(sent.bytes) / rows);
  for (const auto& [process, used] : cpu)
    std::printf("  %s %.0f ns/row", process, used * 1e9 / rows);
  std::printf("\n");
  std::fflush(stdout);
}

// Removes the log, so that it neither slows down the next run nor fills the disk.
void Clean(const Settings& settings) {
  std::filesystem::remove_all(settings.directory);
  std::filesystem::create_directories(settings.directory);
}

void BareThroughput(const Settings& settings, const std::vector<ByteBuffer>& upds, size_t rows_each,
                    const char* name) {
  Clean(settings);
  WarmMemory(PathBytesOf(settings.seconds));
  Listener listener;
  Child relay([&] { return RunBareRelay(listener.socket, settings.directory + "/log"); });
  Peer feed(listener.port, false);
  Peer subscriber(listener.port, false);
  std::atomic<uint64_t> expected{UINT64_MAX};
  int64_t end_ns = 0;
  std::thread reader([&] {
    std::vector<std::byte> block(size_t{1} << 20);
    uint64_t received = 0;
    while (received < expected.load(std::memory_order_relaxed)) {
      const size_t got = subscriber.Receive(block);
      if (got == 0) break;
      received += got;
    }
    end_ns = MonotonicNs();
  });
  const Sent sent = SendFor(feed, upds, rows_each, settings.seconds);
  const double cpu = relay.CpuSeconds();
  expected = sent.bytes;
  ::shutdown(feed.socket(), SHUT_WR);
  reader.join();
  Report(name, sent, end_ns, {{"relay", cpu}});
}

void TickerplantThroughput(const Settings& settings, const std::vector<ByteBuffer>& upds,
                           size_t rows_each, const char* name) {
  Clean(settings);
  WarmMemory(PathBytesOf(settings.seconds));
  Listener listener;
  const std::unique_ptr<Child> plant = StartTickerplant(settings, listener, 50);
  Peer feed(listener.port);
  Peer subscriber(listener.port);
  Subscribe(subscriber);
  std::atomic<uint64_t> expected{UINT64_MAX};
  int64_t end_ns = 0;
  std::thread reader([&] {
    std::vector<std::byte> block(size_t{1} << 20);
    RowCounter counter;
    while (counter.rows() < expected.load(std::memory_order_relaxed)) {
      const size_t got = subscriber.Receive(block);
      if (got == 0) break;
      counter.Take({block.data(), got});
    }
    end_ns = MonotonicNs();
    if (counter.rows() < expected)
      std::printf("LOST: %lu rows received\n", static_cast<unsigned long>(counter.rows()));
  });
  const Sent sent = SendFor(feed, upds, rows_each, settings.seconds);
  expected = sent.rows;
  const double cpu = plant->CpuSeconds();
  // The reader may be waiting although all rows have arrived: one more message wakes it.
  feed.Send(upds.front());
  reader.join();
  Report(name, sent, end_ns, {{"tickerplant", cpu}});
}

void PathThroughput(const Settings& settings, const std::vector<ByteBuffer>& upds, size_t rows_each,
                    const char* name) {
  Clean(settings);
  WarmMemory(PathBytesOf(settings.seconds));
  Listener plant_listener, rdb_listener;
  const std::unique_ptr<Child> plant = StartTickerplant(settings, plant_listener, 50);
  const std::unique_ptr<Child> rdb = StartRdb(rdb_listener, plant_listener.port);
  Peer feed(plant_listener.port);
  Peer queries(rdb_listener.port);
  while (queries.Ask(Value::String("tables[]")).count() < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // On cold memory, an rdb takes rows more slowly than a tickerplant forwards them. Without a
  // window, the feed would fill the tickerplant's queue, and the rdb would be disconnected.
  constexpr uint64_t kWindowRows = 8'000'000, kCheckRows = 1'000'000;
  uint64_t checked_at = 0;
  const auto wait_for = [&](uint64_t rows) {
    while (static_cast<uint64_t>(Count(queries, "quote")) < rows) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  const Sent sent = SendFor(feed, upds, rows_each, settings.seconds, [&](uint64_t rows) {
    if (rows < kWindowRows || rows - checked_at < kCheckRows) return;
    checked_at = rows;
    wait_for(rows - kWindowRows);
  });
  wait_for(sent.rows);
  const int64_t end_ns = MonotonicNs();
  Report(name, sent, end_ns, {{"tickerplant", plant->CpuSeconds()}, {"rdb", rdb->CpuSeconds()}});
  std::printf("%-22s rdb resident %.1f GB, %.1f bytes/row\n", "",
              static_cast<double>(rdb->ResidentBytes()) / 1e9,
              static_cast<double>(rdb->ResidentBytes()) / static_cast<double>(sent.rows));
}

void PrintLatency(const char* name, const Histogram& histogram) {
  std::printf("%-22s p50 %7.0f us  p99 %7.0f us  p99.9 %7.0f us  max %8.0f us  (%lu rows)\n", name,
              static_cast<double>(histogram.ValueAtPercentile(50)) / 1e3,
              static_cast<double>(histogram.ValueAtPercentile(99)) / 1e3,
              static_cast<double>(histogram.ValueAtPercentile(99.9)) / 1e3,
              static_cast<double>(histogram.Max()) / 1e3,
              static_cast<unsigned long>(histogram.Count()));
  std::fflush(stdout);
}

void BareLatency(const Settings& settings, const std::vector<ByteBuffer>& upds, const char* name) {
  Clean(settings);
  Listener listener;
  Child relay([&] { return RunBareRelay(listener.socket, settings.directory + "/log"); });
  Peer feed(listener.port, false);
  Peer subscriber(listener.port, false);
  Histogram latency;
  std::thread reader([&] {
    std::vector<std::byte> block(size_t{1} << 20);
    size_t filled = 0;
    while (true) {
      const size_t got = subscriber.Receive(std::span(block).subspan(filled));
      if (got == 0) break;
      const int64_t now_ns = SystemClock::Instance().NowNs();
      filled += got;
      size_t at = 0;
      while (filled - at >= 8) {
        const auto total = LoadLittle<uint32_t>(block.data() + at + 4);
        if (filled - at < total) break;
        const ByteBuffer& any = upds.front();
        const auto due_ns = LoadLittle<int64_t>(block.data() + at + OffsetOfTime(any));
        latency.Record(std::max<int64_t>(1, now_ns - due_ns));
        at += total;
      }
      std::memmove(block.data(), block.data() + at, filled - at);
      filled -= at;
    }
  });
  SendPaced(feed, upds, settings.seconds);
  ::shutdown(feed.socket(), SHUT_WR);
  reader.join();
  PrintLatency(name, latency);
}

void TickerplantLatency(const Settings& settings, const std::vector<ByteBuffer>& upds,
                        double batch_ms, bool busy_poll, const char* name) {
  Clean(settings);
  Listener listener;
  const std::unique_ptr<Child> plant = StartTickerplant(settings, listener, batch_ms, busy_poll);
  Peer feed(listener.port);
  Peer subscriber(listener.port);
  Subscribe(subscriber);
  Histogram latency;
  const auto total = static_cast<uint64_t>(settings.seconds * kPacedRowsPerSecond);
  std::thread reader([&] {
    std::vector<std::byte> block(size_t{1} << 20);
    RowCounter counter;
    while (counter.rows() < total) {
      const size_t got = subscriber.Receive(block);
      if (got == 0) break;
      const int64_t now_ns = SystemClock::Instance().NowNs();
      // Rows of one upd became due at the sender's pace, the first one earliest.
      counter.Take({block.data(), got}, [&](size_t rows, int64_t first_ns) {
        for (size_t row = 0; row < rows; ++row) {
          const int64_t due_ns =
              first_ns + static_cast<int64_t>(row) * kNsPerSecond / kPacedRowsPerSecond;
          latency.Record(std::max<int64_t>(1, now_ns - due_ns));
        }
      });
    }
  });
  SendPaced(feed, upds, settings.seconds);
  reader.join();
  PrintLatency(name, latency);
}

int Main(int argc, char** argv) {
  Settings settings;
  std::string workloads =
      "tickerplant,tickerplant_rows,path,path_rows,latency,latency_busy,latency_batch";
  std::string directory = std::filesystem::temp_directory_path().string();
  CLI::App app("The whole path and its parts over loopback, beside a relay in plain system calls");
  app.add_option("--workload", workloads,
                 "Names with commas between: tickerplant, tickerplant_rows, path, path_rows, "
                 "latency, latency_busy, latency_batch, queries, protection, scrapes")
      ->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Of sending, for each workload")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", settings.rounds, "Of the workloads protection and scrapes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--dir", directory, "Where the logs of a run are kept")->capture_default_str();
  app.add_option("--query-nice", settings.query_nice, "Nice value of the rdb's query threads")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  settings.directory = directory + "/stack_bench." + std::to_string(::getpid());
#ifndef NDEBUG
  std::printf("WARNING: a debug build; these figures mean nothing.\n");
#endif
  std::printf("%s, memory copy %.1f GB/s a thread\n", MachineText().c_str(),
              CopyGigabytesPerSecond());
  std::printf(
      "A relayed byte is copied by the kernel five times: sender, relay in, log, relay out, "
      "reader.\n");

  const std::vector<ByteBuffer> batches = QuoteUpds(kPool, kBatchRows, 1);
  const std::vector<ByteBuffer> rows = QuoteUpds(20'000, 0, 2);
  const std::map<std::string, std::function<void()>> known = {
      {"tickerplant",
       [&] {
         BareThroughput(settings, batches, kBatchRows, "bare relay, batches");
         TickerplantThroughput(settings, batches, kBatchRows, "tickerplant, batches");
       }},
      {"tickerplant_rows",
       [&] {
         BareThroughput(settings, rows, 1, "bare relay, rows");
         TickerplantThroughput(settings, rows, 1, "tickerplant, rows");
       }},
      {"path", [&] { PathThroughput(settings, batches, kBatchRows, "feed-tp-rdb, batches"); }},
      {"path_rows", [&] { PathThroughput(settings, rows, 1, "feed-tp-rdb, rows"); }},
      {"latency",
       [&] {
         BareLatency(settings, rows, "bare relay");
         TickerplantLatency(settings, rows, 0, false, "tickerplant, 0 ms");
       }},
      {"latency_busy",
       [&] { TickerplantLatency(settings, rows, 0, true, "tickerplant, busy_poll"); }},
      {"latency_batch",
       [&] { TickerplantLatency(settings, rows, 50, false, "tickerplant, 50 ms"); }},
      {"queries",
       [&] {
         Clean(settings);
         RunQueriesWorkload(settings.seconds, settings.directory, settings.query_nice);
       }},
      {"protection",
       [&] { RunProtectionWorkload(settings.seconds, settings.rounds, settings.directory); }},
      {"scrapes",
       [&] { RunScrapesWorkload(settings.seconds, settings.rounds, settings.directory); }},
  };
  for (size_t begin = 0; begin <= workloads.size();) {
    const size_t comma = std::min(workloads.find(',', begin), workloads.size());
    const auto it = known.find(workloads.substr(begin, comma - begin));
    if (it == known.end()) {
      std::fprintf(stderr, "unknown workload '%s'\n",
                   workloads.substr(begin, comma - begin).c_str());
      return 2;
    }
    it->second();
    begin = comma + 1;
  }
  std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
