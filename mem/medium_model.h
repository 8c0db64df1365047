#pragma once

// Models how long accesses to memory other than this machine's DRAM take, from published figures.
// docs/tiers.md has the source of each figure and says which are our assumptions.
//
// A medium is accessed in whole units. Reads are of three kinds, which differ in how much of the
// latency a processor hides:
//
//   in order    consecutive units: the prefetcher hides the latency of all but the first, and the
//               bandwidth of one thread is the limit
//   scattered   addresses known in advance: `reads_at_once` of them are in progress at a time
//   chained     each address depends on the value before it, as in a binary search: nothing is
//               hidden
//
// A write costs bandwidth only: the processor does not wait for a store.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::mem {

// GB is 10^9 bytes, so GB/s is bytes per ns.
struct MediumModel {
  std::string name;
  size_t unit_bytes = 64;            // A power of two.
  double read_ns = 0;                // Latency of reading one unit.
  double reads_at_once = 1;          // Scattered reads that one thread has in progress.
  double thread_read_gb_per_s = 0;   // Reading in order by one thread.
  double thread_write_gb_per_s = 0;  // Writing by one thread.
  double read_gb_per_s = 0;          // Bandwidth that all threads of all processes share.
  double write_gb_per_s = 0;
  // True if writes do not reduce the bandwidth of reads.
  bool full_duplex = false;
};

// Units that an access touches.
struct TouchedUnits {
  uint64_t in_order = 0;
  uint64_t scattered = 0;
  uint64_t chained = 0;

  uint64_t all() const { return in_order + scattered + chained; }
};

// Return the time in ns that a thread needs if it has the medium to itself.
double ReadNs(const MediumModel& model, const TouchedUnits& touched);
double WriteNs(const MediumModel& model, uint64_t units);

// Returns the number of units that `bytes` at `begin` touch.
uint64_t UnitsOf(const MediumModel& model, const void* begin, size_t bytes);
// Returns the units that the elements of a column at these rows touch, in this order. Consecutive
// units count as in order, others as scattered, and a unit that was touched just before does not
// count. UINT32_MAX is no row. Cost: 1 to 2 ns a row.
TouchedUnits UnitsOfRows(const MediumModel& model, std::span<const uint32_t> rows, size_t width);
// Returns the number of chained units that a binary search among `bytes` touches.
uint64_t UnitsOfSearch(const MediumModel& model, size_t bytes);

// All models: "optane-dc", "cxl", "cxl-fast", "cxl-slow".
std::span<const MediumModel> MediumModels();
// kInvalidArgument, with all names, for an unknown one.
absl::StatusOr<MediumModel> FindMediumModel(std::string_view name);
// kInvalidArgument if a figure makes no sense.
absl::Status CheckMediumModel(const MediumModel& model);
// `305 ns, 39.4 GB/s read, 13.9 GB/s written, units of 256 bytes`.
std::string TextOf(const MediumModel& model);

}  // namespace tickstack::mem
