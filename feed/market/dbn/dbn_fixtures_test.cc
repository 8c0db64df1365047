// Files of Databento: its own samples of all schemas and versions, and days of the CME.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/status.h"
#include "feed/market/dbn/dbn_file.h"
#include "feed/market/event_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct Sample {
  std::vector<std::string> events;
  std::map<std::string, int64_t, std::less<>> records;  // By the name of their type.
  absl::Status status;
};

Sample ReadSample(const fs::path& path) {
  Sample sample;
  EventTexts events;
  const absl::StatusOr<std::unique_ptr<DbnFile>> file = DbnFile::Open(path);
  sample.status = file.status();
  if (!file.ok()) return sample;
  while (true) {
    const absl::StatusOr<bool> more = (*file)->Advance();
    sample.status = more.status();
    if (!more.ok() || !*more) break;
    EXPECT_TRUE((*file)->Decode(events).ok());
  }
  const MessageCounts& counts = (*file)->counts();
  EXPECT_EQ(counts.last_problem, "");
  EXPECT_EQ(std::reduce(counts.unknown.begin(), counts.unknown.end()), 0);
  for (size_t type = 0; type < counts.decoded.size(); ++type) {
    const std::string name((*file)->TypeName(static_cast<uint8_t>(type)));
    if (counts.decoded[type] > 0) sample.records[name] = counts.decoded[type];
  }
  sample.events = std::move(events.texts);
  return sample;
}

// The versions of a sample have the same records.
TEST(DbnFixtures, AllVersionsOfASampleHaveTheSameEvents) {
  TS_REQUIRE_FIXTURE(folder, "dbn");
  int compared = 0;
  for (const char* schema :
       {"bbo-1m", "bbo-1s", "cbbo-1s", "cmbp-1", "definition", "imbalance", "mbo", "mbp-1",
        "mbp-10", "ohlcv-1h", "ohlcv-1m", "ohlcv-1s", "statistics", "status", "tbbo", "trades"}) {
    const Sample plain = ReadSample(folder / fmt::format("test_data.{}.dbn", schema));
    EXPECT_TRUE(plain.status.ok()) << plain.status;
    EXPECT_FALSE(plain.events.empty());
    for (int version = 1; version <= 3; ++version) {
      const fs::path path = folder / fmt::format("test_data.{}.v{}.dbn.zst", schema, version);
      if (!fs::exists(path)) continue;
      const Sample sample = ReadSample(path);
      EXPECT_TRUE(sample.status.ok()) << sample.status;
      EXPECT_EQ(sample.events, plain.events) << path;
      EXPECT_EQ(sample.records, plain.records) << path;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 43);
}

TEST(DbnFixtures, ASampleHasItsFields) {
  TS_REQUIRE_FIXTURE(folder, "dbn");
  EXPECT_THAT(ReadSample(folder / "test_data.mbo.v3.dbn").events,
              ElementsAre("order time=662475600000429831 sym=ESH1 seq=1170352 "
                          "recv=662475600000704060 channel=GLBX.MDP3 0 venue=GLBX action=X side=S "
                          "price=3722.75 size=1 id=647784973705 cond=80",
                          HasSubstr(" seq=1170353 ")));
  EXPECT_THAT(
      ReadSample(folder / "market/databento-python/OPRA.PILLAR/test_data.definition.dbn.zst")
          .events,
      ElementsAre("instrument time=793366208943644160 sym=AAPL  250221C00250000 seq=1 "
                  "recv=793366208943854625 channel=OPRA.PILLAR 1 venue=OPRA id=16783963 kind=C "
                  "market=OPRA currency=USD underlying=AAPL strike=250 expiry=793411200000000000 "
                  "flags=AN"));
  EXPECT_THAT(
      ReadSample(folder / "market/definition-glbx-es-fut.dbn.zst").events[0],
      "instrument time=733766636384637671 sym=ESM3 seq=1 recv=733766636501583647 "
      "channel=GLBX.MDP3 0 venue=GLBX id=95414 kind=F market=XCME lot=0 prior_close=4137.75 "
      "currency=USD underlying=ES tick=0.25 multiplier=50 expiry=740237400000000000 flags=ANF");
}

TEST(DbnFixtures, RefusesDbzAndFragmentsByName) {
  TS_REQUIRE_FIXTURE(folder, "dbn");
  int refused = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool is_dbz = name.ends_with(".dbz");
    if (!is_dbz && name.find(".frag") == std::string::npos) continue;
    EXPECT_THAT(std::string(Message(ReadSample(entry.path()).status)),
                HasSubstr(is_dbz ? "expected DBN, found DBZ" : "found records without a header"))
        << name;
    ++refused;
  }
  EXPECT_EQ(refused, 17);
}

TEST(DbnFixtures, ADayOfOrdersBeginsWithTheBookOfTheDayBefore) {
  TS_REQUIRE_FIXTURE(before_path, "dbn/market/esh4-glbx-mdp3-20231224.mbo.dbn.zst");
  TS_REQUIRE_FIXTURE(path, "dbn/market/esh4-glbx-mdp3-20231225.mbo.dbn.zst");
  const Sample before = ReadSample(before_path), day = ReadSample(path);
  EXPECT_EQ(before.events.size(), 8'725);
  EXPECT_EQ(day.records.at("mbo"), 68'792);
  std::map<std::string, int64_t, std::less<>> actions;
  for (const std::string& event : day.events) {
    const size_t at = event.find(" action=");
    ++actions[at == std::string::npos ? event.substr(0, 5) : event.substr(at + 8, 1)];
  }
  EXPECT_EQ(actions,
            (std::map<std::string, int64_t, std::less<>>{
                {"A", 29'216}, {"X", 17'999}, {"M", 12'233}, {"F", 6'371}, {"trade", 2'973}}));
}

// The trades of a minute are those that its records of prices have.
TEST(DbnFixtures, TradesOfTwoSchemasAreTheSame) {
  TS_REQUIRE_FIXTURE(folder, "dbn/market/hist-bars");
  constexpr std::string_view kMinutes = "2024-07-01T23-58_2024-07-02T00-02.dbn.zst";
  Sample prices = ReadSample(folder / fmt::format("futures_mbp-1_{}", kMinutes));
  const Sample trades = ReadSample(folder / fmt::format("futures_trades_{}", kMinutes));
  EXPECT_EQ(prices.records.at("mbp-1"), 2'288);
  std::erase_if(prices.events, [](const std::string& text) { return text.starts_with("quote"); });
  EXPECT_EQ(prices.events.size(), 120);
  EXPECT_EQ(prices.events, trades.events);
}

}  // namespace
}  // namespace tickstack::feed::market
