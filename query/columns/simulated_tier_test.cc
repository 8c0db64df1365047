// Goal: over a simulated tier, captures and queries are charged the bytes that they touch; over
// real memory they are charged nothing. Method: a latency model that takes no time, and its count
// of bytes before and after.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mem/medium.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr uint64_t kUnit = 256;
constexpr uint64_t kRows = 2048, kSymbols = 64, kRowsOfSymbol = kRows / kSymbols;

// Returns trades: row i has time i, the symbol i mod 64 and price i.
std::string Trades() {
  std::string symbols;
  for (uint64_t i = 0; i < kSymbols; ++i) symbols += "`S" + std::to_string(i);
  return "([]time:`timestamp$til 2048;sym:2048#" + symbols + ";price:`float$til 2048)";
}

mem::TierOptions Simulated(double read_ns) {
  mem::TierOptions options;
  options.name = "slow";
  options.kind = mem::TierKind::kSimulate;
  options.model = {.name = "test",
                   .unit_bytes = kUnit,
                   .read_ns = read_ns,
                   .reads_at_once = 1,
                   .thread_read_gb_per_s = 1e6,
                   .thread_write_gb_per_s = 1e6,
                   .read_gb_per_s = 1e6,
                   .write_gb_per_s = 1e6,
                   .full_duplex = false};
  return options;
}

class SimulatedTierTest : public testing::Test {
 protected:
  explicit SimulatedTierTest(double read_ns = 1e-3)
      : SimulatedTierTest(*mem::OpenTier(Simulated(read_ns))) {}

  // Returns how many bytes a query reads, and expects its answer.
  uint64_t ReadBy(std::string_view query, std::string_view answer) {
    const uint64_t before = medium_->Stats().read_bytes;
    EXPECT_EQ(environment_.Ask(query), answer) << query;
    return medium_->Stats().read_bytes - before;
  }
  void Capture() { environment_.CaptureTable("t", Trades(), 1024); }

  mem::Medium* const medium_;
  TestEnvironment environment_;

 private:
  explicit SimulatedTierTest(std::unique_ptr<mem::Tier> tier)
      : medium_(tier->medium()), environment_(std::move(tier)) {}
};

TEST_F(SimulatedTierTest, AnAppendChargesItsColumnsAndItsIndex) {
  Capture();
  // The index touches scattered lines of 64 bytes, and each is charged as a whole unit.
  constexpr uint64_t kColumns = kRows * (8 + 4 + 8), kIndex = kRows * (4 + 4);
  EXPECT_EQ(medium_->Stats().written_bytes, kColumns + kIndex / 64 * kUnit);
  EXPECT_EQ(medium_->Stats().read_bytes, 0u);
}

TEST_F(SimulatedTierTest, AScanChargesTheColumnsThatItReads) {
  Capture();
  EXPECT_EQ(ReadBy("count t", "2048"), 0u);
  EXPECT_EQ(ReadBy("exec sum price from t", "2096128f"), kRows * 8);
  EXPECT_EQ(ReadBy("exec max time from t", "2000.01.01D00:00:00.000002047"), kRows * 8);
  EXPECT_EQ(ReadBy("exec count i from t where price<100", "100"), kRows * 8);
  EXPECT_EQ(ReadBy("exec sum price*price from t where i<1024", "357389824f"), 2 * 1024 * 8);
  // Reads the numbers of symbols, and nothing of the other columns.
  EXPECT_EQ(ReadBy("count exec distinct sym from t", "64"), kRows * 4);
}

TEST_F(SimulatedTierTest, AGatherChargesAUnitForEachRowThatIsAlone) {
  Capture();
  // A symbol's prices are 512 bytes apart; its row numbers are in one block of the index.
  const uint64_t read = ReadBy("exec sum price from t where sym=`S3", "31840f");
  EXPECT_GE(read, kRowsOfSymbol * kUnit + kUnit);
  EXPECT_LE(read, kRowsOfSymbol * kUnit + 6 * kUnit);
  // Rows that are side by side are charged only their own bytes.
  EXPECT_EQ(ReadBy("sum exec price from t where i<32", "496f"), 32 * 8);
  const uint64_t copied = ReadBy("count select from t where sym=`S3", "32");
  EXPECT_LE(copied, 6 * kUnit);  // The items of the rows are never read.
}

TEST_F(SimulatedTierTest, AJoinChargesPostingsAndTheRowsThatItGathers) {
  Capture();
  environment_.CaptureTable("q", Trades(), 1024);
  // Reads each symbol's coarse times of both sides, and its row numbers.
  const uint64_t matched = ReadBy("count aj[`sym`time;t;q]", "2048");
  EXPECT_GE(matched, kSymbols * 3 * kUnit);
  const uint64_t joined =
      ReadBy("sum exec price from aj[`sym`time;t;select sym,time,bid:price from q]", "2096128f");
  EXPECT_GE(joined, matched + kRows * 8);
}

TEST_F(SimulatedTierTest, SingleElementsChargeAUnitEach) {
  Capture();
  EXPECT_EQ(ReadBy("exec last price from t", "2047f"), kUnit);
  EXPECT_EQ(ReadBy("exec first sym from t", "`S0"), kUnit);
}

TEST_F(SimulatedTierTest, RowsThatAreReplacedChargeTheirBlocks) {
  environment_.CaptureTable("k", "1!([]id:til 512;price:`float$til 512)");
  EXPECT_GE(medium_->Stats().written_bytes, 512u * 16);
  const uint64_t read = medium_->Stats().read_bytes;
  EXPECT_EQ(ReadBy("exec sum price from k", "130816f"), 512 * 8);
  EXPECT_GE(read, kUnit);
}

TEST_F(SimulatedTierTest, JoinedTablesChargeAsTheirParts) {
  environment_.CaptureTable("a", Trades(), 1024);
  environment_.CaptureTable("b", Trades(), 1024);
  environment_.JoinTables("t", {"a", "b"});
  EXPECT_EQ(ReadBy("exec sum price from t", "4192256f"), 2 * kRows * 8);
}

class SlowTierTest : public SimulatedTierTest {
 protected:
  SlowTierTest() : SimulatedTierTest(1e6) {}
};

TEST_F(SlowTierTest, AQueryWaits) {
  Capture();
  EXPECT_EQ(medium_->Stats().waited_ns, 0);  // Stores are charged without waiting.
  EXPECT_EQ(environment_.Ask("exec last price from t"), "2047f");
  EXPECT_GT(medium_->Stats().waited_ns, 500'000);
}

}  // namespace
}  // namespace tickstack::query
