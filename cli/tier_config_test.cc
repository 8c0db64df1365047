#include "cli/tier_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "cli/stack_config.h"
#include "tests/support/without_column.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;

StackConfig Parsed(std::string_view text) {
  absl::StatusOr<StackConfig> config = ParseStackConfig(text, "s.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : StackConfig();
}

std::string ErrorOf(std::string_view text) {
  return std::string(Message(ParseStackConfig(text, "s.toml").status()));
}

// Returns a file whose lines 1 and 2 are processes, so that `text` begins with line 3.
std::string File(std::string_view text) { return fmt::format("[tickerplant]\n[[rdb]]\n{}", text); }
std::string TierError(std::string_view keys) {
  return ErrorOf(File(fmt::format("[rdb.tier.t]\n{}", keys)));
}
// With tiers f (filesystem), p and q (persistent), d (dram). The keys begin with line 3.
std::string PlacementError(std::string_view keys, std::string_view tables = "") {
  return ErrorOf(
      File(fmt::format("[rdb.placement]\n{}\n[tier]\n"
                       "d = {{kind='dram'}}\n"
                       "f = {{kind='filesystem', path='/x', size='1GiB'}}\n"
                       "p = {{kind='persistent', path='/x', size='1GiB'}}\n"
                       "q = {{kind='persistent', path='/x', size='1GiB'}}\n{}",
                       keys, tables)));
}

TEST(TierConfig, IsDramWhenNothingIsSaid) {
  const rdb::RdbMainOptions rdb = Parsed(File("")).rdbs[0];
  ASSERT_EQ(rdb.tiers.size(), 1u);
  EXPECT_EQ(rdb.tiers[0].options.name, "dram");
  EXPECT_EQ(rdb.tiers[0].options.kind, mem::TierKind::kDram);
  EXPECT_EQ(rdb.tiers[0].options.capacity_bytes, SIZE_MAX);
  EXPECT_EQ(rdb.tiers[0].options.touch_ahead_bytes, size_t{64} << 20);
  EXPECT_TRUE(rdb.placement.keys().empty());
  EXPECT_EQ(rdb.numa_node, -1);
}

TEST(TierConfig, ReadsEveryKeyOfEveryKind) {
  const rdb::RdbMainOptions rdb = Parsed(File(R"(
numa_node = 1
[rdb.tier.dram]
size = "8GiB"
nodes = [0, 1]
huge_pages = "explicit"
streaming = "on"
touch_ahead = "2MiB"
touch_first = "4GiB"
[rdb.tier.files]
kind = "filesystem"
path = "/mnt/pmem0"
size = "64GiB"
streaming = "off"
allocator = "memkind"
touch_ahead = 0
overflow = "dram"
overflow_size = "8GiB"
[rdb.tier.far]
kind = "numa"
nodes = [1]
size = "16GiB"
huge_pages = "none"
[rdb.tier.kept]
kind = "persistent"
path = "/mnt/pmem1"
size = "32GiB"
commit_ms = 20
[rdb.placement]
default = "files"
"quote.time" = "dram"
trade = "far"
"index" = "dram"
"quote.index" = "far"
query = "dram"
)"))
                                      .rdbs[0];
  EXPECT_EQ(rdb.numa_node, 1);
  ASSERT_EQ(rdb.tiers.size(), 4u);
  const mem::TierOptions& dram = rdb.tiers[0].options;
  EXPECT_EQ(dram.capacity_bytes, size_t{8} << 30);
  EXPECT_THAT(dram.nodes, ElementsAre(0, 1));
  EXPECT_EQ(dram.huge_pages, mem::HugePages::kExplicit);
  EXPECT_EQ(dram.streaming, mem::Streaming::kOn);
  EXPECT_EQ(dram.touch_ahead_bytes, size_t{2} << 20);
  EXPECT_EQ(dram.touch_first_bytes, size_t{4} << 30);
  const mem::TierOptions& files = rdb.tiers[1].options;
  EXPECT_EQ(files.name, "files");
  EXPECT_EQ(files.kind, mem::TierKind::kFilesystem);
  EXPECT_EQ(files.path, "/mnt/pmem0");
  EXPECT_EQ(files.capacity_bytes, size_t{64} << 30);
  EXPECT_EQ(files.streaming, mem::Streaming::kOff);
  EXPECT_EQ(files.allocator, mem::FileAllocator::kMemkind);
  EXPECT_EQ(files.touch_ahead_bytes, 0u);
  EXPECT_EQ(files.overflow_bytes, size_t{8} << 30);
  EXPECT_EQ(dram.overflow_bytes, 0u);
  const mem::TierOptions& far = rdb.tiers[2].options;
  EXPECT_EQ(far.kind, mem::TierKind::kNuma);
  EXPECT_THAT(far.nodes, ElementsAre(1));
  EXPECT_EQ(far.huge_pages, mem::HugePages::kNone);
  EXPECT_EQ(rdb.tiers[3].options.kind, mem::TierKind::kPersistent);
  EXPECT_EQ(rdb.tiers[3].commit_ms, 20);
  EXPECT_EQ(rdb.placement.TierOfColumn("quote", "bid"), "files");
  EXPECT_EQ(rdb.placement.TierOfColumn("quote", "time"), "dram");
  EXPECT_EQ(rdb.placement.TierOfColumn("trade", "time"), "far");
  EXPECT_EQ(rdb.placement.TierOfIndex("trade"), "dram");
  EXPECT_EQ(rdb.placement.TierOfIndex("quote"), "far");
  EXPECT_EQ(rdb.placement.TierOfQueries(), "dram");
}

TEST(TierConfig, ReadsAModelAndWhatTheFileHasInstead) {
  const rdb::RdbMainOptions rdb = Parsed(File(R"(
[rdb.tier.slow]
kind = "simulate"
model = "optane-dc"
path = "/mnt/a"
size = "1GiB"
read_ns = 400
write_gb_per_s = 2.5
unit = 512
[rdb.placement]
default = "slow"
)"))
                                      .rdbs[0];
  const mem::TierOptions& slow = rdb.tiers[1].options;
  EXPECT_EQ(slow.kind, mem::TierKind::kSimulate);
  EXPECT_EQ(slow.path, "/mnt/a");
  EXPECT_EQ(slow.model.name, "optane-dc");
  EXPECT_EQ(slow.model.read_ns, 400);
  EXPECT_EQ(slow.model.read_gb_per_s, 39.4);
  EXPECT_EQ(slow.model.write_gb_per_s, 2.5);
  EXPECT_EQ(slow.model.unit_bytes, 512u);
}

TEST(TierConfig, InheritsTheStacksTiersKeyByKey) {
  const StackConfig config = Parsed(R"(
[tier.files]
kind = "filesystem"
path = "/mnt/a"
size = "1GiB"
[placement]
default = "files"
index = "dram"
[tickerplant]
[[rdb]]
name = "one"
[[rdb]]
name = "two"
port = 5012
[rdb.tier.files]
path = "/mnt/b"
[rdb.placement]
index = "files"
quote = "dram"
)");
  const rdb::RdbMainOptions &one = config.rdbs[0], &two = config.rdbs[1];
  EXPECT_EQ(one.tiers[1].options.path, "/mnt/a");
  EXPECT_EQ(two.tiers[1].options.path, "/mnt/b");
  EXPECT_EQ(two.tiers[1].options.capacity_bytes, size_t{1} << 30);
  EXPECT_EQ(one.placement.TierOfIndex("quote"), "dram");
  EXPECT_EQ(two.placement.TierOfIndex("quote"), "files");
  EXPECT_EQ(one.placement.TierOfColumn("quote", "bid"), "files");
  EXPECT_EQ(two.placement.TierOfColumn("quote", "bid"), "dram");
  EXPECT_EQ(two.placement.TierOfColumn("trade", "bid"), "files");
  EXPECT_TRUE(config.warnings.empty());
}

TEST(TierConfig, ReadsWhereOldRowsGo) {
  // A stack that moves old rows, and an rdb with these keys in its own placement.
  const auto with_second_rdb = [](std::string_view placement) {
    return Parsed(fmt::format(R"([tickerplant]
[tier.files]
kind = "filesystem"
path = "/x"
size = "1GiB"
[placement]
then = "files"
older_than_minutes = 30
[[rdb]]
name = "one"
[[rdb]]
name = "two"
port = 5012
[rdb.placement]
{}
)",
                              placement));
  };
  const StackConfig sooner = with_second_rdb("older_than_minutes = 5");
  const rdb::PlacementRules& one = sooner.rdbs[0].placement;
  EXPECT_EQ(one.age()->tier, "files");
  EXPECT_EQ(one.age()->older_than_ns, 30 * 60 * kNsPerSecond);
  EXPECT_EQ(sooner.rdbs[1].placement.age()->older_than_ns, 5 * 60 * kNsPerSecond);
  EXPECT_TRUE(one.HoldsRows("files"));
  EXPECT_TRUE(one.HoldsRows("dram"));
  EXPECT_TRUE(sooner.warnings.empty());
  EXPECT_FALSE(Parsed(File("")).rdbs[0].placement.age().has_value());
  // An rdb may keep its rows although the stack moves those of others.
  const StackConfig stays = with_second_rdb("then = ''");
  EXPECT_TRUE(stays.rdbs[0].placement.age().has_value());
  EXPECT_FALSE(stays.rdbs[1].placement.age().has_value());
}

TEST(TierConfig, SaysWhyOldRowsCannotMove) {
  const std::string at = "s.toml:4:8: rdb[0].placement.",
                    at_table = "s.toml:3:1: rdb[0].placement.";
  EXPECT_EQ(PlacementError("then = 'f'"),
            at_table + "older_than_minutes: then needs it, found none");
  EXPECT_EQ(PlacementError("older_than_minutes = 5"),
            at_table + "then: older_than_minutes needs it, found none");
  const std::string minutes = "\nolder_than_minutes = 5";
  EXPECT_EQ(PlacementError("then = 'x'" + minutes),
            at + "then: expected one of the tiers dram, d, f, p, q, found \"x\"");
  EXPECT_EQ(PlacementError("then = 'p'" + minutes),
            at + "then: tier p is persistent, which holds whole tables: expected a tier of kind "
                 "filesystem, numa or dram");
  EXPECT_EQ(PlacementError("then = 'f'\ndefault = 'f'" + minutes),
            at + "then: no rows can move to tier f: expected rows in another tier that is not "
                 "persistent");
  EXPECT_EQ(PlacementError("then = 'f'" + minutes, "[tables]\nthen = 'sym s'"),
            at + "then: a table has this name as well: place its columns one by one, "
                 "\"then.time\" ...");
  EXPECT_EQ(
      PlacementError("then = 'f'\ndefault = 's'" + minutes, "s = {kind='simulate', model='cxl'}"),
      at + "then: tier s is SIMULATED, and a column is charged as one medium: expected tiers "
           "of real memory, or no then");
  EXPECT_EQ(PlacementError("older_than_minutes = 0\nthen = 'f'"),
            "s.toml:4:22: rdb[0].placement.older_than_minutes: expected an integer from 1 to "
            "10080, found integer 0");
}

TEST(TierConfig, NamesTheKeyOfATierThatIsWrong) {
  // Each row: the tier's keys from line 4 on, and the error.
  const std::string at = "s.toml:4: rdb[0].tier.t.", at5 = "s.toml:5: rdb[0].tier.t.",
                    at3 = "s.toml:3: rdb[0].tier.t.";
  const std::string file = "kind='filesystem'\npath='/x'\nsize='1GiB'\n";
  const std::string overflow = ", overflow, overflow_size";
  const std::string at7 = "s.toml:7: rdb[0].tier.t.";
  const std::vector<std::pair<std::string, std::string>> cases = {
      // kind
      {"",
       "s.toml:3: rdb[0].tier.t.kind: expected one of dram, filesystem, persistent, numa, "
       "simulate, "
       "found no kind"},
      {"kind = 1", at + "kind: expected a string, found integer 1"},
      {"kind = 'pmem'",
       at + "kind: expected one of dram, filesystem, persistent, numa, simulate, found \"pmem\""},
      {"kind = ''",
       at + "kind: expected one of dram, filesystem, persistent, numa, simulate, found \"\""},
      // path
      {"kind = 'filesystem'\nsize='1GiB'",
       at3 + "path: a tier of kind filesystem needs it, found none"},
      {"kind = 'persistent'\nsize='1GiB'",
       at3 + "path: a tier of kind persistent needs it, found none"},
      {"path = 7\nkind = 'filesystem'", at + "path: expected a string, found integer 7"},
      {"path = ''\nkind = 'filesystem'\nsize='1GiB'",
       at + "path: expected a directory, found \"\""},
      {"path = '/x'\nkind = 'dram'",
       at + "path: a tier of kind dram does not take it: expected kind, size, nodes, huge_pages, "
            "streaming, touch_ahead, touch_first"},
      {"path = '/x'\nkind = 'numa'\nnodes=[1]",
       at +
           "path: a tier of kind numa does not take it: expected kind, size, nodes, huge_pages, "
           "streaming, touch_ahead, touch_first" +
           overflow},
      // size
      {"kind = 'filesystem'\npath='/x'",
       at3 + "size: a tier of kind filesystem needs it, found none"},
      {"size = '1 MiB'\nkind = 'filesystem'\npath='/x'",
       at + "size: expected 16MiB at least, found 1048576 bytes"},
      {"size = 'much'\nkind = 'dram'",
       at + "size: expected a size such as \"64GiB\" or a number of bytes, found string \"much\""},
      {"size = -1\nkind = 'dram'",
       at + "size: expected a size such as \"64GiB\" or a number of bytes, found integer -1"},
      // nodes
      {"kind = 'numa'", at3 + "nodes: a tier of kind numa needs it, found none"},
      {"nodes = []\nkind = 'numa'",
       at + "nodes: expected at least one node, such as [1], found none"},
      {"nodes = 1\nkind = 'numa'",
       at + "nodes: expected an array of integers from 0 to 1023, found integer 1"},
      {"nodes = [0, -1]\nkind = 'numa'",
       at + "nodes: expected an array of integers from 0 to 1023, found integer -1 in it"},
      {"nodes = ['one']\nkind = 'numa'",
       at + "nodes: expected an array of integers from 0 to 1023, found string \"one\" in it"},
      {file + "nodes = [1]",
       at7 +
           "nodes: a tier of kind filesystem does not take it: expected kind, path, size, "
           "streaming, allocator, touch_ahead, touch_first" +
           overflow},
      // huge_pages
      {"huge_pages = 'always'\nkind = 'dram'",
       at + "huge_pages: expected one of transparent, explicit, none, found \"always\""},
      {"huge_pages = true\nkind = 'dram'",
       at + "huge_pages: expected a string, found boolean true"},
      {file + "huge_pages = 'none'",
       at7 +
           "huge_pages: a tier of kind filesystem does not take it: expected kind, path, size, "
           "streaming, allocator, touch_ahead, touch_first" +
           overflow},
      // streaming
      {"streaming = 'yes'\nkind = 'dram'",
       at + "streaming: expected one of auto, on, off, found \"yes\""},
      {"streaming = true\nkind = 'dram'", at + "streaming: expected a string, found boolean true"},
      // allocator
      {"allocator = 'jemalloc'\n" + file,
       at + "allocator: expected one of arena, memkind, found \"jemalloc\""},
      {"allocator = 'arena'\nkind = 'dram'",
       at + "allocator: a tier of kind dram does not take it: expected kind, size, nodes, "
            "huge_pages, streaming, touch_ahead, touch_first"},
      {"kind='persistent'\nallocator = 'arena'\npath='/x'\nsize='1GiB'",
       at5 + "allocator: a tier of kind persistent does not take it: expected kind, path, size, "
             "streaming, touch_ahead, touch_first, commit_ms"},
      // touch_ahead
      {"touch_ahead = 'some'\nkind = 'dram'",
       at + "touch_ahead: expected a size such as \"64GiB\" or a number of bytes, found string "
            "\"some\""},
      // commit_ms
      {"commit_ms = -1\nkind = 'persistent'",
       at + "commit_ms: expected an integer from 0 to 3600000, found integer -1"},
      {file + "commit_ms = 5",
       at7 +
           "commit_ms: a tier of kind filesystem does not take it: expected kind, path, size, "
           "streaming, allocator, touch_ahead, touch_first" +
           overflow},
      // overflow
      {"overflow = 'disk'\n" + file, at + "overflow: expected one of none, dram, found \"disk\""},
      {"overflow = 'dram'\n" + file,
       at3 + "overflow_size: overflow = \"dram\" needs it, found none"},
      {"overflow_size = '1GiB'\n" + file,
       at + "overflow_size: expected overflow = \"dram\" as well, found none"},
      {"overflow_size = '1MiB'\noverflow = 'dram'\n" + file,
       at + "overflow_size: expected 16MiB at least, found 1048576 bytes"},
      {"overflow = 'dram'\noverflow_size = '1GiB'\nkind='persistent'\npath='/x'\nsize='1GiB'",
       at + "overflow: a tier of kind persistent does not take it, since a restart would lack the "
            "rows in DRAM: expected a larger size, or kind = \"filesystem\", with which a restart "
            "takes all rows from the log"},
      {"overflow = 'dram'\noverflow_size = '1GiB'\nkind='simulate'\nmodel='cxl'",
       at + "overflow: a tier of kind simulate does not take it, since DRAM would be charged as "
            "the slower medium: expected a larger size"},
      // simulate
      {"kind = 'simulate'", at3 + "model: a tier of kind simulate needs it, found none"},
      {"model = 'optane'\nkind = 'simulate'",
       at + "model: expected one of the models optane-dc, cxl, cxl-fast, cxl-slow, found "
            "\"optane\""},
      {"path = '/x'\nkind = 'simulate'\nmodel = 'cxl'",
       at3 + "size: a tier in a directory needs it, found none"},
      {"kind = 'simulate'\nmodel = 'cxl'\nunit = 48",
       at5 + "model: model cxl: units of 48 bytes, expected a power of two up to 4096"},
      {"kind = 'simulate'\nmodel = 'cxl'\nread_ns = 0",
       at5 + "model: model cxl: read_ns 0, expected 0.001 to 1000000"},
      {"read_ns = 300\nkind = 'dram'",
       at + "read_ns: a tier of kind dram does not take it: expected kind, size, nodes, "
            "huge_pages, streaming, touch_ahead, touch_first"},
      // Unknown keys, and values that are not tables.
      {file + "pathh = '/x'", at7 + "pathh: unknown key, did you mean path?"},
  };
  for (const auto& [keys, error] : cases) EXPECT_EQ(WithoutColumn(TierError(keys)), error) << keys;

  EXPECT_EQ(ErrorOf(File("[rdb.tier]\nt = 5")),
            "s.toml:4:5: rdb[0].tier.t: expected a table, found integer 5");
  EXPECT_EQ(ErrorOf(File("tier = 'dram'")),
            "s.toml:3:8: rdb[0].tier: expected a table, found string \"dram\"");
  EXPECT_EQ(ErrorOf(File("placement = 'dram'")),
            "s.toml:3:13: rdb[0].placement: expected a table, found string \"dram\"");
  EXPECT_EQ(ErrorOf(File("[rdb.tier.'a b']\nkind='dram'")),
            "s.toml:3:1: rdb[0].tier.a b: expected letters, digits, - and _ in the name of a tier");
  EXPECT_EQ(ErrorOf(File("[rdb.tier.dram]\nkind='filesystem'\npath='/x'\nsize='1GiB'")),
            "s.toml:4:6: rdb[0].tier.dram.kind: expected \"dram\" for the tier of this name, found "
            "\"filesystem\": name that tier otherwise");
  EXPECT_EQ(ErrorOf(File("numa_node = -1")),
            "s.toml:3:13: rdb[0].numa_node: expected an integer from 0 to 1023, found integer -1");
  EXPECT_EQ(
      ErrorOf(File("numa_node = 'all'")),
      "s.toml:3:13: rdb[0].numa_node: expected an integer from 0 to 1023, found string \"all\"");
}

TEST(TierConfig, NamesTheStacksKeyThatIsWrongForAnRdb) {
  const std::string_view stack =
      "[tier.t]\nkind='filesystem'\npath='/x'\nsize='1GiB'\n[tickerplant]\n[[rdb]]\nname='r'\n";
  EXPECT_EQ(ErrorOf(fmt::format("{}[rdb.tier.t]\nkind='dram'", stack)),
            "s.toml:3:6: tier.t.path: rdb r: a tier of kind dram does not take it: expected kind, "
            "size, nodes, huge_pages, streaming, touch_ahead, touch_first");
  EXPECT_EQ(ErrorOf("[placement]\ndefault='t'\n[tickerplant]\n[[rdb]]\nname='r'"),
            "s.toml:2:9: placement.default: rdb r: expected one of the tiers dram, found \"t\"");
  EXPECT_EQ(
      ErrorOf("[placement]\nquoth='dram'\n[tickerplant]\n[[rdb]]\nname='r'"),
      "s.toml:2:7: placement.quoth: rdb r: no table \"quoth\": expected default, index, query, "
      "or one of trade, quote");
  EXPECT_EQ(ErrorOf("[tier.t]\nkind='file'\n[tickerplant]"),
            "s.toml:2:6: tier.t.kind: expected one of dram, filesystem, persistent, numa, "
            "simulate, found "
            "\"file\"");
}

TEST(TierConfig, NamesTheKeyOfThePlacementThatIsWrong) {
  const std::string at = "s.toml:4: rdb[0].placement.";
  const std::string whole = "which holds all of an rdb but tables that are placed elsewhere";
  const std::string part = ": a persistent tier holds all columns and the index of a table or none";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"default = 'x'", at + "default: expected one of the tiers dram, d, f, p, q, found \"x\""},
      {"default = 1", at + "default: expected a string, found integer 1"},
      {"index = ['f']", at + "index: expected a string, found an array"},
      {"query = 'x'", at + "query: expected one of the tiers dram, d, f, p, q, found \"x\""},
      {"quot = 'f'", at + "quot: no table \"quot\": expected default, index, query, or one of "
                          "trade, quote"},
      {"'quot.bid' = 'f'", at + "quot.bid: no table \"quot\": expected default, index, query, or "
                                "one of trade, quote"},
      {"'quote.bidd' = 'f'", at + "quote.bidd: table quote has no column \"bidd\": expected time, "
                                  "sym, bid, ask, bsize, asize, mode, ex, or index"},
      {"'quote.bid' = 'g'",
       at + "quote.bid: expected one of the tiers dram, d, f, p, q, found \"g\""},
      {"quote.bid = 'f'", at + "quote: expected the name of a tier, found a table: a column is one "
                               "key, in quotes, such as \"quote.time\""},
      // persistent
      {"default = 'p'\n[tables]\nbars = 'sym s, minute p | high f'",
       at + "default: tier p is persistent, and table bars has the key sym, minute: expected "
            "bars = \"dram\" or another kind of tier, or the table without a key"},
      {"query = 'p'", at + "query: tier p is persistent: expected another kind, what queries build "
                           "does not outlive them"},
      {"quote = 'p'", at + "quote: tier p is persistent, " + whole +
                          ": expected default = \"p\" as well, found \"dram\""},
      {"'quote.bid' = 'p'", at + "quote.bid: tier p is persistent, " + whole +
                                ": expected default = \"p\" as well, found \"dram\""},
      {"index = 'p'", at + "index: tier p is persistent, " + whole +
                          ": expected default = \"p\" as well, found \"dram\""},
      {"index = 'dram'\ndefault = 'p'", at + "index: expected \"p\", found \"dram\"" + part},
      {"'quote.index' = 'f'\ndefault = 'p'",
       at + "quote.index: expected \"p\", found \"f\"" + part},
      {"'quote.time' = 'q'\ndefault = 'p'", at + "quote.time: expected \"p\", found \"q\"" + part},
      {"quote = 'q'\ndefault = 'p'", at + "quote: expected \"p\", found \"q\"" + part},
      {"'quote.time' = 'p'\ndefault = 'p'\nquote = 'f'",
       at + "quote.time: expected \"f\", found \"p\"" + part},
      {"quote = 'f'\ndefault = 'p'\nindex = 'p'",
       at + "quote: its index is in the persistent tier p, for index = \"p\" says so: expected "
            "\"quote.index\" elsewhere as well"},
  };
  for (const auto& [keys, error] : cases)
    EXPECT_EQ(WithoutColumn(PlacementError(keys)), error) << keys;
  EXPECT_EQ(PlacementError("default='p'\nquery='d'\nquote='p'\nindex='p'"), "");
  EXPECT_EQ(ErrorOf(File("[rdb.placement]\nquery='s'\n[tier.s]\nkind='simulate'\nmodel='cxl'")),
            "s.toml:4:7: rdb[0].placement.query: tier s is SIMULATED, which charges columns and "
            "indexes only: expected a tier of real memory");
  EXPECT_EQ(PlacementError("default='p'\nquote='f'\n'quote.time'='d'"), "");
  EXPECT_EQ(PlacementError("default='p'\nbars='d'\n[tables]\nbars = 'sym s, minute p | high f'"),
            "");
  EXPECT_EQ(PlacementError("'quote.price' = 'f'", "[tables]\nquote = 'time p, price f'"), "");
  EXPECT_EQ(WithoutColumn(PlacementError("'t.index' = 'f'", "[tables]\nt = 'sym s, index j'")),
            at + "t.index: table t has a column index, so this may be that or its index: name the "
                 "column otherwise");
  EXPECT_EQ(WithoutColumn(PlacementError("index = 'f'", "[tables]\nindex = 'sym s, price f'")),
            at + "index: a table has this name as well: place its columns one by one, "
                 "\"index.time\" ...");
}

TEST(TierConfig, LeavesTablesOfOthersToTheRdb) {
  EXPECT_EQ(ErrorOf("[tickerplant]\n[[rdb]]\ntickerplant='far:5010'\n[rdb.placement]\n"
                    "'order.id' = 'dram'"),
            "");
  EXPECT_EQ(ErrorOf("[[rdb]]\n[rdb.placement]\n'order.id' = 'dram'"), "");
  EXPECT_EQ(ErrorOf("[tickerplant]\n[[rdb]]\nreplay='log'\n[rdb.placement]\norder = 'dram'"), "");
}

TEST(TierConfig, WarnsOfTiersThatNothingIsPlacedIn) {
  const std::string unused = ": this tier is declared, and nothing is placed in it";
  EXPECT_THAT(Parsed(File("[rdb.tier.t]\nkind='numa'\nnodes=[1]")).warnings,
              ElementsAre("s.toml:3:1: rdb[0].tier.t" + unused));
  EXPECT_THAT(Parsed("[tier.t]\nkind='numa'\nnodes=[1]\n[tickerplant]\n[[rdb]]").warnings,
              ElementsAre("s.toml:1:1: tier.t" + unused));
  EXPECT_THAT(Parsed("[tier.t]\nkind='numa'\nnodes=[1]\n[tickerplant]").warnings,
              ElementsAre("s.toml:1:1: tier.t" + unused));
  // One RDB that uses it is enough.
  EXPECT_TRUE(Parsed("[tier.t]\nkind='numa'\nnodes=[1]\n[tickerplant]\n[[rdb]]\nname='a'\n[[rdb]]\n"
                     "name='b'\nport=1\n[rdb.placement]\nquery='t'")
                  .warnings.empty());
}

}  // namespace
}  // namespace tickstack::cli
