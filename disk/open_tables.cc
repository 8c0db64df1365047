#include "disk/open_tables.h"

#include <memory>
#include <vector>

#include "base/mapping.h"
#include "disk/splayed_table.h"

namespace tickstack::disk {
namespace {

// Held by a thread that closes columns until they are unmapped: threads that wait for it then find
// mappings, or there are none. Locked before OpenTables' own mutex, which adding and removing a
// table also takes.
std::mutex letting_go;

}  // namespace

OpenTables::OpenTables() {
  Mapping::SetReclaim([] { return Instance().Evict(); });
}

// Never destroyed: tables may outlive static objects.
OpenTables& OpenTables::Instance() {
  static auto* const tables = new OpenTables();
  return *tables;
}

OpenTables::Entry::Entry(const SplayedTable* table) {
  OpenTables& all = Instance();
  const std::lock_guard lock(all.mutex_);
  at_ = all.tables_.insert(all.tables_.end(), table);
}

OpenTables::Entry::~Entry() {
  OpenTables& all = Instance();
  const std::lock_guard lock(all.mutex_);
  all.tables_.erase(at_);
}

bool OpenTables::Evict() {
  const std::lock_guard one_by_one(letting_go);
  std::vector<std::shared_ptr<const ColumnFile>> gone;
  {
    const std::lock_guard lock(mutex_);
    for (const bool used_too : {false, true}) {
      for (size_t left = tables_.size(); left > 0 && gone.empty(); --left) {
        tables_.front()->Evict(used_too, gone);
        tables_.splice(tables_.end(), tables_, tables_.begin());
      }
    }
  }
  columns_let_go_.fetch_add(gone.size(), std::memory_order_relaxed);
  return !gone.empty();
}

}  // namespace tickstack::disk
