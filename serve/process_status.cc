#include "serve/process_status.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <optional>

#include "base/build_facts.h"
#include "base/time.h"
#include "serve/event_json.h"
#include "serve/live_settings.h"
#include "table/format_value.h"
#include "wire/connection_counts.h"

namespace tickstack::serve {
namespace {

using enum MetricType;

// The sources of common metrics, which the page itself adds to the facts.
constexpr std::string_view kProcess = "process", kBuild = "build", kDisks = "disks";
constexpr std::string_view kConnections = "connections", kRefused = "connections_refused";

constexpr Metric kCommonMetrics[] = {
    {"tickstack_build_info", kGauge, "", "Always 1; the label is the program's version.", kBuild,
     "one", "version"},
    {"tickstack_ready", kGauge, "",
     "1 if /readyz answers 200, 0 if it answers 503 with the reasons.", kProcess, "ready"},
    {"tickstack_disk_free_bytes", kGauge, "bytes",
     "Free space of a disk that the process writes to.", kDisks, "free", "disk"},
    {"tickstack_disk_size_bytes", kGauge, "bytes", "Size of a disk that the process writes to.",
     kDisks, "size", "disk"},
    {"tickstack_connections", kGauge, "connections",
     "Connections of clients that have logged in, by class.", kConnections, "", "class"},
    {"tickstack_connections_refused_total", kCounter, "connections",
     "Clients that were refused or cut off, by reason.", kRefused, "", "reason"},
    {"tickstack_logins_pending", kGauge, "connections", "Clients whose login is incomplete.",
     kProcess, "logging_in"},
    {"tickstack_http_sessions", kGauge, "connections", "Sessions of HTTP and WebSocket clients.",
     kProcess, "http_sessions"},
    {"tickstack_unfinished_messages_bytes", kGauge, "bytes",
     "Memory of messages of which a part has arrived.", kProcess, "unfinished_bytes"},
    {"process_cpu_seconds_total", kCounter, "seconds", "Processor time of all threads.", kProcess,
     "cpu_s"},
    {"process_resident_memory_bytes", kGauge, "bytes",
     "Resident memory, including resident pages of mapped files.", kProcess, "resident_bytes"},
    {"process_start_time_seconds", kGauge, "seconds", "Unix time at which the process started.",
     kProcess, "start_s"},
};

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns 0 if the kernel does not tell.
int64_t ResidentBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             &std::fclose);
  long long pages = 0;
  if (file == nullptr || std::fscanf(file.get(), "%*d %lld", &pages) != 1) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

double UnixNow() {
  return static_cast<double>(SystemClock::Instance().NowNs() + kUnixNsOfKdbEpoch) * 1e-9;
}

struct DiskState {
  const WatchedDisk& disk;
  absl::StatusOr<DiskSpace> space;
};

Value DisksTable(const std::vector<DiskState>& disks) {
  SymbolVector names;
  std::vector<int64_t> free_bytes, sizes;
  for (const DiskState& state : disks) {
    if (!state.space.ok()) continue;
    names.push_back(state.disk.name);
    free_bytes.push_back(static_cast<int64_t>(state.space->free_bytes));
    sizes.push_back(static_cast<int64_t>(state.space->total_bytes));
  }
  return Value::Table({"disk", "free", "size"},
                      {Value::Symbols(std::move(names)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(free_bytes)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(sizes))});
}

Value BuildTable() {
  return Value::Table({"version", "one"},
                      {Value::Symbols({kBuildFacts.version}), Value::Longs({1})});
}

Value ProcessValues(bool ready, double start_s) {
  const wire::ConnectionCounts& counts = wire::ConnectionCounts::OfProcess();
  const double values[] = {ready ? 1.0 : 0.0,
                           ProcessorSeconds(),
                           static_cast<double>(ResidentBytes()),
                           start_s,
                           static_cast<double>(counts.logging_in.load()),
                           static_cast<double>(counts.http_sessions.load()),
                           static_cast<double>(counts.unfinished_bytes.load())};
  return Value::Dict(Value::Symbols({"ready", "cpu_s", "resident_bytes", "start_s", "logging_in",
                                     "http_sessions", "unfinished_bytes"}),
                     Value::Vector(Type::kFloat, std::span<const double>(values)));
}

Value ConnectionValues() {
  const wire::ConnectionCounts& counts = wire::ConnectionCounts::OfProcess();
  SymbolVector names;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < wire::kPlaceClasses; ++i) {
    names.push_back(wire::NameOf(static_cast<wire::PlaceClass>(i)));
    numbers.push_back(counts.open[i].load());
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(numbers)));
}

Value RefusedValues() {
  const wire::ConnectionCounts& counts = wire::ConnectionCounts::OfProcess();
  SymbolVector names;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < wire::kRefusedForNames.size(); ++i) {
    names.push_back(wire::kRefusedForNames[i]);
    numbers.push_back(counts.refused[i].load());
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(numbers)));
}

// `good` if there are no reasons, otherwise `bad` and the reasons.
wire::StatusReply ReplyOf(const Reasons& reasons, std::string_view good, std::string_view bad) {
  if (reasons.empty()) return {.ok = true, .text = fmt::format("{}\n", good)};
  wire::StatusReply reply{.ok = false, .text = fmt::format("{}:\n", bad)};
  for (const std::string& reason : reasons) reply.text += fmt::format("- {}\n", reason);
  return reply;
}

}  // namespace

std::span<const Metric> CommonMetrics() { return kCommonMetrics; }

std::string MetricPrefix(std::string_view role) { return fmt::format("tickstack_{}_", role); }

struct ProcessStatus::Common {
  ProcessStatusOptions options;
  double start_s = UnixNow();

  std::vector<DiskState> Disks() const {
    std::vector<DiskState> states;
    for (const WatchedDisk& disk : options.disks) states.push_back({disk, SpaceOf(disk.path)});
    return states;
  }
  Reasons ReasonsOf(const StatusFacts& facts, const std::vector<DiskState>& disks) const {
    const std::shared_ptr<const LiveSettings> live = CurrentLiveSettings();
    const HealthLimits& limits = live == nullptr ? options.limits : live->health;
    Reasons reasons = options.reasons(facts, limits);
    for (const DiskState& state : disks) CheckDisk(state.disk, state.space, limits, reasons);
    return reasons;
  }
  wire::StatusReply Ready(const StatusFacts& facts) const {
    const Reasons reasons = ReasonsOf(facts, Disks());
    wire::StatusReply reply = ReplyOf(reasons, "ready", "not ready");
    // Reasons may name tables, and repeat the errors of other processes.
    if (!reasons.empty()) {
      reply.public_text = fmt::format(
          "not ready:\n- reasons: {}; users who may read metrics see them\n", reasons.size());
    }
    return reply;
  }
  wire::StatusReply Metrics(StatusFacts facts) const {
    const std::vector<DiskState> disks = Disks();
    const bool ready = ReasonsOf(facts, disks).empty();
    facts.answers.push_back({kProcess, ProcessValues(ready, start_s)});
    facts.answers.push_back({kBuild, BuildTable()});
    facts.answers.push_back({kDisks, DisksTable(disks)});
    facts.answers.push_back({kConnections, ConnectionValues()});
    facts.answers.push_back({kRefused, RefusedValues()});
    wire::StatusReply reply;
    AppendMetrics(CommonMetrics(), "", facts, reply.text);
    AppendMetrics(options.metrics, MetricPrefix(options.role), facts, reply.text);
    return reply;
  }
  wire::StatusReply Event(const StatusFacts& facts, std::string_view more) const {
    const std::vector<DiskState> disks = Disks();
    const Reasons reasons = ReasonsOf(facts, disks);
    std::string reason_list;
    for (const std::string& reason : reasons) {
      reason_list += (reason_list.empty() ? "" : ",") + JsonText(reason);
    }
    return {.ok = true,
            .text = fmt::format(
                R"({{"ms":{:.0f},"role":{},"name":{},"version":{},"ready":{},"reasons":[{}],)"
                R"("cpu_s":{:.3f},"resident_bytes":{},"start_s":{:.3f},"disks":{},{}{}}})",
                UnixNow() * 1e3, JsonText(options.role), JsonText(options.name),
                JsonText(kBuildFacts.version), reasons.empty(), reason_list, ProcessorSeconds(),
                ResidentBytes(), start_s, FormatJson(DisksTable(disks)), FactsJson(facts), more)};
  }
};

ProcessStatus::ProcessStatus(ProcessStatusOptions options)
    : common_(std::make_shared<const Common>(Common{.options = std::move(options)})) {}

ProcessStatus::Render ProcessStatus::Collect(wire::StatusPage page) {
  switch (page) {
    case wire::StatusPage::kAlive: {
      const auto& silent = common_->options.silent_threads;
      return [reasons = silent ? silent() : Reasons()] {
        return ReplyOf(reasons, "alive", "not alive");
      };
    }
    case wire::StatusPage::kReady:
      return [common = common_, facts = common_->options.facts()] { return common->Ready(facts); };
    case wire::StatusPage::kEvent:
    case wire::StatusPage::kFirstEvent: {
      const auto& more = common_->options.more_json;
      return [common = common_, facts = common_->options.facts(),
              added = more ? more(page == wire::StatusPage::kFirstEvent) : std::string()] {
        return common->Event(facts, added);
      };
    }
    case wire::StatusPage::kMetrics:
      break;
  }
  return [common = common_, facts = common_->options.facts()] { return common->Metrics(facts); };
}

}  // namespace tickstack::serve
