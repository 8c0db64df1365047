#pragma once

// What the oracle asks of a chained tickerplant and of a recorder that is subscribed to it:
//
//   at any time   it refuses to copy only with a reason; the recorder's rows are in order, and it
//                 starts over only with a reason
//   in the end    it is at the end of the cluster's log and in its day; each day's log has the rows
//                 of the cluster's log that pass the filter, once and in order, and no others,
//                 also of a table that was added meanwhile; the recorder has the rows of the
//                 chained log

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulate/chained.h"
#include "tests/simulate/oracle.h"

namespace tickstack::simulate {

class ChainedCheck {
 public:
  // Everything must outlive this.
  ChainedCheck(const ChainedOptions& options, Process& chained, Process& recorder, Oracle& oracle)
      : options_(options), chained_(chained), recorder_(recorder), oracle_(oracle) {}

  // Records that the chained tickerplant is started again with the tables of its options, to which
  // some were added. `before`: those that it had.
  void OnTablesAdded(std::vector<Schema> before);
  // Records that the upstream has tables that the chained one lacks, although it is to copy all.
  void OnUpstreamHasMore() { lacks_tables_ = options_.upstream.all_tables; }
  // True if it refuses to leave these out.
  bool asks_for_tables() const { return asks_for_tables_; }

  // Records that an ended day's log may have lost rows for good, here or at a member.
  void OnLostEndedRows() { may_lack_ended_rows_ = true; }
  void OnPowerCut();  // To be called for its machine.

  void Watch();  // After each event.
  void Look();   // From time to time.
  // Why it has not caught up; empty: it has. `messages`: of the cluster's log of this day.
  std::string WhatIsMissing(int32_t day, uint64_t messages) const;
  // `days`: the rows of the cluster's logs.
  void CheckEnd(World& world, const std::map<int32_t, TableTexts>& days, int32_t last_day);

 private:
  const ChainedProgram* program() const {
    return static_cast<const ChainedProgram*>(chained_.program());
  }
  const Recorder* recorder() const {
    const auto* const program = static_cast<const RecorderProgram*>(recorder_.program());
    return program == nullptr ? nullptr : program->recorder.get();
  }
  void CheckBegins(const std::string& where, const TableTexts& found, const TableTexts& all);

  const ChainedOptions& options_;
  Process& chained_;
  Process& recorder_;
  Oracle& oracle_;
  bool may_lack_ended_rows_ = false;
  bool needs_operator_ = false;  // It refuses its upstream until its log is moved away.
  uint64_t start_ = 0;           // Which start of the chained tickerplant was looked at.
  bool was_live_ = false;        // It has been, since that start.
  std::optional<int64_t> refuses_since_ns_;
  bool lacks_tables_ = false, asks_for_tables_ = false;
  // The tables that it had before some were added, and the first day with these.
  std::vector<Schema> tables_before_;
  std::optional<int32_t> has_more_since_;
  uint64_t added_at_start_ = 0;  // The start at which they were added; 0: none were.
};

}  // namespace tickstack::simulate
