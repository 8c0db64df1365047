#include "bench/scrapes_workload.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aggengine/aggengine_main.h"
#include "base/histogram.h"
#include "base/logging.h"
#include "base/time.h"
#include "bench/figures.h"
#include "bench/loopback.h"
#include "bench/row_sender.h"
#include "hdb/hdb_main.h"
#include "rdb/rdb_main.h"
#include "tickerplant/tickerplant_main.h"

namespace tickstack::bench {
namespace {

constexpr size_t kSingles = 20'000;  // Distinct rows.
constexpr double kStartSeconds = 0.3;

struct Load {
  const char* name;
  int scrapes_per_second;  // How often each process is asked.
};
constexpr std::array<Load, 3> kLoads = {{{"none", 0}, {"1/s", 1}, {"50/s", 50}}};

// Every process of a stack that has metrics, besides feed and monitor.
struct Stack {
  explicit Stack(const std::string& directory) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    tickerplant::TickerplantMainOptions plant_options;
    plant_options.listener.listen_fd = plant_listener.socket;
    plant_options.data = directory;
    plant_options.batch_ms = 0;
    plant = std::make_unique<Child>([=] { return RunTickerplant(plant_options); });
    const std::string tickerplant = "127.0.0.1:" + std::to_string(plant_listener.port);
    rdb::RdbMainOptions rdb_options;
    rdb_options.listener.listen_fd = rdb_listener.socket;
    rdb_options.tickerplant = tickerplant;
    rdb_options.data = directory;
    rdb = std::make_unique<Child>([=] { return RunRdb(rdb_options); });
    aggengine::AggEngineMainOptions engine_options;
    engine_options.listener.listen_fd = engine_listener.socket;
    engine_options.tickerplant = tickerplant;
    engine = std::make_unique<Child>([=] { return RunAggEngine(engine_options); });
    hdb::HdbMainOptions hdb_options;
    hdb_options.listener.listen_fd = hdb_listener.socket;
    hdb_options.database = directory + "/hdb";
    hdb = std::make_unique<Child>([=] { return RunHdb(hdb_options); });
    feed.emplace(plant_listener.port);
    queries.emplace(rdb_listener.port);
    while (AskLong(".rdb.stats[][`live]") != 1) Pause(20);
  }

  static void Pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  Value Ask(const std::string& text) { return queries->Ask(Value::String(text)); }
  int64_t AskLong(const std::string& text) { return Ask(text).as<int64_t>(); }
  std::map<std::string, uint16_t> Ports() const {
    return {{"tickerplant", plant_listener.port},
            {"rdb", rdb_listener.port},
            {"aggengine", engine_listener.port},
            {"hdb", hdb_listener.port}};
  }

  Listener plant_listener, rdb_listener, engine_listener, hdb_listener;
  std::unique_ptr<Child> plant, rdb, engine, hdb;
  std::optional<Peer> feed, queries;
};

// Asks every process for /metrics at a fixed rate, one after the other.
class Scraper {
 public:
  Scraper(const Stack& stack, int per_second) : ports_(stack.Ports()) {
    for (const auto& [name, port] : ports_) times_.try_emplace(name);
    if (per_second > 0) thread_ = std::thread([this, per_second] { Run(per_second); });
  }
  ~Scraper() { Stop(); }
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  // Stops and returns the durations of the scrapes, by process.
  const std::map<std::string, Histogram>& Stop() {
    stops_ = true;
    if (thread_.joinable()) thread_.join();
    return times_;
  }

 private:
  void Run(int per_second) {
    const int64_t start_ns = MonotonicNs();
    for (int64_t i = 0; !stops_.load(std::memory_order_relaxed);) {
      if (MonotonicNs() < start_ns + i * kNsPerSecond / per_second) {
        Stack::Pause(1);
        continue;
      }
      ++i;
      for (const auto& [name, port] : ports_) {
        const int64_t begin_ns = MonotonicNs();
        Scrape(port);
        times_.at(name).Record(MonotonicNs() - begin_ns);
      }
    }
  }

  static void Scrape(uint16_t port) {
    constexpr std::string_view kRequest =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    Peer peer(port, false);
    peer.Send(AsBytes(kRequest));
    std::array<std::byte, 65'536> block;
    std::string text;
    while (const size_t bytes = peer.Receive(block)) {
      text += AsText(std::span(block).first(bytes));
    }
    if (text.starts_with("HTTP/1.1 200 ") && text.find("\ntickstack_") != std::string::npos) return;
    std::fprintf(stderr, "no metrics: %s\n", text.c_str());
    std::exit(1);
  }

  const std::map<std::string, uint16_t> ports_;
  std::map<std::string, Histogram> times_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

using Times = std::map<std::string, Histogram>;

void Measure(Stack& stack, const std::vector<ByteBuffer>& singles, const Load& load, double seconds,
             Figures& figures, Times& times) {
  Scraper scraper(stack, load.scrapes_per_second);
  SendPaced(*stack.feed, singles, kStartSeconds);
  stack.Ask(".rdb.latency[`reset]");
  SendPaced(*stack.feed, singles, seconds);
  for (const auto& [name, histogram] : scraper.Stop()) times[name].Merge(histogram);
  for (const char* name : {"p50", "p99", "p999", "max"}) {
    const int64_t ns = stack.AskLong(std::string(".rdb.latency[][`") + name + "]");
    figures.Add(name, static_cast<double>(ns) / 1e3);
  }
}

void Print(const std::map<std::string, Figures>& figures) {
  const Figures& none = figures.at(kLoads[0].name);
  for (const Load& load : kLoads) {
    const Figures& mine = figures.at(load.name);
    std::printf("%-6s", load.name);
    for (const char* name : {"p50", "p99", "p999", "max"}) {
      const Spread spread = mine.Of(name);
      const double ratio =
          mine.Against(none, name, [](double a, double b) { return a / b; }).median;
      std::printf("  %7.0f (%7.0f to %7.0f) %5.2f", spread.median, spread.lowest, spread.highest,
                  ratio);
    }
    std::printf("\n");
  }
}

void Print(const std::string& load, const Times& times) {
  for (const auto& [name, histogram] : times) {
    if (histogram.Count() == 0) continue;
    std::printf(
        "%-6s scrape of %-12s ms: p50 %6.2f  p99 %6.2f  max %6.2f  (%lu scrapes)\n", load.c_str(),
        name.c_str(), static_cast<double>(histogram.ValueAtPercentile(50)) / 1e6,
        static_cast<double>(histogram.ValueAtPercentile(99)) / 1e6,
        static_cast<double>(histogram.Max()) / 1e6, static_cast<unsigned long>(histogram.Count()));
  }
}

}  // namespace

void RunScrapesWorkload(double seconds, int rounds, const std::string& directory) {
  InitLogging("stack_bench", LogLevel::kWarn);
  const std::vector<ByteBuffer> singles = QuoteUpds(kSingles, 0, 2);
  std::map<std::string, Figures> figures;
  std::map<std::string, Times> times;
  Stack stack(directory);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kLoads.size(); ++i) {
      // Each round starts with a different load.
      const Load& load = kLoads[(i + static_cast<size_t>(round)) % kLoads.size()];
      Measure(stack, singles, load, seconds, figures[load.name], times[load.name]);
    }
  }
  std::printf(
      "scrapes: latency of single rows at %d rows/s in the rdb while /metrics of 4 processes is "
      "scraped: p50, p99, p99.9, max in us, and times that without scrapes in the same round. "
      "Medians (lowest to highest) of %d rounds of %.1f s in turns; %u cores\n",
      kPacedRowsPerSecond, rounds, seconds, std::thread::hardware_concurrency());
  Print(figures);
  for (const Load& load : kLoads) Print(load.name, times[load.name]);
  std::fflush(stdout);
}

}  // namespace tickstack::bench
