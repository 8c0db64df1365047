#pragma once

// A CSV file of Tardis: one kind of data of a crypto exchange and day. Its header names the
// columns, and so the kind:
//
//   incremental_book_L2      is_snapshot, side, price, amount: the amount at a price; 0 removes it
//   trades                   id, side, price, amount
//   quotes, book_ticker      ask_amount, ask_price, bid_price, bid_amount
//   book_snapshot_N          asks[0].price, asks[0].amount, bids[0].price, bids[0].amount, ...
//
// each after exchange, symbol, timestamp (by the exchange) and local_timestamp (of receipt), in us
// since 1970 UTC. Fields are not quoted; an empty one is null. Each line has an end, since a number
// that is cut off is a number too.
//
// Amounts need not be whole, and ids of trades may be texts, so the events have `amount` and
// `id_text` (feed/market/events.h).

#include <memory>
#include <string>
#include <vector>

#include "base/string_map.h"
#include "feed/market/book_view.h"
#include "feed/market/header_columns.h"
#include "feed/market/text_reader.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: 100 bytes for each symbol; in a file of books, also its levels.
class TardisFile final : public TextReader {
 public:
  static constexpr size_t kSymbolsMax = size_t{1} << 16;
  static constexpr size_t kLevelsMax = 100;  // Levels of a side in a file of books.

  // kDataLoss, with the file, if the header lacks a column, or is of no known kind. Errors of
  // ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<TardisFile>> Open(const std::string& path);

 private:
  // By these letters, records are counted.
  enum class Kind : char { kChanges = 'L', kTrades = 'T', kQuotes = 'Q', kBooks = 'B' };

  struct Symbol {
    bool in_snapshot = false;  // Its last line was one of a snapshot.
    BookView view;
  };
  // What the last line has, as far as its kind does.
  struct Row {
    Symbol* symbol = nullptr;
    bool is_snapshot = false;
    char side = ' ';
    double price = kNullPrice, amount = kNullPrice;
    double ask = kNullPrice, ask_amount = kNullPrice;
  };

  explicit TardisFile(const std::string& path) : TextReader(path, {true, false, true}) {}

  absl::Status TakeHeader(std::string_view line) override;
  absl::Status FindColumns(std::string_view line);
  absl::Status FindLevels();
  Why Parse(std::string_view line, Record& record) override;
  Why ParseHead(Record& record);
  Why ParseChange();
  Why ParseTrade();
  Why ParseQuote();
  Why ParseBook();
  void Emit(const Record& record, EventSink& sink) override;
  void EmitChange(const EventHead& head, EventSink& sink);
  bool NextIsOfSameMessage();
  Symbol* FindSymbol(std::string_view name);
  std::string_view Field(size_t needed) const { return fields_[positions_[needed]]; }

  HeaderColumns columns_;
  Kind kind_ = Kind::kTrades;
  std::vector<size_t> positions_;  // Positions of the needed columns.
  std::vector<std::string_view> fields_, next_fields_;
  Row row_;
  std::vector<PriceLevel> bids_, asks_;
  StringMap<std::unique_ptr<Symbol>> symbols_;
};

}  // namespace tickstack::feed::market
