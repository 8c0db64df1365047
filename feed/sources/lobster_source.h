#pragma once

// A message file of LOBSTER, with or without its orderbook file, as a source:
// docs/feeds/lobster.md.

#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct LobsterOptions final : MarketOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;
  std::vector<std::string> AllTables() const override;

  std::string book;    // The orderbook file; empty: there is none.
  std::string symbol;  // Empty: that of the file's name.
  std::string venue = "XNAS";
  std::string time_zone = "America/New_York";

 private:
  // Returns the symbol. kInvalidArgument if no option or name has it, or if the file is of another
  // day.
  absl::StatusOr<std::string> CheckName() const;
};

}  // namespace tickstack::feed
