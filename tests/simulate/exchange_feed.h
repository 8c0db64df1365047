#pragma once

// A live feed of an exchange (exchange.h), on a machine of its own: its process, its trouble, and
// its operator. The feed numbers rows that only its spool has, so it survives the tickerplant's
// machine.
//
// After a power cut, of the tickerplant's machine or of its own, the feed may refuse to send under
// its name (kDataLoss). The operator then removes its directory.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulate/exchange.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

class ExchangeFeed {
 public:
  // Adds the machine and the process. `root`: the directory of the machine's disk, which does not
  // exist yet. The world and the options must outlive this.
  ExchangeFeed(World& world, const StackOptions& options, const std::string& root);

  // Schedules the messages of a day and the trouble of the feed's machine.
  void PlanDay(int64_t roll_ns, bool is_last);
  void CallOffTrouble();

  // Called after each event.
  void Watch();
  void OnPowerCut(const Host& machine);
  // A power cut may have taken rows from the tickerplant's log that the feed was told are logged.
  void OnRowsLost();

  // What is missing before everything has converged; empty: nothing.
  std::string WhatIsMissing() const;

  Process* process() { return process_; }
  Exchange& exchange() { return exchange_; }
  const Exchange& exchange() const { return exchange_; }
  int64_t wait_ns() const { return wait_ms_ * 1'000'000; }
  // True if rows may be left out because too many are kept.
  bool may_drop() const { return keep_mib_ == 1; }
  bool sets_clock() const { return has_clocks_; }
  // By new beginning, because the spool was removed or may have lost all rows that are not logged:
  // the first receiver that joined afterwards, as in Exchange::joins().
  const std::vector<size_t>& beginnings() const { return beginnings_; }
  const std::string& problem() const { return problem_; }  // What it may not do; empty: nothing.

 private:
  enum class Trouble : uint8_t {
    kDeath,
    kDownTime,
    kDeathInAChange,
    kPowerCut,
    kPowerCutInAChange,
    kFullDisk,
    kWriteError,
    kStall,
    kSetClock,
  };

  absl::StatusOr<std::unique_ptr<Program>> Start(Process& process);
  const FeedProgram* program() const;
  void Begin(Trouble trouble);
  void SetClock();
  void RemoveSpool(const absl::Status& why);
  void CheckBeginning();

  World& world_;
  Random& random_;
  const StackOptions& options_;
  Host& machine_;
  const std::string spool_;
  const int64_t wait_ms_;
  const int64_t keep_mib_;
  const int64_t batch_rows_;
  bool has_clocks_ = false;
  std::vector<Trouble> troubles_;  // The kinds that this life has.
  Exchange exchange_;
  Process* process_ = nullptr;
  bool may_refuse_ = false;
  bool lost_power_ = false;      // Its machine did.
  bool lost_rows_ = false;       // The tickerplant's log may have.
  bool has_ended_ = false;       // It was told to end because it had failed.
  absl::Status refused_;         // Why it failed, if the spool is to be removed.
  uint64_t refused_starts_ = 0;  // Starts when the last one was looked at.
  int64_t times_called_off_ = 0;
  std::vector<size_t> beginnings_;
  std::string problem_;
};

}  // namespace tickstack::simulate
