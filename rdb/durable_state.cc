#include "rdb/durable_state.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::rdb {
namespace {

void SaveLog(const LogIdentity& log, ByteBuffer& mark) {
  AppendBytes(AsBytes(log.path), mark);
  mark.AppendLittle(uint8_t{log.first_message_crc.has_value()});
  mark.AppendLittle(log.first_message_crc.value_or(0));
  mark.AppendLittle(log.cuts);
}

bool LoadLog(RecordReader& mark, LogIdentity* log) {
  uint8_t known = 0;
  uint32_t crc = 0;
  if (!mark.ReadText(&log->path) || !mark.Read(&known) || !mark.Read(&crc) ||
      !mark.Read(&log->cuts)) {
    return false;
  }
  if (known != 0) log->first_message_crc = crc;
  return true;
}

uint64_t RowsOf(std::span<Table* const> tables) {
  uint64_t rows = 0;
  for (const Table* table : tables) rows += table->rows();
  return rows;
}

}  // namespace

DurableState::DurableState(mem::PersistentTier* tier, int64_t commit_ns)
    : store_(tier), commit_ns_(commit_ns) {}

DurableState::Found DurableState::Load(SymbolTable& symbols, const TableOptions& options) {
  const int64_t begin_ns = MonotonicNs();
  const std::string place = store_.tier().Stats().path;
  absl::StatusOr<DurableTables::Found> loaded = store_.Load(symbols, options);
  if (!loaded.ok()) {
    counters_.reopens_damaged.fetch_add(1, std::memory_order_relaxed);
    LogError("persistent tables are damaged, created again from the log path={} error=\"{}\"",
             place, Message(loaded.status()));
    return {};
  }
  Found found;
  if (loaded->tables.empty()) return found;
  RecordReader mark(loaded->mark);
  uint64_t rows_refused = 0;
  if (!found.position.Load(mark) || !LoadLog(mark, &found.log) || !mark.Read(&rows_refused) ||
      !mark.AtEnd()) {
    counters_.reopens_damaged.fetch_add(1, std::memory_order_relaxed);
    LogError("persistent tables have no log position, created again from the log path={}", place);
    return Discard(*std::move(loaded), symbols);
  }
  if (rows_refused > 0) {
    LogWarn(
        "persistent tables lack rows that a full tier refused, created again from the log path={} "
        "rows_refused={}",
        place, rows_refused);
    return Discard(*std::move(loaded), symbols);
  }
  found.tables = std::move(loaded->tables);
  uint64_t rows = 0;
  for (const std::shared_ptr<Table>& table : found.tables) rows += table->rows();
  const auto took_us = static_cast<uint64_t>((MonotonicNs() - begin_ns) / 1000);
  counters_.rows_reopened.store(rows, std::memory_order_relaxed);
  counters_.rows_durable.store(rows, std::memory_order_relaxed);
  counters_.reopen_us.store(took_us, std::memory_order_relaxed);
  LogInfo("persistent tables reopened path={} rows={} seq={} log={} us={}", place, rows,
          found.position.seq(), found.log.path, took_us);
  return found;
}

// Commits that there are no tables, so that their memory can be used again.
DurableState::Found DurableState::Discard(DurableTables::Found loaded, const SymbolTable& symbols) {
  loaded.tables.clear();
  if (const absl::Status committed = store_.Commit(symbols, {}, {}); !committed.ok()) {
    LogError("persistent tier not emptied error=\"{}\"", Message(committed));
  }
  return {};
}

bool DurableState::IsDue(int64_t at_least_ns) const {
  const int64_t pause_ns = std::max(commit_ns_, at_least_ns);
  return pause_ns == 0 || MonotonicNs() - last_commit_ns_ >= pause_ns;
}

absl::Status DurableState::Commit(const State& state, DurableTables::Index index) {
  mark_.clear();
  state.position->Save(mark_);
  SaveLog(*state.log, mark_);
  mark_.AppendLittle(state.rows_refused);
  const absl::Status committed = store_.Commit(*state.symbols, state.tables, mark_, index);
  last_commit_ns_ = MonotonicNs();
  if (committed.ok()) {
    counters_.rows_durable.store(RowsOf(state.tables), std::memory_order_relaxed);
    return committed;
  }
  counters_.commits_refused.fetch_add(1, std::memory_order_relaxed);
  if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
    LogError("rows are not durable, a restart replays them error=\"{}\" withheld={}",
             Message(committed), *withheld);
  }
  return committed;
}

}  // namespace tickstack::rdb
