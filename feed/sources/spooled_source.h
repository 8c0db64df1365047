#pragma once

// What all sources have in common that receive live: they keep rows until the tickerplant has
// logged them (docs/feeds/live.md).
//
//   lines -> decoder -> MarketRows -> RowSpool, kept -> Next
//
// Rows are numbered when they are collected. A batch is written to the spool before it is returned,
// and kept until the tickerplant has logged it, so a lost connection, a killed feed or a killed
// tickerplant loses and repeats none.
//
// If the tickerplant is away for so long that the kept rows have `keep_mib`, messages give no rows
// until half of that is logged. Lines whose sender waits for its reader lose none: from half of
// `keep_mib` on, they are not read until no more than a quarter of it is kept.
//
// A derived class has the lines and the decoder, and gives its events to rows().

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/logging.h"
#include "feed/live/row_spool.h"
#include "feed/market/event_reader.h"
#include "feed/sources/market_rows.h"
#include "feed/sources/market_source.h"

namespace tickstack::feed {

// Threads: one owner.
class SpooledSource : public Source, public LiveInput {
 public:
  void Start(int64_t /*now_ns*/) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) final;
  int64_t next_due_ns() const final;
  // The first call calls Join. kDataLoss if the tickerplant has fewer rows than it said, or more
  // than the spool knows.
  absl::Status Rewind(const NameMap<int64_t>& rows_done) final;
  void OnLogged(const NameMap<int64_t>& rows_logged) final;
  const std::vector<std::string>& tables() const final { return rows_.tables(); }
  std::string RowsId() const final { return spool_->id(); }
  std::string Describe() const final { return description_; }
  LiveInput* live_input() final { return this; }

 protected:
  SpooledSource(MarketRows rows, const MarketOptions& options, std::string description,
                std::unique_ptr<live::RowSpool> spool);

  // Begins to receive.
  virtual absl::Status Join() = 0;
  // Returns how far the messages are decoded whose events were given to rows().
  virtual std::vector<market::StreamPosition> Positions() const = 0;
  // From now on, lines whose sender waits for its reader are not read, or are read again.
  virtual void SetPaused(bool /*paused*/) {}
  // From now on, messages give no rows, or give them again.
  virtual void SetDrops(bool drops, int64_t now_ns) = 0;
  virtual const market::MessageCounts& MessagesCounted() const = 0;

  // Returns the positions of the last start. Call it once.
  std::vector<market::StreamPosition> Continue();
  bool is_receiving() const { return joined_ && error_.ok(); }
  bool drops() const { return drops_; }
  MarketRows& rows() { return rows_; }
  // Notes that messages were decoded which were due then.
  void Collect(int64_t due_ns);
  // Begins or ends to pause lines and to drop messages, by what is kept.
  void CheckRoom(int64_t now_ns);
  // Writes a record if it is time, and reports what does not fit. Returns when to call it again.
  int64_t Finish(int64_t now_ns);
  // Writes what was collected, and ends with an error, which Next returns.
  void Fail(const absl::Status& error, int64_t now_ns);
  // Writes what was collected. An orderly stop leaves no row out: the derived class calls this when
  // it is destroyed.
  void Stop();

 private:
  using Stream = std::pair<std::string, std::string>;  // Channel and session.

  void Spool(int64_t now_ns);
  absl::Status CheckRows(const NameMap<int64_t>& rows_done) const;
  std::vector<market::StreamPosition> ChangedPositions();
  bool IsDone(const live::SpoolBatch& batch) const;
  void ReportProblems();

  MarketRows rows_;
  const std::unique_ptr<live::RowSpool> spool_;
  const int64_t batch_rows_;
  const size_t keep_bytes_max_;
  const std::string description_;

  bool joined_ = false;
  absl::Status error_;
  int64_t pending_due_ns_ = kNeverDue;  // When the first row in rows_ arrived; kNeverDue: none.
  int64_t spooled_ns_ = 0;              // When the last record was written.
  bool has_news_ = false;               // Messages were received since then.
  std::map<Stream, uint64_t> spooled_seqs_;  // The positions in the spool.

  std::deque<live::SpoolBatch> kept_;  // Not logged yet.
  size_t kept_bytes_ = 0;
  size_t next_ = 0;             // Index in kept_ of the next batch to return.
  NameMap<int64_t> rows_done_;  // Rows that are logged.
  bool pauses_ = false;         // Lines whose sender waits are not read.
  bool drops_ = false;          // Too much is kept.
  int64_t problems_reported_ = 0;
  LogLimit problem_limit_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
