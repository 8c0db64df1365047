#pragma once

// The names of a SymbolTable in a persistent tier, in the order of their numbers: NUL-terminated,
// back to back, in blocks of 64 KiB. Like the table, the blocks only grow, so committed names are
// never written again.
//
// Threads: one owner, the thread that interns.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "mem/persistent_tier.h"
#include "table/durable_list.h"
#include "table/record.h"
#include "table/symbols.h"

namespace tickstack {

class DurableSymbols {
 public:
  explicit DurableSymbols(mem::PersistentTier* tier) : tier_(tier), blocks_(tier) {}
  ~DurableSymbols();
  DurableSymbols(const DurableSymbols&) = delete;
  DurableSymbols& operator=(const DurableSymbols&) = delete;

  // Interns the names that `record` refers to. `symbols` must be empty. kDataLoss if they are not
  // the saved names; some of them may be interned then.
  absl::Status Load(RecordReader& record, SymbolTable& symbols);
  // Adds the names that were interned since the last call, and appends the record to a root. They
  // become durable with the tier's next commit. After kResourceExhausted, because the tier is full,
  // the caller may try again.
  absl::Status Save(const SymbolTable& symbols, ByteBuffer& record);

 private:
  static constexpr size_t kBlockBytes = size_t{64} << 10;
  absl::Status Append(std::span<const std::byte> bytes);

  mem::PersistentTier* const tier_;
  DurableList blocks_;
  std::vector<std::byte*> memory_;  // Memory of the blocks.
  uint64_t bytes_ = 0;
  int32_t names_ = 0;
  uint32_t crc_ = 0;  // CRC of all bytes.
};

}  // namespace tickstack
