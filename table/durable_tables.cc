#include "table/durable_tables.h"

#include <algorithm>
#include <thread>

#include "base/check.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "table/record.h"

namespace tickstack {
namespace {

// Threads that compare columns with their checksums. Memory is saturated by fewer.
constexpr size_t kThreadsMax = 8;

}  // namespace

DurableTables::DurableTables(mem::PersistentTier* tier) : tier_(tier) { symbols_.emplace(tier); }

absl::StatusOr<DurableTables::Found> DurableTables::LoadRoot(SymbolTable& symbols,
                                                             const TableOptions& options,
                                                             WorkerPool& workers) {
  RecordReader root(tier_->root());
  uint32_t version = 0, tables = 0;
  if (!root.Read(&version)) return DataLoss("root: {} bytes", tier_->root().size());
  if (version != kFormatVersion) {
    return DataLoss("root: version {}, expected {}", version, kFormatVersion);
  }
  TS_RETURN_IF_ERROR(symbols_->Load(root, symbols));
  if (!root.Read(&tables)) return DataLoss("root: cut short");
  Found found;
  for (uint32_t i = 0; i < tables; ++i) {
    TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                        Table::Load(root, &symbols, tier_, options, workers));
    found.tables.push_back(std::move(table));
  }
  std::span<const std::byte> mark;
  if (!root.ReadBytes(&mark) || !root.AtEnd())
    return DataLoss("root: its end is not where it ends");
  found.mark.assign(mark.begin(), mark.end());
  return found;
}

absl::StatusOr<DurableTables::Found> DurableTables::Load(SymbolTable& symbols,
                                                         const TableOptions& options) {
  TS_CHECK(symbols.size() == 0);
  if (tier_->root().empty()) return Found();
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
  WorkerPool workers(threads - 1);  // The calling thread is one of them.
  absl::StatusOr<Found> found = LoadRoot(symbols, options, workers);
  if (found.ok()) return found;
  absl::Status why = found.status();
  symbols_.emplace(tier_);
  TS_RETURN_IF_ERROR(tier_->Forget());
  return why;
}

absl::Status DurableTables::Commit(const SymbolTable& symbols, std::span<Table* const> tables,
                                   std::span<const std::byte> mark, Index index) {
  root_.clear();
  root_.AppendLittle(kFormatVersion);
  TS_RETURN_IF_ERROR(symbols_->Save(symbols, root_));
  root_.AppendLittle(static_cast<uint32_t>(tables.size()));
  for (Table* const table : tables) table->Save(root_, index == Index::kWhole);
  AppendBytes(mark, root_);
  return tier_->Commit(root_);
}

}  // namespace tickstack
