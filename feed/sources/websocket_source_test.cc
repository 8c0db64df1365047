#include "feed/sources/websocket_source.h"

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
using testing::HasSubstr;

class WebsocketSourceTest : public testing::Test {
 protected:
  WebsocketSourceTest()
      : folder_(fs::temp_directory_path() /
                fmt::format("tickstack_websocket_source_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
    options_.venue = "coinbase";
    options_.path = Write(
        "a", R"(946684800.5: {"type":"match","trade_id":9,"side":"sell","size":"0.5","price":"2",)"
             R"("product_id":"X","sequence":77,"time":"2000-01-01T00:00:00Z"})"
             "\n");
  }
  ~WebsocketSourceTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name) << bytes;
    return folder_ / name;
  }
  std::string ErrorOfOpen() const { return std::string(Message(options_.Open().status())); }

  fs::path folder_;
  WebsocketOptions options_;
};

TEST_F(WebsocketSourceTest, PublishesAmountsAsFloatsAndIdsAsStrings) {
  options_.merge = {Write("b", "946684800.25: {\"type\":\"subscriptions\"}\nwhat\n")};
  const absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
  ASSERT_TRUE(source.ok()) << source.status();
  (*source)->Start(0);
  RowsByTable rows;
  ASSERT_TRUE(Drain(**source, 0, rows).ok());
  ASSERT_EQ(rows.at("trade").size(), 1u);
  EXPECT_THAT(rows.at("trade")[0], testing::StartsWith("0,X,2,0.5,B,,"));
  EXPECT_THAT(rows.at("trade")[0], testing::EndsWith(",77,500000000,coinbase,matches"));
  EXPECT_EQ((*source)->Counts(),
            (SourceCounts{{"bad_line", 1}, {"match", 1}, {"subscriptions", 1}}));
  for (const Schema& schema : options_.Schemas()) {
    for (const char* column : {"size", "bsize", "asize"}) {
      const int64_t at = schema.Find(column);
      if (at < 0) continue;
      EXPECT_EQ(schema.columns[static_cast<size_t>(at)].type, Type::kFloat);
    }
  }
}

TEST_F(WebsocketSourceTest, RowsAreNamedByAllThatTheyDependOn) {
  const std::string name = options_.RowsName();
  options_.merge = {"b"};
  const std::string merged = options_.RowsName();
  EXPECT_NE(merged, name);
  options_.venue = "kraken";
  EXPECT_NE(options_.RowsName(), merged);
}

TEST_F(WebsocketSourceTest, SaysWhichOptionIsWrong) {
  options_.venue = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("venue: expected one of binance, binance-futures, bitstamp, "
                                       "coinbase, deribit, kraken, okx, found \"\""));
  options_.venue = "kraken";
  options_.merge = {(folder_ / "none").string()};
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("none"));
  options_.path = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("--path is missing"));
}

}  // namespace
}  // namespace tickstack::feed
