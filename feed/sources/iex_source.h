#pragma once

// A capture of IEX's TOPS, DEEP or DEEP+ as a source: docs/feeds/iex.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct IexOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;

  int64_t gap_wait_ms = kGapWaitMs;
};

}  // namespace tickstack::feed
