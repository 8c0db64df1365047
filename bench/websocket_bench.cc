// Measures how many bytes/s of crypto exchanges' messages one core decodes, by venue: messages in
// memory, through the JSON parser and the decoder to events.
//
// The limit is that of simdjson, which parses 2 to 3 GB/s of such texts on one core by its own
// figures. What comes on top of it is a node for each value, keys that are compared, and numbers
// that are converted from texts.
//
// Coinbase: level updates of one level, and a match in five. Binance: updates of eight levels, and
// a trade in five.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "feed/market/websocket/record_decoder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kMessages = 200'000;

class Counter final : public EventSink {
 public:
  int64_t events = 0;
  double sum = 0;
  void On(const Trade& e) override { Add(e.amount); }
  void On(const TradeBreak& e) override { Add(e.amount); }
  void On(const Quote& e) override { Add(e.bid); }
  void On(const Order& e) override { Add(e.price); }
  void On(const Level& e) override { Add(e.amount); }
  void On(const Status&) override { Add(0); }
  void On(const Auction& e) override { Add(e.ref_price); }
  void On(const Instrument& e) override { Add(e.tick); }
  void On(const Bar&) override { Add(0); }
  void On(const Statistic&) override { Add(0); }
  void On(const Gap&) override { Add(0); }

 private:
  void Add(double value) {
    ++events;
    sum += value;
  }
};

std::string TimeText(size_t i) {
  return fmt::format("2021-04-17T16:{:02}:{:02}.{:06}Z", i / 6'000'000 % 60, i / 100'000 % 60,
                     i % 100'000 * 10);
}

std::vector<std::string> CoinbaseTexts() {
  std::minstd_rand random(1);
  std::vector<std::string> texts = {
      R"({"type":"snapshot","product_id":"BTC-USD","asks":[["60000.00","1"]],"bids":[["59999.99","1"]]})"};
  for (size_t i = 1; i < kMessages; ++i) {
    const bool buys = random() % 2 == 0;
    const uint64_t cents = random() % 100'000, size = random() % 10'000'000;
    texts.push_back(
        i % 5 == 0
            ? fmt::format(
                  R"({{"type":"match","trade_id":{},"maker_order_id":"0d1a08b7-{:012}",)"
                  R"("taker_order_id":"7c5a31cd-{:012}","side":"{}","size":"0.{:08}",)"
                  R"("price":"{}.{:02}","product_id":"BTC-USD","sequence":{},"time":"{}"}})",
                  i, i, i, buys ? "buy" : "sell", size, 59'000 + cents / 100, cents % 100,
                  23'000'000'000 + i, TimeText(i))
            : fmt::format(
                  R"({{"type":"l2update","product_id":"BTC-USD","changes":[["{}","{}.{:02}",)"
                  R"("0.{:08}"]],"time":"{}"}})",
                  buys ? "buy" : "sell", 59'000 + cents / 100, cents % 100, size, TimeText(i)));
  }
  return texts;
}

std::vector<std::string> BinanceTexts() {
  std::minstd_rand random(1);
  std::vector<std::string> texts;
  for (size_t i = 1; i <= kMessages; ++i) {
    const uint64_t cents = random() % 100'000, size = random() % 10'000'000;
    if (i % 5 == 0) {
      texts.push_back(fmt::format(
          R"({{"stream":"btcusdt@trade","data":{{"e":"trade","E":{},"s":"BTCUSDT","t":{},)"
          R"("p":"{}.{:02}000000","q":"0.{:08}","b":{},"a":{},"T":{},"m":true,"M":true}}}})",
          1'618'678'142'000 + i, i, 59'000 + cents / 100, cents % 100, size, i, i + 1,
          1'618'678'142'000 + i));
      continue;
    }
    std::string sides[2];
    for (size_t k = 0; k < 8; ++k) {
      std::string& side = sides[k % 2];
      side += fmt::format(R"({}["{}.{:02}000000","0.{:08}"])", side.empty() ? "" : ",",
                          59'000 + k + cents / 100, cents % 100, size);
    }
    texts.push_back(
        fmt::format(R"({{"stream":"btcusdt@depth@100ms","data":{{"e":"depthUpdate","E":{},)"
                    R"("s":"BTCUSDT","U":{},"u":{},"b":[{}],"a":[{}]}}}})",
                    1'618'678'142'000 + i, 10 * i, 10 * i + 9, sides[0], sides[1]));
  }
  return texts;
}

void Decode(benchmark::State& state, std::string_view venue,
            const std::vector<std::string>& texts) {
  int64_t bytes = 0, recv_ns = 0;
  for (const std::string& text : texts) bytes += static_cast<int64_t>(text.size());
  int64_t events = 0;
  for (auto _ : state) {
    auto decoder = RecordDecoder::Create(venue);
    TS_CHECK(decoder.ok());
    Counter counter;
    (*decoder)->Take(
        {.kind = Record::Kind::kConnected, .recv_ns = ++recv_ns, .connection = venue},
        [] { return std::string(); }, counter);
    for (const std::string& text : texts) {
      const auto outcome = (*decoder)->Take(
          {.kind = Record::Kind::kReceived,
           .recv_ns = ++recv_ns,
           .connection = venue,
           .text = text},
          [] { return std::string(); }, counter);
      TS_CHECK(outcome.why.empty());
    }
    TS_CHECK(counter.events >= static_cast<int64_t>(texts.size()) - 1);
    benchmark::DoNotOptimize(counter.sum);
    events = counter.events;
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(texts.size()));
  state.counters["bytes_per_message"] =
      static_cast<double>(bytes) / static_cast<double>(texts.size());
  state.counters["events_per_message"] =
      static_cast<double>(events) / static_cast<double>(texts.size());
}

void BM_Coinbase(benchmark::State& state) {
  static const std::vector<std::string> kTexts = CoinbaseTexts();
  Decode(state, "coinbase", kTexts);
}
BENCHMARK(BM_Coinbase)->Unit(benchmark::kMillisecond);

void BM_Binance(benchmark::State& state) {
  static const std::vector<std::string> kTexts = BinanceTexts();
  Decode(state, "binance", kTexts);
}
BENCHMARK(BM_Binance)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::feed::market

BENCHMARK_MAIN();
