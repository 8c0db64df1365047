#include "cli/stack_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/status.h"
#include "feed/sources/lean_source.h"
#include "feed/sources/sim_source.h"
#include "query/language/term.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StackConfig Parsed(std::string_view text) {
  absl::StatusOr<StackConfig> config = ParseStackConfig(text, "stack.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : StackConfig();
}

std::string ErrorOf(std::string_view text) {
  return std::string(Message(ParseStackConfig(text, "stack.toml").status()));
}

TEST(StackConfig, HasWhatTheFileHasAndDefaultsForTheRest) {
  const StackConfig config = Parsed("[tickerplant]\n[[rdb]]\n");
  ASSERT_TRUE(config.tickerplant.has_value());
  EXPECT_EQ(config.tickerplant->listener.port, 5010);
  EXPECT_EQ(config.tickerplant->schemas, DefaultSchemas());
  EXPECT_EQ(config.tickerplant->batch_ms, 50);
  ASSERT_EQ(config.rdbs.size(), 1u);
  EXPECT_EQ(config.rdbs[0].listener.port, 5011);
  EXPECT_TRUE(config.feeds.empty());
  EXPECT_TRUE(config.monitors.empty());
  EXPECT_TRUE(config.restart);
}

TEST(StackConfig, AChainedTickerplantCopiesTheOneOfTheFile) {
  const StackConfig config = Parsed(R"(
[tickerplant]
name = "tp"
[[chained]]
[[chained]]
name = "desk"
upstream = "far:5010"
tables = ["quote"]
symbols = ["AIG", "IBM"]
batch_ms = 0
poll_ms = 0.5
log_name = "d"
)");
  ASSERT_EQ(config.chained.size(), 2u);
  const tickerplant::ChainedOptions& all = config.chained[0];
  EXPECT_EQ(all.upstream, "tp");
  EXPECT_EQ(all.name, "chained");
  EXPECT_EQ(all.log_name, "chained");
  EXPECT_EQ(all.listener.port, 5020);
  EXPECT_EQ(all.batch_ms, 1000);
  EXPECT_EQ(all.schemas, DefaultSchemas());
  const tickerplant::ChainedOptions& some = config.chained[1];
  EXPECT_EQ(some.upstream, "far:5010");
  ASSERT_EQ(some.schemas.size(), 1u);
  EXPECT_EQ(some.schemas[0].table, "quote");
  EXPECT_THAT(some.symbols, testing::ElementsAre("AIG", "IBM"));
  EXPECT_EQ(some.poll_ms, 0.5);
  EXPECT_EQ(some.log_name, "d");
}

TEST(StackConfig, SaysWhatIsWrongWithAChainedTickerplant) {
  const std::pair<const char*, const char*> cases[] = {
      {"tables = [\"trades\"]", "tables: no table \"trades\""},
      {"upstream = \"\"", "upstream: expected the name or the address of a tickerplant"},
      {"upstream = \"chained\"", "is this process itself"},
      {"log_name = \"sym\"", "the log sym is another tickerplant's"},
      {"tables = [\"trade\"]\nat_once = [\"quote\"]", "at_once: no table \"quote\""},
      {"roll_offset = \"17h\"", "roll_offset: unknown key"},
  };
  for (const auto& [keys, error] : cases) {
    EXPECT_THAT(ErrorOf(fmt::format("[tickerplant]\n[[chained]]\n{}\n", keys)),
                testing::HasSubstr(error));
  }
}

TEST(StackConfig, ClientsOfAClusterKnowAllOfItsMembers) {
  StackConfig config = Parsed(R"(
[replication]
etcd = ["https://a:2379", "https://b:2379"]
etcd_ca = "ca.pem"
etcd_certificate = "own.pem"
etcd_key = "own.key"
etcd_credentials = "etcd.credentials"
cluster = "desk"
first_leader = "second"
acknowledge = 1
lease_ms = 500
standby_timeout_ms = 200
[tickerplant]
[[standby]]
name = "second"
port = 5031
advertise = "far:5031"
[[rdb]]
[[rdb]]
name = "other"
tickerplant = "second,elsewhere:5010"
)");
  ASSERT_EQ(config.standbys.size(), 1u);
  const tickerplant::ReplicationOptions& replication = config.standbys[0].replication;
  EXPECT_EQ(replication.etcd.size(), 2u);
  EXPECT_EQ(replication.etcd_files,
            (tickerplant::EtcdFiles{"ca.pem", "own.pem", "own.key", "etcd.credentials"}));
  EXPECT_EQ(replication.cluster, "desk");
  EXPECT_EQ(replication.first_leader, "second");
  EXPECT_EQ(replication.acknowledge, 1u);
  EXPECT_EQ(replication.lease_ns, 500'000'000);
  EXPECT_EQ(replication.standby_timeout_ns, 200'000'000);
  EXPECT_EQ(config.standbys[0].log_name, "second");
  ResolveAddresses(config);
  EXPECT_EQ(config.tickerplant->replication.advertise, "127.0.0.1:5010");
  EXPECT_EQ(config.standbys[0].replication.advertise, "far:5031");
  EXPECT_EQ(config.rdbs[0].tickerplant, "127.0.0.1:5010,127.0.0.1:5031");
  EXPECT_EQ(config.rdbs[1].tickerplant, "127.0.0.1:5031,127.0.0.1:5010,elsewhere:5010");
}

TEST(StackConfig, MembersOfAFileShareTheLogInATopic) {
  StackConfig config = Parsed(R"(
[replication]
lease_ms = 500
kafka_settings = ["security.protocol=SSL"]
kafka_replicas = 3
[tickerplant]
log = "kafka:a:9092,b:9092/desk.log"
[[standby]]
name = "second"
[[rdb]]
)");
  for (const tickerplant::ReplicationOptions& replication :
       {config.tickerplant->replication, config.standbys[0].replication}) {
    EXPECT_TRUE(replication.is_member());
    EXPECT_EQ(replication.kafka.kafka.brokers, "a:9092,b:9092");
    EXPECT_EQ(replication.kafka.topic, "desk.log");
    EXPECT_EQ(replication.kafka.replication, 3);
    EXPECT_THAT(replication.kafka.kafka.settings, testing::ElementsAre("security.protocol=SSL"));
    EXPECT_EQ(replication.lease_ns, 500'000'000);
  }
  ResolveAddresses(config);
  EXPECT_EQ(config.rdbs[0].tickerplant, "127.0.0.1:5010,127.0.0.1:5030");
}

TEST(StackConfig, SaysWhatIsWrongWithALogInATopic) {
  for (const std::string log : {"kafka:", "kafka:/desk", "kafka:a:9092", "kafka:a:9092/",
                                "kafka:a/d", "kafka:a:9092/d e", "redis:a:1/d"}) {
    EXPECT_THAT(ErrorOf("[tickerplant]\nlog = \"" + log + "\"\n"),
                testing::HasSubstr("log: expected kafka:HOST:PORT,HOST:PORT/TOPIC"))
        << log;
  }
  const std::string tickerplant = "[tickerplant]\nlog = \"kafka:a:9092/d\"\n";
  EXPECT_THAT(ErrorOf("[replication]\netcd = [\"http://a:2379\"]\n" + tickerplant),
              testing::HasSubstr("etcd: the log is in Kafka"));
  EXPECT_THAT(ErrorOf("[replication]\nacknowledge = 1\n" + tickerplant),
              testing::HasSubstr("acknowledge: is of standbys with etcd"));
  EXPECT_THAT(ErrorOf("[replication]\nkafka_replicas = 0\n" + tickerplant),
              testing::HasSubstr("kafka_replicas: expected -1, or 1 and more"));
}

// Goal: every table and column that is accepted can be queried by its name.
TEST(StackConfig, RefusesNamesOfTablesAndColumnsThatQueriesCannotUse) {
  std::vector<std::string> words;
  for (const std::string_view word : query::ReservedWords()) words.emplace_back(word);
  const SymbolVector builtins = query::BuiltinNames();
  for (size_t i = 0; i < builtins.size(); ++i) words.emplace_back(builtins[i]);
  EXPECT_GT(words.size(), 200u);
  for (const std::string& word : words) {
    EXPECT_THAT(ErrorOf("[tables]\n" + word + " = 's s'"),
                testing::StartsWith(fmt::format("stack.toml:2:{}: tables.{}: table {}: this is a "
                                                "word of q",
                                                word.size() + 4, word, word)));
    EXPECT_THAT(
        ErrorOf("[tables]\nt = 's s, " + word + " j'"),
        testing::StartsWith(fmt::format("stack.toml:2:5: tables.t: table t: column {}: this "
                                        "is a word of q",
                                        word)));
  }
  for (const std::string word : {"date", "month", "year", "int"}) {
    EXPECT_THAT(ErrorOf("[tables]\n" + word + " = 's s'"),
                testing::HasSubstr(fmt::format("table {}: queries of a partitioned", word)));
  }
  EXPECT_THAT(ErrorOf("[tables]\nsym = 's s'"),
              testing::HasSubstr("table sym: a database has the names of its symbols"));
  for (const std::string columns : {"s s, date d", "date p | n j", "s s | date d"}) {
    EXPECT_THAT(ErrorOf("[tables]\nt = '" + columns + "'"),
                testing::HasSubstr("table t: column date: a partition gives its rows"))
        << columns;
  }
  EXPECT_THAT(ErrorOf("[tickerplant]\n[aggengine]\n[[aggengine.bars]]\nname = 'max'\n"
                      "table = 'trade'\nwidth = '5s'\nn = 'count'"),
              testing::HasSubstr("table max: this is a word of q"));
  EXPECT_THAT(ErrorOf("[tickerplant]\n[aggengine]\n[[aggengine.bars]]\nname = 'b'\n"
                      "table = 'trade'\nwidth = '5s'\ncount = 'count'"),
              testing::HasSubstr("table b: column count: this is a word of q"));
  EXPECT_THAT(ErrorOf("[tables]\ni = 's s'"),
              testing::HasSubstr("table i: queries find the number of the row under this name"));
  EXPECT_THAT(ErrorOf("[tables]\nt = 's s, i j'"),
              testing::HasSubstr("table t: column i: queries find the number of the row"));
  // These are no words, or hide nothing.
  const StackConfig config = Parsed(
      "[tables]\nx = 'time p, sym s, I j, x j, month m, year i, int i, minute u, second v'\n"
      "I = 'sym s, date d | count_ j'\nCount = 'Date d, Sum j'\n");
  EXPECT_EQ(config.schemas.size(), 3u);
}

TEST(StackConfig, SaysWhatIsWrongWithACluster) {
  const std::string cluster = "[replication]\netcd = [\"http://a:2379\"]\n";
  EXPECT_THAT(ErrorOf("[tickerplant]\n[[standby]]\n"),
              testing::HasSubstr("needs a section [replication]"));
  EXPECT_THAT(ErrorOf("[replication]\n[tickerplant]\n"), testing::HasSubstr("etcd: expected URLs"));
  EXPECT_THAT(ErrorOf(cluster + "etcd_key = \"own.key\"\n[tickerplant]\n"),
              testing::HasSubstr("etcd_key: expected etcd_certificate and etcd_key together"));
  EXPECT_THAT(ErrorOf(cluster + "etcd_ca = \"ca.pem\"\n[tickerplant]\n"),
              testing::HasSubstr("expected https://HOST:PORT, found http://a:2379"));
  EXPECT_THAT(ErrorOf(cluster + "lease_ms = 1\n[tickerplant]\n"), testing::HasSubstr("lease_ms"));
  EXPECT_THAT(ErrorOf(cluster + "[tickerplant]\n[[standby]]\nlog_name = \"sym\"\n"),
              testing::HasSubstr("the log sym is another tickerplant's"));
}

TEST(StackConfig, EveryProcessHasTheLimitsOfHealth) {
  const StackConfig config = Parsed(R"(
[health]
disk_free = "2GiB"
tier_used_percent = 70
behind = "10s"
feed_silent = "1m"
[tickerplant]
[[rdb]]
[monitor]
)");
  EXPECT_EQ(config.tickerplant->health.feed_silent_ns, 60 * kNsPerSecond);
  EXPECT_EQ(config.rdbs[0].health.disk_free_bytes, size_t{2} << 30);
  EXPECT_EQ(config.rdbs[0].health.tier_used_percent, 70);
  EXPECT_EQ(config.monitors[0].health.behind_ns, 10 * kNsPerSecond);
  EXPECT_THAT(ErrorOf("[health]\nbehind = \"0s\"\n[tickerplant]\n"),
              testing::HasSubstr("health.behind: expected more than 0s"));
  EXPECT_THAT(ErrorOf("[health]\ntier_used_percent = 101\n[tickerplant]\n"),
              testing::HasSubstr("expected an integer from 1 to 100"));
}

TEST(StackConfig, ReadsTheKeysOfEveryProcess) {
  const StackConfig config = Parsed(R"(
[stack]
name = "march"
data = "/var/march"
date = "2020.03.09"
log_level = "warn"
restart = false
[tables]
quote = "time p, sym s, bid f, ask f"
trade = "time p, sym s, price f"
[tickerplant]
name = "tp"
host = "0.0.0.0"
port = 6010
batch_ms = 0
batch_phase_ms = 12.5
fsync = "interval"
fsync_interval_ms = 20
log_cache = "64MiB"
max_queue_bytes = "64MiB"
live_queue_bytes = "2MiB"
stall_max = "90s"
time_zone = "America/New_York"
roll_offset = "17h"
busy_poll = true
[[rdb]]
name = "one"
port = 6011
query_threads = 2
query_nice = 5
query_timeout_s = 2.5
query_slow_ms = 250
query_max_bytes = "64MiB"
query_unread_bytes = "1GiB"
query_unread_timeout_s = 7
[rdb.tier.dram]
size = "8GiB"
[[rdb]]
name = "two"
port = 6012
tickerplant = "far:5010"
[hdb]
port = 6013
database = "/mnt/days"
cache = "3GiB"
query_threads = 3
[hdb.tiers]
store = "https://s3.example.com"
bucket = "history"
prefix = "a/b"
region = "eu-west-1"
credentials = "keys"
older_than_days = 30
timeout = "1500ms"
requests = 2
cache = "2GiB"
[feed]
source = "lean"
path = "ticks"
symbols = ["aig", "bac"]
batch_rows = 1
[monitor]
query_ms = 20
symbol = "AIG"
rdb = "two"
)");
  EXPECT_EQ(config.name, "march");
  EXPECT_EQ(config.log_level, LogLevel::kWarn);
  EXPECT_FALSE(config.restart);
  const auto& plant = *config.tickerplant;
  EXPECT_EQ(plant.data, "/var/march");
  EXPECT_EQ(plant.date, ParseDate("2020.03.09"));
  ASSERT_EQ(plant.schemas.size(), 2u);
  EXPECT_EQ(plant.schemas[0].table, "quote");
  EXPECT_EQ(FormatSchema(plant.schemas[1]), "time p, sym s, price f");
  EXPECT_EQ(plant.batch_ms, 0);
  EXPECT_EQ(plant.batch_phase_ms, 12.5);
  EXPECT_EQ(plant.fsync, tplog::FsyncPolicy::kInterval);
  EXPECT_EQ(plant.fsync_interval_ms, 20);
  EXPECT_EQ(plant.log_cache_bytes, size_t{64} << 20);
  EXPECT_EQ(plant.max_queue_bytes, size_t{64} << 20);
  EXPECT_EQ(plant.live_queue_bytes, size_t{2} << 20);
  EXPECT_EQ(plant.stall_max_ns, 90 * kNsPerSecond);
  EXPECT_EQ(plant.time_zone, "America/New_York");
  EXPECT_EQ(plant.roll_offset_ns, 17 * 3600 * kNsPerSecond);
  EXPECT_TRUE(plant.busy_poll);
  ASSERT_EQ(config.rdbs.size(), 2u);
  EXPECT_EQ(config.rdbs[0].query_threads, 2);
  EXPECT_EQ(config.rdbs[0].query_nice, 5);
  EXPECT_EQ(config.rdbs[0].query_timeout_s, 2.5);
  EXPECT_EQ(config.rdbs[0].query_slow_ms, 250);
  EXPECT_EQ(config.rdbs[0].query_max_bytes, size_t{64} << 20);
  EXPECT_EQ(config.rdbs[0].query_unread_bytes, size_t{1} << 30);
  EXPECT_EQ(config.rdbs[0].query_unread_timeout_s, 7);
  EXPECT_EQ(config.rdbs[0].tiers[0].options.capacity_bytes, size_t{8} << 30);
  EXPECT_EQ(config.hdb->name, "hdb");
  EXPECT_EQ(config.hdb->listener.port, 6013);
  EXPECT_EQ(config.hdb->database, "/mnt/days");
  EXPECT_EQ(config.hdb->cache_bytes, size_t{3} << 30);
  EXPECT_EQ(config.hdb->query_threads, 3);
  EXPECT_EQ(config.hdb->archive.store, "https://s3.example.com");
  EXPECT_EQ(config.hdb->archive.bucket, "history");
  EXPECT_EQ(config.hdb->archive.prefix, "a/b");
  EXPECT_EQ(config.hdb->archive.region, "eu-west-1");
  EXPECT_EQ(config.hdb->archive.credentials, "keys");
  EXPECT_EQ(config.hdb->archive.older_than_days, 30);
  EXPECT_EQ(config.hdb->archive.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(config.hdb->archive.requests, 2u);
  EXPECT_EQ(config.hdb->archive.cache_bytes, size_t{2} << 30);
  ASSERT_EQ(config.feeds.size(), 1u);
  EXPECT_EQ(config.feeds[0].source.kind(), "lean");
  const auto& lean = dynamic_cast<const feed::LeanOptions&>(config.feeds[0].source.chosen());
  EXPECT_EQ(lean.date, "2020.03.09");
  EXPECT_THAT(lean.symbols, ElementsAre("aig", "bac"));
  EXPECT_EQ(lean.batch_rows, 1);
  EXPECT_EQ(config.monitors.front().query_ms, 20);
  EXPECT_EQ(config.monitors.front().data, "/var/march");
}

TEST(StackConfig, ConnectsTheProcessesOfOneFile) {
  StackConfig config = Parsed(
      "[tickerplant]\nport=1\n[[rdb]]\nname='a'\nport=2\n[[rdb]]\nname='b'\nport=3\n"
      "tickerplant='far:9'\n[feed]\nport=4\n[monitor]\n");
  config.tickerplant->listener.port = 11;  // As if the kernel had chosen it.
  ResolveAddresses(config);
  EXPECT_EQ(config.rdbs[0].tickerplant, "127.0.0.1:11");
  EXPECT_EQ(config.rdbs[1].tickerplant, "far:9");
  EXPECT_EQ(config.feeds[0].tickerplant, "127.0.0.1:11");
  EXPECT_EQ(config.monitors.front().rdb, "127.0.0.1:2");
  EXPECT_EQ(config.monitors.front().feed, "127.0.0.1:4");
}

TEST(StackConfig, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(
      ErrorOf("[tickerplant]\nport = 'x'"),
      "stack.toml:2:8: tickerplant.port: expected an integer from 0 to 65535, found string \"x\"");
  EXPECT_EQ(
      ErrorOf("[tickerplant]\nfsync = 'often'"),
      "stack.toml:2:9: tickerplant.fsync: expected one of none, interval, batch, found \"often\"");
  EXPECT_EQ(ErrorOf("[tickerplant]\nbatch_phase_ms = -1"),
            "stack.toml:2:18: tickerplant.batch_phase_ms: expected a number from 0 on, found -1");
  EXPECT_EQ(ErrorOf("[tickerplant]\nbatch_ms = -1"),
            "stack.toml:2:12: tickerplant.batch_ms: expected a number from 0 on, found -1");
  EXPECT_EQ(ErrorOf("[[rdb]]\nprot = 1"),
            "stack.toml:2:1: rdb[0].prot: unknown key, did you mean port?");
  EXPECT_THAT(ErrorOf("[[rdb]]\nhttp_origins = ['*']"),
              testing::StartsWith("stack.toml:2:16: rdb[0].http_origins: expected an origin"));
  EXPECT_EQ(
      ErrorOf("[[rdb]]\nhost = '0.0.0.0'\nhttp_origins = ['http://x:3000']"),
      "stack.toml:3:16: rdb[0].http_origins: needs http = true, which is not the default beyond "
      "loopback");
  EXPECT_EQ(ErrorOf("[feeds]\n"), "stack.toml:1:2: feeds: unknown key, did you mean feed?");
  EXPECT_EQ(ErrorOf("[feed]\nsource = 'lean'\nsymbols = 5"),
            "stack.toml:3:11: feed.symbols: expected an array of strings, found integer 5");
  EXPECT_EQ(ErrorOf("[feed]\nname = '../x'"),
            "stack.toml:2:8: feed.name: expected letters, digits, -, _ and ., found \"../x\"");
  EXPECT_EQ(ErrorOf("[stack]\ndate = '2020.13.09'"),
            "stack.toml:2:8: stack.date: expected a date such as 2013.10.07, found \"2020.13.09\"");
  EXPECT_EQ(
      ErrorOf("[tables]\nquote = 'time p, sym'"),
      "stack.toml:2:9: tables.quote: table quote: column sym: type '', expected one of b g x h "
      "i j e f c s p m d z n u v t *");
  EXPECT_EQ(
      ErrorOf("[tables]\nnotes = 'sym s | note *'"),
      "stack.toml:2:9: tables.notes: table notes: column note is of strings or other nested "
      "values, expected types of one width each: rows of a keyed table are replaced in place");
  EXPECT_EQ(ErrorOf("[monitor]\nqueries = 'light'"),
            "stack.toml:2:11: monitor.queries: queries light: expected monitor, paper, heavy, or a "
            "file such as desk.toml");
  EXPECT_EQ(ErrorOf("[tables]"), "stack.toml:1:1: tables: expected at least one table");
}

TEST(StackConfig, RefusesTwoProcessesOfOneName) {
  EXPECT_EQ(ErrorOf("[[rdb]]\n[[rdb]]\nport = 5012"),
            "stack.toml:1:1: rdb: the name rdb is taken by another process: give it a name");
}

TEST(StackConfig, WithoutTablesItHasThoseOfItsFeedsSources) {
  for (const char* path :
       {"examples/itch.toml", "examples/iex.toml", "examples/lobster.toml", "examples/pitch.toml",
        "examples/dbn.toml", "examples/itch_live.toml", "examples/mdp3.toml"}) {
    const absl::StatusOr<StackConfig> config = LoadStackConfig(path);
    ASSERT_TRUE(config.ok()) << config.status();
    const auto order = std::ranges::find(config->schemas, "order", &Schema::table);
    ASSERT_NE(order, config->schemas.end());
    EXPECT_GE(order->Find("old_id"), 0);
  }
  const absl::StatusOr<StackConfig> tardis = LoadStackConfig("examples/tardis.toml");
  ASSERT_TRUE(tardis.ok()) << tardis.status();
  const auto trade = std::ranges::find(tardis->schemas, "trade", &Schema::table);
  ASSERT_NE(trade, tardis->schemas.end());
  EXPECT_EQ(trade->columns[static_cast<size_t>(trade->Find("size"))].type, Type::kFloat);
  // Tables of the same names with other columns, or other types.
  EXPECT_THAT(ErrorOf("[[feed]]\n[[feed]]\nname = 'b'\nsource = 'itch'"),
              HasSubstr("another feed has a table trade with other columns: write [tables]"));
  EXPECT_THAT(ErrorOf("[[feed]]\nsource = 'tardis'\n[[feed]]\nname = 'b'\nsource = 'itch'"),
              HasSubstr("another feed has a table trade with other columns: write [tables]"));
}

// Goal: the examples are correct. Method: every key of examples/stack.toml is known, and values
// that it calls defaults are the defaults.
TEST(StackConfig, ReadsTheExamples) {
  const absl::StatusOr<StackConfig> lean = LoadStackConfig("examples/lean.toml");
  EXPECT_TRUE(lean.ok()) << lean.status();
  const absl::StatusOr<StackConfig> persistent = LoadStackConfig("examples/persistent.toml");
  ASSERT_TRUE(persistent.ok()) << persistent.status();
  EXPECT_EQ(persistent->rdbs[0].placement.TierOfIndex("quote"), "pmem");
  const absl::StatusOr<StackConfig> bars = LoadStackConfig("examples/bars.toml");
  ASSERT_TRUE(bars.ok()) << bars.status();
  EXPECT_EQ(bars->schemas.back().key_columns, 2u);
  for (const char* path : {"examples/hybrid.toml", "examples/cold_columns.toml"}) {
    const absl::StatusOr<StackConfig> hybrid = LoadStackConfig(path);
    ASSERT_TRUE(hybrid.ok()) << hybrid.status();
    EXPECT_THAT(hybrid->warnings, ElementsAre());
    EXPECT_EQ(hybrid->rdbs[0].placement.TierOfColumn("quote", "bsize"), "pmem");
    EXPECT_EQ(hybrid->rdbs[0].placement.TierOfColumn("quote", "time"), "dram");
    EXPECT_EQ(hybrid->rdbs[0].placement.TierOfIndex("quote"), "dram");
  }
  for (const char* path : {"examples/kafka.toml", "examples/kafka_second_site.toml"}) {
    const absl::StatusOr<StackConfig> kafka = LoadStackConfig(path);
    ASSERT_TRUE(kafka.ok()) << kafka.status();
    EXPECT_THAT(kafka->warnings, ElementsAre());
    ASSERT_EQ(kafka->bridges.size(), 1u);
    EXPECT_EQ(kafka->bridges[0].prefix, "site-a");
  }
  const absl::StatusOr<StackConfig> aged = LoadStackConfig("examples/aged.toml");
  ASSERT_TRUE(aged.ok()) << aged.status();
  EXPECT_THAT(aged->warnings, ElementsAre());
  EXPECT_EQ(aged->rdbs[0].placement.age()->tier, "older");
  const absl::StatusOr<StackConfig> stack = LoadStackConfig("examples/stack.toml");
  ASSERT_TRUE(stack.ok()) << stack.status();
  const StackConfig bare =
      Parsed("[tickerplant]\n[[rdb]]\n[hdb]\n[feed]\n[aggengine]\n[monitor]\n");
  EXPECT_EQ(stack->hdb->listener.port, bare.hdb->listener.port);
  EXPECT_EQ(stack->hdb->database, bare.hdb->database);
  EXPECT_EQ(stack->hdb->cache_bytes, bare.hdb->cache_bytes);
  EXPECT_EQ(stack->hdb->archive.region, bare.hdb->archive.region);
  EXPECT_EQ(stack->hdb->archive.timeout, bare.hdb->archive.timeout);
  EXPECT_EQ(stack->hdb->archive.requests, bare.hdb->archive.requests);
  EXPECT_EQ(stack->hdb->archive.cache_bytes, bare.hdb->archive.cache_bytes);
  EXPECT_EQ(stack->hdb->query_threads, bare.hdb->query_threads);
  EXPECT_EQ(stack->hdb->query_nice, bare.hdb->query_nice);
  const auto& plant = *stack->tickerplant;
  EXPECT_EQ(plant.schemas, bare.tickerplant->schemas);
  EXPECT_EQ(plant.batch_ms, bare.tickerplant->batch_ms);
  EXPECT_EQ(plant.batch_phase_ms, bare.tickerplant->batch_phase_ms);
  EXPECT_EQ(plant.batch_bytes, bare.tickerplant->batch_bytes);
  EXPECT_EQ(plant.fsync, bare.tickerplant->fsync);
  EXPECT_EQ(plant.fsync_interval_ms, bare.tickerplant->fsync_interval_ms);
  EXPECT_EQ(plant.log_cache_bytes, bare.tickerplant->log_cache_bytes);
  EXPECT_EQ(plant.time_zone, bare.tickerplant->time_zone);
  EXPECT_EQ(plant.roll_offset_ns, bare.tickerplant->roll_offset_ns);
  EXPECT_EQ(plant.max_queue_bytes, bare.tickerplant->max_queue_bytes);
  EXPECT_EQ(plant.live_queue_bytes, bare.tickerplant->live_queue_bytes);
  EXPECT_EQ(plant.stall_max_ns, bare.tickerplant->stall_max_ns);
  EXPECT_EQ(plant.max_message_bytes, bare.tickerplant->max_message_bytes);
  EXPECT_EQ(plant.listener.max_connections, bare.tickerplant->listener.max_connections);
  const rdb::RdbMainOptions &rdb = stack->rdbs[0], &bare_rdb = bare.rdbs[0];
  EXPECT_EQ(rdb.query_threads, bare_rdb.query_threads);
  EXPECT_EQ(rdb.query_nice, bare_rdb.query_nice);
  EXPECT_EQ(rdb.query_timeout_s, bare_rdb.query_timeout_s);
  EXPECT_EQ(rdb.query_slow_ms, bare_rdb.query_slow_ms);
  EXPECT_EQ(rdb.query_max_bytes, bare_rdb.query_max_bytes);
  EXPECT_EQ(rdb.query_unread_bytes, bare_rdb.query_unread_bytes);
  EXPECT_EQ(rdb.query_unread_timeout_s, bare_rdb.query_unread_timeout_s);
  const mem::TierOptions &dram = stack->rdbs[0].tiers[0].options,
                         &bare_dram = bare.rdbs[0].tiers[0].options;
  EXPECT_EQ(dram.touch_ahead_bytes, bare_dram.touch_ahead_bytes);
  EXPECT_EQ(dram.huge_pages, bare_dram.huge_pages);
  EXPECT_EQ(dram.streaming, bare_dram.streaming);
  for (const auto& [key, tier] : stack->rdbs[0].placement.keys()) EXPECT_EQ(tier, "dram") << key;
  EXPECT_EQ(stack->rdbs[0].max_message_bytes, bare.rdbs[0].max_message_bytes);
  EXPECT_EQ(stack->rdbs[0].tickerplant, bare.rdbs[0].tickerplant);
  const feed::FeedOptions& feed = stack->feeds[0];
  const auto& sim = dynamic_cast<const feed::SimOptions&>(feed.source.chosen());
  const auto& bare_sim = dynamic_cast<const feed::SimOptions&>(bare.feeds[0].source.chosen());
  EXPECT_EQ(sim.rate, bare_sim.rate);
  EXPECT_EQ(sim.seconds, bare_sim.seconds);
  EXPECT_EQ(sim.symbols, bare_sim.symbols);
  EXPECT_EQ(sim.batch_rows, bare_sim.batch_rows);
  EXPECT_EQ(sim.seed, bare_sim.seed);
  EXPECT_EQ(feed.batch_ms, bare.feeds[0].batch_ms);
  EXPECT_EQ(feed.queue_bytes, bare.feeds[0].queue_bytes);
  const aggengine::AggEngineMainOptions &bars_of = *stack->aggengine, &bare_bars = *bare.aggengine;
  EXPECT_EQ(bars_of.bars.size(), bare_bars.bars.size());
  EXPECT_EQ(bars_of.publish_ms, bare_bars.publish_ms);
  EXPECT_EQ(bars_of.publish_gap_ms, bare_bars.publish_gap_ms);
  EXPECT_EQ(bars_of.read_log_file, bare_bars.read_log_file);
  EXPECT_EQ(bars_of.history_bytes, bare_bars.history_bytes);
  EXPECT_EQ(bars_of.max_message_bytes, bare_bars.max_message_bytes);
  EXPECT_EQ(bars_of.state.name, bare_bars.state.name);
  EXPECT_EQ(stack->monitors.front().query_ms, bare.monitors.front().query_ms);
  EXPECT_EQ(stack->monitors.front().progress_s, bare.monitors.front().progress_s);
  EXPECT_EQ(stack->monitors.front().queries, bare.monitors.front().queries);
  EXPECT_EQ(stack->monitors.front().queries_wait, bare.monitors.front().queries_wait);
}

TEST(StackConfig, GivesTheEndOfDayToOneRdb) {
  EXPECT_FALSE(Parsed("[[rdb]]\n").rdbs[0].end_of_day.has_value());
  StackConfig config = Parsed(R"(
[[rdb]]
name = "one"
[[rdb]]
name = "two"
port = 6012
[eod]
rdb = "two"
database = "/db"
hdb = "one"
threads = 4
memory = "1GiB"
keep_logs_days = 7
retry_s = 0.5
[eod.compression]
default = "gzip"
"quote.bid" = "zstd-2"
)");
  EXPECT_FALSE(config.rdbs[0].end_of_day.has_value());
  ASSERT_TRUE(config.rdbs[1].end_of_day.has_value());
  ResolveAddresses(config);
  const rdb::EndOfDayOptions& days = *config.rdbs[1].end_of_day;
  EXPECT_EQ(days.database, "/db");
  EXPECT_EQ(days.hdb, "127.0.0.1:5011");
  EXPECT_EQ(days.threads, 4);
  EXPECT_EQ(days.memory_bytes, size_t{1} << 30);
  EXPECT_EQ(days.keep_logs_days, 7);
  EXPECT_EQ(days.retry_ns, 500'000'000);
  EXPECT_EQ(days.compression.Of("quote", "bid").algorithm, disk::Compression::kZstd);
  EXPECT_EQ(days.compression.Of("quote", "ask").level, 6);
}

TEST(StackConfig, SaysWhatIsWrongWithAnEndOfDay) {
  EXPECT_THAT(ErrorOf("[[rdb]]\n[eod]\nkeep_logs_days = 0\n"),
              testing::HasSubstr("3:18: eod.keep_logs_days"));
  EXPECT_EQ(ErrorOf("[[rdb]]\n[eod]\nrdb = \"two\"\n"),
            "stack.toml:3:7: eod.rdb: expected the name of an rdb of this file, found \"two\"");
  EXPECT_EQ(
      ErrorOf("[[rdb]]\n[eod.compression]\ndefault = \"zip\"\n"),
      "stack.toml:3:11: eod.compression.default: expected none, ipc, gzip, lz4, snappy or zstd, "
      "such as "
      "gzip-6, found \"zip\"");
  EXPECT_EQ(ErrorOf("[[rdb]]\n[eod]\nretry_s = 0\n"),
            "stack.toml:3:11: eod.retry_s: expected a number above 0");
  EXPECT_EQ(ErrorOf("[eod]\n"), "stack.toml:1:1: eod: expected an [rdb] that writes, found none");
}

ConfigErrors ErrorsOf(const std::string& text) {
  const std::string path = testing::TempDir() + "stack_config_test_errors.toml";
  std::ofstream(path) << text;
  ConfigErrors found = FindConfigErrors(path);
  std::remove(path.c_str());
  for (std::string& error : found.errors) {
    if (error.starts_with(path)) error.erase(0, path.size() + 1);
  }
  return found;
}

TEST(FindConfigErrors, FindsThemAllInTheOrderOfLines) {
  const ConfigErrors found = ErrorsOf(R"([stack]
log_level = "loud"
[tables]
trade = "time p, sym s"
quote = "time q"
[tickerplant]
prot = 5010
batch_ms = "often"
[[rdb]]
port = 70000
[rdb.placement]
default = "pmem"
[hdb]
port = true
)");
  EXPECT_THAT(found.errors,
              ElementsAre(testing::StartsWith("2:13: stack.log_level: expected one of debug"),
                          testing::StartsWith("5:9: tables.quote: "),
                          "7:1: tickerplant.prot: unknown key, did you mean port?",
                          testing::StartsWith("8:12: tickerplant.batch_ms: expected a number"),
                          testing::StartsWith("10:8: rdb[0].port: expected an integer"),
                          testing::StartsWith("12:11: rdb[0].placement.default: expected one of"),
                          testing::StartsWith("14:8: hdb.port: expected an integer")));
  EXPECT_FALSE(found.may_hide_more);
}

// A tier whose kind is unknown has no kind afterwards, which is not a second error; nor is it one
// that the placement names a tier which was removed with it.
TEST(FindConfigErrors, ReportsNoConsequences) {
  const ConfigErrors found = ErrorsOf(R"([[rdb]]
[rdb.tier.pmem]
kind = "pmm"
path = "/x"
[rdb.placement]
default = "pmem"
[hdb]
port = "x"
)");
  EXPECT_THAT(found.errors, ElementsAre(testing::StartsWith("3:8: rdb[0].tier.pmem.kind: "),
                                        testing::StartsWith("8:8: hdb.port: ")));
  EXPECT_TRUE(found.may_hide_more);
}

// A section that loses its only table has no table afterwards, which is not a second error.
TEST(FindConfigErrors, DoesNotMissTheTableThatItRefused) {
  for (const char* const line : {"upper = 's s'", "trade = 's q'", "trade = 5"}) {
    const ConfigErrors found = ErrorsOf(fmt::format("[tables]\n{}\n[tickerplant]\n", line));
    EXPECT_THAT(found.errors, ElementsAre(testing::StartsWith("2:")));
    EXPECT_TRUE(found.may_hide_more);
  }
  EXPECT_THAT(ErrorsOf("[tables]\n[tickerplant]\n").errors,
              ElementsAre("1:1: tables: expected at least one table"));
}

TEST(FindConfigErrors, IsEmptyForARightFileAndNamesOneThatIsNotThere) {
  EXPECT_TRUE(ErrorsOf("[tickerplant]\n").errors.empty());
  const ConfigErrors found = FindConfigErrors("/no/file.toml");
  ASSERT_EQ(found.errors.size(), 1u);
  EXPECT_TRUE(found.errors[0].starts_with("/no/file.toml: ")) << found.errors[0];
  EXPECT_EQ(ErrorsOf("a = = 1\n").errors.size(), 1u);
}

}  // namespace
}  // namespace tickstack::cli
