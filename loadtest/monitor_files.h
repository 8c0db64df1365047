#pragma once

// Reads the files that a monitor writes: its summary and its samples.

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
// per minute to queries_per_minute. kNotFound; kDataLoss with what is wrong.
absl::Status AddMonitorSummary(const std::string& path, StackResult& stack);

// Adds the samples of NAME.csv from `begin_ns` on. A lag is kept only if a newer row came after it,
// as in the monitor's own statistics. Adds at most `rows_max` rows; if there are more samples, each
// row covers several and has the largest of each time. `prestress` is subtracted from row counts.
absl::Status AddMonitorSamples(const std::string& path, const std::string& rdb, int64_t begin_ns,
                               int64_t prestress, size_t rows_max, StackResult& stack);

// Returns the cells of a CSV line that has no quotes.
std::vector<std::string_view> CsvCells(std::string_view line);
// Returns a cell's number; nullopt if it is not one.
std::optional<double> CellNumber(std::string_view cell);
// Adds the `counters_ns` of a distribution to `to`. False if they are missing or wrong.
bool AddCounters(const nlohmann::ordered_json& distribution, Histogram& to);

// Parses a timestamp that FormatTimestamp wrote; nullopt if the text is none.
std::optional<int64_t> ParseTimestamp(std::string_view text);

}  // namespace tickstack::loadtest
