#include "bench/protection_workload.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "bench/figures.h"
#include "bench/loopback.h"
#include "bench/measured_machine.h"
#include "bench/protection.h"
#include "bench/row_sender.h"
#include "rdb/rdb_main.h"
#include "tickerplant/tickerplant_main.h"

namespace tickstack::bench {
namespace {

constexpr size_t kPool = 64;         // Distinct batches.
constexpr size_t kSingles = 20'000;  // Distinct rows.
constexpr double kStartSeconds = 0.3;

struct Case {
  const char* name;
  Protection protection;
};
constexpr std::array<Case, 3> kCases = {{{"plain", Protection::kNone},
                                         {"users", Protection::kUsers},
                                         {"users_tls", Protection::kUsersAndTls}}};

// A tickerplant and an rdb with an empty log.
struct Stack {
  Stack(Protection protection, const ProtectionFiles& files, const std::string& directory,
        double batch_ms) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    tickerplant::TickerplantMainOptions plant_options;
    plant_options.listener.listen_fd = plant_listener.socket;
    plant_options.data = directory;
    plant_options.batch_ms = batch_ms;
    plant_options.max_queue_bytes = size_t{2} << 30;
    plant = std::make_unique<Child>([plant_options, protection, &files]() mutable {
      files.Protect(protection, plant_options.listener);
      return RunTickerplant(plant_options);
    });
    rdb::RdbMainOptions rdb_options;
    rdb_options.listener.listen_fd = rdb_listener.socket;
    rdb_options.tickerplant = ProtectionFiles::AddressOf(protection, plant_listener.port);
    rdb_options.data = directory;
    rdb = std::make_unique<Child>([rdb_options, protection, &files]() mutable {
      files.Protect(protection, rdb_options.listener);
      return RunRdb(rdb_options);
    });
    feed.emplace(plant_listener.port, files.Feed(protection));
    queries.emplace(rdb_listener.port, files.Reader(protection));
    while (Ask("tables[]").count() < 2) Pause(20);
    while (AskLong(".rdb.stats[][`live]") != 1) Pause(20);
  }

  static void Pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  Value Ask(const std::string& text) { return queries->Ask(Value::String(text)); }
  int64_t AskLong(const std::string& text) { return Ask(text).as<int64_t>(); }
  void WaitForRows(uint64_t rows) {
    while (static_cast<uint64_t>(AskLong("count quote")) < rows) Pause(2);
  }

  Listener plant_listener, rdb_listener;
  std::unique_ptr<Child> plant, rdb;
  std::optional<Peer> feed, queries;
};

void MeasureRate(Stack& stack, const std::vector<ByteBuffer>& batches, double seconds,
                 Figures& figures) {
  // As in the workload `path`: the feed must not fill the tickerplant's queue.
  constexpr uint64_t kWindowRows = 8'000'000, kCheckRows = 1'000'000;
  uint64_t checked_at = 0;
  // Without the logins, of which each new password costs 0.1 s.
  const double plant_before = stack.plant->CpuSeconds(), rdb_before = stack.rdb->CpuSeconds();
  const Sent sent = SendFor(*stack.feed, batches, kBatchRows, seconds, [&](uint64_t rows) {
    if (rows < kWindowRows || rows - checked_at < kCheckRows) return;
    checked_at = rows;
    stack.WaitForRows(rows - kWindowRows);
  });
  stack.WaitForRows(sent.rows);
  const auto rows = static_cast<double>(sent.rows);
  figures.Add("rate", rows * 1e3 / static_cast<double>(MonotonicNs() - sent.start_ns));
  figures.Add("plant", (stack.plant->CpuSeconds() - plant_before) * 1e9 / rows);
  figures.Add("rdb", (stack.rdb->CpuSeconds() - rdb_before) * 1e9 / rows);
}

void MeasureLatency(Stack& stack, const std::vector<ByteBuffer>& singles, double seconds,
                    Figures& figures) {
  SendPaced(*stack.feed, singles, kStartSeconds);
  stack.Ask(".rdb.latency[`reset]");
  SendPaced(*stack.feed, singles, seconds);
  stack.WaitForRows(static_cast<uint64_t>(kStartSeconds * kPacedRowsPerSecond) +
                    static_cast<uint64_t>(seconds * kPacedRowsPerSecond));
  for (const char* name : {"p50", "p99"}) {
    const int64_t ns = stack.AskLong(std::string(".rdb.latency[][`") + name + "]");
    figures.Add(name, static_cast<double>(ns) / 1e3);
  }
}

void Print(const Spread& spread, const char* format) {
  const std::string text = std::string(" ") + format + " (" + format + " to " + format + ")";
  std::printf(text.c_str(), spread.median, spread.lowest, spread.highest);
}

void Print(const std::map<std::string, Figures>& figures) {
  const Figures& plain = figures.at(kCases[0].name);
  for (const Case& one : kCases) {
    const Figures& mine = figures.at(one.name);
    std::printf("%-10s", one.name);
    Print(mine.Of("rate"), "%5.2f");
    Print(mine.Against(plain, "rate", [](double a, double b) { return a / b; }), "%5.3f");
    std::printf(" %9.0f %6.0f", mine.Median("plant"), mine.Median("rdb"));
    Print(mine.Of("p50"), "%6.1f");
    Print(mine.Against(plain, "p50", [](double a, double b) { return a - b; }), "%6.1f");
    std::printf(" %8.0f\n", mine.Median("p99"));
  }
  std::fflush(stdout);
}

}  // namespace

void RunProtectionWorkload(double seconds, int rounds, const std::string& directory) {
  InitLogging("stack_bench", LogLevel::kWarn);
  const ProtectionFiles files(directory + ".protection");
  const std::vector<ByteBuffer> batches = QuoteUpds(kPool, kBatchRows, 1);
  const std::vector<ByteBuffer> singles = QuoteUpds(kSingles, 0, 2);
  std::map<std::string, Figures> figures;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kCases.size(); ++i) {
      // Each round starts with a different case.
      const Case& one = kCases[(i + static_cast<size_t>(round)) % kCases.size()];
      WarmMemory(PathBytesOf(seconds));
      {
        Stack stack(one.protection, files, directory, 50);
        MeasureRate(stack, batches, seconds, figures[one.name]);
      }
      Stack stack(one.protection, files, directory, 0);
      MeasureLatency(stack, singles, seconds, figures[one.name]);
    }
  }
  std::printf(
      "protection: feed - tickerplant - rdb. Million rows/s in batches of %zu, and times that of "
      "plain in the same round; CPU of tickerplant and rdb, ns a row; latency of single rows at "
      "%d rows/s: p50 in us, us more than plain in the same round, p99 in us. Medians (lowest to "
      "highest) of %d rounds of %.1f s in turns; %u cores\n",
      kBatchRows, kPacedRowsPerSecond, rounds, seconds, std::thread::hardware_concurrency());
  Print(figures);
}

}  // namespace tickstack::bench
