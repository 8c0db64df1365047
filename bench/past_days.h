#pragma once

// A generated database as the benches of history read it without the query language: where its
// columns lie, and what the answers to the questions are by their definitions.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/database.h"
#include "disk/held_bytes.h"
#include "table/symbols.h"

namespace tickstack::bench {

inline constexpr int64_t kSecondNs = 1'000'000'000;

// The quotes or trades of one day, sorted by symbol and time. Spans live as long as PastDays.
struct PastRows {
  int32_t date = 0;
  std::vector<SymbolId> sym;
  std::span<const int64_t> time;
  std::span<const uint8_t> ex;
  std::span<const double> bid, ask, price;  // Bid and ask of quotes, prices of trades.
  std::span<const int64_t> bsize;
};

// The sums of which averages, deviations and weighted averages are made.
struct SymbolSums {
  double count = 0, sum = 0, squares = 0;  // Of bids; squares of the differences to the average.
  double weights = 0, products = 0;        // Of bids by their sizes.
};

class PastDays {
 public:
  // Opens the database, and every column that the questions are about.
  static absl::StatusOr<std::unique_ptr<PastDays>> Open(const std::string& root);

  const std::vector<PastRows>& quotes() const { return quotes_; }  // By day, ascending.
  const std::vector<PastRows>& trades() const { return trades_; }
  size_t quote_rows() const { return quote_rows_; }
  const SymbolTable& symbols() const { return database_->domains()->symbols(); }
  std::string NameOf(SymbolId id) const { return std::string(symbols().NameOf(id)); }

  // Every hundredth symbol by the number of its quotes, from the tenth on: 1 % of them.
  std::vector<SymbolId> Basket() const;
  // By symbol of the basket, those quotes of all days whose time of day is in [first_ns, last_ns].
  std::map<SymbolId, SymbolSums> BasketSums(std::span<const SymbolId> basket, int64_t first_ns,
                                            int64_t last_ns) const;
  std::map<SymbolId, SymbolSums> SumsBySymbol() const;
  // After each quote of a day: the best bid and the best ask of its symbol over all exchanges.
  struct Best {
    double bid, ask;  // NaN: none.
  };
  static std::vector<Best> BestQuotes(const PastRows& quotes);
  // For each trade of a day the row of the last quote of its symbol until its time; -1: none.
  static std::vector<int64_t> Prevailing(const PastRows& trades, const PastRows& quotes);

 private:
  PastDays() = default;
  absl::Status Read(std::string_view table, std::vector<PastRows>& days);

  std::shared_ptr<const Database> database_;
  // Where the spans point to.
  std::vector<std::shared_ptr<const ColumnFile>> files_;
  std::vector<HeldBytes> held_;
  std::vector<PastRows> quotes_, trades_;
  size_t quote_rows_ = 0;
};

}  // namespace tickstack::bench
