#pragma once

// The monitor: repeatedly asks an rdb the same questions, as a user would, and measures the
// answers.
//
// A sample is a round of sync queries, one after the other:
//
//   exec last time from trade     its lag: from the newest row's time (when that tick was due)
//                                 until the answer has arrived: what a user sees, including the
//                                 query
//   count trade                   and the same for every other table; max time for bars, whose rows
//                                 are replaced in place
//   count aj[`sym`time; ...]      the trades of one symbol with their prevailing quotes, timed
//   .rdb.latency[] .rdb.stats[] .tier.stats[]      once per second
//
// Samples are due at regular intervals. If `spread_ns` is set, each is delayed by a random part of
// it. Without the delay, rows that are published every 50 ms and sampled every 300 ms would always
// have the same age when they are sampled. A sample that is due while another one is running, or
// while there is no connection to the rdb, is not run, because it would only add load. But it
// counts, with the time from when it was due until the running one ended, since a user who asked
// then would not have had an answer earlier. Otherwise a slow rdb, which delays the next question,
// would be measured less often just while it is slow (coordinated omission).
//
// If the rdb refuses rows because a tier is full, the monitor logs a warning, at most once in ten
// seconds.
//
// A lag counts only once a newer row has come, because until then a late row cannot be
// distinguished from the end of the day. So rows from before the run do not count, nor does the
// time after the last row, and a stall counts in full when it ends. The CSV has every lag.
//
// This is the state machine: it has no socket and no clock. Threads: one owner.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/logging.h"
#include "base/time.h"
#include "measure/clients/metric.h"
#include "table/value.h"

namespace tickstack::monitor {

inline constexpr int64_t kNothingDue = INT64_MAX;

// The answers about one table in a sample. nullopt if there was no answer, an error, or an empty
// table.
struct TableSample {
  std::optional<int64_t> newest_ns;
  // nullopt also if it is more than a day: such rows are replayed, not late.
  std::optional<int64_t> lag_ns;
  std::optional<int64_t> rows;
};
struct Sample {
  int64_t due_ns = 0;    // When the sample was due.
  int64_t begin_ns = 0;  // When its first question was asked.
  int64_t end_ns = 0;    // When its last answer arrived.
  // Number of samples that were due but not run, before or during this one.
  int64_t missed = 0;
  std::vector<TableSample> tables;  // In the order of the settings.
  std::string asof_symbol;
  std::optional<int64_t> asof_rows;
  std::optional<int64_t> asof_ns;
  // `latency.p99`, `stats.bytes`, `tier.dram.used`...: the rdb's last statistics.
  std::map<std::string, double> rdb;
};

// A memory tier of the rdb, in bytes.
struct TierMemory {
  std::string name;
  double capacity = 0;  // 0 if limited only by the machine.
  double used = 0;
  double high_water = 0;
  double resident = 0;  // Bytes of DRAM.
  double refused = 0;   // Refused allocations.
};
std::vector<TierMemory> TiersOf(const Sample& sample);  // By name.

// The interface of the monitor's connection to the rdb.
class Rdb {
 public:
  virtual ~Rdb() = default;
  // Sends a query. Its answer must be passed to Monitor::OnAnswer.
  virtual void Ask(std::string_view query) = 0;
};

struct MonitorSettings {
  int64_t query_ns = 300'000'000;
  int64_t spread_ns = 0;  // At most query_ns.
  std::vector<std::string> tables = {"trade", "quote"};
  // Those of `tables` that have bars. The row of a bar keeps its place when it is updated, so the
  // newest row is the one with the latest `time`, not the last one.
  std::vector<std::string> bars = {};
  std::string asof_symbol{};  // If empty, the symbol of the newest trade, as soon as there is one.
};

class Monitor {
 public:
  // Interval between requests for the rdb's statistics.
  static constexpr int64_t kRdbNs = 1'000'000'000;

  using OnSample = std::function<void(const Sample&)>;
  Monitor(MonitorSettings settings, OnSample on_sample);

  // In all functions, `now_ns` is the time of the call in ns since 2000. The first sample is due
  // when the rdb is first connected.
  // The wall clock was set ahead by `ns`, or back if negative: samples stay at their pace.
  void OnClockSet(int64_t ns);
  void OnConnected(Rdb* rdb, int64_t now_ns);  // `rdb` is used until OnDisconnected.
  void OnDisconnected(int64_t now_ns);
  void OnAnswer(const absl::StatusOr<Value>& answer, int64_t now_ns);
  // Discards all measurements and starts again, for runs that begin with a preparation, such as
  // filling the rdb. It keeps the connection and the as-of join's symbol. A sample in progress does
  // not count.
  void Restart(int64_t now_ns);
  // Starts a sample if one is due. Returns when to call it next; kNothingDue if that is only after
  // the next answer or connection.
  int64_t Poll(int64_t now_ns);

  const MonitorSettings& settings() const { return settings_; }
  int64_t begin_ns() const { return grid_ns_; }  // When the first sample was due.
  int64_t samples() const { return samples_; }
  int64_t missed() const { return missed_; }
  int64_t errors() const { return errors_; }  // Questions answered with an error.
  int64_t reconnects() const { return connects_ > 0 ? connects_ - 1 : 0; }
  const Sample& last() const { return last_; }  // The newest complete sample.
  // Returns the metrics: a lag for each table, such as `trade_lag`; `asof`, the time of the as-of
  // join; and `query`, the time of a whole sample from when it was due.
  const std::vector<measure::Metric>& metrics() const { return metrics_; }

 private:
  struct Newest {
    std::optional<int64_t> time_ns;   // Time of the table's newest row at the last sample.
    bool has_changed = false;         // True if it changed since the run began.
    std::vector<int64_t> waiting_ns;  // Lags seen since time_ns last changed.
  };
  enum class Topic { kNewest, kRows, kAsofSymbol, kAsof, kRdb };
  struct Question {
    Topic topic;
    size_t table = 0;
    std::string text;
  };

  int64_t DueNs(int64_t number) const;
  void Begin(int64_t now_ns);
  void AskNext(int64_t now_ns);
  void Finish(int64_t now_ns);
  void LogFailed(const Question& question, const absl::Status& why, int64_t now_ns);
  void TakeAnswer(const Question& question, const Value& answer, int64_t now_ns);
  void TakeNewest(size_t table, const Value& answer, int64_t now_ns);
  void TakeRdb(std::string_view prefix, const Value& answer);
  void WarnOfRefusedRows(int64_t now_ns);

  const MonitorSettings settings_;
  const OnSample on_sample_;
  Rdb* rdb_ = nullptr;
  int64_t grid_ns_ = 0;
  int64_t number_ = 0;                 // Number of the next or running sample.
  int64_t next_due_ns_ = kNothingDue;  // kNothingDue before the first connection.
  bool running_ = false;

  Sample sample_;  // The running sample.
  Sample last_;
  std::vector<Question> questions_;  // Questions of the running sample.
  size_t asked_ = 0;                 // Index of the current question.
  int64_t asked_ns_ = 0;
  int64_t rdb_due_ns_ = 0;
  std::vector<Newest> newest_;  // By table.
  std::string asof_symbol_;
  bool has_tables_ = false;  // True once the rdb had one of the tables.

  double refused_unsaid_ = 0;  // Number of refused rows since the last warning.
  LogLimit refused_limit_{10 * kNsPerSecond};

  int64_t samples_ = 0, missed_ = 0, errors_ = 0, connects_ = 0;
  std::vector<measure::Metric> metrics_;  // A lag per table, then asof, then query.
};

}  // namespace tickstack::monitor
