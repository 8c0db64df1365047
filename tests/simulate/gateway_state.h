#pragma once

// What the processes behind a gateway really have, and when something last disturbed them. The
// questions of gateway_check.h depend on it: what an answer must have at least, and when an error
// may take its place.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulate/gateway_stack.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

// The rows of a day's table, up to a point of the log.
struct LogPosition {
  int32_t day = 0;
  std::map<std::string, int64_t> rows;  // By table.
};

class GatewayState {
 public:
  // Time after which trouble that is over must not be felt any more.
  static constexpr int64_t kSettleNs = 3 * kNsPerSecond;
  // Time after which rows, days and processes are known to everybody if nothing is wrong.
  static constexpr int64_t kKnownNs = 3 * kNsPerSecond / 2;

  struct Processes {
    Process* tickerplant = nullptr;
    std::vector<Process*> rdbs;  // The first one writes the days.
    Process* hdb = nullptr;
    Process* gateway = nullptr;
    std::vector<Process*> askers;
  };
  // `on_caught_up` is called with the number of an rdb that has read its whole log just now.
  GatewayState(World& world, Processes processes, const GatewayOptions& options,
               std::function<void(size_t rdb)> on_caught_up);

  void Watch();  // After each event.
  void Look();   // From time to time.
  // Something is wrong with any connection until then.
  void OnNetworkTrouble(int64_t until_ns);

  // True if a question about these days that was asked at `asked_ns` may fail. No days: it names
  // none.
  bool MayFail(int64_t asked_ns, std::span<const int32_t> days) const;
  // When the gateway, the asker or a connection was last disturbed: an answer may be late.
  int64_t late_ns() const { return std::max(gateway_ns_, network_ns_); }

  // The days that an rdb has, and how many rows of each; empty if it does not run or has not read
  // its log.
  std::vector<LogPosition> HeldBy(size_t rdb) const;
  size_t rdbs() const { return processes_.rdbs.size(); }
  // True if no process can take rows of that day any more.
  bool HasEnded(int32_t day) const;
  // True if the gateway must know that day.
  bool IsKnown(int32_t day) const;
  // True if no process had an ended day when the gateway started, so that it cannot know it.
  bool IsExcused(int32_t day) const { return excused_.contains(day); }
  // What must be visible now; nullopt if something was wrong lately.
  std::optional<LogPosition> Fresh() const;

  const std::map<int32_t, int64_t>& begun_ns() const { return begun_ns_; }
  ServingRdbProgram* rdb(size_t number) const {
    return static_cast<ServingRdbProgram*>(processes_.rdbs[number]->program());
  }
  HdbProgram* hdb() const { return static_cast<HdbProgram*>(processes_.hdb->program()); }
  GatewayProgram* gateway() const {
    return static_cast<GatewayProgram*>(processes_.gateway->program());
  }
  const tickerplant::Tickerplant* plant() const;

 private:
  bool HasRead(size_t rdb) const;  // It runs, and has read its whole log.
  void WatchDays(const std::vector<bool>& answers);

  World& world_;
  const Processes processes_;
  const GatewayOptions& options_;
  const std::function<void(size_t)> on_caught_up_;
  std::vector<bool> had_read_;
  // When each of these was last seen to be disturbed (monotonic).
  int64_t gateway_ns_ = 0, network_ns_ = 0, all_rdbs_ns_ = 0, any_ns_ = 0;
  int64_t network_until_ns_ = 0;
  std::map<int32_t, int64_t> homeless_ns_;  // By day: no process that answers had it.
  std::map<int32_t, int64_t> begun_ns_;     // By day: when an rdb had it first.
  // By rdb and day: since when it has it.
  std::map<std::pair<size_t, int32_t>, int64_t> had_ns_;
  std::set<int32_t> loaded_;  // Days that the hdb has had.
  std::set<int32_t> excused_;
  uint64_t gateway_starts_ = 0;
  int64_t gateway_started_ns_ = 0;
  int32_t date_ = 0;                                    // The tickerplant's.
  std::deque<std::pair<int64_t, LogPosition>> logged_;  // By time.
};

}  // namespace tickstack::simulate
