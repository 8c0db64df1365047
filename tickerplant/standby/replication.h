#pragma once

// A leader's side of a replicated log: standbys (standbys.h), or a topic (topic_log.h).
//
// Threads: the tickerplant's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "table/value.h"
#include "tickerplant/standby/commit_gate.h"

namespace tickstack::wire {
struct ReceivedMessage;
}  // namespace tickstack::wire

namespace tickstack::tickerplant {

class Replication : public CommitGate {
 public:
  // To be called every few milliseconds.
  virtual void Tick() = 0;
  // Offers the end of the day `date`, for the day `next`; the place {next, 0} follows it.
  virtual void OfferNextDay(int32_t date, int32_t next) = 0;
  // True once the log with which this leader began is where it must be before rows are
  // acknowledged. Until then no client may be told of any row.
  virtual bool is_settled() = 0;
  // False: rows cannot be logged at the moment, so feeds are paused.
  virtual bool has_enough() const = 0;
  // False: feeds whose rows wait are not read, since no rows can be logged, or too many wait.
  bool CanTakeRows() const { return has_enough() && HasRoom(); }
  // Takes a message that a member sends to its leader outside of requests. `verb` is its name, as
  // wire::PeekVerb returns it. nullopt if it is no such message. After an error, the caller closes
  // the connection.
  virtual std::optional<absl::Status> TakeMessage(uint64_t /*connection*/,
                                                  const wire::ReceivedMessage& /*message*/,
                                                  const std::optional<std::string_view>& /*verb*/) {
    return std::nullopt;
  }
  // True: another member may lead by now, so clients that know several addresses should look for
  // it.
  virtual bool is_cut_off() const = 0;
  virtual uint64_t epoch() const = 0;
  virtual size_t in_flight_bytes() const = 0;
  // Adds what `.u.replica[]` answers beside the tickerplant's own state.
  virtual void AddStats(SymbolVector& keys, std::vector<Value>& values) const = 0;
};

}  // namespace tickstack::tickerplant
