#include "tests/simulate/chained_check.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/status.h"

namespace tickstack::simulate {
namespace {

// A leader that was replaced ends when it notices that; or a refusal is tried again.
constexpr int64_t kAsksReplacedNsMax = 10 * kNsPerSecond;

}  // namespace

void ChainedCheck::OnPowerCut() {
  if (options_.stack.fsync != tplog::FsyncPolicy::kBatch) OnLostEndedRows();
}

void ChainedCheck::OnTablesAdded(std::vector<Schema> before) {
  tables_before_ = std::move(before);
  added_at_start_ = chained_.starts() + 1;
  lacks_tables_ = asks_for_tables_ = false;
}

// The day's log that it opens with them has all of their rows.
void ChainedCheck::Watch() {
  if (added_at_start_ == 0 || has_more_since_ || chained_.starts() < added_at_start_) return;
  const ChainedProgram* const copies = program();
  if (copies == nullptr || copies->service() == nullptr) return;
  has_more_since_ = copies->service()->tickerplant().date();
}

void ChainedCheck::Look() {
  if (needs_operator_) return;
  if (const Recorder* const seen = recorder()) {
    if (!seen->problem().empty()) oracle_.Fail("a chained subscriber: " + seen->problem());
    if (seen->is_incomplete()) oracle_.Fail("a chained subscriber misses rows");
  }
  const ChainedProgram* const copies = program();
  if (copies == nullptr || copies->service() == nullptr) return;
  const std::string state = copies->Said("state");
  if (std::exchange(start_, chained_.starts()) != chained_.starts()) {
    was_live_ = false;
    refuses_since_ns_.reset();
  }
  was_live_ |= state == "live";
  if (state != "refused") return refuses_since_ns_.reset();
  const int64_t now_ns = chained_.world().MonotonicNs();
  if (!refuses_since_ns_) refuses_since_ns_ = now_ns;
  if (lacks_tables_ && copies->Said("error").starts_with("the upstream has table")) {
    asks_for_tables_ = true;
    return;
  }
  // A start does not know which leader was followed before, so it may ask one that was replaced.
  if (!was_live_ && now_ns - *refuses_since_ns_ < kAsksReplacedNsMax) return;
  // It may have died before its mark said what it had logged. Then it cannot tell a cut that was
  // healed from one that was not.
  const std::string error = copies->Said("error");
  needs_operator_ = chained_.starts() > 1 && error.starts_with("a power cut shortened");
  if (!needs_operator_) oracle_.Fail("the chained tickerplant refuses to copy: " + error);
}

std::string ChainedCheck::WhatIsMissing(int32_t day, uint64_t messages) const {
  if (needs_operator_) return "";
  const ChainedProgram* const copies = program();
  if (copies == nullptr || copies->service() == nullptr) {
    return "the chained tickerplant does not know its day";
  }
  if (lacks_tables_) return "the chained tickerplant does not copy a table of the cluster";
  const std::string state = copies->Said("state"), found = copies->Said("messages");
  const tickerplant::Tickerplant& plant = copies->service()->tickerplant();
  if (plant.date() != day) return "the chained day is " + FormatDate(plant.date());
  if (state != "live") {
    return fmt::format("the chained tickerplant is {}: {}", state, copies->Said("error"));
  }
  if (found != std::to_string(messages)) {
    return fmt::format("the chained tickerplant has read {} messages of {}", found, messages);
  }
  const Recorder* const seen = recorder();
  if (seen == nullptr || !seen->is_live()) return "a chained subscriber is not live";
  if (seen->log().path != plant.log().path()) return "a chained subscriber does not know its log";
  // Its connection may be held: nothing tells it that it should look for another tickerplant.
  for (const auto& [table, rows] : plant.log().totals().rows) {
    const auto seen_rows = seen->rows().find(table);
    const size_t count = seen_rows == seen->rows().end() ? 0 : seen_rows->second.size();
    if (count < rows) return "a chained subscriber is behind";
  }
  return "";
}

// The rows that were found are the first of all rows of each table.
void ChainedCheck::CheckBegins(const std::string& where, const TableTexts& found,
                               const TableTexts& all) {
  for (const auto& [table, rows] : found) {
    const auto expected = all.find(table);
    const bool is_begin = expected != all.end() && rows.size() <= expected->second.size() &&
                          std::equal(rows.begin(), rows.end(), expected->second.begin());
    if (!is_begin && !rows.empty()) {
      oracle_.Fail(
          fmt::format("{}, {}: {} rows that are not the first ones", where, table, rows.size()));
    }
  }
}

void ChainedCheck::CheckEnd(World& world, const std::map<int32_t, TableTexts>& days,
                            int32_t last_day) {
  if (needs_operator_) return;
  world.Enter(*chained_.machine());
  const Recorder& seen = *recorder();
  bool is_begun = false;
  for (const auto& [date, rows] : days) {
    const std::string day = FormatDate(date), path = options_.stack.LogPath(date);
    const bool is_before = added_at_start_ > 0 && date < has_more_since_.value_or(date);
    const TableTexts expected =
        options_.Filter(rows, is_before ? tables_before_ : options_.schemas);
    const bool may_lack_rows = date != last_day && may_lack_ended_rows_;
    // It begins with the newest day that it finds.
    is_begun |= std::filesystem::exists(path);
    if (!is_begun && date != last_day) continue;
    TableTexts logged;
    if (!may_lack_rows || std::filesystem::exists(path)) {
      const absl::StatusOr<TableTexts> texts = TextsOfLog(path);
      if (!texts.ok()) return oracle_.Fail("chained log: " + std::string(Message(texts.status())));
      logged = *texts;
    }
    CheckBegins("chained log of " + day, logged, expected);
    if (!may_lack_rows) oracle_.CheckSameTables("chained log of " + day, logged, expected);
    if (date == last_day) oracle_.CheckSameTables("chained subscriber", seen.rows(), logged);
    const auto ended = seen.ended().find(date);
    if (ended == seen.ended().end() || !ended->second) continue;
    CheckBegins("chained subscriber at the end of " + day, *ended->second, expected);
    if (may_lack_rows) continue;
    oracle_.CheckSameTables("chained subscriber at the end of " + day, *ended->second, logged);
  }
}

}  // namespace tickstack::simulate
