#pragma once

// A recorded stream of an exchange as a source: paces its messages, collects their rows in batches,
// and reports what does not fit.
//
// Row n of a table depends on the file and the options only. A rewind reads the stream from the
// beginning up to the first row that is not done, in slices, so that the loop keeps running: Next
// returns nullptr, and the source is due, until it is found.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/logging.h"
#include "feed/market/event_reader.h"
#include "feed/sources/market_rows.h"
#include "feed/sources/source_options.h"

namespace tickstack::feed {

inline constexpr int64_t kGapWaitMs = 1'000;
inline constexpr int64_t kNsPerGapWaitMs = 1'000'000;

// Returns the option `gap_wait_ms` of sources that read captures.
SourceOption GapWaitOption(int64_t* field);

// Returns the counts of a reader by name, except those that are 0.
SourceCounts NamedCounts(const market::EventReader& reader);
// The same for a protocol whose types are names.
SourceCounts NamedCounts(const market::MessageCounts& counts);

// The options of sources that can be received live (live_source.h).
struct LiveOptions {
  std::vector<SourceOption> List();
  SourceOption KeepOption();
  SourceOption RequestOption();             // Of protocols that have requests.
  std::vector<SourceOption> SoupOptions();  // Of protocols that are sent by SoupBinTCP.
  bool is_on() const { return !lines.empty(); }

  // Such as 239.1.1.1:5000, 239.1.1.1:5000@eth1, soup:10.1.1.1:5000 or wss://host/path.
  std::vector<std::string> lines;
  std::string interface;         // Of lines without one; empty: the kernel chooses.
  std::string request;           // Server that is asked for missing messages; empty: none.
  std::string soup_credentials;  // File with the line user:password; empty: both are blank.
  std::string soup_session;      // Empty: the server's current one.
  bool has_soup = false;         // The protocol is sent by SoupBinTCP.
  int64_t keep_mib = 256;        // Rows that are kept until they are logged.
  int64_t receive_mib = 16;      // The kernel's buffer of each line.
};

// The options that all sources of recorded streams have.
struct MarketOptions : SourceOptions {
  absl::Status CheckMap() const override { return MapWanted().status(); }
  std::vector<Schema> Schemas() const override;

  std::string path;
  std::vector<std::string> tables;  // Which to publish; empty: all.
  std::vector<TableChange> map;     // What is changed in them.
  int64_t batch_rows = 2'400;       // Largest number of rows in a message.
  double speed = 0;                 // 1 is the original speed; 0: as fast as possible.
  LiveOptions live;                 // Of sources that list them.

 protected:
  // Returns the names of the tables that the source can publish, as in MarketSchemas().
  virtual std::vector<std::string> AllTables() const = 0;
  virtual MarketTypes Types() const { return {}; }
  // Returns those that it shall publish, as they are in the stack. CheckMap must have passed.
  std::vector<MappedTable> WantedTables() const;
  // Returns these options; `what` describes the file at `path`.
  std::vector<SourceOption> ListCommon(std::string_view what);
  // Checks these options.
  absl::Status CheckCommon(std::string_view what) const;
  // Returns `SOURCE.DATE.FILE`; FILE stands for the path, the tables, and `more`.
  std::string CommonRowsName(std::string_view source, std::string_view more) const;

 private:
  absl::StatusOr<std::vector<MappedTable>> MapWanted() const;
};

// Threads: one owner.
class MarketSource final : public Source {
 public:
  // Messages read by one call: some 5 ms.
  static constexpr int64_t kSliceMessages = 50'000;

  // `description` is what Describe() returns. Errors of the reader.
  static absl::StatusOr<std::unique_ptr<MarketSource>> Create(
      std::unique_ptr<market::EventReader> reader, MarketRows rows, const MarketOptions& options,
      std::string description);

  void Start(int64_t now_ns) override;
  void MoveClock(int64_t ns) override { start_ns_ += ns; }
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return rows_.tables(); }
  std::string Describe() const override { return description_; }
  SourceCounts Counts() const override;

 private:
  MarketSource(std::unique_ptr<market::EventReader> reader, MarketRows rows,
               const MarketOptions& options, std::string description);
  void Advance();
  void Fill(int64_t now_ns);
  int64_t DueNs() const;
  void ReportProblems();
  void ReportEnd();

  std::unique_ptr<market::EventReader> reader_;
  MarketRows rows_;
  const std::string description_;
  const int64_t batch_rows_;
  const double speed_;  // 0: every message is due immediately.

  int64_t start_ns_ = 0;                  // When the message of start_time_ns_ was due.
  std::optional<int64_t> start_time_ns_;  // nullopt: no row was made yet.
  int64_t now_ns_ = 0;                    // The time of the last call.
  int64_t time_ns_ = kNullLong;           // The latest time of a message, for pacing.
  bool has_next_ = false;                 // The reader is at a message that is not decoded yet.
  bool seeks_ = true;                     // No row was made since the last rewind.
  absl::Status error_;                    // Reported after the rows before it.
  int64_t window_due_ns_ = 0;             // Due time of the first collected row.
  int64_t last_due_ns_ = 0;               // Due time of the last collected row.
  bool collected_ = false;                // rows_ may have rows.
  bool end_reported_ = false;
  int64_t problems_reported_ = 0;
  LogLimit problem_limit_;
  ByteBuffer data_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
