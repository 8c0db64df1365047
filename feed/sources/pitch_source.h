#pragma once

// A day of Cboe's PITCH as a source: docs/feeds/pitch.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct PitchOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;

  std::string venue = "BATS";  // BZX; Cboe's other exchanges send the same messages.
  std::string market = "equities";
  std::string time_zone = "America/New_York";
  int64_t gap_wait_ms = kGapWaitMs;
};

}  // namespace tickstack::feed
