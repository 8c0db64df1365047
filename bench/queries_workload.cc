#include "bench/queries_workload.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "bench/figures.h"
#include "bench/loopback.h"
#include "bench/query_load.h"
#include "rdb/rdb_main.h"
#include "tickerplant/tickerplant_main.h"

namespace tickstack::bench {
namespace {

constexpr int kRounds = 3;
constexpr size_t kFillRows = 8'800'000;
constexpr size_t kBatchRows = 2400;
constexpr int64_t kFeedPeriodNs = 1'000'000;
constexpr size_t kQuotesPerPeriod = 44, kTradesPerPeriod = 4;
constexpr int kMonitorRounds = 1000;
constexpr size_t kMonitorConnections = 4;
constexpr size_t kMonitorSymbolRank = 9;  // 1 % of the rows: 84,000 quotes, 8,400 trades.
constexpr size_t kTierBytes = size_t{3} << 30;
constexpr size_t kPool = 64;  // Distinct messages.

const std::array<std::string, 3> kLoads = {"none", "monitor", "scan"};

// A tickerplant, and an rdb whose columns are in one tier.
struct Stack {
  Stack(const std::string& tier, const std::string& directory, const std::string& tier_directory,
        int query_nice) {
    tickerplant::TickerplantMainOptions plant_options;
    plant_options.listener.listen_fd = plant_listener.socket;
    plant_options.data = directory;
    plant_options.batch_ms = 1;
    plant_options.max_queue_bytes = size_t{2} << 30;
    plant = std::make_unique<Child>([=] { return RunTickerplant(plant_options); });
    rdb::RdbMainOptions rdb_options;
    rdb_options.listener.listen_fd = rdb_listener.socket;
    rdb_options.tickerplant = "127.0.0.1:" + std::to_string(plant_listener.port);
    rdb_options.query_helpers = 0;  // A scan uses one thread.
    rdb_options.query_slow_ms = 0;
    rdb_options.query_nice = query_nice;
    if (tier != rdb::kDramTier) {
      rdb::TierConfig config = rdb::TierConfigOf(tier);
      config.options.kind = mem::TierKind::kFilesystem;
      config.options.path = tier_directory;
      config.options.capacity_bytes = kTierBytes;
      rdb_options.tiers.push_back(config);
      rdb_options.placement.Set("default", tier);
    }
    rdb = std::make_unique<Child>([=] { return RunRdb(rdb_options); });
    feed.emplace(plant_listener.port);
    queries.emplace(rdb_listener.port);
    while (queries->Ask(Value::String("tables[]")).count() < 2) Pause(20);
  }

  static void Pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  Value Ask(const std::string& text) { return queries->Ask(Value::String(text)); }
  int64_t AskLong(const std::string& text) { return Ask(text).as<int64_t>(); }
  int64_t Rows() { return AskLong("count trade") + AskLong("count quote"); }
  void WaitForRows(int64_t rows) {
    while (Rows() < rows) Pause(1);
  }

  Listener plant_listener, rdb_listener;
  std::unique_ptr<Child> plant, rdb;
  std::optional<Peer> feed, queries;
};

// Sends a day's messages at the requested pace.
class Feed {
 public:
  // Sends `rows` rows as fast as they are taken.
  void SendAtOnce(Peer& to, size_t rows) {
    for (size_t sent = 0, i = 0; sent < rows; sent += kBatchRows, ++i) {
      const bool is_trade = i % 11 == 10;
      ByteBuffer& upd = (is_trade ? trade_batches_ : quote_batches_)[i % kPool];
      // 1 ns apart: with equal times in a whole batch, a join would spend its time on ties.
      SetTimes(upd, kBatchRows, [now_ns = clock_.NowNs()](size_t row) {
        return now_ns + static_cast<int64_t>(row);
      });
      to.Send(upd);
    }
  }

  // Sends the rows that are due within `seconds`, each with the time at which it was due.
  void SendPaced(Peer& to, double seconds) {
    const int64_t start_ns = clock_.NowNs();
    const auto periods = static_cast<int64_t>(seconds * 1e9) / kFeedPeriodNs;
    for (int64_t period = 0; period < periods; ++period) {
      const int64_t due_ns = start_ns + (period + 1) * kFeedPeriodNs;
      for (int64_t now_ns = clock_.NowNs(); now_ns < due_ns; now_ns = clock_.NowNs()) {
        const timespec pause{0, due_ns - now_ns};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      }
      // All rows of a period are due at its end, so that the figure covers the stack and not the
      // wait for the period's end.
      const auto due = [due_ns](size_t) { return due_ns; };
      write_.clear();
      const auto i = static_cast<size_t>(period) % kPool;
      SetTimes(quotes_[i], kQuotesPerPeriod, due);
      SetTimes(trades_[i], kTradesPerPeriod, due);
      write_.Append(quotes_[i]);
      write_.Append(trades_[i]);
      to.Send(write_);
    }
  }

 private:
  template <typename F>
  static void SetTimes(ByteBuffer& upd, size_t rows, F time_of) {
    std::byte* at = upd.data() + OffsetOfTime(upd);
    for (size_t row = 0; row < rows; ++row, at += sizeof(int64_t)) {
      const int64_t time_ns = time_of(row);
      std::memcpy(at, &time_ns, sizeof time_ns);
    }
  }

  const Clock& clock_ = SystemClock::Instance();
  std::vector<ByteBuffer> quote_batches_ = QuoteUpds(kPool, kBatchRows, 1);
  std::vector<ByteBuffer> trade_batches_ = TradeUpds(kPool, kBatchRows, 2);
  std::vector<ByteBuffer> quotes_ = QuoteUpds(kPool, kQuotesPerPeriod, 3);
  std::vector<ByteBuffer> trades_ = TradeUpds(kPool, kTradesPerPeriod, 4);
  ByteBuffer write_;
};

using FiguresByLoad = std::map<std::string, Figures>;

struct Load {
  Load(const std::string& name, uint16_t port) {
    if (name == "monitor") {
      monitor = std::make_unique<MonitorLoad>(port, kMonitorRounds, kMonitorConnections,
                                              SymbolOfRank(kMonitorSymbolRank));
    }
    if (name == "scan") scan = std::make_unique<ScanLoad>(port);
  }
  void Report(double seconds, Figures& figures) {
    if (monitor == nullptr && scan == nullptr) return;
    const Histogram& times = monitor != nullptr ? monitor->Stop() : scan->Stop();
    figures.Add("asked", static_cast<double>(times.Count()) / seconds);
    figures.Add("ask p50", static_cast<double>(times.ValueAtPercentile(50)) / 1e3);
    figures.Add("ask p99", static_cast<double>(times.ValueAtPercentile(99)) / 1e3);
  }
  std::unique_ptr<MonitorLoad> monitor;
  std::unique_ptr<ScanLoad> scan;
};

void MeasureLatency(Stack& stack, Feed& feed, const std::string& load_name, double seconds,
                    Figures& figures) {
  Load load(load_name, stack.rdb_listener.port);
  feed.SendPaced(*stack.feed, 0.3);  // Start-up: both must be running.
  stack.Ask(".rdb.latency[`reset]");
  const Child::ThreadTimes before = stack.rdb->FirstThread();
  const double cpu_before = stack.rdb->CpuSeconds();
  feed.SendPaced(*stack.feed, seconds);
  const Child::ThreadTimes after = stack.rdb->FirstThread();
  const double cpu = stack.rdb->CpuSeconds() - cpu_before;
  const auto rows = static_cast<double>(stack.AskLong(".rdb.latency[][`count]"));
  for (const char* name : {"p50", "p99", "p999", "max"}) {
    const int64_t ns = stack.AskLong(std::string(".rdb.latency[][`") + name + "]");
    figures.Add(name, static_cast<double>(ns) / 1e3);
  }
  figures.Add("ran", (after.ran_s - before.ran_s) * 1e9 / rows);
  figures.Add("waited", (after.waited_s - before.waited_s) / seconds * 100);
  figures.Add("cpu", cpu / seconds * 100);
  load.Report(seconds + 0.3, figures);
}

void MeasureRate(Stack& stack, Feed& feed, const std::string& load_name, double seconds,
                 Figures& figures) {
  const int64_t rows_before = stack.Rows();
  Load load(load_name, stack.rdb_listener.port);
  // As many rows as take about this long, but not more than the tier holds.
  const auto rows = static_cast<size_t>(std::min(seconds, 2.0) * 2e6);
  const Child::ThreadTimes before = stack.rdb->FirstThread();
  const int64_t begin_ns = MonotonicNs();
  feed.SendAtOnce(*stack.feed, rows);
  const size_t batches = (rows + kBatchRows - 1) / kBatchRows;
  stack.WaitForRows(rows_before + static_cast<int64_t>(batches * kBatchRows));
  const double took_s = static_cast<double>(MonotonicNs() - begin_ns) / 1e9;
  const Child::ThreadTimes after = stack.rdb->FirstThread();
  const auto taken = static_cast<double>(batches * kBatchRows);
  figures.Add("rate", taken / took_s / 1e6);
  figures.Add("rate ran", (after.ran_s - before.ran_s) * 1e9 / taken);
  figures.Add("rate waited", (after.waited_s - before.waited_s) / took_s * 100);
}

void RunRound(const std::string& tier, int round, double seconds, const std::string& directory,
              const std::string& tier_directory, int query_nice, Feed& feed,
              FiguresByLoad& figures) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  Stack stack(tier, directory, tier_directory, query_nice);
  feed.SendAtOnce(*stack.feed, kFillRows);
  stack.WaitForRows(static_cast<int64_t>(kFillRows));
  for (size_t i = 0; i < kLoads.size(); ++i) {
    // Each round starts with a different load.
    const std::string& load = kLoads[(i + static_cast<size_t>(round)) % kLoads.size()];
    MeasureLatency(stack, feed, load, seconds, figures[load]);
  }
  for (const size_t i : {size_t{round % 2 == 0 ? 0u : 2u}, size_t{round % 2 == 0 ? 2u : 0u}}) {
    MeasureRate(stack, feed, kLoads[i], seconds, figures[kLoads[i]]);
  }
  if (stack.AskLong(".rdb.stats[][`rows_refused]") > 0) std::printf("REFUSED: the tier is full\n");
  if (stack.AskLong(".rdb.stats[][`queries_failed]") > 0) std::printf("FAILED: queries\n");
}

// Returns `x.xx` times the figure without queries.
double Ratio(const FiguresByLoad& figures, const std::string& load, const std::string& name) {
  return figures.at(load).Median(name) / figures.at("none").Median(name);
}

void Print(const std::string& tier, const FiguresByLoad& figures) {
  for (const std::string& load : kLoads) {
    const Figures& of = figures.at(load);
    std::printf("%-10s %-8s", tier.c_str(), load.c_str());
    for (const char* name : {"p50", "p99", "p999", "max"}) {
      std::printf(" %8.0f %5.2f", of.Median(name), Ratio(figures, load, name));
    }
    std::printf(" %7.0f %7.1f %7.0f", of.Median("ran"), of.Median("waited"), of.Median("cpu"));
    if (load != "none") {
      std::printf(" %8.0f %8.0f %8.0f", of.Median("asked"), of.Median("ask p50"),
                  of.Median("ask p99"));
    }
    std::printf("\n");
  }
  for (const char* load : {"none", "scan"}) {
    const Figures& of = figures.at(load);
    std::printf(
        "%-10s %-8s rate %6.2f million rows/s %5.2f; its thread ran %5.0f ns/row %5.2f, "
        "waited %4.1f %%\n",
        tier.c_str(), load, of.Median("rate"), Ratio(figures, load, "rate"), of.Median("rate ran"),
        Ratio(figures, load, "rate ran"), of.Median("rate waited"));
  }
  std::fflush(stdout);
}

}  // namespace

void RunQueriesWorkload(double seconds, const std::string& directory, int query_nice) {
  InitLogging("stack_bench", LogLevel::kWarn);
  const std::string tier_directory = "/dev/shm/stack_bench." + std::to_string(::getpid());
  std::filesystem::create_directories(tier_directory);
  Feed feed;
  std::map<std::string, FiguresByLoad> figures;
  const std::array<std::string, 2> tiers = {"dram", "tmpfs"};
  for (int round = 0; round < kRounds; ++round) {
    for (const std::string& tier : tiers) {
      RunRound(tier, round, seconds, directory, tier_directory, query_nice, feed, figures[tier]);
    }
  }
  std::filesystem::remove_all(tier_directory);
  std::printf(
      "queries: a row's latency in us and times that without queries; of the thread that takes "
      "rows "
      "what it ran, ns a row, and waited for a core, %%; CPU of the rdb, %%; rounds a second, "
      "their "
      "p50 and p99 in us. Medians of %d rounds of %.1f s; %u cores; niceness of query threads %d\n",
      kRounds, seconds, std::thread::hardware_concurrency(), query_nice);
  std::printf("%-10s %-8s %14s %14s %14s %14s %7s %7s %7s %8s %8s %8s\n", "tier", "load", "p50",
              "p99", "p99.9", "max", "ran", "waited", "cpu", "rounds/s", "p50", "p99");
  for (const std::string& tier : tiers) Print(tier, figures[tier]);
}

}  // namespace tickstack::bench
