#pragma once

// A day of Nasdaq TotalView-ITCH 5.0 as a source: docs/feeds/itch.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct ItchOptions final : MarketOptions {
  ItchOptions() { live.has_soup = true; }

  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;

  std::vector<std::string> AllTables() const override;

  std::string venue = "XNAS";  // BX and PSX send the same messages.
  std::string time_zone = "America/New_York";
  int64_t gap_wait_ms = kGapWaitMs;

 private:
  absl::StatusOr<std::unique_ptr<Source>> OpenLive() const;
};

}  // namespace tickstack::feed
