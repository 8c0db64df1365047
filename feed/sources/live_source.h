#pragma once

// A feed of an exchange that is received live, as a source: docs/feeds/live.md.
//
//   lines -> LineReceiver -> PacketDecoder (arbiter) -> MarketRows -> RowSpool, kept -> Next
//
// Rows are numbered when they are collected. A batch is written to the spool before it is returned,
// and kept until the tickerplant has logged it, so a lost connection, a killed feed or a killed
// tickerplant loses and repeats none. What the lines sent while the feed was away is missing in the
// sequence numbers, and becomes rows of `gap`.
//
// If the tickerplant is away for so long that the kept rows have `keep_mib`, messages are read, but
// give no rows until half of that is logged. Their numbers become a row of `gap`. Lines whose
// sender waits for its reader lose none: from half of `keep_mib` on, they are not read until no
// more than a quarter of it is kept.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/logging.h"
#include "feed/live/line_receiver.h"
#include "feed/live/row_spool.h"
#include "feed/market/packet_reader.h"
#include "feed/sources/market_rows.h"
#include "feed/sources/market_source.h"

namespace tickstack::feed {

struct LiveSetup {
  std::unique_ptr<market::PacketReader> decoder;  // It reads no file.
  MarketRows rows;
  std::string source;  // Such as `itch`.
};

// Threads: one owner.
class LiveSource final : public Source, public LiveInput {
 public:
  // Opens the spool, and checks that the lines can be joined. Errors of these.
  static absl::StatusOr<std::unique_ptr<LiveSource>> Create(LiveSetup setup,
                                                            const MarketOptions& options);
  ~LiveSource() override;

  void Start(int64_t /*now_ns*/) override {}
  void MoveClock(int64_t ns) override { decoder_->MoveClock(ns); }
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  // The first call joins the lines. kDataLoss if the tickerplant has fewer rows than it said, or
  // more than the spool knows.
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  void OnLogged(const NameMap<int64_t>& rows_logged) override;
  const std::vector<std::string>& tables() const override { return rows_.tables(); }
  std::string RowsId() const override { return spool_->id(); }
  std::string Describe() const override { return description_; }
  SourceCounts Counts() const override;
  std::vector<LineStats> Lines() const override;
  LiveInput* live_input() override { return this; }

  // LiveInput:
  int fd() const override { return receiver_->fd(); }
  int64_t Receive(int64_t now_ns) override;

 private:
  using Stream = std::pair<std::string, std::string>;  // Channel and session.

  LiveSource(LiveSetup setup, const MarketOptions& options,
             std::unique_ptr<live::LineReceiver> receiver, std::unique_ptr<live::RowSpool> spool);
  void TakeDatagram(size_t line, const market::Datagram& datagram, int64_t recv_ns);
  void CheckRoom(int64_t now_ns);
  void RequestMissing(int64_t now_ns);
  void Collect(int64_t due_ns);
  void Spool(int64_t now_ns);
  absl::Status CheckRows(const NameMap<int64_t>& rows_done) const;
  std::vector<market::StreamPosition> ChangedPositions();
  bool IsDone(const live::SpoolBatch& batch) const;
  void ReportProblems();

  const std::unique_ptr<market::PacketReader> decoder_;
  MarketRows rows_;
  const std::unique_ptr<live::LineReceiver> receiver_;
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
  size_t next_ = 0;                         // Index in kept_ of the next batch to return.
  NameMap<int64_t> rows_done_;              // Rows that are logged.
  bool drops_ = false;                      // Too much is kept.
  bool pauses_ = false;                     // Lines whose sender waits are not read.
  std::vector<int64_t> bad_;                // By line: packets that do not fit.
  const bool requests_;                     // A server is asked for missing messages.
  int64_t requested_ns_ = 0;                // When it was last asked for all that is missing.
  std::map<std::string, uint64_t> wanted_;  // By session: the number that it was last asked for.
  int64_t problems_reported_ = 0;
  LogLimit problem_limit_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
