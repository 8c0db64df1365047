#include "gateway/gateway_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tickstack::gateway {
namespace {

std::string ErrorOf(std::vector<Shard> shards) {
  GatewayMainOptions options;
  options.shards = std::move(shards);
  return std::string(Message(CheckShards(options)));
}

TEST(CheckShards, RefusesShardsWhoseRowsWouldBeMissingOrCountTwice) {
  EXPECT_EQ(ErrorOf({}), "");
  EXPECT_EQ(ErrorOf({{"a", {":1", ":2"}, {":3"}, {":4"}}, {"b", {":5"}, {}, {":6"}}}), "");
  EXPECT_EQ(ErrorOf({{"a", {":1"}, {":1"}, {}}, {"b", {":2"}, {}, {}}}), "");
  EXPECT_EQ(ErrorOf({{"a", {}, {}, {":1"}}, {"b", {}, {}, {":2"}}}), "");
  EXPECT_EQ(ErrorOf({{"a", {":1"}, {}, {":2"}}, {"", {":3"}, {}, {":4"}}}),
            "shard 2: it has no name");
  EXPECT_EQ(ErrorOf({{"a", {":1"}, {}, {":2"}}, {"b", {}, {}, {":3"}}}),
            "shards a and b: only one has rdbs");
  EXPECT_EQ(ErrorOf({{"a", {":1"}, {}, {":2"}}, {"b", {":3"}, {}, {}}}),
            "shards a and b: only one has hdbs");
  EXPECT_EQ(ErrorOf({{"a", {":1"}, {}, {":2"}}, {"b", {":3"}, {}, {":2"}}}),
            "shards a and b: both have :2, expected processes of their own");
  EXPECT_EQ(ErrorOf({{"a", {"localhost:1"}, {}, {}}, {"b", {}, {"127.0.0.1:1"}, {}}}),
            "shards a and b: both have 127.0.0.1:1, expected processes of their own");
  GatewayMainOptions options;
  options.rdbs = {":1"};
  EXPECT_TRUE(CheckShards(options).ok());
  options.shards = {{"a", {":2"}, {}, {}}};
  EXPECT_THAT(Message(CheckShards(options)), testing::HasSubstr("those of each shard only"));
}

}  // namespace
}  // namespace tickstack::gateway
