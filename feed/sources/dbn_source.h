#pragma once

// Files of Databento's DBN as a source: docs/feeds/dbn.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct DbnOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;

  std::vector<std::string> AllTables() const override;
};

}  // namespace tickstack::feed
