#pragma once

// A stack of a load test, from its start to its result: sends questions to its processes and
// evaluates the answers. test_runner.h decides which stacks run together, and for how long.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loadtest/result.h"
#include "loadtest/stack_run.h"
#include "loadtest/stack_toml.h"
#include "loadtest/test_runner.h"

namespace tickstack::loadtest {

// Threads: one owner. Errors are those of StackRun; pass them to Failed.
class LiveStack {
 public:
  // `test` and `context` must outlive it.
  LiveStack(const StackSpec& spec, const TestSpec& test, const RunContext& context)
      : test_(test), context_(context) {
    result_.spec = spec;
  }

  // The following calls come in this order. Start returns at once; poll the next two until true.
  absl::Status Start();
  // True if all of its processes answer, which rdbs do when their prestress is loaded.
  // kUnavailable with the process's name if one does not, or if loading takes much too long.
  absl::StatusOr<bool> IsLoaded(double waited_s);
  // True if all subscribers are subscribed, and memory that is to be pre-touched is touched.
  absl::StatusOr<bool> IsLive();
  // Measures the processes' shares of memory, which counts mapped pages one by one. Called before
  // the load and after it.
  absl::Status TakeShares();
  absl::Status BeginMonitors();
  // Discards what the monitors measured until now. The processes' usage is kept.
  absl::Status ResetMeasurements();
  absl::Status StartFeeds(int64_t begin_ns);  // Times are counted from `begin_ns` (monotonic).
  // Asks how far the feed is. Once the feed is done, or with `whole` (once a second), asks how far
  // the rdbs are, too.
  absl::Status Poll(bool whole);
  // Stops the clients' questions, because the load that they are to measure has ended.
  absl::Status EndClients();
  absl::StatusOr<bool> AreClientsIdle();  // True if all their questions are answered.
  // Collects what only a running stack can report: tier statistics and checksums.
  absl::Status PollAll();
  void Stop();          // Requests an orderly shutdown.
  absl::Status Wait();  // Waits for its end, keeps the logs and removes all other files.
  // Collects the measurements of its monitors and their clients, also for a failed stack. kDataLoss
  // if clients got wrong answers, or none.
  absl::Status CollectMonitors(int64_t begin_wall_ns);
  absl::Status CountLog();
  // Fills in the known counts of offered and captured rows, also for a failed stack.
  void FillRows();
  void FillRates();
  // CompareRows returns kDataLoss with the differences if the counts of rows offered, logged and
  // captured are not equal; CompareSums does if the rows differ from those of another stack.
  absl::Status CompareRows();
  absl::Status CompareSums(const StackResult& other);

  // Records that the stack failed and why, and returns the reason.
  absl::Status Failed(absl::Status why);
  // Fails the stack: the feed did not finish within its deadline.
  absl::Status Late();

  bool feed_done() const { return feed_done_; }
  bool is_captured() const { return captured_ns_ > 0; }  // True if all rdbs have all rows.
  double seconds() const;  // Duration of the feed; 0 until it has finished.
  const std::string& line() const { return line_; }  // Progress line.
  StackResult& result() { return result_; }

 private:
  double PhaseMs() const;
  // An rdb's memory and CPU time at one moment of the run.
  struct UsageAt {
    double time_s;
    ProcessUsage usage;
  };

  absl::Status PollFeed();
  void PlanTouching(StackSettings& settings);
  absl::StatusOr<bool> IsTouched();
  // Adds the tier statistics of an rdb to `tiers`.
  absl::Status ReadTiers(const std::string& rdb, std::map<std::string, TierResult>& tiers) const;
  absl::Status ReadRows(const std::string& rdb);
  absl::Status DescribeProgress();
  absl::Status DescribeClients();
  void TakeUsage();
  void AddUsage();
  void KeepLogs() const;
  bool all_captured() const;
  int64_t PrestressOf(std::string_view table) const {
    return table == "trade" ? test_.prestress.trades : test_.prestress.quotes;
  }

  const TestSpec& test_;
  const RunContext& context_;
  StackToml toml_;
  std::string tier_folder_;  // Created for this stack; "" if it needs none.
  std::unique_ptr<StackRun> run_;
  StackResult result_;
  uint64_t touch_bytes_ = 0;       // Target for pre-touched memory of the rdbs and the aggengine.
  uint64_t resident_bytes_ = 0;    // Bytes resident at the last poll.
  int64_t resident_since_ns_ = 0;  // When resident_bytes_ last changed (monotonic).
  int64_t begin_ns_ = 0;
  bool feed_done_ = false;
  int64_t done_ns_ = 0;      // When the feed finished (monotonic).
  int64_t captured_ns_ = 0;  // When every row was captured (monotonic).
  RowsByTable offered_;
  std::map<std::string, RowsByTable> captured_;        // By rdb.
  std::map<std::string, ProcessUsage> before_;         // By process, at the start of the run.
  std::map<std::string, std::vector<UsageAt>> usage_;  // By rdb.
  std::string line_;
};

}  // namespace tickstack::loadtest
