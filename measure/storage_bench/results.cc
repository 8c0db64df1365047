#include "measure/storage_bench/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "table/types.h"

namespace tickstack::measure::storage_bench {
namespace {

// Percentages beyond which the other source does not count: a few pages at the end of a file.
constexpr double kAllPercent = 99, kNonePercent = 1;

// Returns q's name of this operating system, as `.z.o` has it.
std::string_view OperatingSystem() {
#ifdef __aarch64__
  return "l64arm";
#else
  return "l64";
#endif
}

std::string_view UnitOf(const TestName& name) { return name.is_latency ? "ms" : "MB/sec"; }

// Formats a percentage as nano does: the first five characters of q's text.
std::string AccuracyText(double percent) { return fmt::format("{:.7g}", percent).substr(0, 5); }

std::string CountText(int64_t count) { return count == kNullLong ? "" : std::to_string(count); }

// Formats a time of day as q's timespan.
std::string TimeText(int64_t ns) {
  ns %= kNsPerDay;
  const int64_t seconds = ns / kNsPerSecond;
  return fmt::format("0D{:02}:{:02}:{:02}.{:09}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     ns % kNsPerSecond);
}

std::string CommonColumns(const TestResult& result, size_t threads) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", result.measurements.size(), threads, OperatingSystem(),
                     result.name.type, result.name.name, result.name.expression,
                     AccuracyText(result.Accuracy()));
}

std::string DeviceColumns(const TestResult& result) {
  if (!result.device || result.device_ns <= 0) return "||";
  const auto rate = [&](uint64_t bytes) {
    return static_cast<double>(bytes) * 1e3 / static_cast<double>(result.device_ns);
  };
  const DeviceBytes& bytes = *result.device;
  return fmt::format("{:.2f}|{:.2f}|{:.2f}", rate(bytes.read), rate(bytes.written),
                     rate(bytes.read + bytes.written));
}

std::string SourceColumns(const TestResult& result) {
  const std::optional<double> cached = result.CachedPercent();
  return fmt::format("{}|{}", cached ? fmt::format("{:.1f}", *cached) : "", result.ServedBy());
}

}  // namespace

double Measurement::Result(bool is_latency) const {
  const auto ns = static_cast<double>(std::max<int64_t>(1, elapsed_ns));
  if (is_latency) return ns / 1e6 / static_cast<double>(std::max<uint64_t>(1, work.repeats));
  return static_cast<double>(work.bytes) * 1e3 / ns;
}

double TestResult::Accuracy() const {
  TS_CHECK(!measurements.empty());
  const auto [first, last] =
      std::ranges::minmax(measurements, {}, [](const Measurement& m) { return m.begin_ns; });
  double total_ns = 0;
  for (const Measurement& measurement : measurements) {
    total_ns += static_cast<double>(std::max<int64_t>(1, measurement.elapsed_ns));
  }
  const double mean_ns = total_ns / static_cast<double>(measurements.size());
  return 100 * (1 - static_cast<double>(last.begin_ns - first.begin_ns) / mean_ns);
}

double TestResult::Throughput() const {
  double sum = 0;
  for (const Measurement& measurement : measurements) sum += measurement.Result(false);
  return sum;
}

double TestResult::MeanLatency() const {
  double sum = 0;
  for (const Measurement& measurement : measurements) sum += measurement.Result(true);
  return sum / static_cast<double>(measurements.size());
}

double TestResult::MaxLatency() const {
  double most = 0;
  for (const Measurement& measurement : measurements) {
    most = std::max(most, measurement.Result(true));
  }
  return most;
}

std::optional<double> TestResult::CachedPercent() const {
  if (io != Io::kColdRead && io != Io::kWarmRead) return std::nullopt;
  Pages pages;
  for (const Measurement& measurement : measurements) {
    pages.resident += measurement.pages.resident;
    pages.total += measurement.pages.total;
  }
  if (pages.total == 0) return std::nullopt;
  return 100 * static_cast<double>(pages.resident) / static_cast<double>(pages.total);
}

std::string TestResult::ServedBy() const {
  switch (io) {
    case Io::kNone:
      return "";
    case Io::kColdRead:
    case Io::kWarmRead: {
      if (on_memory) return "memory";
      const std::optional<double> cached = CachedPercent();
      if (!cached) return "";
      return *cached >= kAllPercent ? "page cache" : *cached <= kNonePercent ? "storage" : "both";
    }
    case Io::kDirect:
    case Io::kSyncWrite:
      return on_memory ? "memory" : "storage";
    case Io::kCacheWrite:
      return on_memory ? "memory" : "page cache";
  }
  return "";
}

std::string WarningOf(const TestResult& result) {
  const std::optional<double> cached = result.CachedPercent();
  if (!cached || result.on_memory) return "";
  if (result.io == Io::kColdRead && *cached > kNonePercent) {
    return fmt::format("{}: {:.0f} % of its pages were in the page cache: not the storage's speed",
                       result.name.name, *cached);
  }
  if (result.io == Io::kWarmRead && *cached < kAllPercent) {
    return fmt::format(
        "{}: only {:.0f} % of its pages were in the page cache: not the memory's speed",
        result.name.name, *cached);
  }
  return "";
}

std::string ThroughputPsv(const std::vector<TestResult>& results, size_t threads, bool header) {
  std::string text =
      header ? "numproc|threadnr|os|testtype|test|qexpression|accuracy|throughput|unit|"
               "iostat_read_throughput|iostat_write_throughput|iostat_readwrite_throughput|"
               "cached_pct|served_by\n"
             : "";
  for (const TestResult& result : results) {
    if (result.name.is_latency) continue;
    text += fmt::format("{}|{:.2f}|{}|{}|{}\n", CommonColumns(result, threads), result.Throughput(),
                        UnitOf(result.name), DeviceColumns(result), SourceColumns(result));
  }
  return text;
}

std::string LatencyPsv(const std::vector<TestResult>& results, size_t threads, bool header) {
  std::string text =
      header ? "numproc|threadnr|os|testtype|test|qexpression|accuracy|avgLatency|maxLatency|unit\n"
             : "";
  for (const TestResult& result : results) {
    if (!result.name.is_latency) continue;
    text += fmt::format("{}|{:.6f}|{:.6f}|{}\n", CommonColumns(result, threads),
                        result.MeanLatency(), result.MaxLatency(), UnitOf(result.name));
  }
  return text;
}

std::string DetailedPsv(const std::vector<TestResult>& results, size_t process, size_t threads) {
  std::string text =
      "threadnr|os|testtype|testid|test|qexpression|repeat|length|starttime|endtime|result|unit\n";
  for (const TestResult& result : results) {
    const Measurement& measured = result.measurements.at(process);
    const TestName& name = result.name;
    const double number = measured.Result(name.is_latency);
    text += fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}\n", threads, OperatingSystem(), name.type, name.id,
        name.name, name.expression, measured.work.repeats, CountText(measured.work.length),
        TimeText(measured.begin_ns), TimeText(measured.begin_ns + measured.elapsed_ns),
        name.is_latency ? fmt::format("{:.6f}", number) : fmt::format("{:.2f}", number),
        UnitOf(name));
  }
  return text;
}

}  // namespace tickstack::measure::storage_bench
