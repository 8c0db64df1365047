#pragma once

// A simulated market (feed/sim_market.h) as a source: trades and quotes in the default schemas.
//
// Updates are numbered; with ten quotes to one trade, number e is a trade if e % 11 == 10, else a
// quote. Update e is due e / rate seconds after the start (feed/pace.h), and its `time` column has
// that time: it is never returned early, and if the feed is late (no connection, a full queue, a
// busy machine) it keeps the time at which it was due. So a latency measured from it includes all
// delays. With rate 0, an update is due when it is made.
//
// A batch has the due rows of one table, with ascending times. The rows of both tables come in
// windows: the quotes of some hundred or thousand updates, then the trades in the same range.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "feed/sources/pace.h"
#include "feed/sources/sim_market.h"
#include "feed/sources/source_options.h"

namespace tickstack::feed {

struct SimOptions final : SourceOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;

  std::string profile = "march2020";  // The only one so far.
  double rate = 48'000;               // Updates per second; 0: as fast as possible.
  std::vector<PacePhase> phases;      // Replace `rate`, and are repeated in a cycle.
  // The source has rate * seconds updates, or 48,000 * seconds if rate is 0; 0: no end.
  double seconds = 1'800;
  int64_t rows = 0;               // Total updates, instead of rate * seconds.
  int64_t quotes_per_trade = 10;  // 1 to 1,000.
  int64_t symbols = 8'000;        // 1 to 65,536.
  uint64_t seed = 1;
  int64_t batch_rows = 2'400;  // Largest number of rows in a message.
  double speed = 0;            // Multiple of the rate; 0 is 1.
  // Limits on the rows of each table; -1: no limit. These two are set by programs, not by options.
  int64_t quotes_max = -1;
  int64_t trades_max = -1;
};

class SimSource final : public Source {
 public:
  // kInvalidArgument for an option out of range, with the valid range.
  static absl::StatusOr<std::unique_ptr<SimSource>> Create(const SimOptions& options);

  void Start(int64_t now_ns) override;
  void MoveClock(int64_t ns) override { start_ns_ += ns; }
  // Cost: about 30 ns per row, including the encoding; allocates nothing after the first batch.
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  // Cost of a row that is left out: 3 to 4 ns.
  bool Select(size_t column, const std::function<bool(std::string_view)>& is_wanted) override;
  // O(1).
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override;

  // Number of updates in total; kInfinityLong without end.
  int64_t events_end() const { return events_end_; }

 private:
  SimSource(const SimOptions& options, std::optional<Pace> pace, int64_t events_end);
  // Return the rows of each table before an event, and the event of a row.
  int64_t TradesBefore(int64_t event) const { return event / (quotes_per_trade_ + 1); }
  int64_t QuotesBefore(int64_t event) const { return event - TradesBefore(event); }
  int64_t EventOfTrade(int64_t row) const {
    return row * (quotes_per_trade_ + 1) + quotes_per_trade_;
  }
  int64_t EventOfQuote(int64_t row) const { return row + row / quotes_per_trade_; }
  int64_t DueNs(int64_t event) const;
  int64_t DueEnd(int64_t now_ns) const;  // The first event that is not due yet.
  bool OpenWindow(int64_t now_ns);
  const FeedBatch* EmitQuotes();
  const FeedBatch* EmitTrades();
  // Fill rows_ with rows of an open window, as many as a message may have. They return the row
  // after the last one that was looked at.
  int64_t AddQuotes();
  int64_t AddTrades();
  void AddRow(int64_t event);
  // Adds the chosen rows of [row, end), the first of which is this event; `event_after` returns the
  // event of the next row.
  template <typename EventAfter>
  int64_t AddChosen(int64_t row, int64_t end, int64_t event, const EventAfter& event_after);
  std::byte* PutTimesAndSymbols(std::byte* at) const;
  const FeedBatch* Emit(std::string_view table, int64_t& next_row, int64_t end_row,
                        int64_t last_event, const std::byte* end);

  // A drawn update: 16 bytes, so that a batch of 2,400 stays in the first-level cache while its
  // columns are written one after the other.
  struct Row {
    int64_t event;
    int32_t bid_cents;
    SimMarket::Draw draw;
  };

  SimMarket market_;
  std::vector<std::string> tables_{"trade", "quote"};
  int64_t batch_rows_;
  int64_t window_rows_;          // Quotes of a window: more if few symbols are chosen.
  std::vector<uint8_t> wanted_;  // By symbol; empty: all are.
  int64_t quotes_per_trade_;
  int64_t events_end_;
  int64_t quotes_end_, trades_end_;  // Rows from here on are left out.
  std::optional<Pace> pace_;         // nullopt: as fast as possible.
  int64_t start_ns_ = 0;             // When update start_event_ was due.
  int64_t start_event_ = 0;

  int64_t next_event_ = 0;  // Start of the next window.
  int64_t next_quote_ = 0;  // The next quote to return.
  int64_t next_trade_ = 0;
  int64_t window_quote_end_ = 0;  // End of the rows in the open window.
  int64_t window_trade_end_ = 0;
  int64_t window_ns_ = 0;  // When the window was opened: the time of its rows if the rate is 0.

  std::vector<Row> rows_;         // Rows of the current batch.
  std::vector<uint32_t> chosen_;  // Their positions, if some symbols are left out.
  ByteBuffer data_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
