#pragma once

// A stack of a load test, from its start to its result: the questions that are sent to its
// processes, and the evaluation of the answers. run.h decides which stacks run together, and for
// how long.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loadtest/result.h"
#include "loadtest/run.h"
#include "loadtest/stack_run.h"
#include "loadtest/stack_toml.h"

namespace tickstack::loadtest {

// Threads: one owner. Statuses are as StackRun's; who gets one of them tells Failed.
class LiveStack {
 public:
  // `test` and `context` outlive it.
  LiveStack(const StackSpec& spec, const TestSpec& test, const RunContext& context)
      : test_(test), context_(context) {
    result_.spec = spec;
  }

  // In the order of a test. Start returns at once; the next two say whether it is so by now.
  absl::Status Start();
  absl::StatusOr<bool> IsLoaded(double waited_s);  // All of its processes answer.
  // True if all subscribers are subscribed, and memory that is to be pre-touched is touched.
  absl::StatusOr<bool> IsLive();
  // Pages of mapped memory are counted one by one: before the load and after it.
  absl::Status TakeShares();
  absl::Status BeginMonitors();
  // What the monitors measured until now does not count. What processes use still does.
  absl::Status MeasureAnew();
  absl::Status StartFeeds(int64_t begin_ns);  // Which is what times count from; monotonic.
  // Asks how far the feed is, and if that is done or with `whole`, which a look once a second is,
  // how far the rdbs are.
  absl::Status LookAt(bool whole);
  // Clients ask no more: what follows is not what they would have met.
  absl::Status EndClients();
  absl::StatusOr<bool> AreClientsIdle();  // What they asked has its answers.
  // What can be asked only while it runs: tiers, checksums.
  absl::Status LookAtAll();
  void Stop();          // Tells it to stop in order;
  absl::Status Wait();  // waits until it has, keeps its logs, and removes what is left.
  // Collects the measurements of its monitors and their clients, also if the stack failed.
  // kDataLoss if clients got wrong answers, or none.
  absl::Status CollectMonitors(int64_t begin_wall_ns);
  absl::Status CountLog();
  // Fills in the known counts of offered and captured rows, also for a failed run.
  void FillRows();
  void FillRates();
  // kDataLoss, with what differs, if not all that was offered was logged and captured; if its rows
  // are not those of another stack.
  absl::Status CompareRows();
  absl::Status CompareSums(const StackResult& other);

  // Records that the stack failed and why, and returns the reason.
  absl::Status Failed(absl::Status why);
  // Fails the stack: the feed did not finish within its deadline.
  absl::Status Late();

  bool feed_done() const { return feed_done_; }
  bool is_captured() const { return captured_ns_ > 0; }  // All rdbs have all rows.
  double seconds() const;                                // Duration of the feed; 0: not finished.
  const std::string& line() const { return line_; }      // Progress line.
  StackResult& result() { return result_; }

 private:
  double PhaseMs() const;
  // An rdb's memory and CPU time at one moment of the run.
  struct UsageAt {
    double time_s;
    ProcessUsage usage;
  };

  absl::Status LookAtFeed();
  void PlanTouching(StackSettings& settings);
  absl::StatusOr<bool> AllLive();
  absl::StatusOr<bool> IsTouched();
  // Adds to `tiers` what an rdb says of its own.
  absl::Status LookAtTiers(const std::string& rdb, std::map<std::string, TierResult>& tiers) const;
  absl::Status LookAtRows(const std::string& rdb);
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
  std::string tier_folder_;  // Made for it, "" if none was.
  std::unique_ptr<StackRun> run_;
  StackResult result_;
  uint64_t touch_bytes_ = 0;       // To be touched by rdbs and aggengine,
  uint64_t resident_bytes_ = 0;    // touched when that was last asked,
  int64_t resident_since_ns_ = 0;  // and since when. Monotonic.
  int64_t begin_ns_ = 0;
  bool feed_done_ = false;
  int64_t done_ns_ = 0;      // When it was,
  int64_t captured_ns_ = 0;  // and when everything was captured. Monotonic.
  RowsByTable offered_;
  std::map<std::string, RowsByTable> captured_;        // By rdb.
  std::map<std::string, ProcessUsage> before_;         // By process: when the run began.
  std::map<std::string, std::vector<UsageAt>> usage_;  // By rdb.
  std::string line_;
};

}  // namespace tickstack::loadtest
