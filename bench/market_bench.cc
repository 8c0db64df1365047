// Measures recorded feeds of exchanges on one core: messages/s that are decoded, and what merging
// two lines costs. Files are made here, and are in the page cache.
//
// Estimate. An ITCH message has 19 to 40 bytes: at 10 GB/s, a copy takes 4 ns. Messages about an
// order look it up in a table of some hundred thousand open orders, which is larger than the
// caches: a miss of 60 to 90 ns, unless the processor overlaps it with the next ones. So 10 to 16
// million messages/s are within reach, not 50. IEX's messages need no state: a read of 30 to 40
// bytes and a call, 10 to 20 ns. An arbiter compares one number per message, and copies what must
// wait.
//
// ItchFile/ORDERS: a third adds orders, the rest executes, cancels, deletes and replaces one of
// ORDERS open orders at random. IexCapture: levels, trades and quotes, 10 in a packet.
// Arbiter/LINES: 10 messages of 40 bytes in a packet; all lines deliver all packets.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "feed/market/arbiter.h"
#include "feed/market/capture_testing.h"
#include "feed/market/iex/iex_capture.h"
#include "feed/market/itch/itch_file.h"
#include "feed/sources/itch_source.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMessages = 2'000'000;
constexpr uint64_t kUnixNs = 1'600'000'000'000'000'000;

// Counts events, and reads one field of each.
class Counter final : public EventSink {
 public:
  int64_t events = 0, sum = 0;
  void On(const Trade& e) override { Add(e, e.size); }
  void On(const TradeBreak& e) override { Add(e, e.size); }
  void On(const Quote& e) override { Add(e, e.bsize); }
  void On(const Order& e) override { Add(e, e.size); }
  void On(const Level& e) override { Add(e, e.size); }
  void On(const Status& e) override { Add(e, 0); }
  void On(const Auction& e) override { Add(e, e.paired); }
  void On(const Instrument& e) override { Add(e, e.lot); }
  void On(const Bar& e) override { Add(e, e.volume); }
  void On(const Statistic& e) override { Add(e, e.size); }
  void On(const Gap& e) override { Add(e, e.first_seq); }

 private:
  void Add(const EventHead& head, int64_t value) {
    ++events;
    sum += head.time_ns ^ value;
  }
};

// A file in the directory for temporary files, while the object lives.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(fs::temp_directory_path() / ("tickstack_market_bench_" + std::to_string(getpid()))) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { fs::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  const fs::path path_;
};

MessageBytes Start(char type, int64_t number) {
  return MessageBytes()
      .Text(std::string(1, type), 1)
      .Big(static_cast<uint64_t>(number % 8'000), 2)
      .Big(1, 2)
      .Big(static_cast<uint64_t>(34'200'000'000'000 + number * 1'000), 6);
}

// The open orders of a made-up day, whose messages it writes.
class ItchDay {
 public:
  explicit ItchDay(size_t orders) : orders_(orders) {}

  std::string Bytes() {
    std::string bytes;
    for (int64_t n = 0; n < kMessages; ++n) {
      const std::string message = Next(n);
      bytes += MessageBytes().Big(message.size(), 2).bytes() + message;
    }
    return bytes;
  }

 private:
  std::string Next(int64_t n) {
    if (open_.size() < orders_ || random_() % 3 == 0) return Add(n);
    const size_t at = random_() % open_.size();
    switch (random_() % 4) {
      case 0:
        return Start('E', n).Big(open_[at], 8).Big(1, 4).Big(static_cast<uint64_t>(n), 8).bytes();
      case 1:
        return Start('X', n).Big(open_[at], 8).Big(1, 4).bytes();
      case 2: {
        const uint64_t old = std::exchange(open_[at], ++last_);
        return Start('U', n).Big(old, 8).Big(last_, 8).Big(1'000'000, 4).Big(20'000, 4).bytes();
      }
      default: {
        const uint64_t gone = std::exchange(open_[at], open_.back());
        open_.pop_back();
        return Start('D', n).Big(gone, 8).bytes();
      }
    }
  }
  std::string Add(int64_t n) {
    open_.push_back(++last_);
    return Start('A', n)
        .Big(last_, 8)
        .Text(n % 2 == 0 ? "B" : "S", 1)
        .Big(1'000'000, 4)
        .Text("SYM" + std::to_string(n % 8'000), 8)
        .Big(10'000, 4)
        .bytes();
  }

  const size_t orders_;
  std::mt19937_64 random_{1};
  std::vector<uint64_t> open_;
  uint64_t last_ = 0;
};

// Decodes the whole stream in each iteration.
void DecodeAll(benchmark::State& state, EventReader& reader, int64_t messages, size_t bytes) {
  int64_t events = 0;
  for (auto _ : state) {
    TS_CHECK(reader.Rewind().ok());
    Counter counter;
    while (true) {
      const absl::StatusOr<bool> more = reader.Advance();
      TS_CHECK(more.ok());
      if (!*more) break;
      TS_CHECK(reader.Decode(counter).ok());
    }
    benchmark::DoNotOptimize(counter.sum);
    events = counter.events;
  }
  TS_CHECK(reader.counts().problems == 0 && reader.counts().unmatched == 0 && events >= messages);
  state.SetItemsProcessed(state.iterations() * messages);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void BM_ItchFile(benchmark::State& state) {
  const std::string bytes = ItchDay(static_cast<size_t>(state.range(0))).Bytes();
  const TemporaryFile file(bytes);
  absl::StatusOr<std::unique_ptr<ItchFile>> reader = ItchFile::Open(file.path(), 0);
  TS_CHECK(reader.ok());
  DecodeAll(state, **reader, kMessages, bytes.size());
}
BENCHMARK(BM_ItchFile)->Arg(10'000)->Arg(300'000)->Unit(benchmark::kMillisecond);

// From the file to encoded rows, as a feed sends them.
void BM_ItchSource(benchmark::State& state) {
  const TemporaryFile file(ItchDay(300'000).Bytes());
  ItchOptions options;
  options.path = file.path();
  options.date = "2019.12.30";
  absl::StatusOr<std::unique_ptr<Source>> source = options.Open();
  TS_CHECK(source.ok());
  int64_t rows = 0;
  for (auto _ : state) {
    TS_CHECK((*source)->Rewind({}).ok());
    (*source)->Start(0);
    while (true) {
      const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(kNsPerDay);
      TS_CHECK(batch.ok());
      if (*batch == nullptr) break;
      benchmark::DoNotOptimize((*batch)->data.data());
      rows += (*batch)->rows;
    }
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(BM_ItchSource)->Unit(benchmark::kMillisecond);

MessageBytes IexStart(char type, int64_t n) {
  return MessageBytes()
      .Text(std::string(1, type), 1)
      .Little(1, 1)
      .Little(kUnixNs + static_cast<uint64_t>(n), 8)
      .Text("SYM" + std::to_string(n % 8'000), 8);
}

std::string IexMessage(int64_t n) {
  if (n % 10 == 0) return IexStart('T', n).Little(100, 4).Little(10'000, 8).Little(7, 8).bytes();
  return IexStart(n % 2 == 0 ? '8' : '5', n).Little(100, 4).Little(10'000, 8).bytes();
}

void BM_IexCapture(benchmark::State& state) {
  constexpr int64_t kInPacket = 10;
  std::string bytes = CaptureBytes().bytes();
  const size_t head = bytes.size();
  for (int64_t n = 0; n < kMessages; n += kInPacket) {
    std::string body;
    for (int64_t i = n; i < n + kInPacket; ++i) {
      const std::string message = IexMessage(i);
      body += MessageBytes().Little(message.size(), 2).bytes() + message;
    }
    const auto sent_ns = static_cast<int64_t>(kUnixNs) + n;
    const std::string packet = MessageBytes()
                                   .Little(1, 2)
                                   .Little(0x8004, 2)
                                   .Little(1, 4)
                                   .Little(1, 4)
                                   .Little(body.size(), 2)
                                   .Little(kInPacket, 2)
                                   .Little(0, 8)
                                   .Little(static_cast<uint64_t>(n + 1), 8)
                                   .Little(static_cast<uint64_t>(sent_ns), 8)
                                   .bytes() +
                               body;
    bytes += CaptureBytes().Udp(packet, sent_ns).bytes().substr(head);
  }
  const TemporaryFile file(bytes);
  absl::StatusOr<std::unique_ptr<IexCapture>> reader = IexCapture::Open(file.path());
  TS_CHECK(reader.ok());
  DecodeAll(state, **reader, kMessages, bytes.size());
}
BENCHMARK(BM_IexCapture)->Unit(benchmark::kMillisecond);

class Merged final : public ArbiterSink {
 public:
  int64_t messages = 0;
  void OnMessage(const MergedMessage& message) override {
    benchmark::DoNotOptimize(message.bytes.data());
    ++messages;
  }
  void OnGap(const Gap& /*gap*/) override { TS_CHECK(false); }
};

void BM_Arbiter(benchmark::State& state) {
  constexpr size_t kInPacket = 10, kPackets = 100'000;
  const std::string bytes(40, 'x');
  const std::vector<std::span<const std::byte>> messages(kInPacket,
                                                         std::as_bytes(std::span(bytes)));
  const auto lines = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    Arbiter arbiter(ArbiterSettings{});
    Merged merged;
    for (size_t packet = 0; packet < kPackets; ++packet) {
      for (size_t line = 0; line < lines; ++line) {
        const std::string_view why = arbiter.OnPacket({.line = line,
                                                       .channel = "1",
                                                       .session = "day",
                                                       .first_seq = packet * kInPacket + 1,
                                                       .messages = messages,
                                                       .recv_ns = static_cast<int64_t>(packet)},
                                                      merged);
        TS_CHECK(why.empty());
      }
    }
    TS_CHECK(merged.messages == kInPacket * kPackets);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kInPacket * kPackets));
}
BENCHMARK(BM_Arbiter)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::feed::market

BENCHMARK_MAIN();
