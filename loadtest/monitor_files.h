#pragma once

// What a monitor has left: its summary and its samples.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

// Adds the distributions of a summary, NAME.summary.json, to those of its stack, and its samples
// per minute to queries_per_minute. kNotFound, kDataLoss with what is wrong.
absl::Status AddMonitorSummary(const std::string& path, StackResult& stack);

// Adds the samples of NAME.csv that were taken from `begin_ns` on; of lags those that the monitor
// counts, after which a newer row came. At most `rows_max`: of more, each
// row stands for several, with the largest of each time. `prestress` is what the counts begin with.
absl::Status AddMonitorSamples(const std::string& path, const std::string& rdb, int64_t begin_ns,
                               int64_t prestress, size_t rows_max, StackResult& stack);

// For readers of what monitors leave: the cells of a line of CSV without quotes; a number, nullopt
// if it is none; a distribution's `counters_ns`, false if it has none.
std::vector<std::string_view> CsvCells(std::string_view line);
std::optional<double> CellNumber(std::string_view cell);
bool AddCounters(const nlohmann::ordered_json& distribution, Histogram& to);

// The inverse of FormatTimestamp; nullopt if it is none.
std::optional<int64_t> ParseTimestamp(std::string_view text);

}  // namespace tickstack::loadtest
