#pragma once

// What a memory other than this machine's DRAM would take for an access, by its published figures.
// docs/tiers.md has the sources of each, and says which are our assumptions.
//
// A medium works in units, of which a byte costs as much as all. A read is one of three kinds,
// which differ in how much of the latency a processor hides:
//
//   in order    each unit behind the one before it: the prefetcher has them under way, and after
//               the first one the thread gets so many bytes a second
//   scattered   anywhere, but known ahead: so many are under way at once
//   chained     each known only when the one before it is there, as in a binary search: nothing is
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

// GB are 10^9 bytes, so GB/s are bytes a nanosecond.
struct MediumModel {
  std::string name;
  size_t unit_bytes = 64;            // A power of two.
  double read_ns = 0;                // From asking for a unit until it is there.
  double reads_at_once = 1;          // Scattered ones that a thread has under way.
  double thread_read_gb_per_s = 0;   // In order, of one thread.
  double thread_write_gb_per_s = 0;  // Of one thread.
  double read_gb_per_s = 0;          // Of all threads of all processes together.
  double write_gb_per_s = 0;
  // Writes do not take from what reads can have.
  bool full_duplex = false;
};

// Units that an access touches.
struct TouchedUnits {
  uint64_t in_order = 0;
  uint64_t scattered = 0;
  uint64_t chained = 0;

  uint64_t all() const { return in_order + scattered + chained; }
};

// What a thread takes for them if it has the medium to itself.
double ReadNs(const MediumModel& model, const TouchedUnits& touched);
double WriteNs(const MediumModel& model, uint64_t units);

// Units of `bytes` at an address.
uint64_t UnitsOf(const MediumModel& model, const void* begin, size_t bytes);
// Units of the elements of a column at these rows, in this order: those behind one another are in
// order, the others scattered; one that was touched just before is not touched again. UINT32_MAX is
// no row. Cost: a ns or two a row.
TouchedUnits UnitsOfRows(const MediumModel& model, std::span<const uint32_t> rows, size_t width);
// Units that a binary search among `bytes` touches, each chained to the one before.
uint64_t UnitsOfSearch(const MediumModel& model, size_t bytes);

// The models that there are: "optane-dc", "cxl", "cxl-fast", "cxl-slow".
std::span<const MediumModel> MediumModels();
// kInvalidArgument, with the names that there are.
absl::StatusOr<MediumModel> FindMediumModel(std::string_view name);
// kInvalidArgument if a figure makes no sense.
absl::Status CheckMediumModel(const MediumModel& model);
// `305 ns, 39.4 GB/s read, 13.9 GB/s written, units of 256 bytes`.
std::string TextOf(const MediumModel& model);

}  // namespace tickstack::mem
