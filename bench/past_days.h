#pragma once

// Reads a generated database without the query language, for benchmarks of queries on past days. It
// returns columns as they are in the files, and computes the expected answers to some queries
// straight from their definitions.

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
#include "disk/pinned_bytes.h"
#include "table/symbols.h"

namespace tickstack::bench {

inline constexpr int64_t kSecondNs = 1'000'000'000;

// The quotes or trades of one day, sorted by symbol and time. Spans are valid as long as PastDays.
struct PastRows {
  int32_t date = 0;
  std::vector<SymbolId> sym;
  std::span<const int64_t> time;
  std::span<const uint8_t> ex;
  std::span<const double> bid, ask, price;  // Bids and asks of quotes; prices of trades.
  std::span<const int64_t> bsize;
};

// Sums over the quotes of a symbol, for the average, deviation and weighted average of its bids.
struct SymbolSums {
  // Number of bids, their sum, and the sum of (bid - average bid)^2, which only SumsBySymbol
  // computes.
  double count = 0, sum = 0, squares = 0;
  double weights = 0, products = 0;  // Sums of the bid size, and of bid size times bid.
};

class PastDays {
 public:
  // Opens the database, and every column that the benches use.
  static absl::StatusOr<std::unique_ptr<PastDays>> Open(const std::string& root);

  const std::vector<PastRows>& quotes() const { return quotes_; }  // By day, ascending.
  const std::vector<PastRows>& trades() const { return trades_; }
  size_t quote_rows() const { return quote_rows_; }
  const SymbolTable& symbols() const { return database_->domains()->symbols(); }
  std::string NameOf(SymbolId id) const { return std::string(symbols().NameOf(id)); }

  // Returns 1 % of the symbols: every hundredth one in the order of quote counts, starting with the
  // tenth.
  std::vector<SymbolId> Basket() const;
  // Returns sums by symbol, over the quotes of the basket's symbols between the times of day
  // first_ns and last_ns (inclusive) of all days.
  std::map<SymbolId, SymbolSums> BasketSums(std::span<const SymbolId> basket, int64_t first_ns,
                                            int64_t last_ns) const;
  // Returns sums by symbol, over all quotes.
  std::map<SymbolId, SymbolSums> SumsBySymbol() const;
  struct Best {
    double bid, ask;  // NaN if there is none.
  };
  // Returns for each quote the best bid and ask of its symbol over all exchanges after that quote.
  static std::vector<Best> BestQuotes(const PastRows& quotes);
  // Returns, for each trade of a day, the row of the last quote of its symbol at or before the
  // trade's time; -1 if there is none.
  static std::vector<int64_t> Prevailing(const PastRows& trades, const PastRows& quotes);

 private:
  PastDays() = default;
  absl::Status Read(std::string_view table, std::vector<PastRows>& days);

  std::shared_ptr<const disk::Database> database_;
  // Hold the memory to which the spans of quotes_ and trades_ point.
  std::vector<std::shared_ptr<const disk::ColumnFile>> files_;
  std::vector<disk::PinnedBytes> held_;
  std::vector<PastRows> quotes_, trades_;
  size_t quote_rows_ = 0;
};

}  // namespace tickstack::bench
