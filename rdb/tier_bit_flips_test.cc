// Flips single bits in the file of a persistent tier, restarts an rdb on it, and replays the rest
// of the log: every answer is that of an rdb that took the whole log into DRAM.
//
// TICKSTACK_FLIPS sets the number of flips, TICKSTACK_SEED the first seed. Each flip has its own
// seed, which a failure prints.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/logging.h"
#include "mem/power_cut.h"
#include "mem/tier.h"
#include "query/query.h"
#include "rdb/rdb.h"
#include "rdb/rdb_environment.h"
#include "table/value.h"
#include "tests/support/environment.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int64_t kNow = 9000 * kNsPerDay;
constexpr size_t kMessages = 120;
constexpr size_t kNames = 12;

// Returns an upd with rows of `trade` or `quote`. Some times are before earlier ones.
std::vector<Value> RandomUpd(std::mt19937_64& rng, int64_t number) {
  const size_t rows = 1 + rng() % 60;
  ByteBuffer times, prices, sizes;
  SymbolVector names;
  std::vector<Value> notes;
  for (size_t i = 0; i < rows; ++i) {
    times.AppendLittle(kNow + number * 1'000'000 + static_cast<int64_t>(rng() % 1'100'000));
    names.push_back(fmt::format("s{}", rng() % (1 + rng() % kNames)));
    prices.AppendLittle(static_cast<double>(rng() % 1000) / 8);
    sizes.AppendLittle(static_cast<int32_t>(rng() % 100));
    notes.push_back(
        Value::String(std::string(1 + rng() % 12, static_cast<char>('a' + rng() % 26))));
  }
  std::vector<Value> columns;
  columns.push_back(Value::Vector(Type::kTimestamp, std::move(times)));
  columns.push_back(Value::Symbols(names));
  columns.push_back(Value::Vector(Type::kFloat, std::move(prices)));
  columns.push_back(Value::Vector(Type::kInt, std::move(sizes)));
  columns.push_back(Value::List(std::move(notes)));
  return {Value::Symbol("upd"), Value::Symbol(rng() % 2 == 0 ? "trade" : "quote"),
          Value::List(std::move(columns))};
}

ByteBuffer Encoded(std::vector<Value> items) {
  ByteBuffer body;
  wire::Encode(Value::List(std::move(items)), body);
  return body;
}

// How the process that wrote the tier ended.
enum class Ending { kShutdown, kKill, kPowerCut };

class TierBitFlips : public testing::TestWithParam<Ending> {
 protected:
  TierBitFlips() {
    InitLogging("test", LogLevel::kOff);
    TS_CHECK(::mkdtemp(folder_.data()) != nullptr);
    tier_options_.name = "pmem";
    tier_options_.kind = mem::TierKind::kPersistent;
    tier_options_.path = folder_;
    tier_options_.file = "rdb.tier";
    tier_options_.capacity_bytes = 32 * kMiB;
    // As in a process: its thread touches pages while damaged tables are discarded.
    tier_options_.touch_ahead_bytes = 64 * kMiB;
    options_.table.rows_per_chunk = 64;
    std::mt19937_64 rng(7);
    for (int64_t i = 0; i < static_cast<int64_t>(kMessages); ++i) {
      std::vector<Value> upd = RandomUpd(rng, i);
      log_.push_back(Encoded(upd));
      upd.push_back(Value::Long(i + 1));
      published_.push_back(Encoded(std::move(upd)));
    }
    for (const std::string_view table : {"trade", "quote"}) {
      questions_.push_back(fmt::format("select from {}", table));
      questions_.push_back(fmt::format("select count i,sum price,last note by sym from {}", table));
      for (size_t name = 0; name < kNames; ++name) {
        questions_.push_back(fmt::format("select from {} where sym=`s{}", table, name));
      }
    }
    questions_.emplace_back("aj[`sym`time;select sym,time from trade;quote]");
  }
  ~TierBitFlips() override { std::filesystem::remove_all(folder_); }

  static void Announce(Rdb& rdb) {
    std::vector<Schema> schemas;
    for (const char* const table : {"trade", "quote"}) {
      schemas.push_back(*ParseSchema(table, "time p, sym s, price f, size i, note *"));
    }
    rdb.OnSchemas(schemas);
  }
  // Each message is committed.
  void Take(Rdb& rdb, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      TS_CHECK(rdb.OnLive(published_[i]) == LiveOutcome::kTaken);
    }
  }
  void CatchUp(Rdb& rdb, size_t messages) {
    while (rdb.position().seq() < messages) rdb.OnLogged(log_[rdb.position().seq()]);
  }
  // Returns the encoded answers to all questions.
  std::vector<std::string> Ask(Rdb& rdb) {
    RdbEnvironment environment(&rdb, &clock_);
    std::vector<std::string> answers;
    for (const std::string& question : questions_) {
      const absl::StatusOr<Value> answer =
          query::EvaluateRequest(Value::String(question), environment);
      EXPECT_TRUE(answer.ok()) << question << ": " << answer.status();
      ByteBuffer bytes;
      if (answer.ok()) Encode(*answer, bytes);
      answers.emplace_back(AsText(bytes.span()));
    }
    return answers;
  }
  std::vector<std::string> AskAfterTheWholeLog() {
    const auto dram = mem::MakeDramTier("dram");
    Rdb rdb(options_, Placement(dram.get()), &clock_);
    Announce(rdb);
    CatchUp(rdb, kMessages);
    return Ask(rdb);
  }

  // Returns the tier's file after a process that took most of the log, committing each message.
  std::vector<std::byte> WrittenTier() {
    std::vector<std::byte> image;
    std::mt19937_64 rng(3);
    bool cut = false;
    auto persistence = std::make_unique<mem::PowerCut>([&](const mem::PowerCut& medium) {
      if (cut && image.empty() && rng() % 40 == 0) image = medium.Image(0.5, rng);
    });
    const auto tier = *mem::PersistentTier::Open(tier_options_, std::move(persistence));
    Rdb rdb(options_, Placement(tier.get()), &clock_);
    rdb.Reopen();
    Announce(rdb);
    Take(rdb, 0, kMessages / 2);
    rdb.MakeDurable();  // The index has a checkpoint, and the table has rows after it.
    Take(rdb, kMessages / 2, kMessages - 20);
    cut = GetParam() == Ending::kPowerCut;
    if (GetParam() == Ending::kShutdown) rdb.MakeDurable();
    if (cut) Take(rdb, kMessages - 20, kMessages);
    TS_CHECK(cut == !image.empty());
    return cut ? std::move(image) : BytesOf(FilePath());
  }

  // What a restart on the file came to.
  struct Restart {
    bool damaged;  // The tables were found to be damaged.
    size_t rows;   // Restored.
    std::vector<std::string> answers;
  };
  Restart StartOnIt() {
    const auto tier = *mem::PersistentTier::Open(tier_options_);
    Rdb rdb(options_, Placement(tier.get()), &clock_);
    rdb.Reopen();
    Announce(rdb);
    CatchUp(rdb, kMessages);
    const DurableCounters& counters = rdb.durable()->counters();
    return {counters.reopens_damaged > 0, counters.rows_reopened, Ask(rdb)};
  }

  std::string FilePath() const { return folder_ + "/rdb.tier"; }
  static std::vector<std::byte> BytesOf(const std::string& path) {
    std::vector<std::byte> bytes(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  // Writes the blocks of the file that differ.
  void Restore(const std::vector<std::byte>& image) {
    constexpr size_t kBlock = 4096;
    std::vector<std::byte> now;
    if (std::filesystem::exists(FilePath())) now = BytesOf(FilePath());
    if (now.size() != image.size()) {
      std::ofstream(FilePath(), std::ios::binary).flush();
      std::filesystem::resize_file(FilePath(), image.size());
      now.assign(image.size(), std::byte{0});
    }
    std::fstream file(FilePath(), std::ios::in | std::ios::out | std::ios::binary);
    for (size_t at = 0; at < image.size(); at += kBlock) {
      if (std::memcmp(image.data() + at, now.data() + at, kBlock) == 0) continue;
      file.seekp(static_cast<std::streamoff>(at));
      file.write(reinterpret_cast<const char*>(image.data() + at), kBlock);
    }
  }

  std::string folder_ = "/dev/shm/tickstack-tier-flips-XXXXXX";
  mem::TierOptions tier_options_;
  RdbOptions options_;
  ManualClock clock_{kNow};
  std::vector<ByteBuffer> log_;
  std::vector<ByteBuffer> published_;  // The same messages with their numbers.
  std::vector<std::string> questions_;
};

INSTANTIATE_TEST_SUITE_P(Endings, TierBitFlips,
                         testing::Values(Ending::kShutdown, Ending::kKill, Ending::kPowerCut),
                         [](const auto& of) {
                           switch (of.param) {
                             case Ending::kShutdown:
                               return "shutdown";
                             case Ending::kKill:
                               return "kill";
                             case Ending::kPowerCut:
                               return "power_cut";
                           }
                           return "";
                         });

// Goal: no wrong answer. Method: an eighth of the flips is anywhere in the file, an eighth in the
// superblock and the slots, and the others are in bytes of pages that are not zero.
TEST_P(TierBitFlips, AreFoundOrHarmless) {
  const std::vector<std::string> expected = AskAfterTheWholeLog();
  const std::vector<std::byte> image = WrittenTier();
  constexpr size_t kPages = 2 * kMiB;  // Offset of the first page.
  std::vector<size_t> heads, used;
  for (size_t at = 0; at < image.size(); ++at) {
    if (image[at] != std::byte{0}) (at < kPages ? heads : used).push_back(at);
  }
  Restore(image);
  const Restart whole = StartOnIt();
  ASSERT_FALSE(whole.damaged);
  ASSERT_GT(whole.rows, 2000U);
  ASSERT_EQ(whole.answers, expected);
  const uint64_t flips = NumberFromEnvironment("TICKSTACK_FLIPS", 30);
  const uint64_t first_seed = NumberFromEnvironment("TICKSTACK_SEED", 1);
  uint64_t found = 0, older = 0, anew = 0, harmless = 0;
  for (uint64_t seed = first_seed; seed < first_seed + flips && !HasFailure(); ++seed) {
    std::mt19937_64 rng(seed);
    const uint64_t choice = rng() % 8;
    const std::vector<size_t>& places = choice == 1 ? heads : used;
    const size_t byte = choice == 0 ? rng() % image.size() : places[rng() % places.size()];
    const auto flip = static_cast<std::byte>(1 << rng() % 8);
    SCOPED_TRACE(fmt::format("seed {}: byte {} of {}, xor {}", seed, byte, FilePath(),
                             static_cast<int>(flip)));
    std::vector<std::byte> damaged = image;
    damaged[byte] ^= flip;
    Restore(damaged);
    const Restart restart = StartOnIt();
    EXPECT_TRUE(restart.answers == expected) << "a wrong answer after a restart";
    if (restart.damaged) {
      ++found;
    } else if (restart.rows == whole.rows) {
      ++harmless;
    } else {
      ++(restart.rows == 0 ? anew : older);
    }
  }
  fmt::print(
      "{} flips of {} bytes, {} used: {} found in tables, {} found in the last commit, {} in the "
      "file, {} harmless, seeds {} to {}\n",
      flips, image.size(), heads.size() + used.size(), found, older, anew, harmless, first_seed,
      first_seed + flips - 1);
}

}  // namespace
}  // namespace tickstack::rdb
