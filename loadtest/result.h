#pragma once

// What a load test found, as values; summary.h writes them down.

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

namespace tickstack::loadtest {

// What the monitors measure, in the order of the files.
enum Metric { kTradeLag, kQuoteLag, kTradeBarLag, kQuoteBarLag, kAsof, kQuery, kMetrics };
inline constexpr std::array<std::string_view, kMetrics> kMetricNames = {
    "trade_lag", "quote_lag", "trade_bar_lag", "quote_bar_lag", "asof", "query"};

struct Measured {
  Histogram whole;        // ns, of all of the stack's monitors.
  Histogram last_minute;  // Of a shorter run, the same.
};

// One look of a monitor, or the worst of several in a row. Times are ms since the run began.
struct SampleRow {
  std::string rdb;
  double time_s = 0;
  std::array<std::optional<double>, kMetrics> ms;
  std::optional<int64_t> rows_captured;  // Of all tables, without the prestress.
  std::optional<uint64_t> rss_bytes;     // Of the rdb, as cpu_s.
  std::optional<double> cpu_s;
  std::map<std::string, double> tier_used;  // Bytes, by tier.
};

struct TableResult {
  int64_t offered = 0;
  int64_t logged = 0;
  int64_t captured = 0;                        // By the rdb that has the fewest.
  std::optional<uint64_t> checksum;            // Of the rows that the run added, times apart.
  std::optional<uint64_t> prestress_checksum;  // Of those that were there before.
};

struct TierResult {
  std::string kind;
  std::string path, filesystem, model, figures;
  bool dax = false;
  std::optional<uint64_t> used, high_water, capacity, resident;  // Bytes, of all rdbs together.
};

struct ProcessResult {
  std::string role;
  uint64_t rss_bytes_max = 0;
  ProcessUsage used;  // While the run was under way.
  // The larger one of before the load and after it.
  std::optional<ProcessShare> share;
};

// What a class of clients found of one query; of all of the stack's monitors.
struct QueryResult {
  uint64_t errors = 0;
  bool errors_allowed = false;
  std::string first_error;
  uint64_t unanswered = 0;  // They are among the times, with what they had waited.
  double per_minute = 0;    // Answers.
  Measured times;
};
struct ClientResult {
  std::string name;
  bool open_loop = false;
  int64_t connections = 0;  // Of each monitor.
  double every_ms = 0;      // Open: the mean between two questions of a monitor's class,
  std::string arrivals;     // as `poisson` or `even`.
  double think_ms = 0;      // Closed.
  bool has_begun = true;    // To ask, of every monitor.
  uint64_t connections_lost = 0;
  std::vector<std::pair<std::string, QueryResult>> queries;  // By name, as the file has them.
};

// Some seconds of a query's answers, as one monitor saw them.
struct QuerySliceRow {
  std::string rdb, client, query;
  double time_s = 0;  // When they began.
  uint64_t count = 0, errors = 0;
  std::array<double, 4> ms{};  // p50, p99, p99.9, max.
};

struct StackResult {
  StackSpec spec;
  int rdbs = 0;
  bool simulated = false;  // Some of its memory is a model of other hardware.
  std::string failure;     // Empty: none.
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

// What clients ask in a test.
inline constexpr std::string_view kNoClients = "monitor";  // A set: nobody asks but the monitors.
struct TestQueries {
  std::string name{kNoClients};
  std::string file;     // "": no clients. Files are absolute.
  std::string symbols;  // The profile's, with their activity.
};

struct TestSpec {
  std::string name;  // "50/300": batch and query timers.
  double batch_ms = 50;
  double query_ms = 300;
  Profile profile;
  RowCounts prestress;
  TestQueries queries;
  std::vector<StackSpec> stacks;
  // Of the search for the highest rate: batches leave as they do by default, at 1 MiB too, and no
  // relay runs beside the stack.
  bool search = false;
  // So long after the feeds have started the monitors begin to measure anew; 0: they do not.
  double warm_up_s = 0;
};

struct TestResult {
  TestSpec spec;
  // What the machine itself added meanwhile: ns of a message through bare_relay.h.
  std::optional<Histogram> relay;
  int64_t begin_ns = 0;  // When the feeds were started.
  double seconds = 0;    // From then until the last feed was done.
  std::string failure;
  std::vector<StackResult> stacks;
};

}  // namespace tickstack::loadtest
