#pragma once

// A load test's run, read from summary.json and environment.json in its directory (docs/loadtest.md
// has the formats). samples.h reads samples.csv, row by row.
//
// Errors name file, place, found and expected: `summary.json: tests[0].stacks[1].name: found 7,
// expected a text`. A value that was not measured (null or absent) is nullopt.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report/metric.h"

namespace tickstack::loadtest::report {

struct Distribution {
  int64_t count = 0;
  std::optional<double> p50_ms, p99_ms, p999_ms, max_ms;
};

struct MetricResult {
  Distribution whole, last_minute;
  // Pairs of a bucket's upper end in ms, ascending, and its number of values.
  std::vector<std::pair<double, int64_t>> histogram;
};

struct RecordedRows {
  std::string table;
  std::optional<int64_t> offered, logged, captured;
};

struct TierUse {
  std::string name, kind;
  std::string filesystem;  // Type of a file tier's directory, such as `tmpfs`; empty: unknown.
  std::optional<double> used, high_water, capacity, resident;  // Bytes.
};

struct ProcessUse {
  std::string name;
  std::optional<double> rss_max, cpu_s, voluntary_switches, involuntary_switches, read_bytes,
      written_bytes;
  // Bytes; a page that several processes map is divided among them.
  std::optional<double> pss_max, pss_anonymous, pss_file, pss_shared;
};

// The results of one query that a class of clients asked.
struct RecordedQuery {
  std::string name;
  MetricResult times;
  std::optional<double> per_minute;
  int64_t errors = 0, unanswered = 0;
  bool errors_allowed = false;
  std::string first_error;
  // One entry for each ten seconds: the median in ms, and the number of answers.
  std::vector<std::pair<double, int64_t>> slices;
};
struct RecordedClient {
  std::string name, mode, arrivals;
  std::optional<double> connections, every_ms, think_ms;
  std::vector<RecordedQuery> queries;
};

struct RecordedStack {
  std::string name, placement;
  bool simulated = false;
  int64_t rdbs = 1;
  bool failed = false;
  std::string reason;
  std::vector<RecordedRows> rows;
  std::array<MetricResult, kMetrics> metrics;
  std::optional<double> queries_per_minute, offered_per_s, logged_per_s, captured_per_s;
  std::vector<TierUse> tiers;
  std::vector<ProcessUse> processes;
  std::vector<RecordedClient> clients;

  const MetricResult& metric(Metric metric) const { return metrics[static_cast<size_t>(metric)]; }
};

struct RecordedTest {
  std::string name;
  double batch_ms = 0, query_ms = 0, seconds = 0;
  bool failed = false;
  std::string reason;
  std::optional<int64_t> prestress_quotes, prestress_trades;
  Distribution relay;  // Latency of the bare relay beside the stacks; count 0: none ran.
  std::vector<RecordedStack> stacks;
};

// A step of the search for the highest rate that a stack sustains.
struct RecordedProbe {
  double updates_per_s = 0, seconds = 0;
  bool sustained = false;
  std::optional<double> achieved_per_s, worst_p99_ms;
  std::string broke;
};

struct Maximum {
  std::string stack, broke;
  std::optional<double> below_ms, updates_per_s, achieved_per_s;
  std::vector<RecordedProbe> probes;
};

struct RunFiles {
  std::string directory;
  std::string name, command, begin, reason;
  std::string query_set;  // Name of the set of queries that clients asked; empty in older files.
  std::optional<int64_t> seed;
  bool failed = false;
  double updates_per_s = 0, seconds = 0;
  std::optional<int64_t> symbols;
  std::optional<double> quotes_per_trade;
  std::vector<RecordedTest> tests;
  std::vector<Maximum> maxima;

  // From environment.json: pairs of a label and a text, one for each line that the report shows.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<double> cores, memory_bytes;
};

// Cost: a few times the size of the files, which is bounded: summary.json may have 64 MiB, and
// environment.json 1 MiB. Errors: kNotFound; kResourceExhausted; kDataLoss if a file is not JSON or
// violates the format.
absl::StatusOr<RunFiles> ReadRun(const std::string& directory);

// Reads a run from the texts of the two files. `directory` is where samples.csv would be.
absl::StatusOr<RunFiles> ParseRun(std::string_view summary, std::string_view environment,
                                  const std::string& directory);

}  // namespace tickstack::loadtest::report
