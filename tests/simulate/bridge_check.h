#pragma once

// What the oracle asks of a bridge and of what it has written to Kafka:
//
//   at any time   it fails only if an ended day's log may have lost rows; records have the rows
//                 that their headers say
//   in the end    it has written all rows of the cluster's logs, from the day on with which it
//                 began: each once, and in the order of its partition. So a consumer needs no row
//                 numbers

#include <cstdint>
#include <map>
#include <string>

#include "base/name_map.h"
#include "tests/simulate/bridge.h"
#include "tests/simulate/oracle.h"

namespace tickstack::simulate {

class BridgeCheck {
 public:
  // Everything must outlive this.
  BridgeCheck(const BridgeOptions& options, const Topics& topics, Process& bridge, Oracle& oracle)
      : options_(options), topics_(topics), bridge_(bridge), oracle_(oracle) {}

  // Records that an ended day's log may have lost rows for good at a member.
  void OnLostEndedRows() { may_lack_ended_rows_ = true; }

  void Look();  // From time to time.
  // Why it has not caught up; empty: it has. `rows`: of the cluster's log of this day, by table.
  std::string WhatIsMissing(int32_t day, const NameMap<uint64_t>& rows) const;
  // `days`: the rows of the cluster's logs.
  void CheckEnd(const std::map<int32_t, TableTexts>& days, int32_t last_day);

 private:
  const BridgeProgram* program() const {
    return static_cast<const BridgeProgram*>(bridge_.program());
  }
  // A row that must be in a partition, unless its day has ended and may lack rows.
  struct Expected {
    std::string row;
    bool may_be_missing;
  };
  void CheckPartition(const std::string& where, const RowTexts& found,
                      const std::vector<Expected>& expected);

  const BridgeOptions& options_;
  const Topics& topics_;
  Process& bridge_;
  Oracle& oracle_;
  bool may_lack_ended_rows_ = false;
  bool needs_operator_ = false;  // It refuses a log that lost rows.
};

}  // namespace tickstack::simulate
