#pragma once

// A file of NYSE Daily TAQ as a source: docs/feeds/taq.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct TaqOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;
  MarketTypes Types() const override;

  std::string kind;            // `trade`, `quote` or `nbbo`; empty: from the file's name.
  std::string sizes = "long";  // Or `float`, for volumes that are not whole.
  std::string time_zone = "America/New_York";
};

}  // namespace tickstack::feed
