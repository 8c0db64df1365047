#pragma once

// The sizes of the benchmark's data. They are those of nano's configuration times a factor. So
// results can be compared with nano's at the same factor.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::measure::storage_bench {

inline constexpr size_t kItemBytes = 8;  // Items are longs or floats.

// Sizes of one process's data, in items.
struct Sizes {
  double factor = 1;
  size_t tiny = 0;               // At factor 1: 16 KiB, fits into an L1 cache.
  size_t small = 0;              // 504 KiB, fits into an L2 cache.
  size_t medium = 0;             // 4 MiB, fits into an L3 cache.
  size_t large = 0;              // 248 MiB.
  size_t huge = 0;               // 8 GiB, or less if memory is small.
  size_t table_rows = 0;         // Rows of the table that is sorted; it has two columns.
  size_t random_files = 4;       // Files for random reads.
  size_t random_file_items = 0;  // Items of each.
  size_t random_read_items =
      0;             // Items that each test of random reads reads, in all files together.
  size_t decay = 1;  // Divides what each process writes, so that more processes write less each.

  // Returns the bytes on disk when most is there, rounded up generously.
  uint64_t DiskBytes() const;
  // Returns the memory that the most demanding test uses.
  uint64_t MemoryBytes() const;
};

// Returns the sizes for one of `processes` processes. As in nano, `huge` is limited, so that all
// processes together use at most a quarter of the machine's memory for it.
Sizes SizesFor(double factor, size_t processes, uint64_t memory_bytes);

// Parses nano's names `full`, `double`, `small` and `tiny` (1, 2, 0.2 and 0.05), or a factor from
// 0.0001 to 100. kInvalidArgument for any other text.
absl::StatusOr<double> ParseSize(std::string_view text);

}  // namespace tickstack::measure::storage_bench
