#include "table/shard_map.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/shard_id.h"

namespace tickstack {
namespace {

ShardMap MapOf(std::vector<std::string> shards, const NameMap<std::string>& symbols = {}) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(std::move(shards), symbols);
  EXPECT_TRUE(map.ok()) << map.status();
  return *std::move(map);
}

std::string SymbolOf(int i) { return fmt::format("S{}", i); }

// Databases depend on these values: they must never change. They were computed by another program.
TEST(ShardMap, HasTheGoldenValues) {
  EXPECT_EQ(ShardMap::WeightOf("a", "AAPL"), 0x517e46c6b4b5d3b5u);
  EXPECT_EQ(ShardMap::WeightOf("a", ""), 0xd77af9fbcd282da0u);
  const ShardMap map = MapOf({"a", "b", "c"});
  const NameMap<size_t> golden = {{"AAPL", 0},
                                  {"SPY", 2},
                                  {"IBM", 1},
                                  {"MSFT", 1},
                                  {"BRK.B", 2},
                                  {"", 1},
                                  {"averylongsymbolname", 0}};
  for (const auto& [symbol, shard] : golden) EXPECT_EQ(map.ShardOf(symbol), shard) << symbol;
}

// Files beside logs and the names of feeds have it: another value is another map.
TEST(ShardMap, HasTheGoldenDigest) {
  const ShardMap map = MapOf({"b", "a", "c"}, {{"SPY", "a"}, {"BRK.B", "c"}});
  EXPECT_EQ(DigestText(&map), "d1b04a77824ee828");
}

TEST(ShardMap, AFurtherShardTakesSymbolsAndMovesNoOthers) {
  const ShardMap before = MapOf({"a", "b", "c"}), after = MapOf({"d", "a", "b", "c"});
  constexpr int kSymbols = 10'000;
  int moved = 0;
  for (int i = 0; i < kSymbols; ++i) {
    const std::string& from = before.shards()[before.ShardOf(SymbolOf(i))];
    const std::string& to = after.shards()[after.ShardOf(SymbolOf(i))];
    if (from == to) continue;
    ++moved;
    EXPECT_EQ(to, "d") << SymbolOf(i);
  }
  EXPECT_NEAR(moved, kSymbols * 0.25, kSymbols * 0.02);
}

TEST(ShardMap, TheOrderOfShardsDoesNotMatter) {
  const ShardMap one = MapOf({"a", "b"}), other = MapOf({"b", "a"});
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(one.shards()[one.ShardOf(SymbolOf(i))], other.shards()[other.ShardOf(SymbolOf(i))]);
  }
}

// Their weights would be equal, so the order in the file would decide.
TEST(ShardMap, RefusesNamesWithOneChecksum) {
  const absl::Status same = ShardMap::Create({"wz-shard-ll", "324847530"}, {}).status();
  EXPECT_EQ(same.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(same), "shards: 324847530 and wz-shard-ll have one checksum: rename one");
}

TEST(ShardMap, NamedSymbolsAreWhereTheMapSays) {
  const ShardMap plain = MapOf({"a", "b"});
  const std::string& other = plain.shards()[1 - plain.ShardOf("SPY")];
  const ShardMap map = MapOf({"a", "b"}, {{"SPY", other}});
  EXPECT_EQ(map.shards()[map.ShardOf("SPY")], other);
  EXPECT_EQ(map.ShardOf("IBM"), plain.ShardOf("IBM"));
}

TEST(ShardMap, ItsDigestTellsMapsApart) {
  const uint64_t digest = MapOf({"a", "b"}).digest();
  EXPECT_EQ(digest, MapOf({"a", "b"}).digest());
  EXPECT_NE(digest, MapOf({"b", "a"}).digest());  // Tables without symbols move.
  EXPECT_NE(digest, MapOf({"a", "b", "c"}).digest());
  EXPECT_NE(digest, MapOf({"a", "b"}, {{"SPY", "a"}}).digest());
}

TEST(ShardMap, RefusesNamesThatAreWrong) {
  EXPECT_FALSE(ShardMap::Create({}, {}).ok());
  EXPECT_FALSE(ShardMap::Create({"a", "a"}, {}).ok());
  EXPECT_FALSE(ShardMap::Create({"a"}, {{"SPY", "b"}}).ok());
}

TEST(ShardCache, AgreesWithTheMap) {
  const auto map = std::make_shared<const ShardMap>(MapOf({"a", "b", "c"}, {{"S7", "c"}}));
  ShardCache cache(map);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(cache.ShardOf(SymbolOf(i)), map->ShardOf(SymbolOf(i)));
    }
    for (const std::string_view name : {"", "EIGHTLTR", "MORETHANEIGHT"}) {
      EXPECT_EQ(cache.ShardOf(name), map->ShardOf(name));
    }
  }
}

// Goal: the fast walk along a column of names finds the end and the shard of each. Method: columns
// of random names of all bytes but NUL, up to 12 bytes long, in memory that ends with the column.
TEST(ShardCache, WalksAlongNames) {
  const auto map = std::make_shared<const ShardMap>(MapOf({"a", "b", "c"}, {{"S7", "c"}}));
  ShardCache cache(map);
  std::mt19937_64 random(1);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> names(random() % 8);
    std::vector<char> column;
    for (std::string& name : names) {
      name.resize(random() % 13);
      for (char& c : name) c = static_cast<char>(random() % (round % 2 == 0 ? 2 : 255) + 1);
      column.insert(column.end(), name.c_str(), name.c_str() + name.size() + 1);
    }
    const auto bytes = std::as_bytes(std::span(column));
    const std::byte *at = bytes.data(), *const end = bytes.data() + bytes.size();
    for (const std::string& name : names) {
      const std::byte* const begin = at;
      ASSERT_EQ(cache.ShardOfNext(at, end), map->ShardOf(name));
      ASSERT_EQ(static_cast<size_t>(at - begin), name.size() + 1);
    }
    ASSERT_EQ(at, end);
  }
}

TEST(ShardColumnOf, IsSymOrTheFirstSymbolColumn) {
  const auto column = [](std::string_view columns) {
    return ShardColumnOf(*ParseSchema("t", columns));
  };
  EXPECT_EQ(column("time p, a s, sym s"), 2);
  EXPECT_EQ(column("time p, sym j, b s, c s"), 2);
  EXPECT_EQ(column("time p, price f"), -1);
}

TEST(ShardId, IsAnsweredAndParsed) {
  const ShardMap map = *ShardMap::Create({"a", "b"}, {{"SPY", "b"}});
  const ShardId id = IdOf(&map, 1);
  EXPECT_EQ(id.shard, "b");
  EXPECT_EQ(ParseShardId(AnswerOf(id)), id);
  EXPECT_EQ(ParseShardId(AnswerOf({})), ShardId());
  EXPECT_EQ(ParseShardId(Value::Symbol("b")), std::nullopt);
  EXPECT_EQ(IdOf(nullptr, 0), ShardId());
  EXPECT_EQ(Describe(id), "shard b of the map " + DigestText(&map));
}

TEST(ShardId, ANameHasTheMapOfItsRows) {
  const std::string name = NameUnderMap("feed@sim.1", "0123456789abcdef");
  EXPECT_EQ(name, "feed@sim.1.shards-0123456789abcdef");
  EXPECT_EQ(SplitName(name).name, "feed@sim.1");
  EXPECT_EQ(SplitName(name).map, "0123456789abcdef");
  EXPECT_EQ(NameUnderMap("feed@sim.1", ""), "feed@sim.1");
  for (const std::string_view plain :
       {"", "f", "feed@sim.0123456789abcdef", "feed.shards-0123456789abcdeF", ".shards-01"}) {
    EXPECT_EQ(SplitName(plain).name, plain);
    EXPECT_EQ(SplitName(plain).map, "");
  }
}

}  // namespace
}  // namespace tickstack
