#include "loadtest/run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "loadtest/answers.h"
#include "loadtest/bare_relay.h"
#include "loadtest/monitor_files.h"
#include "loadtest/stack_run.h"
#include "loadtest/stack_toml.h"
#include "loadtest/words.h"

namespace tickstack::loadtest {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kLookNs = kNsPerSecond;            // Between two looks at a running stack;
constexpr auto kPause = 50ms;                        // so exactly is the end of a feed seen.
constexpr int64_t kDrainNs = 30 * kNsPerSecond;      // For the rdbs, when the feed is done.
constexpr int64_t kLiveNs = 120 * kNsPerSecond;      // For everybody to be subscribed.
constexpr int64_t kLastWordsNs = 15 * kNsPerSecond;  // For a stack to end after a process died.
constexpr size_t kSamplesMax = 20'000;               // Of a stack.
constexpr const char* kTables[] = {"trade", "quote"};

double Seconds(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerSecond); }

// An rdb's memory and CPU time at one moment of the run.
struct UsageAt {
  double time_s;
  ProcessUsage usage;
};

// A stack of the test, from its start to its result.
struct LiveStack {
  StackToml toml;
  std::string tier_folder;  // Made for it, "" if none was.
  std::unique_ptr<StackRun> run;
  StackResult result;
  bool feed_done = false;
  int64_t done_ns = 0;      // When it was,
  int64_t captured_ns = 0;  // and when everything was captured. Monotonic.
  RowsByTable offered;
  std::map<std::string, RowsByTable> captured;        // By rdb.
  std::map<std::string, ProcessUsage> before;         // By process: when the run began.
  std::map<std::string, std::vector<UsageAt>> usage;  // By rdb.
  std::string line;                                   // Of the progress.

  bool all_captured() const {
    return std::all_of(captured.begin(), captured.end(),
                       [this](const auto& rdb) { return rdb.second == offered; });
  }
  int64_t prestress_of(const TestSpec& spec, std::string_view table) const {
    return table == "trade" ? spec.prestress.trades : spec.prestress.quotes;
  }
};

class TestRun {
 public:
  TestRun(const TestSpec& spec, const RunContext& context) : spec_(spec), context_(context) {}

  TestResult Run() {
    TestResult result;
    result.spec = spec_;
    absl::Status status = Start();
    if (status.ok()) status = Load();
    if (status.ok()) status = WaitUntilLive();
    if (status.ok()) status = EachStack([this](LiveStack& stack) { return TakeShares(stack); });
    if (status.ok()) status = StartRelay();
    if (status.ok()) status = Begin();
    result.begin_ns = begin_wall_ns_;
    if (status.ok()) status = Watch();
    if (relay_ != nullptr) result.relay = relay_->Stop();
    relay_.reset();
    if (status.ok()) status = LookAtAll();
    const absl::Status stopped = Stop();
    if (status.ok()) status = stopped;
    if (begin_wall_ns_ > 0) CollectMonitors(status);
    if (status.ok() && !context_.is_probe) status = CountLogs();
    for (LiveStack& stack : stacks_) FillRows(stack);
    if (status.ok()) status = Compare();
    result.failure = status.ok() ? "" : std::string(Message(status));
    for (LiveStack& stack : stacks_) {
      FillRates(stack, result);
      if (!status.ok() && stack.result.failure.empty()) {
        stack.result.failure = "stopped with the others";
      }
      result.stacks.push_back(std::move(stack.result));
    }
    return result;
  }

 private:
  bool interrupted() const { return context_.interrupted != nullptr && *context_.interrupted; }

  // Notes to whom a failure happened.
  absl::Status Failed(LiveStack& stack, absl::Status why) {
    // A process that died takes its stack down: what that says is more than that nobody answers.
    if (why.code() == absl::StatusCode::kUnavailable && stack.run != nullptr) {
      const int64_t give_up_ns = MonotonicNs() + kLastWordsNs;
      while (stack.run->runs() && MonotonicNs() < give_up_ns) {
        if (const absl::Status alive = stack.run->CheckAlive(); !alive.ok()) {
          why = alive;
          break;
        }
        std::this_thread::sleep_for(kPause);
      }
    }
    if (stack.result.failure.empty()) stack.result.failure = Message(why);
    return why;
  }

  // Calls step(stack) for each until one fails.
  absl::Status EachStack(const std::function<absl::Status(LiveStack&)>& step) {
    for (LiveStack& stack : stacks_) {
      if (interrupted()) return absl::CancelledError("interrupted");
      if (absl::Status status = step(stack); !status.ok()) return Failed(stack, std::move(status));
    }
    return absl::OkStatus();
  }

  // Repeats until `done` says so for every stack.
  absl::Status Until(int64_t at_most_ns, std::string_view what,
                     const std::function<absl::StatusOr<bool>(LiveStack&)>& done) {
    const int64_t begin_ns = MonotonicNs();
    while (true) {
      bool all = true;
      const absl::Status each = EachStack([&](LiveStack& stack) -> absl::Status {
        TS_ASSIGN_OR_RETURN(const bool is_done, done(stack));
        all = all && is_done;
        return absl::OkStatus();
      });
      TS_RETURN_IF_ERROR(each);
      if (all) return absl::OkStatus();
      if (MonotonicNs() - begin_ns > at_most_ns) {
        return Unavailable("{}: not so after {:.0f} s", what, Seconds(at_most_ns));
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  absl::Status Start() {
    for (const StackSpec& spec : spec_.stacks) {
      LiveStack& stack = stacks_.emplace_back();
      stack.result.spec = spec;
    }
    return EachStack([this](LiveStack& stack) { return StartOne(stack); });
  }

  absl::Status StartOne(LiveStack& stack) {
    const StackSpec& spec = stack.result.spec;
    StackSettings settings;
    settings.name = spec.name;
    settings.profile = spec_.profile;
    settings.batch_ms = spec_.batch_ms;
    settings.query_ms = spec_.query_ms;
    settings.whole_batches = !spec_.search;
    settings.prestress = spec_.prestress;
    if (spec.placement.in_directory()) {
      // What simulates one medium shares its bandwidth, by a file of the folder.
      const bool shares = spec.placement.kind == Placement::Kind::kSimulate;
      stack.tier_folder = fmt::format("{}/tickstack-loadtest-{}-{}", spec.placement.path, getpid(),
                                      shares ? "medium" : spec.name);
      TS_RETURN_IF_ERROR(CreateDirectories(stack.tier_folder));
      settings.tier_path = stack.tier_folder;
    }
    TS_ASSIGN_OR_RETURN(stack.toml, MakeStackToml(spec.placement, settings));
    stack.result.rdbs = static_cast<int>(stack.toml.rdbs.size());
    stack.result.simulated = stack.toml.simulated;
    stack.run = std::make_unique<StackRun>(spec.name, context_.work + "/" + spec.name);
    return stack.run->Start(stack.toml.text);
  }

  // All processes of all stacks answer: the rdbs have their prestress.
  absl::Status Load() {
    const int64_t begin_ns = MonotonicNs();
    return Until(INT64_MAX, "loaded", [&](LiveStack& stack) -> absl::StatusOr<bool> {
      TS_ASSIGN_OR_RETURN(const bool ready, stack.run->IsReady());
      std::string line = stack.run->LastLogLine(stack.toml.rdbs.back(), "prestress");
      const size_t at = line.find("prestress");
      line = ready ? "loaded" : at == std::string::npos ? "starting" : line.substr(at);
      stack.line = fmt::format("  {:<14} {:4.0f} s  {}", stack.run->name(),
                               Seconds(MonotonicNs() - begin_ns), line);
      Show();
      return ready;
    });
  }

  absl::Status WaitUntilLive() {
    return Until(kLiveNs, "subscribed", [](LiveStack& stack) -> absl::StatusOr<bool> {
      for (const auto& [role, query] :
           {std::pair("rdb", ".rdb.stats[]"), std::pair("aggengine", ".agg.stats[]")}) {
        for (const std::string& name : stack.run->ProcessesOf(role)) {
          TS_ASSIGN_OR_RETURN(const Value stats, stack.run->Ask(name, query));
          if (LongsOf(stats)["live"] != 1) return false;
        }
      }
      return true;
    });
  }

  absl::Status StartRelay() {
    if (spec_.search) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(relay_, BareRelay::Start(context_.work + "/bare_relay"));
    return absl::OkStatus();
  }

  // Pages of mapped memory are counted one by one: before the load and after it.
  absl::Status TakeShares(LiveStack& stack) const {
    if (context_.is_probe) return absl::OkStatus();
    for (const StackProcess& process : stack.run->processes()) {
      const std::optional<ProcessShare> share = ShareOf(process.pid);
      ProcessResult& result = stack.result.processes[process.name];
      result.role = process.role;
      if (share && (!result.share || share->bytes > result.share->bytes)) result.share = share;
    }
    return absl::OkStatus();
  }

  absl::Status Begin() {
    const absl::Status prepared = EachStack([](LiveStack& stack) -> absl::Status {
      for (const StackProcess& process : stack.run->processes()) {
        if (const auto usage = UsageOf(process.pid)) stack.before[process.name] = *usage;
      }
      for (const std::string& monitor : stack.run->ProcessesOf("monitor")) {
        TS_RETURN_IF_ERROR(stack.run->Ask(monitor, ".monitor.begin[]").status());
      }
      return absl::OkStatus();
    });
    TS_RETURN_IF_ERROR(prepared);
    begin_wall_ns_ = SystemClock::Instance().NowNs();
    begin_ns_ = MonotonicNs();
    return EachStack([](LiveStack& stack) -> absl::Status {
      for (const std::string& feed : stack.run->ProcessesOf("feed")) {
        TS_RETURN_IF_ERROR(stack.run->Ask(feed, ".feed.start[]").status());
      }
      return absl::OkStatus();
    });
  }

  // Until every feed is done and every rdb has what its feed sent, or for too long.
  absl::Status Watch() {
    const double slack_s =
        context_.is_probe ? 0.25 * spec_.profile.seconds + 2 : spec_.profile.seconds + 120;
    const int64_t late_ns =
        begin_ns_ + static_cast<int64_t>((spec_.profile.seconds + slack_s) * 1e9);
    int64_t look_ns = 0, done_ns = 0;
    while (true) {
      const int64_t now_ns = MonotonicNs();
      const bool look = now_ns >= look_ns;
      const bool near_end = Seconds(now_ns - begin_ns_) > spec_.profile.seconds - 0.2;
      if (look) look_ns = now_ns + kLookNs;
      if (look || near_end) {
        TS_RETURN_IF_ERROR(EachStack([&](LiveStack& stack) { return LookAt(stack, look); }));
      }
      if (look) Show();
      if (interrupted()) return absl::CancelledError("interrupted");
      const bool done = std::all_of(stacks_.begin(), stacks_.end(),
                                    [](const LiveStack& stack) { return stack.feed_done; });
      if (done && done_ns == 0) done_ns = now_ns;
      const bool captured =
          done && std::all_of(stacks_.begin(), stacks_.end(),
                              [](const LiveStack& stack) { return stack.captured_ns > 0; });
      // A row that is missing is for the comparison to tell: do not wait for it for ever.
      if (captured || (done && now_ns > done_ns + kDrainNs)) return absl::OkStatus();
      if (!done && now_ns > late_ns) return Late();
      std::this_thread::sleep_for(kPause);
    }
  }

  absl::Status Late() {
    for (LiveStack& stack : stacks_) {
      if (stack.feed_done) continue;
      int64_t rows = 0;
      for (const auto& [table, count] : stack.offered) rows += count;
      stack.result.failure =
          fmt::format("the feed is not done after {:.0f} s of {:.0f}: {} of {} updates were taken",
                      Seconds(MonotonicNs() - begin_ns_), spec_.profile.seconds, Thousands(rows),
                      Thousands(RowsOfRun(spec_.profile).quotes + RowsOfRun(spec_.profile).trades));
      return ResourceExhausted("{}: {}", stack.run->name(), stack.result.failure);
    }
    return absl::OkStatus();
  }

  absl::Status LookAt(LiveStack& stack, bool whole) {
    if (stack.captured_ns > 0) return stack.run->CheckAlive();
    TS_RETURN_IF_ERROR(stack.run->CheckAlive());
    TS_RETURN_IF_ERROR(LookAtFeed(stack));
    if (!whole && !stack.feed_done) return absl::OkStatus();
    for (const std::string& rdb : stack.toml.rdbs) {
      for (const char* table : kTables) {
        TS_ASSIGN_OR_RETURN(const Value count, stack.run->Ask(rdb, fmt::format("count {}", table)));
        if (!count.is_atom_of(Type::kLong)) {
          return Internal("{}: {}: count {}: expected a long", stack.run->name(), rdb, table);
        }
        stack.captured[rdb][table] = count.as<int64_t>() - stack.prestress_of(spec_, table);
      }
    }
    if (stack.feed_done && stack.all_captured()) stack.captured_ns = MonotonicNs();
    if (!whole) return absl::OkStatus();
    TakeUsage(stack);
    return DescribeProgress(stack);
  }

  absl::Status LookAtFeed(LiveStack& stack) {
    if (stack.feed_done) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(const Value stats, stack.run->Ask("feed", ".feed.stats[]"));
    const Value* const state = EntryOf(stats, "state");
    const Value* const rows = EntryOf(stats, "rows");
    if (state == nullptr || !state->is_atom_of(Type::kSymbol) || rows == nullptr) {
      return Internal("{}: .feed.stats[]: expected state and rows", stack.run->name());
    }
    stack.offered = LongsOf(*rows);
    if (state->symbol() == "failed") {
      const Value* const error = EntryOf(stats, "error");
      return Internal("{}: the feed failed: {}", stack.run->name(),
                      error != nullptr ? error->text() : "it does not say why");
    }
    stack.feed_done = state->symbol() == "done";
    if (stack.feed_done) stack.done_ns = MonotonicNs();
    return absl::OkStatus();
  }

  void TakeUsage(LiveStack& stack) {
    const double time_s = Seconds(MonotonicNs() - begin_ns_);
    for (const StackProcess& process : stack.run->processes()) {
      const std::optional<ProcessUsage> usage = UsageOf(process.pid);
      if (!usage) continue;
      const ProcessUsage used = usage->Since(stack.before[process.name]);
      ProcessResult& result = stack.result.processes[process.name];
      result.role = process.role;
      result.rss_bytes_max = std::max(result.rss_bytes_max, usage->rss_bytes);
      result.used = used;
      if (process.role == "rdb") stack.usage[process.name].push_back({time_s, used});
    }
  }

  absl::Status DescribeProgress(LiveStack& stack) {
    TS_ASSIGN_OR_RETURN(const Value answer,
                        stack.run->Ask(stack.toml.rdbs.front(), ".rdb.latency[]"));
    std::map<std::string, int64_t> latency = LongsOf(answer);
    int64_t offered = 0, captured = INT64_MAX;
    for (const auto& [table, rows] : stack.offered) offered += rows;
    for (const auto& [rdb, tables] : stack.captured) {
      int64_t rows = 0;
      for (const auto& [table, count] : tables) rows += count;
      captured = std::min(captured, rows);
    }
    const auto ms = [&latency](const char* name) {
      return MsText(static_cast<double>(latency[name]) / 1e6);
    };
    stack.line = fmt::format(
        "  {:<14} {:4.0f} s  {:>13} offered {:>13} captured   p50 {:>8}  p99 "
        "{:>8}",
        stack.run->name(), Seconds(MonotonicNs() - begin_ns_), Thousands(offered),
        Thousands(captured), ms("p50"), ms("p99"));
    return absl::OkStatus();
  }

  void Show() {
    if (context_.progress == nullptr) return;
    std::vector<std::string> lines;
    for (const LiveStack& stack : stacks_) lines.push_back(stack.line);
    context_.progress->Show(lines);
  }

  // What can be asked only while it runs.
  absl::Status LookAtAll() {
    return EachStack([this](LiveStack& stack) -> absl::Status {
      TakeUsage(stack);
      TS_RETURN_IF_ERROR(TakeShares(stack));
      for (const std::string& rdb : stack.toml.rdbs) {
        TS_RETURN_IF_ERROR(LookAtTiers(stack, rdb));
        if (!context_.is_probe) TS_RETURN_IF_ERROR(LookAtRows(stack, rdb));
      }
      return absl::OkStatus();
    });
  }

  absl::Status LookAtTiers(LiveStack& stack, const std::string& rdb) {
    TS_ASSIGN_OR_RETURN(const Value stats, stack.run->Ask(rdb, ".tier.stats[]"));
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
      TierResult& tier = stack.result.tiers[std::string(names->symbols()[row])];
      tier.kind = text("kind", row);
      tier.model = text("model", row);
      tier.figures = text("figures", row);
      tier.path = text("path", row);
      // The folder is ours and will be gone; where it was is what people gave.
      if (tier.path.starts_with(stack.tier_folder)) tier.path = stack.result.spec.placement.path;
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

  absl::Status LookAtRows(LiveStack& stack, const std::string& rdb) {
    for (const char* table : kTables) {
      TableResult& result = stack.result.tables[table];
      const int64_t prestress = stack.prestress_of(spec_, table);
      const auto ask = [&](int64_t first) -> absl::StatusOr<uint64_t> {
        TS_ASSIGN_OR_RETURN(
            const Value sum,
            stack.run->Ask(rdb, fmt::format(".rdb.checksum[`{};{}]", table, first)));
        return static_cast<uint64_t>(sum.is_atom_of(Type::kLong) ? sum.as<int64_t>() : 0);
      };
      TS_ASSIGN_OR_RETURN(const uint64_t all, ask(0));
      TS_ASSIGN_OR_RETURN(const uint64_t added, ask(prestress));
      if (result.checksum && (*result.checksum != added || *result.prestress_checksum != all)) {
        return DataLoss("{}: the rows of {} differ between its rdbs", stack.run->name(), table);
      }
      result.checksum = added;
      result.prestress_checksum = all;
    }
    return absl::OkStatus();
  }

  absl::Status Stop() {
    if (context_.progress != nullptr) context_.progress->EndLive();
    for (LiveStack& stack : stacks_) {
      if (stack.run != nullptr) stack.run->Stop();
    }
    absl::Status all;
    for (LiveStack& stack : stacks_) {
      if (stack.run == nullptr) continue;
      const absl::Status stopped = stack.run->Wait();
      if (!stopped.ok() && stack.result.failure.empty()) stack.result.failure = Message(stopped);
      if (all.ok()) all = stopped;
      KeepLogs(stack);
      std::error_code ignored;
      if (!stack.tier_folder.empty()) std::filesystem::remove_all(stack.tier_folder, ignored);
    }
    return all;
  }

  void KeepLogs(const LiveStack& stack) const {
    if (context_.logs.empty()) return;
    std::error_code ignored;
    const std::string to = context_.logs + "/" + stack.run->name();
    std::filesystem::create_directories(to, ignored);
    constexpr auto kAll = std::filesystem::copy_options::recursive |
                          std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(stack.run->folder() + "/data/logs", to, kAll, ignored);
    std::filesystem::copy(stack.run->folder() + "/stack.toml", to + "/stack.toml",
                          std::filesystem::copy_options::overwrite_existing, ignored);
  }

  // Of a test that failed: what there is of it.
  void CollectMonitors(absl::Status& status) {
    for (LiveStack& stack : stacks_) {
      const size_t rows_max = kSamplesMax / std::max<size_t>(stack.toml.rdbs.size(), 1);
      for (const std::string& rdb : stack.toml.rdbs) {
        const std::string stem = stack.run->DataFile("monitor/monitor-" + rdb);
        absl::Status read = AddMonitorSummary(stem + ".summary.json", stack.result);
        if (read.ok()) {
          read = AddMonitorSamples(stem + ".csv", rdb, begin_wall_ns_,
                                   spec_.prestress.quotes + spec_.prestress.trades, rows_max,
                                   stack.result);
        }
        if (!read.ok() && status.ok()) status = Failed(stack, std::move(read));
      }
      AddUsage(stack);
    }
  }

  // Memory and CPU time, which are looked at once a second, to the samples.
  static void AddUsage(LiveStack& stack) {
    for (SampleRow& row : stack.result.samples) {
      const std::vector<UsageAt>& usage = stack.usage[row.rdb];
      const auto after =
          std::upper_bound(usage.begin(), usage.end(), row.time_s,
                           [](double time_s, const UsageAt& at) { return time_s < at.time_s; });
      if (after == usage.begin()) continue;
      row.rss_bytes = std::prev(after)->usage.rss_bytes;
      row.cpu_s = std::prev(after)->usage.cpu_s;
    }
  }

  absl::Status CountLogs() {
    if (context_.progress != nullptr) context_.progress->Note("  reading the logs");
    return EachStack([](LiveStack& stack) -> absl::Status {
      TS_ASSIGN_OR_RETURN(const RowsByTable rows, stack.run->RowsInLog());
      for (const char* table : kTables) {
        const auto found = rows.find(table);
        stack.result.tables[table].logged = found == rows.end() ? 0 : found->second;
      }
      return absl::OkStatus();
    });
  }

  // What is known of offered and captured rows, also of a run that failed.
  void FillRows(LiveStack& stack) const {
    for (const char* table : kTables) {
      TableResult& rows = stack.result.tables[table];
      rows.offered = stack.offered[table];
      // The feed is done when all of it is logged.
      if (context_.is_probe) rows.logged = rows.offered;
      for (auto rdb = stack.captured.begin(); rdb != stack.captured.end(); ++rdb) {
        const int64_t captured = rdb->second[table];
        rows.captured =
            rdb == stack.captured.begin() ? captured : std::min(rows.captured, captured);
      }
    }
  }

  // What was offered, logged and captured is the same, and the same rows everywhere.
  absl::Status Compare() {
    absl::Status all;
    for (LiveStack& stack : stacks_) {
      std::string differences;
      for (const char* table : kTables) {
        const TableResult& rows = stack.result.tables[table];
        for (auto& [rdb, captured] : stack.captured) {
          if (captured[table] == rows.offered) continue;
          differences += fmt::format("\n  {:<8}{:<8}{:>14} offered {:>14} captured", rdb, table,
                                     Thousands(rows.offered), Thousands(captured[table]));
        }
        if (rows.logged != rows.offered) {
          differences += fmt::format("\n  {:<8}{:<8}{:>14} offered {:>14} logged", "log", table,
                                     Thousands(rows.offered), Thousands(rows.logged));
        }
      }
      if (!differences.empty()) {
        stack.result.failure = "rows are missing, or too many:" + differences;
        if (all.ok()) all = DataLoss("{}: {}", stack.run->name(), stack.result.failure);
      }
    }
    return all.ok() ? CompareSums() : all;
  }

  absl::Status CompareSums() {
    const StackResult& first = stacks_.front().result;
    for (LiveStack& stack : stacks_) {
      for (const auto& [table, rows] : stack.result.tables) {
        const TableResult& expected = first.tables.at(table);
        if (rows.checksum == expected.checksum &&
            rows.prestress_checksum == expected.prestress_checksum) {
          continue;
        }
        stack.result.failure =
            fmt::format("the rows of {} are not those of {}", table, first.spec.name);
        return DataLoss("{}: {}", stack.run->name(), stack.result.failure);
      }
    }
    return absl::OkStatus();
  }

  void FillRates(LiveStack& stack, TestResult& test) const {
    int64_t rows = 0;
    for (const auto& [table, count] : stack.offered) rows += count;
    const auto per_s = [&](int64_t end_ns) {
      return end_ns > begin_ns_ ? static_cast<double>(rows) / Seconds(end_ns - begin_ns_) : 0;
    };
    stack.result.offered_per_s = spec_.profile.UpdatesPerSecond();
    stack.result.logged_per_s = per_s(stack.done_ns);
    // The last rows wait for the tickerplant's timer, however fast everybody is.
    const auto batch_ns = static_cast<int64_t>(spec_.batch_ms * 1e6);
    stack.result.captured_per_s =
        stack.captured_ns > 0 ? per_s(std::max(stack.done_ns, stack.captured_ns - batch_ns)) : 0;
    if (stack.done_ns > 0)
      test.seconds = std::max(test.seconds, Seconds(stack.done_ns - begin_ns_));
  }

  const TestSpec& spec_;
  const RunContext& context_;
  std::vector<LiveStack> stacks_;
  std::unique_ptr<BareRelay> relay_;
  int64_t begin_ns_ = 0;       // Monotonic,
  int64_t begin_wall_ns_ = 0;  // and on the clock that rows have. 0: it has not begun.
};

}  // namespace

TestResult RunTest(const TestSpec& spec, const RunContext& context) {
  return TestRun(spec, context).Run();
}

}  // namespace tickstack::loadtest
