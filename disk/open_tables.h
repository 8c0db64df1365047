#pragma once

// All stored tables of the process. When the process has no mappings left (base/mapping.h), it
// closes columns that no query holds. They are mapped again when they are next needed.
//
// It uses the clock algorithm, as decompressed_image.h does: a hand goes round the tables, and
// skips a table that was used since it last passed. Each part of a partitioned table counts as a
// table.

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>

namespace tickstack::disk {

class SplayedTable;

// One per process. Threads: any.
class OpenTables {
 public:
  static OpenTables& Instance();

  // Keeps a table in the list while the entry exists.
  class Entry {
   public:
    explicit Entry(const SplayedTable* table);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    std::list<const SplayedTable*>::iterator at_;
  };

  // Goes to the next table with a column that no query holds, and closes all such columns of it.
  // False if there is no such table. Cost: the unmapping, and at most two rounds over all tables.
  bool Evict();
  uint64_t columns_let_go() const { return columns_let_go_.load(std::memory_order_relaxed); }

 private:
  OpenTables();

  std::mutex mutex_;                       // Locked before any table's own mutex.
  std::list<const SplayedTable*> tables_;  // Guarded by mutex_: in clock order.
  std::atomic<uint64_t> columns_let_go_{0};
};

}  // namespace tickstack::disk
