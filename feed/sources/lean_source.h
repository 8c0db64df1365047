#pragma once

// QuantConnect LEAN tick archives as a source: real trades and quotes of US equities.
//
// PATH/aig/20131007_trade.zip and ..._quote.zip become rows of the default tables for each
// requested symbol, which is published in capitals. A symbol may lack one of the two archives.
//
//   order        by time; quotes before trades of the same time, so that the asof join of a trade
//                sees the quotes of its own millisecond; then symbols in the requested order; then
//                as in the file
//   time         the date and New York wall clock as a timestamp, without conversion to UTC
//   quote        a line has one side of one exchange's quote (the other side is 0,0). The published
//                row is that exchange's resulting quote with both sides; a side that has not
//                occurred that day is null (0n, 0N). Every line gives one row.
//   trade        stop is LEAN's mark for a suspicious trade
//   cond, mode   letters for LEAN's flags: feed/lean_rows.h
//
// Rows out of order within an archive are an error: the merge depends on the order.

#include <array>

#include "base/byte_buffer.h"
#include "feed/sources/columns.h"
#include "feed/sources/lean_archive.h"
#include "feed/sources/lean_rows.h"
#include "feed/sources/source_options.h"

namespace tickstack::feed {

struct LeanOptions final : SourceOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;

  std::string path;                  // The folder with a folder per symbol.
  std::vector<std::string> symbols;  // Folder names, `aig`; published in capitals.
  int64_t batch_rows = 2'400;        // Largest number of rows in a message.
  double speed = 0;                  // 1 is the original speed; 0: as fast as possible.
};

class LeanSource final : public Source {
 public:
  // kInvalidArgument for an invalid option, kNotFound if a symbol has neither archive, kDataLoss if
  // an archive cannot be opened.
  static absl::StatusOr<std::unique_ptr<LeanSource>> Create(const LeanOptions& options);

  void Start(int64_t now_ns) override;
  void MoveClock(int64_t ns) override { start_ns_ += ns; }
  // Cost: about 250 ns per row. Errors: kDataLoss with archive, line, found and expected, after the
  // rows before it were returned.
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  // Reads the archives from the start: O(rows done).
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override;

 private:
  enum Table : size_t { kTrade, kQuote, kTables };

  // One archive and its next line.
  struct Stream {
    Table table;
    size_t symbol;
    std::string path;
    std::unique_ptr<LeanArchive> archive;
    int64_t of_day_ns = 0;
    LeanTrade trade{};
    LeanQuote quote{};
  };
  // The current quote of an exchange in one symbol; null for sides that have not occurred.
  struct ExchangeQuote {
    double bid, ask;
    int64_t bid_size, ask_size;
  };
  struct Symbol {
    std::string name;
    std::array<ExchangeQuote, 26> exchanges;  // By letter.
  };

  LeanSource() = default;
  absl::Status AddSymbol(const LeanOptions& options, std::string_view date,
                         const std::string& symbol);
  absl::StatusOr<bool> Advance(Stream& stream);
  bool Later(size_t a, size_t b) const;
  void PushStream(size_t stream);
  absl::Status OpenStreams();
  int64_t DueNs(int64_t of_day_ns) const;
  void Fill(int64_t now_ns);
  void TakeRow(Stream& stream);
  void AppendTrade(const Symbol& symbol, const LeanTrade& trade);
  void AppendQuote(Symbol& symbol, const LeanQuote& quote);
  const FeedBatch* Emit(Table table);

  std::vector<std::string> tables_{"trade", "quote"};
  int64_t date_ns_ = 0;
  int64_t batch_rows_ = 0;
  double speed_ = 0;      // 0: every row is due immediately.
  int64_t start_ns_ = 0;  // When the row of start_of_day_ns_ was due.
  int64_t start_of_day_ns_ = 0;
  int64_t now_ns_ = 0;
  int64_t window_due_ns_ = 0;  // Due time of the first row in the lists.

  std::vector<Symbol> symbols_;
  std::vector<Stream> streams_;  // Quotes before trades, each in the order of the symbols.
  // Streams that are not at their end; the one with the next row is on top.
  std::vector<size_t> heap_;
  absl::Status error_;  // Error of the merge, reported after the rows before it.

  std::array<ColumnList, kTables> lists_{MakeTradeList(), MakeQuoteList()};
  std::array<int64_t, kTables> due_ns_{};     // Due time of the last row in each list.
  std::array<int64_t, kTables> next_row_{};   // Number of the next row that the merge yields.
  std::array<int64_t, kTables> rows_done_{};  // Rows with lower numbers are skipped.
  ByteBuffer data_;
  FeedBatch batch_;

  static ColumnList MakeTradeList();
  static ColumnList MakeQuoteList();
};

}  // namespace tickstack::feed
