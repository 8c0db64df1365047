#pragma once

// What a Subscriber keeps up to date: an RDB's tables, an engine's running bars. The subscriber
// (subscriber.h) knows the wire and the log, the state knows what rows mean; between them they
// agree on a Position, so that each row counts once.
//
// Threads: everything from the subscriber's loop; the counters are for any.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "table/schema.h"
#include "wire/position.h"

namespace tickstack::wire {

// Identifies the log that a position belongs to. Because paths are reused, on another day of a
// replay or after a cleanup, the log's first message is compared as well.
struct LogIdentity {
  std::string path;                           // Empty: none.
  std::optional<uint32_t> first_message_crc;  // CRC of its bytes; nullopt: not known yet.
  uint32_t cuts = 0;  // Power cuts that had shortened the log by then: `.u.cuts`.
  friend bool operator==(const LogIdentity&, const LogIdentity&) = default;
};

struct SubscriptionCounters {
  std::atomic<uint64_t> connected{0};         // 1 while the tickerplant's connection stands.
  std::atomic<uint64_t> live{0};              // 1 while upds are taken as they are published.
  std::atomic<uint64_t> messages_missing{0};  // Log messages that could not be read.
  std::atomic<uint64_t> starts_over{0};       // The state was emptied to replay another log.
};

enum class LiveOutcome : uint8_t {
  kTaken,       // Or refused and counted.
  kDayEnded,    // The state is empty; the next upd belongs to the next log.
  kOutOfOrder,  // Its number is behind one that came before: subscribe anew.
};

class SubscribedState {
 public:
  virtual ~SubscribedState() = default;

  // The tickerplant's tables, before any row of them, after every connection.
  virtual void OnSchemas(std::span<const Schema> schemas) = 0;
  // A message that the tickerplant published: (`upd; `table; x) with or without a number, or
  // (`.u.end; date).
  virtual LiveOutcome OnLive(std::span<const std::byte> body) = 0;
  // Message position().seq() of the log; Position::OnReplayed follows in here. Any verb is an upd.
  virtual void OnLogged(std::span<const std::byte> body) = 0;
  // Empties the state and its position: another log follows.
  virtual void StartOver() = 0;
  virtual Position& position() = 0;
  virtual SubscriptionCounters& subscription() = 0;

  // The log that position() belongs to, as far as it is known.
  virtual const LogIdentity& log() const = 0;
  virtual void SetLog(LogIdentity log) = 0;
  // Messages that a log has at least if position() belongs to it: more than position().seq() where
  // a part of the state has to be filled again from the log's beginning.
  virtual uint64_t LeastLogSeq() { return position().seq(); }
  // No row of the state is of this log message or of one after it: Position::FurthestSeq, also
  // where a part of the state is being filled again.
  virtual uint64_t FurthestSeq() { return position().FurthestSeq(); }
  // Whether position() and log() may come from the process before this one. Then the subscriber
  // asks what the log begins with, to know it again.
  virtual bool OutlivesProcess() const { return false; }

  // From now on OnLive follows the log without a gap.
  virtual void OnGoneLive() {}
  // Every message of one read has been handed on.
  virtual void OnDrained() {}
};

}  // namespace tickstack::wire
