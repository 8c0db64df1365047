#include "cli/demo_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/demo_stack.h"
#include "cli/format_value.h"

namespace tickstack {
namespace {

using namespace std::chrono_literals;

constexpr int kBatchMs = 50;
constexpr int64_t kDrainAtMostNs = 30 * kNsPerSecond;
const std::vector<std::string> kTables = {"trade", "quote"};

std::atomic<bool> interrupted = false;

std::string Configuration(const DemoOptions& options) {
  return fmt::format(
      "[stack]\nname = \"demo\"\nlog_level = \"warn\"\nrestart = false\n"
      "[tickerplant]\nbatch_ms = {}\n[[rdb]]\n[feed]\nrate = {}\nseconds = {}\n"
      "[monitor]\nquery_ms = 300\nprogress_s = 0\n",
      kBatchMs, options.rate, options.seconds);
}

std::string Thousands(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string Duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string MiB(double bytes) { return fmt::format("{:.0f} MiB", bytes / 0x1p20); }

// Resident memory of a process, file-backed pages included.
int64_t ResidentBytes(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// The entry of a dictionary from symbols; nullptr if there is none.
const Value* EntryOf(const Value& dict, std::string_view name) {
  if (!dict.is_dict() || !dict.keys().is(Type::kSymbol) || !dict.values().is_list()) return nullptr;
  const SymbolVector& names = dict.keys().symbols();
  for (size_t i = 0; i < names.size() && i < dict.values().count(); ++i) {
    if (names[i] == name) return &dict.values().items()[i];
  }
  return nullptr;
}

// A dictionary from symbols to longs.
std::map<std::string, int64_t> LongsOf(const Value& dict) {
  std::map<std::string, int64_t> longs;
  if (!dict.is_dict() || !dict.keys().is(Type::kSymbol) || !dict.values().is(Type::kLong))
    return longs;
  const std::span<const int64_t> values = dict.values().span<int64_t>();
  for (size_t i = 0; i < std::min(values.size(), dict.keys().count()); ++i) {
    longs[std::string(dict.keys().symbols()[i])] = values[i];
  }
  return longs;
}

int64_t Sum(const RowsByTable& rows) {
  int64_t sum = 0;
  for (const auto& [table, count] : rows) sum += count;
  return sum;
}

struct FeedState {
  std::string state;
  RowsByTable rows;
};

absl::StatusOr<FeedState> AskFeed(const DemoStack& stack) {
  TS_ASSIGN_OR_RETURN(const Value stats, stack.Ask("feed", ".feed.stats[]"));
  const Value* state = EntryOf(stats, "state");
  const Value* rows = EntryOf(stats, "rows");
  if (state == nullptr || !state->is_atom_of(Type::kSymbol) || rows == nullptr) {
    return Internal("feed: .feed.stats[]: expected state and rows, found {}", InlineText(stats));
  }
  return FeedState{std::string(state->symbol()), LongsOf(*rows)};
}

absl::StatusOr<RowsByTable> AskCaptured(const DemoStack& stack) {
  RowsByTable rows;
  for (const std::string& table : kTables) {
    const absl::StatusOr<Value> answer = stack.Ask("rdb", "count " + table);
    if (answer.status().code() == absl::StatusCode::kUnknown) continue;  // Not subscribed yet.
    TS_ASSIGN_OR_RETURN(const Value count, answer);
    if (!count.is_atom_of(Type::kLong)) {
      return Internal("rdb: count {}: expected a long, found {}", table, InlineText(count));
    }
    rows[table] = count.as<int64_t>();
  }
  return rows;
}

// One line that is written over on a terminal, a line every five seconds elsewhere.
class Progress {
 public:
  void Show(double elapsed_s, int64_t published, int64_t captured, const Value& latency_dict) {
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    if (!terminal && elapsed_s < next_s_) return;
    next_s_ = elapsed_s + 4.5;
    auto latency = LongsOf(latency_dict);
    fmt::print("{}  {:3.0f} s   {:>12} published   {:>12} captured   latency p50 {} p99 {}{}",
               terminal ? "\r" : "", elapsed_s, Thousands(published), Thousands(captured),
               Duration(static_cast<double>(latency["p50"])),
               Duration(static_cast<double>(latency["p99"])), terminal ? "\033[K" : "\n");
    std::fflush(stdout);
    open_ = terminal;
  }
  ~Progress() {
    if (open_) fmt::print("\n");
  }

 private:
  double next_s_ = 0;
  bool open_ = false;
};

// Watches until the feed has sent everything and the rdb holds as much, or for too long.
absl::Status Watch(DemoStack& stack, const DemoOptions& options) {
  Progress progress;
  const int64_t begin_ns = MonotonicNs();
  const int64_t give_up_ns =
      begin_ns + static_cast<int64_t>(options.seconds * 1e9) + kDrainAtMostNs;
  while (true) {
    std::this_thread::sleep_for(500ms);
    if (interrupted) return absl::CancelledError("interrupted");
    TS_RETURN_IF_ERROR(stack.CheckAlive());
    TS_ASSIGN_OR_RETURN(const FeedState feed, AskFeed(stack));
    TS_ASSIGN_OR_RETURN(const RowsByTable captured, AskCaptured(stack));
    TS_ASSIGN_OR_RETURN(const Value latency, stack.Ask("rdb", ".rdb.latency[]"));
    const int64_t now_ns = MonotonicNs();
    progress.Show(static_cast<double>(now_ns - begin_ns) / 1e9, Sum(feed.rows), Sum(captured),
                  latency);
    if (feed.state == "failed") return Internal("the feed failed");
    // A row that is missing is for the comparison to tell: do not wait for it for ever.
    if (feed.state == "done" && Sum(captured) >= Sum(feed.rows)) return absl::OkStatus();
    if (now_ns > give_up_ns) return absl::OkStatus();
  }
}

struct Findings {
  RowsByTable published, logged, captured;
  std::map<std::string, int64_t> latency;
  int64_t column_bytes = 0;
  std::string memory;
  std::string answers;
};

// `{0}` is a symbol that was traded.
constexpr const char* kQueries[] = {
    "select trades:count i, volume:sum size, vwap:size wavg price by sym from trade where sym=`{0}",
    ("aj[`sym`time; select[-3] time,sym,price,size from trade where sym=`{0}; "
     "select time,sym,bid,ask from quote where sym=`{0}]"),
    "select last time, n:count i from quote",
};

// What can be asked only while it runs.
absl::Status AskAll(const DemoStack& stack, Findings& findings) {
  TS_ASSIGN_OR_RETURN(const FeedState feed, AskFeed(stack));
  findings.published = feed.rows;
  TS_ASSIGN_OR_RETURN(findings.captured, AskCaptured(stack));
  TS_ASSIGN_OR_RETURN(const Value latency, stack.Ask("rdb", ".rdb.latency[]"));
  findings.latency = LongsOf(latency);
  TS_ASSIGN_OR_RETURN(const Value stats, stack.Ask("rdb", ".rdb.stats[]"));
  findings.column_bytes = LongsOf(stats)["bytes"];
  for (const DemoProcess& process : stack.processes()) {
    findings.memory += fmt::format("{}{} {}", findings.memory.empty() ? "" : ", ", process.name,
                                   MiB(static_cast<double>(ResidentBytes(process.pid))));
  }
  TS_ASSIGN_OR_RETURN(const Value symbol, stack.Ask("rdb", "exec last sym from trade"));
  for (const char* query : kQueries) {
    const std::string text =
        fmt::format(fmt::runtime(query), symbol.is_atom_of(Type::kSymbol) ? symbol.symbol() : "");
    const absl::StatusOr<Value> answer = stack.Ask("rdb", text);
    if (!answer.ok()) continue;  // Shown are those that the subset knows.
    findings.answers += fmt::format("\n  q) {}\n{}", text, FormatText(*answer, {.lines = 8}));
  }
  return absl::OkStatus();
}

// `{count, p50, max}` of the monitor's asof joins, as text.
std::string AsofText(const std::string& summary_text) {
  const auto json = nlohmann::json::parse(summary_text, nullptr, false);
  const auto asof = json.is_discarded() ? nlohmann::json() : json["metrics"]["asof"]["whole"];
  if (!asof.is_object() || !asof["p50_ms"].is_number()) return "not measured";
  return fmt::format("p50 {}  p99 {}  max {}   ({} times, a symbol's trades with their quotes)",
                     Duration(asof["p50_ms"].get<double>() * 1e6),
                     Duration(asof["p99_ms"].get<double>() * 1e6),
                     Duration(asof["max_ms"].get<double>() * 1e6), asof["count"].get<int64_t>());
}

// Prints; true if all three counts agree for every table.
bool Report(const DemoOptions& options, const Findings& findings, const std::string& asof) {
  bool equal = Sum(findings.published) > 0;
  fmt::print("\n  rows       {:>14}{:>14}{:>14}\n", "published", "logged", "captured");
  for (const std::string& table : kTables) {
    const auto of = [&table](const RowsByTable& rows) {
      const auto found = rows.find(table);
      return found == rows.end() ? 0 : found->second;
    };
    const int64_t published = of(findings.published), logged = of(findings.logged),
                  captured = of(findings.captured);
    const bool same = published == logged && published == captured;
    equal = equal && same;
    fmt::print("  {:<11}{:>14}{:>14}{:>14}   {}\n", table, Thousands(published), Thousands(logged),
               Thousands(captured), same ? "equal" : "DIFFERENT");
  }
  const auto latency = [&findings](const char* name) {
    const auto found = findings.latency.find(name);
    return Duration(found == findings.latency.end() ? 0 : static_cast<double>(found->second));
  };
  fmt::print("\n  latency    p50 {}  p99 {}  p99.9 {}  max {}\n", latency("p50"), latency("p99"),
             latency("p999"), latency("max"));
  fmt::print(
      "             from when a row was due to when a query sees it; published every {} ms\n",
      kBatchMs);
  fmt::print("  asof join  {}\n", asof);
  fmt::print(
      "  rate       {} rows/s\n",
      Thousands(std::llround(static_cast<double>(Sum(findings.captured)) / options.seconds)));
  fmt::print("  memory     {}; of the rdb's, columns and index {}\n", findings.memory,
             MiB(static_cast<double>(findings.column_bytes)));
  fmt::print("{}\n", findings.answers);
  return equal;
}

void HowToGoOn(std::string_view program) {
  fmt::print(
      "Now with a stack that stays:\n"
      "  {0} up examples/stack.toml\n"
      "and in another terminal, or from any q process, PyKX, qPython ... on the same port:\n"
      "  {0} query :5011 'select[-5] from trade'\n"
      "  {0} query :5011 'count quote' --json\n",
      program);
}

absl::Status Run(const DemoOptions& options) {
  DemoStack stack;
  if (options.keep) stack.Keep();
  fmt::print("tickstack demo: feed, tickerplant, rdb and monitor for {:g} s at {} updates/s\n",
             options.seconds, Thousands(std::llround(options.rate)));
  std::fflush(stdout);
  TS_RETURN_IF_ERROR(stack.Start(Configuration(options)));
  TS_RETURN_IF_ERROR(Watch(stack, options));
  Findings findings;
  TS_RETURN_IF_ERROR(AskAll(stack, findings));
  TS_RETURN_IF_ERROR(stack.Stop());
  TS_ASSIGN_OR_RETURN(findings.logged, stack.RowsInLog());
  const bool equal =
      Report(options, findings, AsofText(stack.ReadDataFile("monitor/monitor.summary.json")));
  if (options.keep) fmt::print("Its data is in {}\n", stack.folder());
  if (!equal) return DataLoss("published, logged and captured are not equal");
  TS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  std::error_code ignored;
  const std::string shorter = std::filesystem::proximate(program, ignored).string();
  HowToGoOn(shorter.empty() || shorter.size() > program.size() ? program : shorter);
  return absl::OkStatus();
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  InitLogging("demo");
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const absl::Status status = Run(options);
  std::fflush(stdout);
  if (!status.ok()) LogError("{}", Message(status));
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tickstack
