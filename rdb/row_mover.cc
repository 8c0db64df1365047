#include "rdb/row_mover.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status.h"
#include "base/thread_priority.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookInterval = 100ms;
constexpr int kMoverNice = 5;           // As the thread that touches memory ahead.
constexpr double kCrowdedShare = 0.75;  // Share of a recent tier's capacity.
// A table moves nothing more out of a crowded tier while a larger part than 1/8 of its capacity
// waits for queries of that table.
constexpr size_t kWaitingShare = 8;
constexpr int64_t kRetryNs = 5 * kNsPerSecond;  // Pause after the older tier was full.

}  // namespace

RowMover::RowMover(Rdb* rdb, const Clock* clock)
    : rdb_(rdb),
      clock_(clock),
      older_than_ns_(rdb->placement().rules().age()->older_than_ns),
      full_limit_(60 * kNsPerSecond) {}

RowMover::~RowMover() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RowMover::Start() {
  thread_ = std::thread([this] { Run(); });
}

void RowMover::Run() {
  SetThreadNice(kMoverNice);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookInterval, [this] { return Stopping(); })) {
    lock.unlock();
    MoveDue();
    lock.lock();
  }
}

// Forgets the chunks before the first one that is in a recent tier: they have moved, or never were
// in one.
void RowMover::Forget(const Table& table, Known& known) {
  const std::optional<Table::AgedChunk> chunk = table.FindRecent(known.begin);
  const size_t end = known.begin + known.full_since_ns.size();
  const size_t begin = chunk ? std::min(chunk->chunk, end) : end;
  const auto gone = static_cast<ptrdiff_t>(begin - known.begin);
  known.full_since_ns.erase(known.full_since_ns.begin(), known.full_since_ns.begin() + gone);
  known.begin = begin;
}

// Notes which chunks have become full, and forgets tables that are gone. The tables that it returns
// exist until it is called again, so none of those that it forgets has the address of one of them.
RowMover::Tables RowMover::LookAtTables() {
  Tables tables = rdb_->AllTables();
  std::erase_if(known_, [](const auto& each) { return each.second.table.expired(); });
  for (const std::shared_ptr<const Table>& table : tables) {
    Known& known = known_[table.get()];
    known.table = table;
    const size_t full = table->full_chunks();
    while (known.begin + known.full_since_ns.size() < full) {
      known.full_since_ns.push_back(clock_->MonotonicNs());
    }
    Forget(*table, known);
  }
  return tables;
}

bool RowMover::IsOld(const Due& due) const {
  if (clock_->MonotonicNs() - due.full_since_ns >= older_than_ns_) return true;
  const int64_t before_ns = clock_->NowNs() - older_than_ns_;
  return due.chunk.newest_ns && *due.chunk.newest_ns <= before_ns;
}

std::optional<RowMover::Due> RowMover::FindOld(const Tables& tables) const {
  std::optional<Due> first;
  for (const std::shared_ptr<const Table>& table : tables) {
    const Known& known = known_.at(table.get());
    if (known.full_since_ns.empty()) continue;
    const std::optional<Table::AgedChunk> chunk = table->FindRecent(known.begin);
    if (!chunk) continue;
    const Due due{table, *chunk, known.full_since_ns.front()};
    if (IsOld(due) && (!first || due.full_since_ns < first->full_since_ns)) first = due;
  }
  return first;
}

std::optional<RowMover::Due> RowMover::FindInCrowdedTier(const Tables& tables) const {
  for (const mem::Tier* const tier : rdb_->placement().RecentTiers()) {
    const mem::TierStats stats = tier->Stats();
    if (stats.capacity_bytes == SIZE_MAX) continue;
    size_t waiting = 0;
    for (const std::shared_ptr<const Table>& table : tables) waiting += table->WaitingBytes(tier);
    const size_t used = stats.used_bytes - std::min(stats.used_bytes, waiting);
    if (static_cast<double>(used) < kCrowdedShare * static_cast<double>(stats.capacity_bytes)) {
      continue;
    }
    std::optional<Due> first;
    for (const std::shared_ptr<const Table>& table : tables) {
      const Known& known = known_.at(table.get());
      if (table->WaitingBytes(tier) > stats.capacity_bytes / kWaitingShare) continue;
      const std::optional<Table::AgedChunk> chunk = table->FindRecent(known.begin, tier);
      if (!chunk || chunk->chunk - known.begin >= known.full_since_ns.size()) continue;
      const int64_t since_ns = known.full_since_ns[chunk->chunk - known.begin];
      if (!first || since_ns < first->full_since_ns) first = Due{table, *chunk, since_ns};
    }
    if (first) return first;
  }
  return std::nullopt;
}

size_t RowMover::MoveDue() {
  if (clock_->MonotonicNs() < retry_ns_) return 0;
  size_t freed = 0;
  while (!Stopping()) {
    // Looks again after each chunk: while one is copied, others become full, or a day ends.
    const Tables tables = LookAtTables();
    std::optional<Due> due = FindOld(tables);
    if (!due) due = FindInCrowdedTier(tables);
    if (!due) break;
    const absl::StatusOr<size_t> moved = due->table->MoveToOlder(due->chunk.chunk);
    if (!moved.ok()) {
      rdb_->counters().moves_refused.fetch_add(1, std::memory_order_relaxed);
      retry_ns_ = clock_->MonotonicNs() + kRetryNs;
      if (const std::optional<uint64_t> withheld = full_limit_.Pass(clock_->MonotonicNs())) {
        LogError("old rows stay in their tier error=\"{}\" withheld={}", Message(moved.status()),
                 *withheld);
      }
      break;
    }
    rdb_->counters().rows_moved.fetch_add(due->chunk.rows, std::memory_order_relaxed);
    freed += *moved;
  }
  return freed;
}

}  // namespace tickstack::rdb
