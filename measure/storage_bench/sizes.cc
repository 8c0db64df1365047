#include "measure/storage_bench/sizes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "base/status.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr size_t kLargestBlockItems = 125'000;  // The largest block of the random reads.

size_t Scaled(double factor, double items, size_t least) {
  return std::max(least, static_cast<size_t>(factor * items));
}

}  // namespace

Sizes SizesFor(double factor, size_t processes, uint64_t memory_bytes) {
  constexpr double kKi = 1024;
  Sizes sizes;
  sizes.factor = factor;
  sizes.decay = static_cast<size_t>(std::bit_width(processes));
  sizes.tiny = Scaled(factor, 2047, 64);
  sizes.small = Scaled(factor, 63 * kKi, 64);
  sizes.medium = Scaled(factor, 4 * 127 * kKi, 64);
  sizes.large = Scaled(factor, 31 * kKi * kKi, 4096);
  sizes.huge = Scaled(factor, kKi * kKi * kKi, 65'536);
  const size_t huge_max = memory_bytes / (4 * kItemBytes * processes);
  sizes.huge = std::max<size_t>(65'536, std::min(sizes.huge, huge_max));
  const auto decay = static_cast<double>(sizes.decay);
  const auto appends = static_cast<size_t>(factor * 250e6 / decay) / sizes.large;
  sizes.table_rows = sizes.large * (1 + std::max<size_t>(1, appends));
  const double file_items = factor * 4e9 / (static_cast<double>(sizes.random_files) * decay);
  const size_t blocks = std::max(2 * kLargestBlockItems, static_cast<size_t>(file_items));
  sizes.random_file_items = (blocks + sizes.small - 1) / sizes.small * sizes.small;
  sizes.random_read_items = Scaled(factor, 100e6, sizes.random_files * kLargestBlockItems);
  return sizes;
}

uint64_t Sizes::DiskBytes() const {
  constexpr uint64_t kHeadersAndIndexes = uint64_t{8} << 20;
  const uint64_t columns = 3 * table_rows;  // Two, and a column that is being sorted.
  const uint64_t appended = std::max(500 * tiny, 50 * small);
  const uint64_t items = tiny + 67 * small + medium + large + huge + columns + appended +
                         random_files * random_file_items;
  return kItemBytes * items + kHeadersAndIndexes;
}

uint64_t Sizes::MemoryBytes() const {
  constexpr uint64_t kProgram = uint64_t{64} << 20;
  const uint64_t cpu = 9 * large;           // Two inputs, results, and the hash table of `group`.
  const uint64_t sort = 2 * table_rows;     // The order of the rows and a sorted column.
  const uint64_t write = huge + 3 * large;  // The values to be written.
  return kItemBytes * std::max({cpu, sort, write}) + kProgram;
}

absl::StatusOr<double> ParseSize(std::string_view text) {
  if (text == "full") return 1;
  if (text == "double") return 2;
  if (text == "small") return 0.2;
  if (text == "tiny") return 0.05;
  const std::string number(text);
  char* end = nullptr;
  const double factor = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(factor >= 0.0001 && factor <= 100)) {
    return InvalidArgument(
        "size {}: expected full, double, small, tiny, or a factor from 0.0001 to 100", text);
  }
  return factor;
}

}  // namespace tickstack::measure::storage_bench
