// Measures how many records of DBN one core decodes: orders of 56 bytes in memory that the caches
// do not hold, the same in a file, and what reading the bytes alone takes.
//
// Estimate. At 10 GB/s from memory, 56 bytes take 6 ns, so 180 million records/s are the limit. A
// record is a look at its type, some 15 loads, a division, the symbol of the last record again, and
// two indirect calls: 40 to 60 instructions, or 10 ns. That would be 100 million records/s.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <span>
#include <string>

#include "base/check.h"
#include "feed/market/dbn/dbn_file.h"
#include "feed/market/dbn/dbn_testing.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecords = 2'000'000;
constexpr size_t kRecordBytes = 56;

// Adds up a field of each event, so that none can be left out.
class SumSink final : public EventSink {
 public:
  int64_t sum = 0;
  void On(const Trade& e) override { sum += e.size; }
  void On(const TradeBreak& e) override { sum += e.size; }
  void On(const Quote& e) override { sum += e.bsize; }
  void On(const Order& e) override { sum += e.size; }
  void On(const Level& e) override { sum += e.size; }
  void On(const Status& e) override { sum += e.seq; }
  void On(const Auction& e) override { sum += e.paired; }
  void On(const Instrument& e) override { sum += e.lot; }
  void On(const Bar& e) override { sum += e.volume; }
  void On(const Statistic& e) override { sum += e.size; }
  void On(const Gap& e) override { sum += e.first_seq; }
};

// Orders of one instrument, with the actions of a day of futures.
const std::string& OrderRecords() {
  static const std::string kOrders = [] {
    std::minstd_rand random(1);
    constexpr std::string_view kActions = "AAAACCCMMF";
    std::string records;
    records.reserve(kRecords * kRecordBytes);
    for (int64_t i = 0; i < kRecords; ++i) {
      const auto number = static_cast<uint32_t>(random());
      records += DbnOrderBytes(kActions[number % kActions.size()], number % 2 == 0 ? 'A' : 'B',
                               4'800'000'000'000 + number % 1'000 * 250'000'000, 1 + number % 100,
                               static_cast<uint64_t>(i));
    }
    return records;
  }();
  return kOrders;
}

// What any reader of all bytes needs at least.
void BM_Touch(benchmark::State& state) {
  const std::string& records = OrderRecords();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (size_t at = 0; at < records.size(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, records.data() + at, sizeof word);
      sum += word;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(records.size()));
}
BENCHMARK(BM_Touch)->Unit(benchmark::kMillisecond);

void BM_Decode(benchmark::State& state) {
  const std::span<const std::byte> records = AsBytes(OrderRecords());
  DbnMetadata metadata;
  metadata.version = 3;
  metadata.dataset = "GLBX.MDP3";
  metadata.symbols.MapDays(7, 0, 1, "ESH4");
  metadata.symbols.SortDays();
  DbnDecoder decoder(std::move(metadata));
  for (auto _ : state) {
    SumSink sink;
    MessageCounts counts;
    int64_t number = 0;
    for (size_t at = 0; at < records.size(); at += static_cast<size_t>(records[at]) * 4) {
      const size_t bytes = static_cast<size_t>(records[at]) * 4;
      decoder.Decode(records.subspan(at, bytes), ++number, sink, counts);
    }
    TS_CHECK(counts.decoded[0xA0] == kRecords && sink.sum > kRecords);
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(records.size()));
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

// The same from a file, which is in the page cache.
void BM_File(benchmark::State& state) {
  const fs::path path = fs::temp_directory_path() / fmt::format("tickstack_dbn_bench_{}", getpid());
  std::ofstream(path, std::ios::binary) << DbnHeader(3) << OrderRecords();
  const absl::StatusOr<std::unique_ptr<DbnFile>> file = DbnFile::Open(path);
  TS_CHECK(file.ok());
  for (auto _ : state) {
    SumSink sink;
    TS_CHECK((*file)->Rewind().ok());
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      TS_CHECK(more.ok());
      if (!*more) break;
      TS_CHECK((*file)->Decode(sink).ok());
    }
    TS_CHECK((*file)->counts().decoded[0xA0] == kRecords);
    benchmark::DoNotOptimize(sink.sum);
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
  fs::remove(path);
}
BENCHMARK(BM_File)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::feed::market

BENCHMARK_MAIN();
