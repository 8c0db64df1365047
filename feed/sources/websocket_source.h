#pragma once

// Recorded websocket messages of a crypto exchange as a source: docs/feeds/crypto.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct WebsocketOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;
  // Amounts need not be whole, and ids of trades may be texts.
  MarketTypes Types() const override { return {Type::kFloat, Type::kList}; }

  std::string venue;               // The exchange; also the column venue.
  std::vector<std::string> merge;  // More files of the recording.
};

}  // namespace tickstack::feed
