#include "mem/medium_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/status.h"

namespace tickstack::mem {
namespace {

constexpr size_t kUnitBytesMax = 4096;

// For CXL expanders, latencies are published, but not the bandwidth of one thread. DRAM of 100 ns
// gives some 12 GB/s, so its prefetchers have 19 lines in progress; the same is assumed here.
MediumModel Cxl(std::string_view name, double read_ns) {
  constexpr double kLinesUnderWay = 19, kLineBytes = 64;
  const double thread_gb_per_s = kLinesUnderWay * kLineBytes / read_ns;
  return {.name = std::string(name),
          .unit_bytes = 64,
          .read_ns = read_ns,
          .reads_at_once = 10,
          .thread_read_gb_per_s = thread_gb_per_s,
          .thread_write_gb_per_s = thread_gb_per_s,
          .read_gb_per_s = 36,
          .write_gb_per_s = 36,
          .full_duplex = true};
}

}  // namespace

double ReadNs(const MediumModel& model, const TouchedUnits& touched) {
  double ns = model.read_ns * static_cast<double>(touched.chained);
  auto streamed = static_cast<double>(touched.in_order);
  if (touched.scattered > 0) {
    ns +=
        model.read_ns * std::max(1.0, static_cast<double>(touched.scattered) / model.reads_at_once);
  } else if (touched.in_order > 0) {
    ns += model.read_ns;  // Latency of the first unit, which no prefetch hides.
    streamed -= 1;
  }
  return ns + streamed * static_cast<double>(model.unit_bytes) / model.thread_read_gb_per_s;
}

double WriteNs(const MediumModel& model, uint64_t units) {
  return static_cast<double>(units * model.unit_bytes) / model.thread_write_gb_per_s;
}

uint64_t UnitsOf(const MediumModel& model, const void* begin, size_t bytes) {
  if (bytes == 0) return 0;
  const auto first = reinterpret_cast<uintptr_t>(begin) / model.unit_bytes;
  return (reinterpret_cast<uintptr_t>(begin) + bytes - 1) / model.unit_bytes - first + 1;
}

TouchedUnits UnitsOfRows(const MediumModel& model, std::span<const uint32_t> rows, size_t width) {
  const int shift = std::countr_zero(model.unit_bytes);
  TouchedUnits touched;
  uint64_t last = UINT64_MAX - 1;  // Neither a unit nor the predecessor of one.
  for (const uint32_t row : rows) {
    if (row == UINT32_MAX) continue;
    const uint64_t unit = uint64_t{row} * width >> shift;
    touched.in_order += unit == last + 1 ? 1 : 0;
    touched.scattered += unit != last && unit != last + 1 ? 1 : 0;
    last = unit;
  }
  return touched;
}

uint64_t UnitsOfSearch(const MediumModel& model, size_t bytes) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::bit_width(bytes / model.unit_bytes)));
}

std::span<const MediumModel> MediumModels() {
  static const std::array<MediumModel, 4> models = {{
      {.name = "optane-dc",
       .unit_bytes = 256,
       .read_ns = 305,
       .reads_at_once = 10,
       .thread_read_gb_per_s = 39.4 / 17,
       .thread_write_gb_per_s = 13.9 / 4,
       .read_gb_per_s = 39.4,
       .write_gb_per_s = 13.9,
       .full_duplex = false},
      Cxl("cxl", 275),
      Cxl("cxl-fast", 140),
      Cxl("cxl-slow", 410),
  }};
  return models;
}

absl::StatusOr<MediumModel> FindMediumModel(std::string_view name) {
  std::string names;
  for (const MediumModel& model : MediumModels()) {
    if (model.name == name) return model;
    names += (names.empty() ? "" : ", ") + model.name;
  }
  return InvalidArgument("expected one of the models {}, found \"{}\"", names, name);
}

absl::Status CheckMediumModel(const MediumModel& model) {
  if (!std::has_single_bit(model.unit_bytes) || model.unit_bytes > kUnitBytesMax) {
    return InvalidArgument("model {}: units of {} bytes, expected a power of two up to {}",
                           model.name, model.unit_bytes, kUnitBytesMax);
  }
  const std::pair<const char*, double> figures[] = {
      {"read_ns", model.read_ns},
      {"reads_at_once", model.reads_at_once},
      {"thread_read_gb_per_s", model.thread_read_gb_per_s},
      {"thread_write_gb_per_s", model.thread_write_gb_per_s},
      {"read_gb_per_s", model.read_gb_per_s},
      {"write_gb_per_s", model.write_gb_per_s}};
  for (const auto& [figure, value] : figures) {
    // A millisecond per read, or a kilobyte per second, is not memory: waits would not end.
    if (value >= 1e-3 && value <= 1e6) continue;
    return InvalidArgument("model {}: {} {}, expected 0.001 to 1000000", model.name, figure, value);
  }
  return absl::OkStatus();
}

std::string TextOf(const MediumModel& model) {
  return fmt::format(
      "{:g} ns, {:.3g} GB/s read and {:.3g} written, of a thread {:.2g} and {:.2g}, units of {} "
      "bytes",
      model.read_ns, model.read_gb_per_s, model.write_gb_per_s, model.thread_read_gb_per_s,
      model.thread_write_gb_per_s, model.unit_bytes);
}

}  // namespace tickstack::mem
