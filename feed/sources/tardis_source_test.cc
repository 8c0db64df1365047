#include "feed/sources/tardis_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "feed/sources/source_testing.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTardisTradeLines =
    "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n"
    "bitmex,XBT,946684800000001,946684800000002,ccc3-4f,sell,8531.5,0.0123\n"
    "bitmex,XBT,946684800000003,946684800000004,7,buy,8531,2\n";

class TardisSourceTest : public testing::Test {
 protected:
  TardisSourceTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_tardis_source_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    options_.path = path_;
  }
  ~TardisSourceTest() override { fs::remove(path_); }

  RowsByTable Rows(std::string_view text) {
    std::ofstream(path_, std::ios::binary) << text;
    RowsByTable rows;
    const absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
    EXPECT_TRUE(source.ok()) << source.status();
    if (!source.ok()) return rows;
    (*source)->Start(0);
    EXPECT_TRUE(Drain(**source, 0, rows).ok());
    return rows;
  }

  fs::path path_;
  TardisOptions options_;
};

// A single row is sent as atoms, several as vectors.
TEST_F(TardisSourceTest, SizesAreFloatsAndIdsStrings) {
  for (const int64_t batch_rows : {1, 2}) {
    options_.batch_rows = batch_rows;
    EXPECT_THAT(Rows(kTardisTradeLines).at("trade"),
                ElementsAre("1000,XBT,8531.5,0.0123,S,,ccc3-4f,1,2000,bitmex,",
                            "3000,XBT,8531,2,B,,7,2,4000,bitmex,"));
  }
}

TEST_F(TardisSourceTest, SchemasHaveItsTypes) {
  const std::vector<Schema> schemas = options_.Schemas();
  ASSERT_EQ(schemas.size(), 3u);
  EXPECT_EQ(
      FormatSchema(schemas[0]),
      "time p, sym s, bid f, ask f, bsize f, asize f, cond s, bid_venue s, ask_venue s, seq j, "
      "recv p, venue s, channel s");
  EXPECT_EQ(FormatSchema(schemas[1]),
            "time p, sym s, side c, price f, size f, orders j, complete b, cond s, seq j, recv p, "
            "venue s, channel s");
  EXPECT_EQ(FormatSchema(schemas[2]),
            "time p, sym s, price f, size f, side c, cond s, id *, seq j, recv p, venue s, "
            "channel s");
}

TEST_F(TardisSourceTest, RefusesLiquidationsByTheirName) {
  options_.path = "binance-futures_liquidations_2021-09-01_BTCUSDT.csv.gz";
  EXPECT_THAT(std::string(Message(options_.Open().status())),
              HasSubstr("expected another kind of data than liquidations"));
}

}  // namespace
}  // namespace tickstack::feed
