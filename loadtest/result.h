#pragma once

// The results of a load test as values. summary.h writes them to files.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "loadtest/placement.h"
#include "loadtest/plan.h"
#include "loadtest/process_usage.h"
#include "loadtest/profile.h"
#include "loadtest/report/metric.h"

namespace tickstack::loadtest {

// The metrics are those of the report.
using report::kMetricNames;
using report::kMetrics;
using report::Metric;
using enum report::Metric;

struct Measured {
  Histogram whole;        // In ns, over all monitors of the stack.
  Histogram last_minute;  // Values of the last minute, or of the whole of a shorter run.
};

// One sample of a monitor, or the worst of several successive ones.
struct SampleRow {
  std::string rdb;
  double time_s = 0;  // Seconds since the start of the run.
  std::array<std::optional<double>, kMetrics> ms;
  std::optional<int64_t> rows_captured;  // All tables together, without the prestress.
  std::optional<uint64_t> rss_bytes;     // Resident memory of the rdb.
  std::optional<double> cpu_s;
  std::map<std::string, double> tier_used;  // Bytes by tier.
};

struct TableResult {
  int64_t offered = 0;
  int64_t logged = 0;
  int64_t captured = 0;              // By the rdb that has the fewest rows.
  std::optional<uint64_t> checksum;  // Covers the rows that the run added, without their times.
  std::optional<uint64_t> prestress_checksum;  // Covers the rows that were loaded before the run.
};

struct TierResult {
  std::string kind;
  std::string path, filesystem, model, figures;
  bool dax = false;
  std::optional<uint64_t> used, high_water, capacity, resident;  // Bytes in all rdbs together.
};

struct ProcessResult {
  std::string role;
  uint64_t rss_bytes_max = 0;
  ProcessUsage used;  // During the run.
  // The larger of the shares that were measured before and after the load.
  std::optional<ProcessShare> share;
};

// What a class of clients measured for one query, over all monitors of the stack.
struct QueryResult {
  uint64_t errors = 0;
  bool errors_allowed = false;
  std::string first_error;
  uint64_t unanswered = 0;  // Also counted in `times`, each with the time that it had waited.
  double per_minute = 0;    // Answers per minute.
  Measured times;
};
struct ClientResult {
  std::string name;
  bool open_loop = false;
  int64_t connections = 0;  // Per monitor.
  double every_ms = 0;  // Open loop: mean interval between two questions of the class, per monitor.
  std::string arrivals;   // Open loop: `poisson` or `even`.
  double think_ms = 0;    // Closed loop: pause after each answer.
  bool has_begun = true;  // True if the clients of every monitor have started to ask.
  uint64_t connections_lost = 0;
  std::vector<std::pair<std::string, QueryResult>> queries;  // By name, in the file's order.
};

// Some seconds of one query's answers, as one monitor measured them.
struct QuerySliceRow {
  std::string rdb, client, query;
  double time_s = 0;  // When the slice began.
  uint64_t count = 0, errors = 0;
  std::array<double, 4> ms{};  // p50, p99, p99.9 and max.
};

struct StackResult {
  StackSpec spec;
  int rdbs = 0;
  // True if some of its memory is slowed down by a model of other hardware.
  bool simulated = false;
  std::string failure;  // Empty if it did not fail.
  std::map<std::string, TableResult> tables;
  std::array<Measured, kMetrics> measured;
  double queries_per_minute = 0;
  double offered_per_s = 0, logged_per_s = 0, captured_per_s = 0;
  std::map<std::string, TierResult> tiers;
  std::map<std::string, ProcessResult> processes;  // By name.
  std::vector<SampleRow> samples;
  std::vector<ClientResult> clients;
  std::vector<QuerySliceRow> query_slices;
};

// Name of the set of queries without clients: only the monitors ask.
inline constexpr std::string_view kNoClients = "monitor";
// The queries that clients ask during a test.
struct TestQueries {
  std::string name{kNoClients};
  std::string file;     // Absolute path; "": no clients.
  std::string symbols;  // Absolute path of the profile's symbols and their activity.
};

struct TestSpec {
  std::string name;  // "50/300": batch and query timers.
  double batch_ms = 50;
  double query_ms = 300;
  Profile profile;
  RowCounts prestress;
  TestQueries queries;
  std::vector<StackSpec> stacks;
  // True in a search for the highest rate: batches also end at 1 MiB, as they do by default, and no
  // relay runs beside the stack.
  bool search = false;
  // Seconds after the start of the feeds at which the monitors restart their measurements; 0:
  // never.
  double warm_up_s = 0;
};

struct TestResult {
  TestSpec spec;
  // Latency in ns of a message through the bare relay (bare_relay.h): what the machine itself
  // added.
  std::optional<Histogram> relay;
  int64_t begin_ns = 0;  // When the feeds started.
  double seconds = 0;    // From begin_ns until the last feed was done.
  std::string failure;
  std::vector<StackResult> stacks;
};

}  // namespace tickstack::loadtest
