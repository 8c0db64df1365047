#include "monitor/monitor_main.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "measure/clients/client_report.h"
#include "measure/clients/query_clients.h"
#include "monitor/latency_history.h"
#include "monitor/monitor_metrics.h"
#include "monitor/monitor_service.h"
#include "monitor/output_file.h"
#include "monitor/report.h"
#include "monitor/stack_watch.h"
#include "serve/process_status.h"
#include "wire/address.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"
#include "wire/server.h"

namespace tickstack::monitor {
namespace {

using namespace std::chrono_literals;

// Size from which the file of samples is renamed and a new one begins: some days of samples.
constexpr size_t kSamplesBytesMax = size_t{256} << 20;
constexpr auto kEndTick = 20ms;  // The precision with which --seconds is kept.

absl::Status WriteFile(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.Write(text);
  return file.status();
}

// Shows progress: one line that is overwritten on a terminal, otherwise a log line per period.
class Progress {
 public:
  explicit Progress(double period_s)
      : live_(period_s > 0 && isatty(STDERR_FILENO) != 0),
        period_ns_(static_cast<int64_t>((live_ ? 0.2 : period_s) * 1e9)) {}
  ~Progress() { EndLine(); }

  void Show(const Monitor& monitor, const measure::QueryClients* clients, int64_t now_ns) {
    if (period_ns_ <= 0 || now_ns < next_ns_) return;
    next_ns_ = now_ns + period_ns_;
    std::optional<ClientCounts> counts;
    if (clients != nullptr) counts = ClientCounts{clients->answers(), clients->errors()};
    const std::string line = ProgressLine(monitor, counts);
    if (!live_) return LogInfo("{}", line);
    fmt::print(stderr, "\r{}\033[K", line);
    std::fflush(stderr);
    open_ = true;
  }
  void EndLine() {
    if (std::exchange(open_, false)) fmt::print(stderr, "\n");
  }

 private:
  const bool live_;
  const int64_t period_ns_;
  int64_t next_ns_ = 0;
  bool open_ = false;
};

absl::Status CheckOptions(const MonitorOptions& options) {
  if (!(options.query_ms >= 1 && options.query_ms <= 3'600'000)) {
    return InvalidArgument("query-ms {}: expected 1 to 3600000", options.query_ms);
  }
  if (!(options.spread_ms >= 0 && options.spread_ms <= options.query_ms)) {
    return InvalidArgument("spread-ms {}: expected 0 to query-ms, {}", options.spread_ms,
                           options.query_ms);
  }
  if (!(options.seconds >= 0 && options.seconds <= 1e9)) {
    return InvalidArgument("seconds {}: expected 0 to 10^9", options.seconds);
  }
  if (options.name.empty() || options.name.find('/') != std::string::npos) {
    return InvalidArgument("name '{}': expected a name for files", options.name);
  }
  if (options.asof_symbol.find_first_of("`;[]\" \t\n") != std::string::npos) {
    return InvalidArgument("asof-symbol '{}': expected a symbol", options.asof_symbol);
  }
  return absl::OkStatus();
}

// Returns nullptr if there are no clients besides the monitor.
absl::StatusOr<std::unique_ptr<measure::QueryClients>> MakeClients(const MonitorOptions& options,
                                                                   const wire::Address& rdb,
                                                                   int64_t query_ns) {
  measure::QueryClientsOptions made;
  TS_ASSIGN_OR_RETURN(made.set, measure::LoadQuerySet(options.queries));
  if (made.set.clients.empty()) return nullptr;
  if (!options.symbols.empty()) {
    TS_ASSIGN_OR_RETURN(made.symbols, measure::LoadSymbols(options.symbols));
  }
  made.rdb = rdb;
  made.query_ns = query_ns;
  made.wait = options.queries_wait;
  return std::make_unique<measure::QueryClients>(std::move(made));
}

absl::Status WriteSummary(const std::filesystem::path& stem, const Summary& summary) {
  TS_RETURN_IF_ERROR(WriteFile(stem.string() + ".summary.csv", SummaryCsv(summary)));
  TS_RETURN_IF_ERROR(WriteFile(stem.string() + ".summary.json", SummaryJson(summary)));
  if (!summary.clients.empty()) {
    TS_RETURN_IF_ERROR(
        WriteFile(stem.string() + ".queries.csv", measure::SlicesCsv(summary.clients)));
  }
  const std::string text = SummaryText(summary);
  TS_RETURN_IF_ERROR(WriteFile(stem.string() + ".summary.txt", text));
  fmt::print(stderr, "{}", text);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WatchedProcess>> WatchedOf(const MonitorOptions& options,
                                                      const wire::Address& rdb,
                                                      const std::optional<wire::Address>& feed) {
  std::vector<WatchedProcess> watched;
  for (const std::string& text : options.watch) {
    TS_ASSIGN_OR_RETURN(watched.emplace_back(), ParseWatched(text));
  }
  if (!watched.empty()) return watched;
  if (feed) watched.push_back({"feed", "feed", *feed});
  watched.push_back({"rdb", "rdb", rdb});
  return watched;
}

serve::ProcessStatusOptions StatusOf(const MonitorOptions& options, const MonitorService& service,
                                     int64_t query_ns, const LatencyHistory& history,
                                     StackWatch& watch) {
  return {.role = "monitor",
          .name = options.name,
          .metrics = Metrics(),
          .facts = [&service] { return FactsOf(service); },
          .reasons =
              [query_ns](const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
                return ReasonsOf(facts, limits, query_ns);
              },
          .more_json =
              [&history, &watch](bool first) {
                const size_t seconds = first ? LatencyHistory::kSecondsMax : 3;
                return fmt::format(",\"latency\":{},\"stack\":{}", history.Json(seconds),
                                   watch.Json());
              },
          .disks = {{"data", options.data}},
          .limits = options.health};
}

absl::Status Run(MonitorOptions options) {
  TS_RETURN_IF_ERROR(CheckOptions(options));
  TS_ASSIGN_OR_RETURN(const wire::Address rdb, wire::ParseAddress(options.rdb));
  std::optional<wire::Address> feed;
  if (!options.feed.empty()) {
    TS_ASSIGN_OR_RETURN(feed, wire::ParseAddress(options.feed));
  }
  const std::filesystem::path folder = std::filesystem::path(options.data) / "monitor";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoStatus(error.value(), fmt::format("{}: create", folder.string()));
  const std::filesystem::path stem = folder / options.name;
  std::filesystem::remove(stem.string() + ".csv.1", error);  // An earlier run may have left it.
  OutputFile samples(stem.string() + ".csv");
  TS_RETURN_IF_ERROR(samples.status());

  wire::EventLoop loop;
  bool stop = false;
  bool told_to_stop = false;
  MonitorSettings settings = {.query_ns = static_cast<int64_t>(options.query_ms * 1e6),
                              .spread_ns = static_cast<int64_t>(options.spread_ms * 1e6),
                              .bars = options.bars,
                              .asof_symbol = options.asof_symbol};
  settings.tables.insert(settings.tables.end(), options.bars.begin(), options.bars.end());
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<measure::QueryClients> clients,
                      MakeClients(options, rdb, settings.query_ns));
  Progress progress(options.progress_s);
  std::optional<SampleCsv> csv;
  const MonitorService* running = nullptr;
  LatencyHistory history(settings.tables);
  TS_ASSIGN_OR_RETURN(std::vector<WatchedProcess> watched, WatchedOf(options, rdb, feed));
  StackWatch watch(loop, std::move(watched));
  const auto on_sample = [&](const Sample& sample) {
    // Each file has a header, since the next one may have other statistics.
    if (samples.bytes() >= kSamplesBytesMax) {
      samples.BeginAgain();
      csv.reset();
    }
    if (!csv) samples.Write(csv.emplace(settings, sample).Header());
    samples.Write(csv->Row(sample));
    history.Take(sample);
    progress.Show(running->monitor(), clients.get(), sample.end_ns);
    stop |= !samples.status().ok();
  };
  MonitorService service(loop, rdb, feed, settings, on_sample, clients.get());
  running = &service;
  serve::ProcessStatus status(StatusOf(options, service, settings.query_ns, history, watch));
  const wire::ServerOptions server_options = serve::LoopServerOptions(&status);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, service.queries()));
  LogInfo("monitor up port={} rdb={} query_ms={} csv={}", server->port(), rdb.ToString(),
          options.query_ms, samples.path().string());
  loop.OnStopSignal([&](int) { stop = told_to_stop = true; });
  wire::Timer end_timer(loop);
  if (options.seconds > 0) {
    // Counts from the first sample, or from now if there is none yet, so that the run ends in any
    // case.
    const int64_t up_ns = SystemClock::Instance().NowNs();
    end_timer.Every(kEndTick, [&, up_ns] {
      const Monitor& monitor = service.monitor();
      const int64_t since_ns = monitor.samples() > 0 ? monitor.begin_ns() : up_ns;
      const auto elapsed_ns = static_cast<double>(SystemClock::Instance().NowNs() - since_ns);
      stop |= elapsed_ns >= options.seconds * 1e9;
    });
  }
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop; }, false);
  service.Stop();
  std::vector<measure::ClientResult> client_results;
  if (clients != nullptr) client_results = clients->Stop();
  progress.EndLine();
  TS_RETURN_IF_ERROR(samples.status());
  if (service.monitor().samples() == 0) {
    if (!told_to_stop) return Unavailable("{}: no sample was taken", rdb.ToString());
    LogWarn("monitor stopped before its first sample");
    return absl::OkStatus();
  }
  return WriteSummary(stem, {.name = options.name,
                             .rdb = rdb.ToString(),
                             .begin_ns = service.monitor().begin_ns(),
                             .end_ns = SystemClock::Instance().NowNs(),
                             .monitor = &service.monitor(),
                             .clients = std::move(client_results)});
}

}  // namespace

int RunMonitor(const MonitorOptions& options) {
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("monitor ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::monitor
