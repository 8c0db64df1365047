#pragma once

// A capture of CME's MDP 3.0 as a source: docs/feeds/mdp3.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct Mdp3Options final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;

  std::string venue = "XCME";
  std::vector<std::string> channels;  // A text for each channel: as for ChannelLines.
  int64_t gap_wait_ms = kGapWaitMs;
};

}  // namespace tickstack::feed
