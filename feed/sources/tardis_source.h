#pragma once

// A CSV file of Tardis as a source: docs/feeds/tardis.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct TardisOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;
  MarketTypes Types() const override { return {Type::kFloat, Type::kList}; }
};

}  // namespace tickstack::feed
