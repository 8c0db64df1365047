#pragma once

// All stored tables of the process, for when it has no mappings left (base/mapping.h): then columns
// that no query holds are closed, and mapped again when they are next needed.
//
// It works like the clock of decompressed_image.h: a hand goes round the tables (each part of a
// partitioned one counts), and skips a table once if it was used since the hand last passed.

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

  // A table's entry in the list, while both exist.
  class Entry {
   public:
    explicit Entry(const SplayedTable* table);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    std::list<const SplayedTable*>::iterator at_;
  };

  // Closes the columns without holders of the next table that has any. False if no table has. Cost:
  // unmapping; at most two rounds over all tables.
  bool Evict();
  uint64_t columns_let_go() const { return columns_let_go_.load(std::memory_order_relaxed); }

 private:
  OpenTables();

  std::mutex mutex_;                       // Locked before any table's own mutex.
  std::list<const SplayedTable*> tables_;  // Guarded by mutex_: in clock order.
  std::atomic<uint64_t> columns_let_go_{0};
};

}  // namespace tickstack::disk
