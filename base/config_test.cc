#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/status.h"
#include "base/time.h"

namespace tickstack {
namespace {

using testing::ElementsAre;

constexpr std::string_view kStack = R"([stack]
name = "demo"
tables = ["trade", "quote"]
ratio = 0.5

[[rdb]]
name = "rdb1"
port = 5011
[rdb.tier.dram]
capacity = "64GiB"

[[rdb]]
name = "rdb2"
busy = true
wait = "50ms"
)";

Config Parsed(std::string_view text) {
  absl::StatusOr<Config> config = Config::Parse(text, "stack.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

ConfigTable Stack(const Config& config) { return *config.root().Table("stack"); }

template <typename T>
std::string ErrorOf(std::string_view text, std::string_view key, T target) {
  const Config config = Parsed(text);
  return std::string(Message(config.root().Read(key, &target)));
}

TEST(Config, ReadsEveryKindOfValue) {
  const Config config = Parsed(kStack);
  std::string name;
  std::vector<std::string> tables;
  double ratio = 0;
  EXPECT_TRUE(Stack(config).Read("name", &name).ok());
  EXPECT_TRUE(Stack(config).Read("tables", &tables).ok());
  EXPECT_TRUE(Stack(config).Read("ratio", &ratio).ok());
  EXPECT_EQ(name, "demo");
  EXPECT_THAT(tables, ElementsAre("trade", "quote"));
  EXPECT_EQ(ratio, 0.5);

  const std::vector<ConfigTable> rdb = *config.root().Tables("rdb");
  ASSERT_EQ(rdb.size(), 2u);
  uint16_t port = 0;
  size_t capacity = 0;
  bool busy = false;
  int64_t wait_ns = 0;
  EXPECT_TRUE(rdb[0].Read("port", &port).ok());
  EXPECT_TRUE(rdb[0].Table("tier")->Table("dram")->ReadBytes("capacity", &capacity).ok());
  EXPECT_TRUE(rdb[1].Read("busy", &busy).ok());
  EXPECT_TRUE(rdb[1].ReadDuration("wait", &wait_ns).ok());
  EXPECT_EQ(port, 5011);
  EXPECT_EQ(capacity, size_t{64} << 30);
  EXPECT_TRUE(busy);
  EXPECT_EQ(wait_ns, 50'000'000);
}

TEST(Config, LeavesTheDefaultWhereAKeyOrItsTableIsAbsent) {
  const Config config = Parsed(kStack);
  int port = 7;
  EXPECT_TRUE(config.root().Table("monitor")->Read("port", &port).ok());
  EXPECT_TRUE(config.root().Table("monitor")->Table("deeper")->Read("port", &port).ok());
  EXPECT_TRUE(Stack(config).Read("port", &port).ok());
  EXPECT_EQ(port, 7);
  EXPECT_TRUE(config.root().Tables("hdb")->empty());
}

TEST(Config, ListsKeysInTheOrderOfTheFile) {
  EXPECT_THAT(Stack(Parsed(kStack)).Keys(), ElementsAre("name", "tables", "ratio"));
  EXPECT_THAT(Parsed(kStack).root().Keys(), ElementsAre("stack", "rdb"));
}

TEST(Config, TakesOneTableWhereSeveralCouldBe) {
  const Config config = Parsed("[rdb]\nname = 'only'");
  EXPECT_EQ(config.root().Tables("rdb")->size(), 1u);
}

TEST(Config, NamesPlaceFoundAndExpected) {
  EXPECT_EQ(ErrorOf("\nport = 'x'", "port", int64_t{}),
            "stack.toml:2:8: port: expected an integer, found string \"x\"");
  EXPECT_EQ(ErrorOf("port = 70000", "port", uint16_t{}),
            "stack.toml:1:8: port: expected an integer from 0 to 65535, found integer 70000");
  EXPECT_EQ(
      ErrorOf("port = -1", "port", uint64_t{}),
      "stack.toml:1:8: port: expected an integer from 0 to 9223372036854775807, found integer -1");
  EXPECT_EQ(ErrorOf("name = 5", "name", std::string()),
            "stack.toml:1:8: name: expected a string, found integer 5");
  EXPECT_EQ(ErrorOf("busy = 1.5", "busy", bool{}),
            "stack.toml:1:8: busy: expected true or false, found float 1.5");
  EXPECT_EQ(ErrorOf("rate = true", "rate", double{}),
            "stack.toml:1:8: rate: expected a number, found boolean true");
  EXPECT_EQ(ErrorOf("rate = 2020-03-09", "rate", double{}),
            "stack.toml:1:8: rate: expected a number, found a date or time");
  EXPECT_EQ(ErrorOf("tables = 'x'", "tables", std::vector<std::string>()),
            "stack.toml:1:10: tables: expected an array of strings, found string \"x\"");
  EXPECT_EQ(ErrorOf("tables = ['x', 1]", "tables", std::vector<std::string>()),
            "stack.toml:1:10: tables: expected an array of strings, found integer 1 in it");
}

TEST(Config, NamesThePathOfANestedKey) {
  const Config config = Parsed("[[rdb]]\n[[rdb]]\ntier.dram.capacity = 'lots'\nwait = 50");
  const ConfigTable rdb = config.root().Tables("rdb")->at(1);
  size_t bytes = 0;
  int64_t ns = 0;
  EXPECT_EQ(
      Message(rdb.Table("tier")->Table("dram")->ReadBytes("capacity", &bytes)),
      "stack.toml:3:22: rdb[1].tier.dram.capacity: expected a size such as \"64GiB\" or a number "
      "of bytes, found string \"lots\"");
  EXPECT_EQ(Message(rdb.ReadDuration("wait", &ns)),
            "stack.toml:4:8: rdb[1].wait: expected a duration such as \"50ms\", found integer 50");
  EXPECT_EQ(Message(rdb.ErrorAt("wait", "too long")), "stack.toml:4:8: rdb[1].wait: too long");
  EXPECT_EQ(Message(rdb.ErrorAt("port", "is missing")), "stack.toml:2:1: rdb[1].port: is missing");
}

TEST(Config, RefusesValuesInThePlaceOfTables) {
  const Config config = Parsed("rdb = 5\nfeed = [1]");
  EXPECT_EQ(Message(config.root().Table("rdb").status()),
            "stack.toml:1:7: rdb: expected a table, found integer 5");
  EXPECT_EQ(Message(config.root().Tables("rdb").status()),
            "stack.toml:1:7: rdb: expected tables [[rdb]], found integer 5");
  EXPECT_EQ(Message(config.root().Tables("feed").status()),
            "stack.toml:2:8: feed: expected tables, found integer 1 in the array");
}

TEST(Config, ReportsEveryKeyThatNobodyAskedForWithTheNearestName) {
  const Config config = Parsed("[rdb]\nprot = 5012\nname = 'a'\n[feeed]\nrate = 1\n[zzz]\n");
  const ConfigTable rdb = *config.root().Table("rdb");
  int port = 0;
  std::string name;
  ASSERT_TRUE(rdb.Read("port", &port).ok());
  ASSERT_TRUE(rdb.Read("name", &name).ok());
  ASSERT_TRUE(config.root().Table("feed").ok());
  EXPECT_EQ(Message(config.CheckUnusedKeys()),
            "stack.toml:2:1: rdb.prot: unknown key, did you mean port?\n"
            "stack.toml:4:2: feeed: unknown key, did you mean feed?\n"
            "stack.toml:6:2: zzz: unknown key");
}

TEST(Config, LooksForUnusedKeysInArraysOfTables) {
  const Config config = Parsed("[[rdb]]\nport = 1\n[[rdb]]\nport = 2\nx = 3");
  const std::vector<ConfigTable> tables = *config.root().Tables("rdb");
  for (const ConfigTable& rdb : tables) {
    int port = 0;
    ASSERT_TRUE(rdb.Read("port", &port).ok());
  }
  EXPECT_EQ(Message(config.CheckUnusedKeys()), "stack.toml:5:1: rdb[1].x: unknown key");
}

TEST(Config, IsSilentWhenAllWasAskedFor) {
  const Config config = Parsed("[rdb]\nport = 1");
  int port = 0;
  ASSERT_TRUE(config.root().Table("rdb")->Read("port", &port).ok());
  EXPECT_TRUE(config.CheckUnusedKeys().ok());
}

// Reads as a program does: `port` and `name` of `[a]` and of each `[[b]]`, which needs its `name`.
absl::Status ReadAll(const Config& config) {
  TS_ASSIGN_OR_RETURN(std::vector<ConfigTable> tables, config.root().Tables("b"));
  TS_ASSIGN_OR_RETURN(const ConfigTable a, config.root().Table("a"));
  for (const ConfigTable& table : tables) {
    if (!table.Has("name")) return table.ErrorAt("name", "missing");
  }
  tables.push_back(a);
  for (const ConfigTable& table : tables) {
    int port = 1;
    std::string name = "x";
    TS_RETURN_IF_ERROR(table.Read("port", &port, 1, 9));
    TS_RETURN_IF_ERROR(table.Read("name", &name));
    if (name.empty()) return table.ErrorAt("name", "empty");
  }
  return config.CheckUnusedKeys();
}

TEST(Config, DropsWhatIsWrongSoThatTheNextErrorIsFound) {
  using enum Config::Wrong;
  Config config = Parsed(
      "[a]\nport = 10\nprot = 1\nname = ''\n"
      "[[b]]\nport = 2\n[[b]]\nname = 'two'\nport = 'x'\n[c]\nd = 1\n");
  const std::vector<std::pair<Config::Wrong, std::string>> expected = {
      {kMissing, "stack.toml:5:1: b[0].name: missing"},
      {kType, "stack.toml:9:8: b[0].port: expected an integer from 1 to 9, found string \"x\""},
      {kType, "stack.toml:2:8: a.port: expected an integer from 1 to 9, found integer 10"},
      {kContent, "stack.toml:4:8: a.name: empty"},
      {kUnknown,
       "stack.toml:3:1: a.prot: unknown key, did you mean port?\nstack.toml:10:2: c: unknown key"}};
  for (const auto& [wrong, message] : expected) {
    EXPECT_EQ(Message(ReadAll(config)), message);
    EXPECT_EQ(config.wrong(), wrong);
    EXPECT_TRUE(config.DropWrong());
    EXPECT_EQ(config.wrong(), kNothing);
  }
  EXPECT_TRUE(ReadAll(config).ok());
  EXPECT_FALSE(config.DropWrong());
}

TEST(Config, TellsAnErrorThatFollowsFromAnother) {
  Config config = Parsed("[[b]]\nname = ''\n");
  EXPECT_FALSE(ReadAll(config).ok());
  EXPECT_TRUE(config.DropWrong());
  EXPECT_EQ(Message(ReadAll(config)), "stack.toml:1:1: b[0].name: missing");
  EXPECT_EQ(config.wrong(), Config::Wrong::kFollows);
  EXPECT_TRUE(config.DropWrong());
  EXPECT_TRUE(ReadAll(config).ok());
}

TEST(Config, NamesThePlaceOfASyntaxError) {
  const absl::Status status = Config::Parse("a = 1\nb = = 2\n", "stack.toml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Message(status).starts_with("stack.toml:2:5: ")) << status;
}

TEST(Config, LoadsAFileAndMissesOne) {
  EXPECT_EQ(Config::Load("no/such/file.toml").status().code(), absl::StatusCode::kNotFound);
  const std::string path = testing::TempDir() + "config_test_loads.toml";
  std::ofstream(path) << "a = 1";
  const absl::StatusOr<Config> config = Config::Load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->root().Has("a"));
}

TEST(ParseBytes, KnowsItsUnits) {
  EXPECT_EQ(ParseBytes("4096"), 4096u);
  EXPECT_EQ(ParseBytes("0"), 0u);
  EXPECT_EQ(ParseBytes("1.5KiB"), 1536u);
  EXPECT_EQ(ParseBytes("2 MiB"), 2u << 20);
  EXPECT_EQ(ParseBytes("3GB"), 3'000'000'000u);
  for (const char* bad : {"", "GiB", "-1", "1gib", "1 2", "9000000TiB", "nan", "inf", "1GiBx"}) {
    EXPECT_EQ(ParseBytes(bad), std::nullopt) << bad;
  }
}

TEST(ParseDuration, KnowsItsUnitsAndWantsOne) {
  EXPECT_EQ(ParseDuration("0"), 0);
  EXPECT_EQ(ParseDuration("250us"), 250'000);
  EXPECT_EQ(ParseDuration("1.5s"), 1'500'000'000);
  EXPECT_EQ(ParseDuration("2h"), 7'200 * kNsPerSecond);
  for (const char* bad : {"", "50", "ms", "-1ms", "1 week", "1e300s"}) {
    EXPECT_EQ(ParseDuration(bad), std::nullopt) << bad;
  }
}

TEST(Config, ListsAllValuesByPath) {
  const auto config = Config::Parse(
      "a = 1\n[b]\nc = \"x\"\nd = [1, 2]\n[[e]]\nf = true\n[[e]]\nf = 0.5\n[e.g]\n", "t");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::map<std::string, std::string> expected = {
      {"a", "1"}, {"b.c", "'x'"}, {"b.d", "[ 1, 2 ]"}, {"e[0].f", "true"}, {"e[1].f", "0.5"}};
  EXPECT_EQ(config->Values(), expected);
}

}  // namespace
}  // namespace tickstack
