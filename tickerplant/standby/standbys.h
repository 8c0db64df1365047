#pragma once

// The leader's side of replication: sends every block to the standbys before it is logged here, and
// tells when it may be logged.
//
//   staged block --Offer--> standbys --.u.acked--> IsAcknowledged: log it, publish it, answer
//
// So the leader's log never has a row that a standby of the in-sync set lacks, and each member of
// that set can become the leader without a loss. Everything else here decides who is in the set:
//
//   catching up: fed from the leader's log, block by block, as fast as it acknowledges
//   live:        has everything logged, and is sent each block when it is offered
//   in sync:     live, and written to the in-sync set. Its acknowledgement is required.
//
// A standby is required from the moment when its name is sent to the in-sync set until a write
// without its name has succeeded, so that the set never has a member with fewer rows than were
// acknowledged. A standby that is lost, or acknowledges nothing for `timeout_ns` while its socket
// takes nothing of the block that it owes, leaves the set,
// unless fewer than `acknowledge` would remain: then nothing is logged until one is back, and
// whoever was in the set can still lead. A standby that joins with fewer rows than were logged has
// lost some, in a power cut or with its disk, and must not lead: it leaves the set first, however
// few remain, and gets its rows after that.
//
// A new leader's own log may end with blocks that its predecessor never logged. They count as
// logged when the whole in-sync set has them (is_settled). Until then the leader serves nobody.
//
// Memory: the blocks in flight, at most kInFlightBytes and one block, and for each standby that
// catches up the blocks that it has not acknowledged, at most kWindowBytes and one block.
//
// Threads: the tickerplant's.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "base/time.h"
#include "table/value.h"
#include "tickerplant/publisher.h"
#include "tickerplant/standby/in_sync_set.h"
#include "tickerplant/standby/replication.h"
#include "tickerplant/standby/replication_messages.h"
#include "tickerplant/tickerplant.h"
#include "tplog/tplog_blocks.h"

namespace tickstack::tickerplant {

struct StandbysOptions {
  std::string name;        // The leader's.
  uint64_t epoch = 0;      // Its number as a leader: each leader has a larger one.
  size_t acknowledge = 1;  // Standbys that must have a row before it is logged.
  int64_t timeout_ns = kNsPerSecond;
  MemberNames in_sync;           // The in-sync set that it begins with, without itself.
  std::string predecessor = {};  // The leader that it replaced: it need not be waited for.
};

class Standbys final : public Replication {
 public:
  static constexpr size_t kWindowBytes = size_t{4} << 20;
  // Bytes of blocks in flight above which no more are offered.
  static constexpr size_t kInFlightBytes = size_t{8} << 20;
  // Records of an index that are read in one turn of the loop: about a millisecond.
  static constexpr size_t kSliceBlocks = 4096;
  static constexpr size_t kMembersMax = 16;
  // A standby that catches up may need longer than the timeout for a window.
  static constexpr int64_t kCatchUpTimeoutNs = 30 * kNsPerSecond;
  // Time added to the timeout for each byte of the block that a standby owes: it reads, checks and
  // writes at least 100 MB/s.
  static constexpr int64_t kNsPerByte = 10;
  // Each standby is told this often how far the leader's log is, unless it has not read earlier
  // bytes, and answers. So both notice a dead connection, and it knows which of its rows are
  // logged.
  static constexpr int64_t kAliveNs = 100'000'000;
  static constexpr int64_t kTickNsMax = 50'000'000;  // A longer pause between ticks counts as this.
  static constexpr int64_t kWritePauseNs = 100'000'000;  // After a failed write of the set.

  // `plant`, `in_sync` and `clock` must outlive this. `on_progress` is called when IsAcknowledged
  // may have changed.
  Standbys(StandbysOptions options, const Tickerplant* plant, InSyncSet* in_sync,
           const Clock* clock, std::function<void()> on_progress);
  ~Standbys() override;

  // Takes a standby. Returns where it has to begin; it is fed from its first acknowledgement on,
  // which is of that place. kFailedPrecondition if its log is not a copy of the leader's, apart
  // from blocks at its end, or if the leader does not have that day's log; kInvalidArgument if it
  // has no member's name; kResourceExhausted if there are too many. Cost: a standby whose log ends
  // among the last kReplicaEndsMax blocks of today's log is found in memory; for others, reads the
  // index of the day up to their place.
  absl::StatusOr<ReplicaStart> Join(const ReplicaRequest& request, uint64_t connection,
                                    std::unique_ptr<Outlet> outlet);
  // True if a standby has joined on this connection.
  bool HasConnection(uint64_t connection) const;
  // kInvalidArgument if the connection is no standby's, or the place was not sent to it.
  absl::Status OnAck(uint64_t connection, const ReplicaAck& ack);
  void OnConnectionGone(uint64_t connection);
  // Feeds standbys that catch up, removes those that are silent, and updates the in-sync set. To be
  // called every few milliseconds.
  void Tick() override;

  // Replication:
  // Takes `.u.acked` of a standby that has joined, and so has the right to. It is not one of the
  // requests whose number per second is limited: those that are too many are dropped. Errors: those
  // of OnAck; kInvalidArgument if it cannot be parsed.
  std::optional<absl::Status> TakeMessage(uint64_t connection, const wire::ReceivedMessage& message,
                                          const std::optional<std::string_view>& verb) override;
  void OfferNextDay(int32_t date, int32_t next) override;
  absl::Status Offer(ReplicaPlace at, const tplog::TplogBlock& block) override;
  bool HasRoom() const override {
    return in_flight_bytes_ <= kInFlightBytes && in_flight_.size() < kBlocksMax;
  }
  bool IsAcknowledged(ReplicaPlace place) const override;
  void OnLogged(ReplicaPlace place) override;
  // The leader's own time, if it agrees with the clocks of the standbys, as far as they tell, or
  // have told within kClockKeptNs. Otherwise the median of all: of two clocks the earlier one,
  // since a day that has ended cannot be opened again. Cost: O(standbys).
  int64_t DayNs(int64_t now_ns) const override;
  static constexpr int64_t kClockToleranceNs = 60 * kNsPerSecond;
  static constexpr int64_t kClockKeptNs = kNsPerDay;

  // True once the whole in-sync set has the log with which this leader began. Its last blocks may
  // be of a leader that never logged them, so until then no client may be told of any row.
  bool is_settled() override;
  // True if the whole in-sync set is connected, and has answered within the timeout.
  bool has_everybody() const;
  // True if enough standbys are in sync to log rows.
  bool has_enough() const override;
  const MemberNames& in_sync() const { return in_sync_; }
  uint64_t epoch() const override { return options_.epoch; }
  bool is_cut_off() const override { return false; }
  void AddStats(SymbolVector& keys, std::vector<Value>& values) const override;
  size_t in_flight_bytes() const override { return in_flight_bytes_; }
  size_t in_flight_blocks() const { return in_flight_.size(); }

  // The state of a standby.
  struct Status {
    std::string name;
    std::string peer;
    std::string_view state;  // `joining`, `catching_up`, `live`, `in_sync` or `lost`.
    ReplicaPlace acked;
    uint64_t behind_messages = 0;  // All of the day's, if it is in an earlier day.
  };
  std::vector<Status> Statuses() const;

 private:
  struct InFlight {
    ReplicaPlace begin;
    ReplicaPlace end;
    std::shared_ptr<const ByteBuffer> message;
  };
  struct Sent {
    ReplicaPlace end;
    size_t bytes;
  };
  struct Member {
    std::string name;
    uint64_t connection = 0;
    std::unique_ptr<Outlet> outlet;
    bool started = false;  // It has acknowledged the place where it begins.
    bool live = false;
    bool must_leave = false;  // It gets nothing until it has left the in-sync set.
    ReplicaPlace sent;
    ReplicaPlace acked;
    std::deque<Sent> unacked;
    size_t unacked_bytes = 0;
    int64_t heard_ns = 0;     // MonotonicNs of its last progress, or of the first block after that.
    uint64_t sent_bytes = 0;  // Bytes that its socket had taken at the last Tick.
    int64_t told_ns = 0;      // MonotonicNs when it was told how far the leader's log is.
    bool owes_answer = false;                    // It has acknowledged nothing since.
    int64_t silent_ns = 0;                       // How long it has owed that, by ticks.
    std::unique_ptr<tplog::TplogBlocks> blocks;  // At `sent`, of the day of `sent`.
  };

  Member* Find(std::string_view name);
  const Member* Find(std::string_view name) const;
  Member* FindConnection(uint64_t connection);
  bool IsRequired(std::string_view name) const;
  ReplicaPlace logged() const;
  absl::StatusOr<ReplicaStart> PlaceOf(const ReplicaRequest& request, Member& member);
  void Send(Member& member, ReplicaPlace end, const std::shared_ptr<const ByteBuffer>& message);
  void SendToLive(InFlight block);
  absl::Status ReadOwnEnds();
  // The clock of a standby, also of one that is lost: the leader must not be left with its own
  // clock in the moment in which the standby connects anew.
  struct StandbyClock {
    int64_t offset_ns = 0;  // What it said last, less this process's MonotonicNs then.
    int64_t heard_ns = 0;   // MonotonicNs then.
  };
  bool FindOwnEnd(const std::vector<tplog::LogEnd>& ends, ReplicaStart& start) const;
  void NoteClock(std::string_view name, std::optional<int64_t> clock_ns);
  void NoteSending(Member& member);
  bool IsSilent(const Member& member) const;
  void Feed(Member& member);
  void TellPlace(Member& member);
  absl::StatusOr<bool> FeedBlock(Member& member);
  void GoLive(Member& member);
  void Drop(Member& member, const absl::Status& why);
  void RemoveDropped();
  void UpdateInSync();

  const StandbysOptions options_;
  const Tickerplant* const plant_;
  InSyncSet* const set_;
  const Clock* const clock_;
  const std::string tables_;  // The leader's: see tables_text.h.
  const std::function<void()> on_progress_;
  const int64_t began_ns_;
  const ReplicaPlace began_at_;
  bool is_settled_ = false;
  NameMap<StandbyClock> clocks_;  // At most kMembersMax.
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Member>> dropped_;  // Their connections are about to end.
  std::deque<InFlight> in_flight_;
  size_t in_flight_bytes_ = 0;
  // The ends of the last blocks of the leader's log of own_date_, as far as own_ has read it.
  std::unique_ptr<tplog::TplogBlocks> own_;
  int32_t own_date_ = 0;
  std::deque<tplog::LogEnd> own_ends_;
  MemberNames in_sync_;  // As it was written last, or found.
  MemberNames maybe_;    // Names of a write of which the outcome is not known.
  bool is_writing_ = false;
  int64_t write_again_ns_ = 0;
  int64_t ticked_ns_;  // MonotonicNs of the last Tick.
  // Expires with this object, so that later callbacks do nothing.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace tickstack::tickerplant
