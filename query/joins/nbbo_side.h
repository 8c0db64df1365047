#pragma once

// One side of the market, the bids or the asks, as nbbo reads and writes it: converts columns of
// prices and sizes to quotes, and best quotes to columns.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/joins/best_quotes.h"
#include "table/value.h"

namespace tickstack::query {

// Has the columns of one side, and the vectors of its best quotes.
class NbboSide {
 public:
  NbboSide(bool ask, Slice price, std::optional<Slice> size);

  SizeKind sizes() const { return sizes_; }
  absl::Status Reserve(size_t rows, Budget& budget);
  // Reads the quotes of rows [begin, begin + quotes.size()).
  void Read(size_t begin, std::span<BestQuotes::Quote> quotes) const;
  // Writes the best quotes of rows [begin, begin + best.size()). Several threads may call it at the
  // same time for different rows.
  void Write(size_t begin, std::span<const BestQuotes::Quote> best);
  Value TakePrices() { return Value::Vector(price_.type(), std::move(best_price_)); }
  Value TakeSizes() { return Value::Vector(size_type_, std::move(best_size_)); }

 private:
  bool ask_;
  Slice price_;
  std::optional<Slice> size_;
  Type size_type_ = Type::kLong;
  SizeKind sizes_ = SizeKind::kNone;
  ByteBuffer best_price_, best_size_;
};

}  // namespace tickstack::query
