#pragma once

// All stored tables of the process, for when it has no mappings left (base/mapping.h): then columns
// that no query holds are let go, and mapped again by the next query that wants them.
//
// As the clock of decompressed_image.h does: a hand goes round the tables (of a partitioned one
// each part is one), and a table of which something was used since the hand came by is passed once.

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>

namespace tickstack {

class SplayedTable;

// One a process. Threads: any.
class OpenTables {
 public:
  static OpenTables& Instance();

  // A table's place among them, as long as both are there.
  class Entry {
   public:
    explicit Entry(const SplayedTable* table);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    std::list<const SplayedTable*>::iterator at_;
  };

  // Lets go of the columns that nobody holds of the next table that has any; false: no table has.
  // Cost: what it unmaps; no more than two rounds over all tables.
  bool LetGo();
  uint64_t columns_let_go() const { return columns_let_go_.load(std::memory_order_relaxed); }

 private:
  OpenTables();

  std::mutex mutex_;                       // Before any table's own.
  std::list<const SplayedTable*> tables_;  // Guarded by mutex_: in the order of the hand.
  std::atomic<uint64_t> columns_let_go_{0};
};

}  // namespace tickstack
