#include "measure/storage_bench/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/types.h"

namespace tickstack::measure::storage_bench {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNoon = 12 * 3'600 * kSecond;

// A read of 8 MB in `seconds` that began `late_ns` after noon.
Measurement Read(double seconds, int64_t late_ns, Pages pages = {}) {
  return {.begin_ns = kNoon + late_ns,
          .elapsed_ns = static_cast<int64_t>(seconds * 1e9),
          .work = {.repeats = 1, .length = 1'000'000, .bytes = 8'000'000},
          .pages = pages};
}

TestResult ReadOf(std::vector<Measurement> measurements, Io io = Io::kColdRead) {
  return {.name = {"read disk write mem", ".read.readHuge", "sequential read int huge", "get,-23!"},
          .io = io,
          .measurements = std::move(measurements),
          .device = std::nullopt};
}

TEST(StorageBenchResults, ThroughputIsTheSumOfAllProcesses) {
  const TestResult result = ReadOf({Read(1, 0), Read(2, 0)});
  EXPECT_DOUBLE_EQ(result.Throughput(), 8 + 4);
}

TEST(StorageBenchResults, LatencyIsTheMeanAndTheLargestOfAllProcesses) {
  TestResult result = ReadOf({Read(1, 0), Read(2, 0)}, Io::kNone);
  result.name.is_latency = true;
  for (Measurement& measurement : result.measurements) measurement.work.repeats = 1'000;
  EXPECT_DOUBLE_EQ(result.MeanLatency(), 1.5);
  EXPECT_DOUBLE_EQ(result.MaxLatency(), 2);
}

TEST(StorageBenchResults, AccuracyComparesStartsWithTheDuration) {
  EXPECT_DOUBLE_EQ(ReadOf({Read(1, 0), Read(1, 0)}).Accuracy(), 100);
  EXPECT_DOUBLE_EQ(ReadOf({Read(1, 0), Read(3, kSecond / 2)}).Accuracy(), 75);
  EXPECT_DOUBLE_EQ(ReadOf({Read(1, 0), Read(1, kSecond)}).Accuracy(), 0);
}

TEST(StorageBenchResults, TheColumnsOfThroughputAreNanosAndTwoMore) {
  TestResult result = ReadOf({Read(1, 0, {0, 4}), Read(2, kSecond / 8, {1, 4})});
  result.device = DeviceBytes{3'000'000, 1'000'000};
  result.device_ns = 2 * kSecond;
  EXPECT_EQ(ThroughputPsv({result}, 4, true),
            "numproc|threadnr|os|testtype|test|qexpression|accuracy|throughput|unit|"
            "iostat_read_throughput|iostat_write_throughput|iostat_readwrite_throughput|"
            "cached_pct|served_by\n"
            "2|4|l64|read disk write mem|sequential read int huge|get,-23!|91.66|12.00|MB/sec|"
            "1.50|0.50|2.00|12.5|both\n");
}

TEST(StorageBenchResults, WithoutADeviceItsColumnsAreEmpty) {
  EXPECT_THAT(ThroughputPsv({ReadOf({Read(1, 0, {0, 4})})}, 1, false),
              testing::EndsWith("|100|8.00|MB/sec||||0.0|storage\n"));
}

TEST(StorageBenchResults, LatenciesAreInATableOfTheirOwn) {
  TestResult result = ReadOf({Read(1, 0)}, Io::kNone);
  result.name = {"meta", ".meta.size", "size", "hcount", true};
  result.measurements[0].work.repeats = 500;
  EXPECT_EQ(LatencyPsv({ReadOf({Read(1, 0)}), result}, 1, true),
            "numproc|threadnr|os|testtype|test|qexpression|accuracy|avgLatency|maxLatency|unit\n"
            "1|1|l64|meta|size|hcount|100|2.000000|2.000000|ms\n");
  EXPECT_EQ(ThroughputPsv({result}, 1, false), "");
}

TEST(StorageBenchResults, DetailsHaveTheTimesOfOneProcess) {
  TestResult result = ReadOf({Read(1, 0), Read(2, 1'500'000'000)});
  EXPECT_EQ(DetailedPsv({result}, 1, 4),
            "threadnr|os|testtype|testid|test|qexpression|repeat|length|starttime|endtime|result|"
            "unit\n"
            "4|l64|read disk write mem|.read.readHuge|sequential read int huge|get,-23!|1|1000000|"
            "0D12:00:01.500000000|0D12:00:03.500000000|4.00|MB/sec\n");
  result.measurements[1].work.length = kNullLong;
  EXPECT_THAT(DetailedPsv({result}, 1, 4), HasSubstr("|1||0D12"));
}

TEST(StorageBenchResults, SaysWhatServedEachTest) {
  const auto served = [](Io io, Pages pages, bool on_memory = false) {
    TestResult result = ReadOf({Read(1, 0, pages)}, io);
    result.on_memory = on_memory;
    return result.ServedBy();
  };
  EXPECT_EQ(served(Io::kColdRead, {0, 1'000}), "storage");
  EXPECT_EQ(served(Io::kColdRead, {500, 1'000}), "both");
  EXPECT_EQ(served(Io::kColdRead, {1'000, 1'000}), "page cache");
  EXPECT_EQ(served(Io::kWarmRead, {1'000, 1'000}), "page cache");
  EXPECT_EQ(served(Io::kWarmRead, {0, 1'000}), "storage");
  EXPECT_EQ(served(Io::kCacheWrite, {}), "page cache");
  EXPECT_EQ(served(Io::kSyncWrite, {}), "storage");
  EXPECT_EQ(served(Io::kDirect, {}), "storage");
  EXPECT_EQ(served(Io::kNone, {}), "");
  for (const Io io : {Io::kColdRead, Io::kWarmRead, Io::kCacheWrite, Io::kSyncWrite, Io::kDirect}) {
    EXPECT_EQ(served(io, {1'000, 1'000}, true), "memory");
  }
}

TEST(StorageBenchResults, WarnsOfACacheThatServedAColdRead) {
  EXPECT_EQ(WarningOf(ReadOf({Read(1, 0, {0, 1'000})})), "");
  EXPECT_THAT(WarningOf(ReadOf({Read(1, 0, {370, 1'000})})),
              HasSubstr("sequential read int huge: 37 % of its pages were in the page cache"));
  EXPECT_EQ(WarningOf(ReadOf({Read(1, 0, {1'000, 1'000})}, Io::kWarmRead)), "");
  EXPECT_THAT(WarningOf(ReadOf({Read(1, 0, {370, 1'000})}, Io::kWarmRead)),
              HasSubstr("only 37 % of its pages were in the page cache"));
  TestResult on_memory = ReadOf({Read(1, 0, {1'000, 1'000})});
  on_memory.on_memory = true;
  EXPECT_EQ(WarningOf(on_memory), "");
}

}  // namespace
}  // namespace tickstack::measure::storage_bench
