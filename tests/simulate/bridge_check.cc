#include "tests/simulate/bridge_check.h"

#include <optional>
#include <vector>

#include "base/status.h"
#include "kafka/kafka_client.h"
#include "tplog/log_identity.h"

namespace tickstack::simulate {

void BridgeCheck::Look() {
  if (!topics_.problem().empty()) oracle_.Fail("a record in Kafka: " + topics_.problem());
  const BridgeProgram* const bridge = program();
  if (bridge == nullptr || bridge->service->state() != bridge::ExportState::kFailed) return;
  const std::string error(Message(bridge->service->error()));
  needs_operator_ = may_lack_ended_rows_;
  if (!needs_operator_) oracle_.Fail("the bridge has failed: " + error);
}

std::string BridgeCheck::WhatIsMissing(int32_t day, const NameMap<uint64_t>& rows) const {
  if (needs_operator_) return "";
  const BridgeProgram* const bridge = program();
  if (bridge == nullptr) return "the bridge does not run";
  if (bridge->service->state() != bridge::ExportState::kSubscribed) {
    return fmt::format("the bridge is {}", NameOf(bridge->service->state()));
  }
  const std::optional<bridge::StreamState>& last = topics_.last();
  if (!last || last->log_ended || tplog::DayOfLog(last->log.path) != day) {
    return "the bridge has written no rows of the day";
  }
  for (const auto& [table, count] : rows) {
    if (!options_.Exports(table)) continue;
    const auto written = last->tables.find(table);
    const int64_t found = written == last->tables.end() ? 0 : written->second.rows_of_log;
    if (found < static_cast<int64_t>(count)) {
      return fmt::format("the bridge has written {} rows of {} of {}", found, count, table);
    }
  }
  return "";
}

void BridgeCheck::CheckPartition(const std::string& where, const RowTexts& found,
                                 const std::vector<Expected>& expected) {
  size_t next = 0;
  for (const std::string& row : found) {
    while (next < expected.size() && expected[next].row != row && expected[next].may_be_missing) {
      ++next;
    }
    if (next == expected.size() || expected[next].row != row) {
      const std::string wanted = next == expected.size() ? "none" : expected[next].row;
      return oracle_.Fail(fmt::format("{}: row {} where {} is expected", where, row, wanted));
    }
    ++next;
  }
  for (; next < expected.size() && !needs_operator_; ++next) {
    if (expected[next].may_be_missing) continue;
    return oracle_.Fail(fmt::format("{}: row {} is missing", where, expected[next].row));
  }
}

void BridgeCheck::CheckEnd(const std::map<int32_t, TableTexts>& days, int32_t last_day) {
  std::map<std::string, std::vector<std::vector<Expected>>> expected;
  for (const auto& [date, tables] : days) {
    if (date < topics_.first_day().value_or(date)) continue;
    for (const auto& [table, rows] : tables) {
      if (!options_.Exports(table)) continue;
      std::vector<std::vector<Expected>>& partitions = expected[table];
      partitions.resize(static_cast<size_t>(options_.partitions));
      const auto sym = static_cast<size_t>(FindSchema(table)->Find("sym"));
      for (const std::string& row : rows) {
        const int32_t partition = kafka::PartitionOf(Cell(row, sym), options_.partitions);
        partitions[static_cast<size_t>(partition)].push_back(
            {row, date != last_day && may_lack_ended_rows_});
      }
    }
  }
  for (const auto& [table, partitions] : topics_.rows()) expected[table].resize(partitions.size());
  for (const auto& [table, partitions] : expected) {
    const auto rows = topics_.rows().find(table);
    for (size_t i = 0; i < partitions.size(); ++i) {
      const std::string where = fmt::format("partition {} of {} in Kafka", i, table);
      const bool has_rows = rows != topics_.rows().end();
      CheckPartition(where, has_rows ? rows->second[i] : RowTexts(), partitions[i]);
    }
  }
}

}  // namespace tickstack::simulate
