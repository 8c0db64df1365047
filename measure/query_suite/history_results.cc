#include "measure/query_suite/history_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tickstack::measure::query_suite {
namespace {

constexpr double kMb = 1e6;

double MsOf(int64_t ns) { return static_cast<double>(ns) / 1e6; }

uint64_t SumOf(const std::vector<uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

std::string_view PhaseOf(const HistoryRound& round) { return round.cold ? "cold" : "warm"; }

uint64_t BytesFromAll(const HistoryRound& round) {
  uint64_t sum = 0;
  for (size_t i = 0; i < round.cached_after.size(); ++i) sum += round.BytesFrom(i);
  return sum;
}

std::string RoundLine(const HistoryRound& round) {
  const Histogram& ns = round.times.ns;
  const double seconds = static_cast<double>(std::max<int64_t>(1, round.times.elapsed_ns)) / 1e9;
  const double read_mb = static_cast<double>(round.read_bytes) / kMb;
  const bool has_spread = round.cold && round.cached_after.size() > 1;
  return fmt::format(
      "{}|{}|{}|{}|{}|{:.3f}|{:.3f}|{:.3f}|{:.3f}|{:.1f}|{:.1f}|{:.1f}|{:.1f}|{}|{}", round.query,
      round.clients, PhaseOf(round), ns.Count(), round.rows, ns.Mean() / 1e6,
      MsOf(ns.ValueAtPercentile(50)), MsOf(ns.ValueAtPercentile(99)), MsOf(ns.Max()),
      static_cast<double>(ns.Count()) / seconds, read_mb, read_mb / seconds, round.CachedPercent(),
      round.ServedBy(), has_spread ? fmt::format("{:.2f}", round.Skew()) : "");
}

}  // namespace

double HistoryRound::CachedPercent() const {
  return 100 * static_cast<double>(SumOf(cached_before)) /
         static_cast<double>(std::max<uint64_t>(1, database_bytes));
}

std::string_view HistoryRound::ServedBy() const {
  constexpr uint64_t kFew = 100;  // One in a hundred.
  if (on_memory) return "memory";
  if (cold && SumOf(cached_before) * kFew <= database_bytes) return "storage";
  return read_bytes * kFew <= SumOf(cached_after) ? "page cache" : "both";
}

uint64_t HistoryRound::BytesFrom(size_t directory) const {
  const uint64_t after = cached_after.at(directory);
  return after - std::min(after, cached_before.at(directory));
}

double HistoryRound::Skew() const {
  const uint64_t all = BytesFromAll(*this);
  uint64_t largest = 0;
  for (size_t i = 0; i < cached_after.size(); ++i) largest = std::max(largest, BytesFrom(i));
  if (all == 0) return 0;
  return static_cast<double>(largest) * static_cast<double>(cached_after.size()) /
         static_cast<double>(all);
}

std::string WarningOf(const HistoryRound& round) {
  if (!round.cold || round.ServedBy() == "storage" || round.on_memory) return "";
  return fmt::format(
      "{}, {} clients: {:.0f} % of the database were in the page cache: not the storage's speed",
      round.query, round.clients, round.CachedPercent());
}

std::string RoundsPsv(const std::vector<HistoryRound>& rounds) {
  std::string text =
      "query|clients|phase|answers|rows|mean_ms|p50_ms|p99_ms|max_ms|queries_per_s|storage_mb|"
      "storage_mb_per_s|cached_pct|served_by|skew\n";
  for (const HistoryRound& round : rounds) text += RoundLine(round) + "\n";
  return text;
}

std::string SpreadPsv(const std::vector<HistoryRound>& rounds,
                      const std::vector<std::string>& directories) {
  std::string text = "query|clients|directory|read_mb|share_pct\n";
  for (const HistoryRound& round : rounds) {
    if (!round.cold) continue;
    const uint64_t all = std::max<uint64_t>(1, BytesFromAll(round));
    for (size_t i = 0; i < directories.size(); ++i) {
      const auto bytes = static_cast<double>(round.BytesFrom(i));
      text += fmt::format("{}|{}|{}|{:.2f}|{:.1f}\n", round.query, round.clients, directories[i],
                          bytes / kMb, 100 * bytes / static_cast<double>(all));
    }
  }
  return text;
}

}  // namespace tickstack::measure::query_suite
