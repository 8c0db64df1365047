#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tickstack::loadtest::report {

// The durations that a monitor measures, in the order of all tables and files.
enum Metric : uint8_t { kTradeLag, kQuoteLag, kTradeBarLag, kQuoteBarLag, kAsof, kQuery };
inline constexpr size_t kMetrics = 6;
// The names in files.
inline constexpr std::array<std::string_view, kMetrics> kMetricNames = {
    "trade_lag", "quote_lag", "trade_bar_lag", "quote_bar_lag", "asof", "query"};
// The titles that the page shows.
inline constexpr std::array<std::string_view, kMetrics> kMetricTitles = {
    "Trade latency",     "Quote latency", "Trade bar latency",
    "Quote bar latency", "As-of join",    "All questions of a sample"};

}  // namespace tickstack::loadtest::report
