#pragma once

// The state that a Subscriber keeps up to date: an RDB's tables, or an engine's running bars. The
// subscriber (subscriber.h) knows the wire and the log; the state knows what rows mean. They share
// a Position, so that each row counts once.
//
// Threads: the subscriber's loop calls everything; any thread may read the counters.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "table/schema.h"
#include "tplog/log_identity.h"
#include "tplog/position.h"

namespace tickstack::tplog {

struct SubscriptionCounters {
  std::atomic<uint64_t> connected{0};  // 1 while connected to the tickerplant.
  std::atomic<uint64_t> live{0};       // 1 while upds are taken as they are published.
  // 1 from the first time on that all messages of the log were applied; 0 again when the state is
  // emptied to replay another log.
  std::atomic<uint64_t> caught_up{0};
  std::atomic<uint64_t> messages_missing{0};  // Log messages that could not be read.
  std::atomic<uint64_t> starts_over{0};  // Times that the state was emptied to replay another log.

  // The subscriber or the state calls this before the state is emptied. A thread that sees
  // `starts_over` change (acquire) also sees that it has not caught up.
  void NoteStartOver() {
    caught_up.store(0, std::memory_order_relaxed);
    starts_over.store(starts_over.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

enum class LiveOutcome : uint8_t {
  kTaken,       // Accepted, or refused and counted.
  kDayEnded,    // The state is empty; the next upd belongs to the next log.
  kOutOfOrder,  // The upd's number is lower than an earlier one: subscribe again.
};

class SubscribedState {
 public:
  virtual ~SubscribedState() = default;

  // Receives the tickerplant's tables after every connection, before any of their rows.
  virtual void OnSchemas(std::span<const Schema> schemas) = 0;
  // Receives a message that the tickerplant published: (`upd; `table; x) with or without a number,
  // or (`.u.end; date).
  virtual LiveOutcome OnLive(std::span<const std::byte> body) = 0;
  // Receives message position().seq() of the log, and calls Position::OnReplayed. A message with
  // any verb counts as an upd.
  virtual void OnLogged(std::span<const std::byte> body) = 0;
  // Empties the state and resets its position, because another log follows.
  virtual void StartOver() = 0;
  virtual Position& position() = 0;
  virtual SubscriptionCounters& subscription() = 0;

  // The log that position() belongs to, as far as it is known.
  virtual const LogIdentity& log() const = 0;
  virtual void SetLog(LogIdentity log) = 0;
  // Returns how many messages a log must have if position() belongs to it. This is more than
  // position().seq() while a part of the state has to be filled again from the start of the log.
  virtual uint64_t LeastLogSeq() { return position().seq(); }
  // Returns a message number such that all rows of the state belong to earlier messages. Differs
  // from Position::FurthestSeq while a part of the state is being filled again.
  virtual uint64_t FurthestSeq() { return position().FurthestSeq(); }
  // True if position() and log() may come from an earlier process. Then the subscriber asks for the
  // log's first message, to identify the log.
  virtual bool OutlivesProcess() const { return false; }
  // True if the state recognises its log by IsSameLog, wherever that is. Otherwise a log at another
  // path is another log. Requires OutlivesProcess.
  virtual bool FollowsContent() const { return false; }
  // Returns a message of the log whose rows the state has, to recognise the log by; nullopt if it
  // knows none.
  virtual std::optional<KnownMessage> known_message() const { return std::nullopt; }
  // Called when the log has another message in this place. The state is emptied next.
  virtual void OnOtherMessage(uint64_t /*seq*/) {}

  // False while the state cannot take more rows, for example because it passes them on to a slower
  // receiver. The subscriber then stops reading and asks again every few ms. Messages that have
  // been read are still delivered: at most 8 MiB of the log.
  virtual bool HasRoom() { return true; }

  // Called when the replay is complete: from now on OnLive continues the log without a gap.
  virtual void OnReplayDone() {}
  // Called when every message of one read has been delivered.
  virtual void OnDrained() {}
};

}  // namespace tickstack::tplog
