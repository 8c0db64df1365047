#include "loadtest/monitor_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::loadtest {
namespace {

// The metrics' names in a monitor's files: its tables of bars are the daily ones.
constexpr std::array<std::string_view, kMetrics> kMonitorNames = {
    "trade_lag", "quote_lag", "trade_daily_lag", "quote_daily_lag", "asof", "query"};
constexpr std::array<std::string_view, kMetrics> kMonitorColumns = {
    "trade_lag_ms",       "quote_lag_ms", "trade_daily_lag_ms",
    "quote_daily_lag_ms", "asof_ms",      "query_ms"};

// The column with the newest row of the table that each lag belongs to; "" if the metric is no lag.
constexpr std::array<std::string_view, kMetrics> kNewestColumns = {
    "trade_time", "quote_time", "trade_daily_time", "quote_daily_time", "", ""};

// In one sample, the time of each table's newest row, as text.
using Newest = std::array<std::string, kMetrics>;

// Drops lags without meaning: those of rows that were loaded before the first row of the run, and
// those after the last row.
void DropIdleLags(const std::vector<Newest>& newest, std::vector<SampleRow>& rows) {
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    if (kNewestColumns[metric].empty()) continue;
    size_t first = rows.size(), last = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
      if (newest[i][metric] == newest[i - 1][metric]) continue;
      first = std::min(first, i);
      last = i;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i < first || i >= last) rows[i].ms[metric].reset();
    }
  }
}

// The positions of the CSV's columns.
struct Columns {
  explicit Columns(const std::vector<std::string_view>& header) {
    constexpr std::string_view kTier = "tier.", kUsed = ".used";
    for (size_t i = 0; i < header.size(); ++i) {
      const std::string_view name = header[i];
      for (size_t metric = 0; metric < kMetrics; ++metric) {
        if (name == kMonitorColumns[metric]) metrics[metric] = i;
        if (name == kNewestColumns[metric]) newest[metric] = i;
      }
      if (name == "trade_rows" || name == "quote_rows") rows.push_back(i);
      if (name.starts_with(kTier) && name.ends_with(kUsed)) {
        tiers.emplace_back(name.substr(kTier.size(), name.size() - kTier.size() - kUsed.size()), i);
      }
    }
    count = header.size();
  }
  SampleRow RowOf(const std::vector<std::string_view>& cells, int64_t prestress) const {
    SampleRow row;
    for (size_t metric = 0; metric < kMetrics; ++metric) {
      if (metrics[metric]) row.ms[metric] = CellNumber(cells[*metrics[metric]]);
    }
    double sum = 0;
    bool known = !rows.empty();
    for (const size_t column : rows) {
      const std::optional<double> number = CellNumber(cells[column]);
      known = known && number.has_value();
      sum += number.value_or(0);
    }
    if (known) row.rows_captured = static_cast<int64_t>(sum) - prestress;
    for (const auto& [tier, column] : tiers) {
      if (const auto used = CellNumber(cells[column])) row.tier_used[tier] = *used;
    }
    return row;
  }

  Newest NewestOf(const std::vector<std::string_view>& cells) const {
    Newest times;
    for (size_t metric = 0; metric < kMetrics; ++metric) {
      if (newest[metric]) times[metric] = cells[*newest[metric]];
    }
    return times;
  }

  std::array<std::optional<size_t>, kMetrics> metrics, newest;
  std::vector<size_t> rows;
  std::vector<std::pair<std::string, size_t>> tiers;
  size_t count = 0;
};

// Returns the later row, with the larger of each time.
SampleRow WorstOf(const SampleRow& before, SampleRow row) {
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    if (before.ms[metric] && (!row.ms[metric] || *row.ms[metric] < *before.ms[metric])) {
      row.ms[metric] = before.ms[metric];
    }
  }
  return row;
}

}  // namespace

std::vector<std::string_view> CsvCells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t comma = std::min(line.find(',', begin), line.size());
    cells.push_back(line.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return cells;
}

std::optional<double> CellNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool AddCounters(const nlohmann::ordered_json& span, Histogram& to) {
  if (!span.is_object() || !span.contains("counters_ns")) return false;
  for (const auto& counter : span["counters_ns"]) {
    if (!counter.is_array() || counter.size() != 2 || !counter[0].is_number_integer() ||
        !counter[1].is_number_integer()) {
      return false;
    }
    to.RecordMany(counter[0].get<int64_t>(), counter[1].get<uint64_t>());
  }
  return true;
}

std::optional<int64_t> ParseTimestamp(std::string_view text) {
  // 2020.03.09D15:30:00.123456789
  constexpr size_t kDate = 10, kAll = 29;
  if (text.size() != kAll || text[kDate] != 'D') return std::nullopt;
  const std::optional<int32_t> date = ParseDate(text.substr(0, kDate));
  const auto number = [&](size_t at, size_t digits) {
    int64_t value = -1;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + digits, value);
    return error == std::errc() && end == begin + digits ? value : -1;
  };
  const int64_t hours = number(11, 2), minutes = number(14, 2), seconds = number(17, 2),
                ns = number(20, 9);
  if (!date || hours < 0 || minutes < 0 || seconds < 0 || ns < 0) return std::nullopt;
  return *date * kNsPerDay + ((hours * 60 + minutes) * 60 + seconds) * kNsPerSecond + ns;
}

absl::Status AddMonitorSummary(const std::string& path, StackResult& stack) {
  std::ifstream file(path);
  if (!file) return NotFound("{}: no such file: the monitor has not measured", path);
  const auto json = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("metrics") || !json["metrics"].is_object()) {
    return DataLoss("{}: expected an object with metrics", path);
  }
  const auto& metrics = json["metrics"];
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    const std::string name(kMonitorNames[metric]);
    if (!metrics.contains(name)) continue;  // A stack without bars.
    if (!AddCounters(metrics[name]["whole"], stack.measured[metric].whole) ||
        !AddCounters(metrics[name]["last_minute"], stack.measured[metric].last_minute)) {
      return DataLoss("{}: {}: expected counters", path, name);
    }
  }
  if (json.contains("queries_per_minute") && json["queries_per_minute"].is_number()) {
    stack.queries_per_minute += json["queries_per_minute"].get<double>();
  }
  return absl::OkStatus();
}

absl::Status AddMonitorSamples(const std::string& path, const std::string& rdb, int64_t begin_ns,
                               int64_t prestress, size_t rows_max, StackResult& stack) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return NotFound("{}: no samples", path);
  const Columns columns(CsvCells(line));
  std::vector<SampleRow> rows;
  std::vector<Newest> newest;
  while (std::getline(file, line)) {
    const std::vector<std::string_view> cells = CsvCells(line);
    const std::optional<int64_t> time_ns = ParseTimestamp(cells[0]);
    // The last line may be incomplete if the monitor was killed.
    if (cells.size() != columns.count || !time_ns || *time_ns < begin_ns) continue;
    SampleRow row = columns.RowOf(cells, prestress);
    row.rdb = rdb;
    row.time_s = static_cast<double>(*time_ns - begin_ns) / static_cast<double>(kNsPerSecond);
    rows.push_back(std::move(row));
    newest.push_back(columns.NewestOf(cells));
  }
  DropIdleLags(newest, rows);
  const size_t each = std::max<size_t>(1, (rows.size() + rows_max - 1) / rows_max);
  for (size_t begin = 0; begin < rows.size(); begin += each) {
    SampleRow worst = std::move(rows[begin]);
    for (size_t i = begin + 1; i < std::min(begin + each, rows.size()); ++i) {
      worst = WorstOf(worst, std::move(rows[i]));
    }
    stack.samples.push_back(std::move(worst));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::loadtest
