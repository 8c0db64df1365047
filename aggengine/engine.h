#pragma once

// The aggregation engine: applies upds, replays and ends of day to the bars, and decides which of
// their rows are to be published. It has no sockets and no timer: tplog/subscriber.h drives it from
// the wire and the log, and aggengine_service.h sends its messages.
//
//   upd of a source -> BarSource: every Bars of it, its histories -> changed rows
//                                                                             |
//   log: rows of bars that were published -> need not be published again      v
//   NextMessage: (`.u.upd; `trade_minute; columns), sync: its answer says that it is logged
//
// At any moment the bars are the result of one pass over the rows received so far, in the order of
// their times. Publications are idempotent: the whole row of a bar, by its key. A row is published
// again until it is answered, and after a restart only if it differs from the logged one.
//
// Threads: one owner.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/bar_source.h"
#include "aggengine/bars.h"
#include "base/byte_buffer.h"
#include "base/duration_buckets.h"
#include "base/logging.h"
#include "base/name_map.h"
#include "base/time.h"
#include "mem/tier.h"
#include "table/symbols.h"
#include "table/value.h"
#include "tplog/subscribed_state.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::aggengine {

struct EngineOptions {
  std::vector<BarSpec> bars;
  // Limit on the memory of all histories together (step_history.h).
  size_t history_bytes = SIZE_MAX;
};

struct EngineCounters {
  uint64_t messages = 0;  // Upds received from the tickerplant.
  // Received rows of sources; the next fields are counted when they are taken.
  uint64_t rows_in = 0;
  uint64_t rows_replayed = 0;
  uint64_t rows_late = 0;          // Rows that are older than an earlier row of their symbol.
  uint64_t rows_without_time = 0;  // Rows in no bar.
  uint64_t rows_refused = 0;       // Rows missing in bars because a tier was full.
  uint64_t rows_forgotten = 0;     // Rows too late for their time-weighted mean (step_history.h).
  uint64_t upds_refused = 0;       // Damaged, or with types that do not fit.
  uint64_t rows_out = 0;           // Sent rows of bars.
  uint64_t rows_out_again = 0;     // Rows sent again after a lost connection, included in rows_out.
  uint64_t messages_out = 0;
  uint64_t messages_out_refused = 0;  // Answered by an error.
  uint64_t days_ended = 0;
};

class Engine final : public tplog::SubscribedState {
 public:
  static constexpr size_t kMessageRowsMax = 8192;
  static constexpr size_t kUnansweredMax = 16;  // Messages in flight; at this number, none is sent.
  // Added rows are taken when there are kRowsTogether, or after kGatherNs while rows arrive,
  // because runs of a symbol are then longer. NextMessage takes them before it publishes.
  static constexpr size_t kRowsTogether = 32768;
  static constexpr int64_t kGatherNs = 10'000'000;

  // Tier and clock must outlive the engine. If the tickerplant lacks the source of some bars, or
  // has their table with another schema, these bars are not made, and an error is logged.
  Engine(EngineOptions options, mem::Tier* tier, const Clock* clock);
  ~Engine() override;

  // The tables to subscribe to.
  std::vector<std::string> Sources() const;

  // ---- SubscribedState
  void OnSchemas(std::span<const Schema> schemas) override;
  tplog::LiveOutcome OnLive(std::span<const std::byte> body) override;
  void OnLogged(std::span<const std::byte> body) override;
  void StartOver() override;
  tplog::Position& position() override { return position_; }
  tplog::SubscriptionCounters& subscription() override { return subscription_; }
  const tplog::LogIdentity& log() const override { return log_; }
  void SetLog(tplog::LogIdentity log) override { log_ = std::move(log); }

  void OnReplayDone() override {
    if (lacks_rows()) ReportMissing();
    if (on_replay_done_) on_replay_done_();
    OnDrained();
  }
  void OnDrained() override {
    if (clock_->MonotonicNs() - taken_ns_ >= kGatherNs) TakeAdded();
    if (progress_) progress_();
  }
  bool is_live() const { return subscription_.live.load(std::memory_order_relaxed) != 0; }
  // True if messages of the log could not be read: bars would be wrong, so none are published until
  // the day ends or the engine starts over.
  bool lacks_rows() const {
    return subscription_.messages_missing.load(std::memory_order_relaxed) != missing_before_;
  }

  // ---- Publishing

  // The day that the tickerplant will end once our final rows are published and answered; nullopt
  // if it is not ending a day.
  std::optional<int32_t> closing_date() const { return closing_date_; }
  void OnClosed() { closing_date_.reset(); }
  // Sets a function that is called when rows were taken and when the subscription goes live: the
  // moment to publish.
  void OnProgress(std::function<void()> progress) { progress_ = std::move(progress); }
  // Sets a function that is called each time before the subscription goes live.
  void SetOnReplayDone(std::function<void()> live) { on_replay_done_ = std::move(live); }
  bool has_changes() const;
  // Takes the added rows that have not been taken yet.
  void TakeAdded();
  // Returns a whole sync message with changed rows. nullopt if nothing differs from what was
  // published, or if too many messages are unanswered.
  std::optional<ByteBuffer> NextMessage();
  // Receives the answer to the oldest unanswered message.
  void OnAnswer(const absl::Status& answer);
  // Records that the connection was lost: unanswered messages may not have arrived, and are sent
  // again.
  void OnLinkLost();
  size_t unanswered() const { return unanswered_.size(); }

  // Returns the answer to `.agg.stats[]`: a dictionary of longs. Waiting rows count only in
  // `rows_in`.
  //   live, connected, seq     of the subscription
  //   incomplete               1 if no bars are published because rows are missing
  //   every EngineCounters     by its name
  //   bars                     number of records; also history_rows and bytes
  //   rows_waiting, messages_unanswered
  //   state_bytes              bytes in the tier, whose touched DRAM is state_resident_bytes; the
  //                            index in DRAM has state_index_bytes
  //   lag_ns, lag_ns_max       from the time of the newest row until its bars were sent, for the
  //                            last and the slowest message; null for replayed days and for times
  //                            of day
  // If `asks_kernel` is false, state_resident_bytes is null: the answer takes microseconds.
  Value Stats(bool asks_kernel = true) const;
  // The lags since the process started.
  DurationBuckets::Counts LagBuckets() const { return lag_buckets_.Read(); }
  const EngineCounters& counters() const { return counters_; }

 private:
  struct Unanswered {
    Bars* bars;
    std::vector<BarRecord*> records;
  };
  enum class Origin : uint8_t { kPublished, kLog };

  void ReportMissing() const;
  bool TakeUpd(std::span<const std::byte> body, Origin origin);
  absl::Status AddRows(BarSource& source, const BatchView& batch);
  void TakeAdded(BarSource& source);
  void TakeOwnRows(Bars& bars, const BatchView& batch);
  bool MakeBars(const BarSpec& spec, std::span<const Schema> schemas);
  void Refuse(std::string_view table, const absl::Status& why);
  void RecordLag();
  size_t HistoryBudget() const;

  const EngineOptions options_;
  mem::Tier* const tier_;
  const Clock* const clock_;
  SymbolTable symbols_;
  std::vector<std::unique_ptr<BarSource>> sources_;
  NameMap<BarSource*> source_of_;  // By table.
  NameMap<Bars*> bars_of_;         // By table of bars.
  std::vector<Schema> known_;      // The schemas when sources and bars were made.
  size_t next_bars_ = 0;           // The bars that publish next; they take turns.

  tplog::Position position_;
  tplog::LogIdentity log_;
  tplog::SubscriptionCounters subscription_;
  uint64_t missing_before_ = 0;  // Messages that were missing when the engine last started over.
  wire::UpdDecoder decoder_;
  wire::UpdRows upd_rows_;
  std::vector<SymbolId> own_symbols_;
  std::deque<Unanswered> unanswered_;
  std::function<void()> progress_;
  std::function<void()> on_replay_done_;
  std::optional<int32_t> closing_date_;
  bool again_ = false;  // True while unanswered messages are sent again.
  EngineCounters counters_;
  int64_t taken_ns_ = INT64_MIN / 2;  // Monotonic time at which all rows were last taken.
  int64_t newest_ns_ = INT64_MIN;     // Latest time of rows received since the last message.
  std::optional<int64_t> lag_ns_;
  std::optional<int64_t> lag_ns_max_;
  DurationBuckets lag_buckets_;
  LogLimit refused_limit_;
};

}  // namespace tickstack::aggengine
