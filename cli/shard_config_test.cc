#include "cli/shard_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "cli/process_commands.h"
#include "cli/stack_config.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTwoShards = R"(
[[shard]]
name = "a"
[[shard]]
name = "b"
symbols = ["SPY"]
[tickerplant]
[[rdb]]
[hdb]
[aggengine]
[eod]
[[feed]]
[[monitor]]
)";

StackConfig Parsed(std::string_view text) {
  absl::StatusOr<StackConfig> config = ParseStackConfig(text, "stack.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : StackConfig();
}

std::string ErrorOf(std::string_view text) {
  return std::string(Message(ParseStackConfig(text, "stack.toml").status()));
}

std::vector<std::string> Names(StackConfig& config) {
  std::vector<std::string> names;
  for (const ListedProcess& listed : ProcessesOf(config)) names.push_back(listed.process->name());
  return names;
}

TEST(ShardConfig, EachShardHasAProcessOfEachTemplate) {
  StackConfig config = Parsed(kTwoShards);
  EXPECT_THAT(Names(config),
              ElementsAre("tickerplant-a", "tickerplant-b", "rdb-a", "rdb-b", "feed", "hdb-a",
                          "hdb-b", "monitor", "aggengine-a", "aggengine-b"));
  EXPECT_EQ(config.rdbs[1].tickerplant, "tickerplant-b");
  EXPECT_EQ(config.rdbs[1].end_of_day->hdb, "hdb-b");
  EXPECT_EQ(config.aggengine.all[1].tickerplant, "tickerplant-b");
  EXPECT_EQ(config.tickerplant.all[1].shard.index, 1u);
  EXPECT_EQ(config.rdbs[1].shard, IdOf(config.shard_map.get(), 1));
  EXPECT_EQ(config.aggengine.all[1].shard, IdOf(config.shard_map.get(), 1));
  EXPECT_EQ(config.shard_map->ShardOf("SPY"), 1u);
  EXPECT_EQ(config.monitors[0].rdb, "rdb-a");
  EXPECT_THAT(config.feeds[0].shards.tickerplants, ElementsAre("tickerplant-a", "tickerplant-b"));
}

TEST(ShardConfig, AFeedMayPublishToSomeShards) {
  const std::string feed = "[[feed]]\nname = \"feed2\"\nshards = [\"b\"]\n";
  const StackConfig config = Parsed(std::string(kTwoShards) + feed);
  EXPECT_THAT(config.feeds.back().shards.only, ElementsAre("b"));
  EXPECT_THAT(config.feeds.back().shards.tickerplants,
              ElementsAre("tickerplant-a", "tickerplant-b"));
  EXPECT_THAT(ErrorOf("[tickerplant]\n" + feed), HasSubstr("feed[0].shards: there is no shard b"));
}

TEST(ShardConfig, AGatewayAsksTheProcessesOfAllShards) {
  const std::string text =
      std::string(kTwoShards) +
      "[[rdb]]\nname = \"fast\"\nport = 5016\n[gateway]\nurgent_rdbs = [\"fast\"]\n"
      "urgent_users = [\"desk\"]\n";
  const StackConfig config = Parsed(text);
  ASSERT_TRUE(config.gateway);
  EXPECT_TRUE(config.gateway->rdbs.empty());
  EXPECT_TRUE(config.gateway->urgent_rdbs.empty());
  EXPECT_TRUE(config.gateway->hdbs.empty());
  ASSERT_EQ(config.gateway->shards.size(), 2u);
  const gateway::Shard& b = config.gateway->shards[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_THAT(b.rdbs, ElementsAre("rdb-b"));
  EXPECT_THAT(b.urgent_rdbs, ElementsAre("fast-b"));
  EXPECT_THAT(b.hdbs, ElementsAre("hdb-b"));
  EXPECT_THAT(config.gateway->shard_symbols, ElementsAre(testing::Pair("SPY", "b")));
  EXPECT_THAT(ErrorOf(std::string(kTwoShards) + "[gateway]\n[[gateway.shard]]\nname = \"a\"\n"),
              HasSubstr("knows the shards of this file"));
  EXPECT_THAT(ErrorOf(std::string(kTwoShards) + "[gateway]\nhdbs = [\"history:5012\"]\n"),
              HasSubstr("gateway.hdbs: each shard has its own: expected names of processes of this "
                        "file, found \"history:5012\""));
}

TEST(ShardConfig, AGatewayHasTheShardsOfOtherFilesByName) {
  const std::string a = "[gateway]\n[[gateway.shard]]\nname = \"a\"\nrdbs = [\"cap1:5011\"]\n";
  EXPECT_EQ(ErrorOf(a + "[[gateway.shard]]\nname = \"b\"\nrdbs = [\"cap2:5011\"]\n"), "");
  for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"name = \"a\"\n", "gateway.shard[1].name: a is the name of another shard, too"},
           {"name = \"b=c\"\n", "gateway.shard[1].name: expected letters, digits"},
           {"name = \"b\"\nrdbs = [\"cap1:5011\"]\n",
            "gateway.shard[1].rdbs: cap1:5011 is a process of shard a, too"}}) {
    EXPECT_THAT(ErrorOf(a + "[[gateway.shard]]\n" + text), HasSubstr(expected)) << text;
  }
  EXPECT_THAT(ErrorOf("[gateway]\nrdbs = [\"cap1:5011\"]\n" + a.substr(a.find('\n') + 1)),
              HasSubstr("gateway.shard: leave rdbs, urgent_rdbs and hdbs to each shard"));
}

TEST(ShardConfig, EachShardHasABridgeFromKafka) {
  const std::string bridge = "[[bridge]]\nname = \"in\"\nport = 6020\n";
  StackConfig config = Parsed(std::string(kTwoShards) + bridge + "direction = \"from-kafka\"\n" +
                              "[[bridge]]\nname = \"out\"\ntickerplant = \"tickerplant-b\"\n");
  ASSERT_EQ(config.bridges.size(), 3u);
  EXPECT_EQ(config.bridges[0].name, "out");  // It passes on all rows of its shard.
  EXPECT_EQ(config.bridges[0].shard.map, nullptr);
  EXPECT_EQ(config.bridges[2].name, "in-b");
  EXPECT_EQ(config.bridges[2].tickerplant, "tickerplant-b");
  EXPECT_EQ(config.bridges[2].listener.port, 6120);
  EXPECT_EQ(config.bridges[2].shard.id(), config.rdbs[1].shard);
  EXPECT_THAT(ErrorOf(std::string(kTwoShards) + bridge),
              HasSubstr("bridge: in: each shard has a tickerplant: expected the name of one, such "
                        "as tickerplant = \"tickerplant-a\", or direction = \"from-kafka\""));
  EXPECT_THAT(ErrorOf(std::string(kTwoShards) + bridge + "direction = \"from-kafka\"\n" +
                      "tickerplant = \"tickerplant,cap1:5010\"\n"),
              HasSubstr("bridge[0].tickerplant: found \"cap1:5010\", which the processes of all"));
}

TEST(ShardConfig, HasPortsAndFoldersByShard) {
  StackConfig config = Parsed(kTwoShards);
  EXPECT_EQ(config.tickerplant->listener.port, 5010);
  EXPECT_EQ(config.tickerplant.all[1].listener.port, 5110);
  EXPECT_EQ(config.aggengine.all[1].listener.port, 0);
  SetData(config, "/d");
  EXPECT_EQ(config.tickerplant->data, "/d/a");
  EXPECT_EQ(config.rdbs[1].data, "/d/b");
  EXPECT_EQ(DataOf(config, "hdb-b"), "/d/b");
  EXPECT_EQ(DataOf(config, "feed"), "/d");
}

TEST(ShardConfig, FoldersOfTheFileAreDividedByShard) {
  const StackConfig config = Parsed(R"(
[tier.pmem]
kind = "filesystem"
path = "/mnt/pmem0"
size = "64MiB"
[[shard]]
name = "a"
port_offset = 7
[tickerplant]
port = 6000
[[rdb]]
[rdb.placement]
default = "pmem"
[hdb]
database = "/big"
[eod]
database = "/big"
)");
  EXPECT_EQ(config.tickerplant->listener.port, 6007);
  EXPECT_EQ(config.rdbs[0].tiers.back().options.path, "/mnt/pmem0/a");
  EXPECT_EQ(config.rdbs[0].end_of_day->database, "/big/a");
  EXPECT_EQ(config.hdb->database, "/big/a");
}

TEST(ShardConfig, EachShardMayHaveStandbys) {
  StackConfig config = Parsed(R"(
[[shard]]
name = "a"
[[shard]]
name = "b"
[replication]
etcd = ["http://127.0.0.1:2379"]
cluster = "desk"
first_leader = "tickerplant"
[tickerplant]
[[standby]]
[[rdb]]
)");
  EXPECT_EQ(config.standbys[1].replication.cluster, "desk-b");
  EXPECT_EQ(config.standbys[1].replication.first_leader, "tickerplant-b");
  ResolveAddresses(config);
  EXPECT_EQ(config.rdbs[1].tickerplant, "127.0.0.1:5110,127.0.0.1:5130");
}

TEST(ShardConfig, OneShardHasItsProcessesOnly) {
  StackConfig config = Parsed(kTwoShards);
  SetData(config, "/d");
  const StackConfig one = OneShard(config, "b");
  EXPECT_EQ(one.tickerplant->name, "tickerplant-b");
  ASSERT_EQ(one.rdbs.size(), 1u);
  EXPECT_EQ(one.data, "/d/b");
}

// Goal: a process of a running stack that starts again does not get another map from a changed
// file.
TEST(ShardConfig, AChildRefusesAFileWithAnotherMap) {
  const std::string file = testing::TempDir() + "/shard_config_test.toml";
  std::ofstream(file) << kTwoShards;
  const std::string map = ShardMapFlag(*LoadStackConfig(file));
  const auto load = [&](const std::string& flag) {
    return ConfigForProcess({"feed", "--config", file, "--name", "feed", "--shard-map", flag})
        .status();
  };
  EXPECT_TRUE(load(map).ok());
  EXPECT_THAT(std::string(Message(load("none"))),
              HasSubstr("shard_config_test.toml: found the map of shards " + map +
                        ", expected none, with which the stack was started"));
  std::ofstream(file) << "[tickerplant]\n[feed]\n";
  EXPECT_TRUE(load("none").ok());
  EXPECT_THAT(std::string(Message(load(map))), HasSubstr("found the map of shards none"));
  std::filesystem::remove(file);
}

TEST(ShardConfig, RefusesWhatAllShardsWouldShare) {
  const std::string two = "[[shard]]\nname = \"a\"\n[[shard]]\nname = \"b\"\n[tickerplant]\n";
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"[aggengine]\ntickerplant = \"127.0.0.1:5010\"\n",
            "stack.toml:7:15: aggengine.tickerplant: found \"127.0.0.1:5010\", which the processes "
            "of "
            "all shards would use"},
           {"[[rdb]]\n[[rdb]]\nname = \"rdb2\"\nport = 6011\ntickerplant = \"cap1:5010\"\n",
            "stack.toml:10:15: rdb[1].tickerplant: found \"cap1:5010\""},
           {"[[rdb]]\nreplay = \"sym2020.03.09\"\n", "stack.toml:7:10: rdb[0].replay: the rdbs of"},
           {"[[rdb]]\n[rdb.prestress]\nquotes = 10\n", "rdb[0].prestress: the rdbs of all shards"},
           {"[[chained]]\nupstream = \"cap1:5010\"\n", "chained[0].upstream: found \"cap1:5010\""},
           {"[[rdb]]\n[hdb]\n[eod]\nhdb = \"127.0.0.1:5012\"\n",
            "eod.hdb: found \"127.0.0.1:5012\""},
           {"[[chained]]\n[[feed]]\ntickerplant = \"chained\"\n",
            "feed[0].tickerplant: found \"chained\", expected \"tickerplant\""},
           {"[tables]\norder = \"id j | time p, sym s\"\n",
            "tables.order: rows of one key could be in several shards: expected sym in the key"},
           {"[[feed]]\nshards = [\"c\"]\n", "feed[0].shards: there is no shard c"},
           {"[[rdb]]\nport = 5110\n", "shard[1].port_offset: tickerplant-b and rdb-a would both"},
           {"[[rdb]]\nport = 65500\n", "rdb-b would listen on port 65600"}}) {
    EXPECT_THAT(ErrorOf(two + text), HasSubstr(expected)) << text;
  }
  EXPECT_EQ(ErrorOf(two + "[[chained]]\n[[rdb]]\ntickerplant = \"chained\"\n"
                          "[tables]\norder = \"sym s, id j | time p\"\n"),
            "");
}

TEST(ShardConfig, AShardMayBeOnAHostOfItsOwn) {
  StackConfig config = Parsed(R"(
[[shard]]
name = "a"
host = "10.0.0.1"
[[shard]]
name = "b"
host = "10.0.0.2"
port_offset = 0
[tickerplant]
[[rdb]]
[[feed]]
)");
  ResolveAddresses(config);
  EXPECT_EQ(config.rdbs[1].listener.host, "10.0.0.2");
  EXPECT_EQ(config.rdbs[1].tickerplant, "10.0.0.2:5010");
  EXPECT_THAT(config.feeds[0].shards.tickerplants, ElementsAre("10.0.0.1:5010", "10.0.0.2:5010"));
}

TEST(ShardConfig, KnowsTheTablesOfEachShardsRdb) {
  const StackConfig config = Parsed(kTwoShards);
  EXPECT_TRUE(KnowsTables(config, config.rdbs[1]));
}

TEST(ShardConfig, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf("[tickerplant]\n[[shard]]\n"),
            "stack.toml:2:1: shard[0].name: expected letters, digits, -, _ and ., found \"\"");
  EXPECT_THAT(ErrorOf("[tickerplant]\n[[shard]]\nname = \"a\"\n[[shard]]\nname = \"a\"\n"),
              HasSubstr("stack.toml:5:8: shard[1].name: shard a is there twice"));
  EXPECT_THAT(ErrorOf("[tickerplant]\n[[shard]]\nname = \"a\"\nsymbols = [\"X\"]\n[[shard]]\n"
                      "name = \"b\"\nsymbols = [\"X\"]\n"),
              HasSubstr("stack.toml:7:11: shard[1].symbols: X is in shard a already"));
  EXPECT_THAT(ErrorOf("[[shard]]\nname = \"a\"\n"), HasSubstr("needs a section [tickerplant]"));
  EXPECT_THAT(ErrorOf("[tickerplant]\n[[shard]]\nname = \"a\"\nport_step = 1\n"),
              HasSubstr("stack.toml:4:1: shard[0].port_step: unknown key"));
}

}  // namespace
}  // namespace tickstack::cli
