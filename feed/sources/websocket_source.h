#pragma once

// Websocket messages of a crypto exchange as a source, recorded or live: docs/feeds/crypto.md.

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

  // Of messages that are received live:
  std::string subscribe;              // Texts that are sent after each connect: one on each line.
  std::vector<std::string> snapshot;  // Requests of books by HTTP.
  std::string ca;  // PEM file of roots that sign the servers' certificates; empty: the system's.
  int64_t silence_s = 30;  // Silence in s after which it connects again.
};

}  // namespace tickstack::feed
