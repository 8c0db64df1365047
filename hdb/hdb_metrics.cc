#include "hdb/hdb_metrics.h"

#include <fmt/format.h>

#include "base/file.h"
#include "serve/query_metrics.h"

namespace tickstack::hdb {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".hdb.stats";

constexpr serve::Metric kOwnMetrics[] = {
    {"tables", kGauge, "tables", "Tables of the database.", kStats, "tables"},
    {"partitions", kGauge, "partitions", "Partitions of the database, such as days.", kStats,
     "partitions"},
    {"segments", kGauge, "segments", "Directories that par.txt lists.", kStats, "segments"},
    {"symbols", kGauge, "symbols", "Names in the sym files.", kStats, "symbols"},
    {"problems", kGauge, "problems", "Parts of the database that the last load left out.", kStats,
     "problems"},
    {"reloads_total", kCounter, "times", "Times that the database was loaded.", kStats, "reloads"},
    {"reloads_failed_total", kCounter, "times", "Times that loading the database failed.", kStats,
     "reloads_failed"},
    {"load_seconds",
     kGauge,
     "seconds",
     "Time that the last load took.",
     kStats,
     "load_ns",
     {},
     1e-9},
    {"decompressed_bytes", kGauge, "bytes", "Decompressed columns in memory.", kStats,
     "decompressed_bytes"},
    {"cache_max_bytes", kGauge, "bytes", "Limit of decompressed columns in memory.", kStats,
     "cache_max_bytes"},
    {"cache_evictions_total", kCounter, "columns",
     "Decompressed columns that were evicted to make room.", kStats, "cache_evictions"},
    {"local_bytes_total", kCounter, "bytes",
     "Bytes of local columns that queries read for the first time since they were opened.", kStats,
     "local_bytes"},
    {"archive_cache_bytes_total", kCounter, "bytes",
     "Bytes of archived columns that queries found in the cache.", kStats, "archive_cache_bytes"},
    {"archive_store_bytes_total", kCounter, "bytes",
     "Bytes of archived columns that the object store sent.", kStats, "archive_store_bytes"},
    {"archive_store_requests_total", kCounter, "requests", "Reads of objects.", kStats,
     "archive_store_requests"},
    {"archive_store_errors_total", kCounter, "requests",
     "Reads of objects that failed or sent damaged bytes.", kStats, "archive_store_errors"},
    {"archive_held_bytes", kGauge, "bytes", "Archived columns in the cache.", kStats,
     "archive_held_bytes"},
    {"archive_held_max_bytes", kGauge, "bytes", "Limit of archived columns in the cache.", kStats,
     "archive_held_bytes_max"},
    {"archive_evicted_bytes_total", kCounter, "bytes",
     "Bytes of archived columns that were evicted to make room.", kStats, "archive_evicted_bytes"},
    {"mappings", kGauge, "mappings", "Mapped files.", kStats, "mappings"},
    {"mappings_max", kGauge, "mappings", "Limit of mapped files.", kStats, "mappings_max"},
    {"columns_let_go_total", kCounter, "columns",
     "Columns that were unmapped to stay within the limit of mapped files.", kStats,
     "columns_let_go"},
};
constexpr auto kMetrics = serve::WithQueries(kOwnMetrics, kStats);

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(HdbEnvironment& environment) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, environment.QuickStats()});
  facts.durations.push_back({serve::kQueryDurations, "", environment.queries().Durations()});
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts) {
  serve::Reasons reasons;
  if (const double problems = facts.NumberOr0(kStats, "problems"); problems > 0) {
    reasons.push_back(fmt::format(
        "{:.0f} parts of the database are not loaded: .hdb.problems[] names them", problems));
  }
  return reasons;
}

serve::ProcessStatusOptions StatusOf(const HdbMainOptions& options, HdbEnvironment& environment) {
  return {.role = "hdb",
          .name = options.name,
          .metrics = Metrics(),
          .facts = [&environment] { return FactsOf(environment); },
          .reasons =
              [database = options.database](const serve::StatusFacts& facts,
                                            const serve::HealthLimits&) {
                // There is no database before the first day has ended.
                return FileExists(database).value_or(true) ? ReasonsOf(facts) : serve::Reasons();
              },
          .disks = {{"database", options.database, false}},
          .limits = options.health};
}

}  // namespace tickstack::hdb
