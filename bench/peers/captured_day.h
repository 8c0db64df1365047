#pragma once

// The day that bench/peers asks all systems about: the simulated market of the feed, ten quotes to
// a trade, spread over 6.5 hours and captured as an RDB captures it. The same rows go to three
// places: tables of this process, a tickerplant log for an RDB to replay, and files of raw columns
// for the other systems.
//
// Times are truncated to whole milliseconds, as in many archives of ticks. So a busy symbol has
// several quotes with the same time, and a join that takes the wrong one is detected.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "feed/sources/source.h"
#include "mem/tier.h"
#include "query/query.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::bench {

// 2020.03.09D13:30, New York's 09:30.
inline constexpr int64_t kMarketOpenNs = 637'075'800 * kNsPerSecond;
inline constexpr int64_t kMarketDayNs = 23'400 * kNsPerSecond;
inline constexpr int64_t kStampNs = 1'000'000;  // Resolution of the truncated times.

struct CapturedDayOptions {
  int64_t quotes = 30'000'000;  // A multiple of 2,400; there are a tenth as many trades.
  int64_t symbols = 8'000;
  uint64_t seed = 1;
  std::string log_path;  // Empty: no log.
};

// Threads: one owner fills it; afterwards any thread may query it.
class CapturedDay final : public query::Environment {
 public:
  // Fills the tables, and the log if it has a path. kInvalidArgument for options out of range, or
  // the error of the table or log that did not accept a row. Cost: about 100 ns per row.
  static absl::StatusOr<std::unique_ptr<CapturedDay>> Make(const CapturedDayOptions& options);

  // Writes one file for each column, such as `quote.bid`, with little-endian elements in arrival
  // order (symbols as int32 numbers), and `symbols`: their names in the order of the numbers, one
  // per line.
  absl::Status WriteColumns(const std::string& directory) const;

  std::optional<Snapshot> FindTable(std::string_view name) override;
  std::vector<std::string> TableNames() override { return {"quote", "trade"}; }
  int64_t NowNs() override { return kMarketOpenNs + kMarketDayNs; }

 private:
  CapturedDay();
  absl::Status Fill(const CapturedDayOptions& options);
  absl::Status WriteTable(const std::string& directory, const Table& table) const;

  std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::shared_ptr<Table> trade_, quote_;
};

}  // namespace tickstack::bench
