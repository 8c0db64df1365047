#include "loadtest/live_stack.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/human_text.h"
#include "base/machine.h"
#include "base/status.h"
#include "base/time.h"
#include "loadtest/answers.h"
#include "loadtest/client_summary.h"
#include "loadtest/monitor_clients.h"
#include "loadtest/monitor_files.h"

namespace tickstack::loadtest {
namespace {

using namespace std::chrono_literals;

// Time that a stack has to end after a process died.
constexpr int64_t kLastWordsNs = 15 * kNsPerSecond;
constexpr auto kLastWordsPause = 50ms;
constexpr int64_t kTouchPauseNs = kNsPerSecond;
// Bounds of starting: of the processes, and of loading, which takes millions of rows per second.
constexpr double kStartS = 120;
constexpr double kSlowestLoadPerS = 20'000;
constexpr size_t kStartLines = 6;
constexpr size_t kSamplesMax = 20'000;
constexpr const char* kTables[] = {"trade", "quote"};

double SecondsOf(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerSecond); }

}  // namespace

absl::Status LiveStack::Failed(absl::Status why) {
  // A process that died takes its stack down: the stack's last log lines say more than a failed
  // connection.
  if (why.code() == absl::StatusCode::kUnavailable && run_ != nullptr) {
    const int64_t give_up_ns = MonotonicNs() + kLastWordsNs;
    while (run_->runs() && MonotonicNs() < give_up_ns) {
      if (const absl::Status alive = run_->CheckAlive(); !alive.ok()) {
        why = alive;
        break;
      }
      std::this_thread::sleep_for(kLastWordsPause);
    }
  }
  if (result_.failure.empty()) result_.failure = Message(why);
  return why;
}

// Tickerplants that publish at the same moment wait for each other's subscribers. Without a phase,
// chance would decide that, differently in each run; so they are spread evenly over the interval.
double LiveStack::PhaseMs() const {
  const auto named = [this](const StackSpec& spec) { return spec.name == result_.spec.name; };
  const auto place = std::ranges::find_if(test_.stacks, named) - test_.stacks.begin();
  return test_.batch_ms * static_cast<double>(place) / static_cast<double>(test_.stacks.size());
}

absl::Status LiveStack::Start() {
  const StackSpec& spec = result_.spec;
  StackSettings settings;
  settings.name = spec.name;
  settings.profile = test_.profile;
  settings.batch_ms = test_.batch_ms;
  settings.batch_phase_ms = PhaseMs();
  settings.query_ms = test_.query_ms;
  settings.whole_batches = !test_.search;
  if (test_.search) PlanTouching(settings);
  settings.prestress = test_.prestress;
  settings.queries_file = test_.queries.file;
  settings.symbols_file = test_.queries.symbols;
  if (spec.placement.in_directory()) {
    // Rdbs that simulate the same medium share its bandwidth by way of a file in this folder.
    const bool shares = spec.placement.kind == Placement::Kind::kSimulate;
    tier_folder_ = fmt::format("{}/tickstack-loadtest-{}-{}", spec.placement.path, getpid(),
                               shares ? "medium" : spec.name);
    TS_RETURN_IF_ERROR(CreateDirectories(tier_folder_));
    settings.tier_path = tier_folder_;
  }
  TS_ASSIGN_OR_RETURN(toml_, MakeStackToml(spec.placement, settings));
  result_.rdbs = static_cast<int>(toml_.rdbs.size());
  result_.simulated = toml_.simulated;
  run_ = std::make_unique<StackRun>(spec.name, context_.work + "/" + spec.name);
  return run_->Start(toml_.text);
}

// Plans to touch what prestress and the whole run need, and a tenth more for the rounding of
// chunks; at most three quarters of the free memory.
void LiveStack::PlanTouching(StackSettings& settings) {
  constexpr double kHistoryBytes = 16;  // Bytes of a quote in the aggengine.
  const RowCounts run = RowsOfRun(test_.profile);
  const auto rdbs = static_cast<double>(std::max(result_.spec.placement.rdbs, 1));
  const double rdb = 1.1 * static_cast<double>(BytesOfRows(test_.prestress) + BytesOfRows(run));
  const double aggengine = 1.1 * kHistoryBytes * static_cast<double>(run.quotes);
  const double most = static_cast<double>(ThisMachine().available_bytes) * 3 / 4;
  const double share = std::min(1.0, most / (rdbs * rdb + aggengine));
  settings.rdb_touch_bytes = static_cast<uint64_t>(share * rdb);
  settings.aggengine_touch_bytes = static_cast<uint64_t>(share * aggengine);
  touch_bytes_ =
      static_cast<uint64_t>(rdbs) * settings.rdb_touch_bytes + settings.aggengine_touch_bytes;
}

absl::StatusOr<bool> LiveStack::IsLoaded(double waited_s) {
  TS_ASSIGN_OR_RETURN(const bool ready, run_->IsReady());
  const std::string state =
      ready ? "loaded" : fmt::format("loading, {} in memory", BytesText(run_->ResidentBytes()));
  line_ = fmt::format("  {:<14} {:4.0f} s  {}", run_->name(), waited_s, state);
  const double rows = static_cast<double>(test_.prestress.quotes + test_.prestress.trades) *
                      static_cast<double>(result_.rdbs);
  const double at_most_s = kStartS + rows / kSlowestLoadPerS;
  if (ready || waited_s < at_most_s) return ready;
  return Unavailable("{}: its processes do not all answer after {:.0f} s; the last lines:\n{}",
                     run_->name(), waited_s, run_->LogTail("", kStartLines));
}

absl::StatusOr<bool> LiveStack::IsLive() {
  for (const std::string& name : run_->ProcessesOf("rdb")) {
    TS_ASSIGN_OR_RETURN(const Value stats, run_->Ask(name, ".rdb.stats[]"));
    if (LongsOf(stats)["live"] != 1) return false;
  }
  for (const std::string& name : run_->ProcessesOf("aggengine")) {
    // The engine answers on the thread that touches its memory, gigabytes of it.
    TS_ASSIGN_OR_RETURN(const Value stats, run_->Call(name, ".agg.stats"));
    if (LongsOf(stats)["live"] != 1) return false;
  }
  return IsTouched();
}

// A tier with less memory, or one that does not report it, counts as touched when its size has not
// changed for a while.
absl::StatusOr<bool> LiveStack::IsTouched() {
  if (touch_bytes_ == 0) return true;
  std::map<std::string, TierResult> tiers;
  for (const std::string& rdb : toml_.rdbs) TS_RETURN_IF_ERROR(ReadTiers(rdb, tiers));
  uint64_t resident = 0;
  for (const auto& [name, tier] : tiers) resident += tier.resident.value_or(0);
  for (const std::string& name : run_->ProcessesOf("aggengine")) {
    TS_ASSIGN_OR_RETURN(const Value stats, run_->Call(name, ".agg.stats"));
    resident += static_cast<uint64_t>(LongsOf(stats)["state_resident_bytes"]);
  }
  const int64_t now_ns = MonotonicNs();
  if (resident != resident_bytes_) {
    resident_bytes_ = resident;
    resident_since_ns_ = now_ns;
  }
  line_ = fmt::format("  {:<14} touching memory for the rows, {} of {}", run_->name(),
                      BytesText(resident), BytesText(touch_bytes_));
  return resident >= touch_bytes_ || now_ns - resident_since_ns_ > kTouchPauseNs;
}

absl::Status LiveStack::TakeShares() {
  if (context_.is_probe) return absl::OkStatus();
  for (const StackProcess& process : run_->processes()) {
    const std::optional<ProcessShare> share = ShareOf(process.pid);
    ProcessResult& result = result_.processes[process.name];
    result.role = process.role;
    if (share && (!result.share || share->bytes > result.share->bytes)) result.share = share;
  }
  return absl::OkStatus();
}

absl::Status LiveStack::BeginMonitors() {
  for (const StackProcess& process : run_->processes()) {
    if (const auto usage = UsageOf(process.pid)) before_[process.name] = *usage;
  }
  return ResetMeasurements();
}

absl::Status LiveStack::ResetMeasurements() {
  for (const std::string& monitor : run_->ProcessesOf("monitor")) {
    TS_RETURN_IF_ERROR(run_->Ask(monitor, ".monitor.begin[]").status());
  }
  return absl::OkStatus();
}

absl::Status LiveStack::StartFeeds(int64_t begin_ns) {
  begin_ns_ = begin_ns;
  for (const std::string& feed : run_->ProcessesOf("feed")) {
    TS_RETURN_IF_ERROR(run_->Ask(feed, ".feed.start[]").status());
  }
  return absl::OkStatus();
}

bool LiveStack::all_captured() const {
  return std::all_of(captured_.begin(), captured_.end(),
                     [this](const auto& rdb) { return rdb.second == offered_; });
}

double LiveStack::seconds() const { return done_ns_ > 0 ? SecondsOf(done_ns_ - begin_ns_) : 0; }

absl::Status LiveStack::Poll(bool whole) {
  if (captured_ns_ > 0) return run_->CheckAlive();
  TS_RETURN_IF_ERROR(run_->CheckAlive());
  TS_RETURN_IF_ERROR(PollFeed());
  if (!whole && !feed_done_) return absl::OkStatus();
  for (const std::string& rdb : toml_.rdbs) {
    for (const char* table : kTables) {
      TS_ASSIGN_OR_RETURN(const Value count, run_->Ask(rdb, fmt::format("count {}", table)));
      if (!count.is_atom_of(Type::kLong)) {
        return Internal("{}: {}: count {}: expected a long", run_->name(), rdb, table);
      }
      captured_[rdb][table] = count.as<int64_t>() - PrestressOf(table);
    }
  }
  if (feed_done_ && all_captured()) captured_ns_ = MonotonicNs();
  if (!whole) return absl::OkStatus();
  TakeUsage();
  return DescribeProgress();
}

absl::Status LiveStack::PollFeed() {
  if (feed_done_) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const Value stats, run_->Ask("feed", ".feed.stats[]"));
  const Value* const state = EntryOf(stats, "state");
  const Value* const rows = EntryOf(stats, "rows");
  if (state == nullptr || !state->is_atom_of(Type::kSymbol) || rows == nullptr) {
    return Internal("{}: .feed.stats[]: expected state and rows", run_->name());
  }
  offered_ = LongsOf(*rows);
  if (state->symbol() == "failed") {
    const Value* const error = EntryOf(stats, "error");
    return Internal("{}: the feed failed: {}", run_->name(),
                    error != nullptr ? error->text() : "it reports no reason");
  }
  feed_done_ = state->symbol() == "done";
  if (feed_done_) done_ns_ = MonotonicNs();
  return absl::OkStatus();
}

absl::Status LiveStack::Late() {
  int64_t rows = 0;
  for (const auto& [table, count] : offered_) rows += count;
  const RowCounts all = RowsOfRun(test_.profile);
  result_.failure = fmt::format(
      "the feed is not done after {:.0f} s, expected {:.0f} s; the tickerplant took {} of {} "
      "updates",
      SecondsOf(MonotonicNs() - begin_ns_), test_.profile.seconds, Thousands(rows),
      Thousands(all.quotes + all.trades));
  return ResourceExhausted("{}: {}", run_->name(), result_.failure);
}

void LiveStack::TakeUsage() {
  const double time_s = SecondsOf(MonotonicNs() - begin_ns_);
  for (const StackProcess& process : run_->processes()) {
    const std::optional<ProcessUsage> usage = UsageOf(process.pid);
    if (!usage) continue;
    const ProcessUsage used = usage->Since(before_[process.name]);
    ProcessResult& result = result_.processes[process.name];
    result.role = process.role;
    result.rss_bytes_max = std::max(result.rss_bytes_max, usage->rss_bytes);
    result.used = used;
    if (process.role == "rdb") usage_[process.name].push_back({time_s, used});
  }
}

absl::Status LiveStack::DescribeProgress() {
  TS_ASSIGN_OR_RETURN(const Value answer, run_->Ask(toml_.rdbs.front(), ".rdb.latency[]"));
  std::map<std::string, int64_t> latency = LongsOf(answer);
  int64_t offered = 0, captured = INT64_MAX;
  for (const auto& [table, rows] : offered_) offered += rows;
  for (const auto& [rdb, tables] : captured_) {
    int64_t rows = 0;
    for (const auto& [table, count] : tables) rows += count;
    captured = std::min(captured, rows);
  }
  const auto ms = [&latency](const char* name) {
    return MsText(static_cast<double>(latency[name]) / 1e6);
  };
  line_ = fmt::format(
      "  {:<14} {:4.0f} s  {:>13} offered {:>13} captured   p50 {:>8}  p99 "
      "{:>8}",
      run_->name(), SecondsOf(MonotonicNs() - begin_ns_), Thousands(offered), Thousands(captured),
      ms("p50"), ms("p99"));
  return test_.queries.file.empty() ? absl::OkStatus() : DescribeClients();
}

absl::Status LiveStack::DescribeClients() {
  int64_t answers = 0, errors = 0;
  for (const std::string& monitor : run_->ProcessesOf("monitor")) {
    TS_ASSIGN_OR_RETURN(const Value stats, run_->Ask(monitor, ".monitor.stats[]"));
    std::map<std::string, int64_t> counts = LongsOf(stats);
    answers += counts["answers"];
    errors += counts["client_errors"];
  }
  line_ += fmt::format("  {:>9} answers", Thousands(answers));
  if (errors > 0) line_ += fmt::format(" {} errors", Thousands(errors));
  return absl::OkStatus();
}

absl::Status LiveStack::EndClients() {
  for (const std::string& monitor : run_->ProcessesOf("monitor")) {
    TS_RETURN_IF_ERROR(run_->Ask(monitor, ".monitor.end[]").status());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LiveStack::AreClientsIdle() {
  for (const std::string& monitor : run_->ProcessesOf("monitor")) {
    TS_ASSIGN_OR_RETURN(const Value stats, run_->Ask(monitor, ".monitor.stats[]"));
    if (LongsOf(stats)["clients_idle"] != 1) return false;
  }
  return true;
}

absl::Status LiveStack::PollAll() {
  TakeUsage();
  TS_RETURN_IF_ERROR(TakeShares());
  for (const std::string& rdb : toml_.rdbs) {
    TS_RETURN_IF_ERROR(ReadTiers(rdb, result_.tiers));
    if (!context_.is_probe) TS_RETURN_IF_ERROR(ReadRows(rdb));
  }
  return absl::OkStatus();
}

absl::Status LiveStack::ReadTiers(const std::string& rdb,
                                  std::map<std::string, TierResult>& tiers) const {
  TS_ASSIGN_OR_RETURN(const Value stats, run_->Ask(rdb, ".tier.stats[]"));
  const Value* const names = ColumnOf(stats, "tier");
  if (names == nullptr || !names->is(Type::kSymbol)) return absl::OkStatus();
  const auto text = [&stats](const char* column, size_t row) {
    const Value* const found = ColumnOf(stats, column);
    return found != nullptr && found->is(Type::kSymbol) ? std::string(found->symbols()[row]) : "";
  };
  const auto add = [&stats](const char* column, size_t row, std::optional<uint64_t>& sum) {
    const Value* const found = ColumnOf(stats, column);
    if (found == nullptr || !found->is(Type::kLong)) return;
    const int64_t number = found->span<int64_t>()[row];
    if (number < 0 || number == kInfinityLong) return;
    sum = sum.value_or(0) + static_cast<uint64_t>(number);
  };
  for (size_t row = 0; row < names->count(); ++row) {
    TierResult& tier = tiers[std::string(names->symbols()[row])];
    tier.kind = text("kind", row);
    tier.model = text("model", row);
    tier.figures = text("figures", row);
    tier.path = text("path", row);
    // This folder will be removed; show the path that the user gave.
    if (tier.path.starts_with(tier_folder_)) tier.path = result_.spec.placement.path;
    tier.filesystem = text("filesystem", row);
    const Value* const dax = ColumnOf(stats, "dax");
    tier.dax = dax != nullptr && dax->is(Type::kBoolean) && dax->span<uint8_t>()[row] != 0;
    add("used", row, tier.used);
    add("high_water", row, tier.high_water);
    add("capacity", row, tier.capacity);
    add("resident", row, tier.resident);
  }
  return absl::OkStatus();
}

absl::Status LiveStack::ReadRows(const std::string& rdb) {
  for (const char* table : kTables) {
    TableResult& result = result_.tables[table];
    const int64_t prestress = PrestressOf(table);
    const auto ask = [&](int64_t first) -> absl::StatusOr<uint64_t> {
      TS_ASSIGN_OR_RETURN(const Value sum,
                          run_->Ask(rdb, fmt::format(".rdb.checksum[`{};{}]", table, first)));
      return static_cast<uint64_t>(sum.is_atom_of(Type::kLong) ? sum.as<int64_t>() : 0);
    };
    TS_ASSIGN_OR_RETURN(const uint64_t all, ask(0));
    TS_ASSIGN_OR_RETURN(const uint64_t added, ask(prestress));
    if (result.checksum && (*result.checksum != added || *result.prestress_checksum != all)) {
      return DataLoss("{}: the rows of {} differ between its rdbs", run_->name(), table);
    }
    result.checksum = added;
    result.prestress_checksum = all;
  }
  return absl::OkStatus();
}

void LiveStack::Stop() {
  if (run_ != nullptr) run_->Stop();
}

absl::Status LiveStack::Wait() {
  if (run_ == nullptr) return absl::OkStatus();
  const absl::Status stopped = run_->Wait();
  if (!stopped.ok() && result_.failure.empty()) result_.failure = Message(stopped);
  KeepLogs();
  std::error_code ignored;
  if (!tier_folder_.empty()) std::filesystem::remove_all(tier_folder_, ignored);
  return stopped;
}

void LiveStack::KeepLogs() const {
  if (context_.logs.empty()) return;
  std::error_code ignored;
  const std::string to = context_.logs + "/" + run_->name();
  std::filesystem::create_directories(to, ignored);
  constexpr auto kAll =
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(run_->folder() + "/data/logs", to, kAll, ignored);
  std::filesystem::copy(run_->folder() + "/stack.toml", to + "/stack.toml",
                        std::filesystem::copy_options::overwrite_existing, ignored);
}

absl::Status LiveStack::CollectMonitors(int64_t begin_wall_ns) {
  const size_t rows_max = kSamplesMax / std::max<size_t>(toml_.rdbs.size(), 1);
  std::error_code ignored;
  absl::Status all;
  for (const std::string& rdb : toml_.rdbs) {
    const std::string stem = run_->DataFile("monitor/monitor-" + rdb);
    absl::Status read = AddMonitorSummary(stem + ".summary.json", result_);
    // A monitor of a long run has begun a second file.
    const bool is_long = std::filesystem::exists(stem + ".csv.1", ignored);
    for (const char* file : {".csv.1", ".csv"}) {
      if (!read.ok() || (!is_long && file == std::string_view(".csv.1"))) continue;
      read = AddMonitorSamples(stem + file, rdb, begin_wall_ns,
                               test_.prestress.quotes + test_.prestress.trades,
                               is_long ? rows_max / 2 : rows_max, result_);
    }
    if (read.ok() && !test_.queries.file.empty()) {
      read = AddMonitorClients(stem, rdb, begin_wall_ns, result_);
    }
    if (all.ok()) all = read;
  }
  AddUsage();
  if (const std::string wrong = WrongAnswers(result_); !wrong.empty() && all.ok()) {
    all = DataLoss("{}: clients were not answered:{}", run_->name(), wrong);
  }
  return all;
}

// Adds memory and CPU time, which are polled once a second, to the samples.
void LiveStack::AddUsage() {
  for (SampleRow& row : result_.samples) {
    const std::vector<UsageAt>& usage = usage_[row.rdb];
    const auto after =
        std::upper_bound(usage.begin(), usage.end(), row.time_s,
                         [](double time_s, const UsageAt& at) { return time_s < at.time_s; });
    if (after == usage.begin()) continue;
    row.rss_bytes = std::prev(after)->usage.rss_bytes;
    row.cpu_s = std::prev(after)->usage.cpu_s;
  }
}

absl::Status LiveStack::CountLog() {
  TS_ASSIGN_OR_RETURN(const RowsByTable rows, run_->RowsInLog());
  for (const char* table : kTables) {
    const auto found = rows.find(table);
    result_.tables[table].logged = found == rows.end() ? 0 : found->second;
  }
  return absl::OkStatus();
}

void LiveStack::FillRows() {
  for (const char* table : kTables) {
    TableResult& rows = result_.tables[table];
    rows.offered = offered_[table];
    // In a search, a finished feed means that all of it is logged.
    if (context_.is_probe) rows.logged = rows.offered;
    for (auto rdb = captured_.begin(); rdb != captured_.end(); ++rdb) {
      const int64_t captured = rdb->second[table];
      rows.captured = rdb == captured_.begin() ? captured : std::min(rows.captured, captured);
    }
  }
}

absl::Status LiveStack::CompareRows() {
  std::string differences;
  for (const char* table : kTables) {
    const TableResult& rows = result_.tables[table];
    for (auto& [rdb, captured] : captured_) {
      if (captured[table] == rows.offered) continue;
      differences += fmt::format("\n  {:<8}{:<8}{:>14} offered {:>14} captured", rdb, table,
                                 Thousands(rows.offered), Thousands(captured[table]));
    }
    if (rows.logged != rows.offered) {
      differences += fmt::format("\n  {:<8}{:<8}{:>14} offered {:>14} logged", "log", table,
                                 Thousands(rows.offered), Thousands(rows.logged));
    }
  }
  if (differences.empty()) return absl::OkStatus();
  result_.failure = "row counts differ from those offered:" + differences;
  return DataLoss("{}: {}", run_->name(), result_.failure);
}

absl::Status LiveStack::CompareSums(const StackResult& other) {
  for (const auto& [table, rows] : result_.tables) {
    const TableResult& expected = other.tables.at(table);
    if (rows.checksum == expected.checksum &&
        rows.prestress_checksum == expected.prestress_checksum) {
      continue;
    }
    result_.failure =
        fmt::format("the rows of table {} differ from those of stack {}", table, other.spec.name);
    return DataLoss("{}: {}", run_->name(), result_.failure);
  }
  return absl::OkStatus();
}

void LiveStack::FillRates() {
  int64_t rows = 0;
  for (const auto& [table, count] : offered_) rows += count;
  const auto per_s = [&](int64_t end_ns) {
    return end_ns > begin_ns_ ? static_cast<double>(rows) / SecondsOf(end_ns - begin_ns_) : 0;
  };
  result_.offered_per_s = test_.profile.UpdatesPerSecond();
  result_.logged_per_s = per_s(done_ns_);
  // The last rows wait for the tickerplant's timer, whatever the speed of the processes.
  const auto batch_ns = static_cast<int64_t>(test_.batch_ms * 1e6);
  result_.captured_per_s =
      captured_ns_ > 0 ? per_s(std::max(done_ns_, captured_ns_ - batch_ns)) : 0;
}

}  // namespace tickstack::loadtest
