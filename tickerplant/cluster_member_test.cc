#include "tickerplant/cluster_member.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/logging.h"
#include "wire/simulation.h"
#include "wire/tplog_for_test.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kDay = 7373;  // 2020.03.09.

// One value, in memory.
class FakeStore final : public ElectionStore {
 public:
  explicit FakeStore(wire::EventLoop& loop) : loop_(loop) {}
  void Read(std::function<void(absl::StatusOr<Record>)> done) override {
    loop_.Post([this, done = std::move(done)] { done(record); });
  }
  void Write(uint64_t revision, std::string value,
             std::function<void(absl::StatusOr<Written>)> done) override {
    loop_.Post([this, revision, value = std::move(value), done = std::move(done)] {
      const bool replaces = record.revision == revision;
      if (replaces) record = {revision + 1, value};
      done(Written{replaces, record});
    });
  }
  Record record;

 private:
  wire::EventLoop& loop_;
};

class ClusterMemberTest : public wire::TplogTest {
 protected:
  ClusterMemberTest() { InitLogging("test", LogLevel::kOff); }

  // True if a member `a` with these options is elected within five seconds.
  bool Leads(const ReplicationOptions& options = {}) {
    bool elected = false;
    absl::StatusOr<std::unique_ptr<ClusterMember>> member = ClusterMember::Start(
        simulation_.loop(), "a", options, {.directory = directory_}, &store_,
        [&] { elected = true; }, [](const absl::Status&) {});
    EXPECT_TRUE(member.ok()) << member.status();
    simulation_.RunUntil([&] { return elected; }, 5s);
    return elected;
  }
  void MakeLog(int messages = 0) {
    auto log = *StandbyLog::Open({.directory = directory_});
    ASSERT_TRUE(log->Begin(kDay, {}).ok());
    const ByteBuffer upd = wire::UpdMessage("trade", 1, 0);
    for (int i = 0; i < messages; ++i) {
      ReplicaBlock block;
      block.at = log->place();
      block.tables = {"trade"};
      block.rows = {1};
      block.messages = 1;
      block.bytes = upd;
      ASSERT_TRUE(log->Append(block).ok());
    }
    if (messages == 0) return;
    ASSERT_TRUE(log->NoteLogged(log->place()).ok());
  }
  void SetInSync(const MemberNames& names) {
    store_.record = {store_.record.revision + 1, TextOf({3, "", "", 1, names})};
  }

  wire::Simulation simulation_{9'500 * kNsPerDay};
  FakeStore store_{simulation_.loop()};
};

// Goal: an empty member does not begin a cluster whose other members have logs. Such a leader would
// make them cut their rows.
TEST_F(ClusterMemberTest, NobodyBeginsAClusterWithoutAnEntryUnlessItIsNamed) {
  EXPECT_FALSE(Leads());
  MakeLog();
  EXPECT_FALSE(Leads());
  ReplicationOptions options;
  options.first_leader = "a";
  EXPECT_TRUE(Leads(options));
}

// Method: its first message says that the log has been there before, and NAME.logged that it was
// longer.
TEST_F(ClusterMemberTest, NobodyBeginsAClusterWithALogThatMayLackRows) {
  MakeLog(2);
  ReplicationOptions options;
  options.first_leader = "a";
  EXPECT_TRUE(Leads(options));
  store_.record = {};
  Write(directory_ + "/sym.logged", fmt::format("{:<39}\n", FormatDate(kDay) + " 3"));
  EXPECT_FALSE(Leads(options));
  std::filesystem::remove(directory_ + "/sym.may-lack-rows");
  std::filesystem::remove(directory_ + "/sym.logged");
  EXPECT_TRUE(Leads(options));
}

TEST_F(ClusterMemberTest, AMemberWithoutALogDoesNotLead) {
  SetInSync({"a"});
  EXPECT_FALSE(Leads());
}

// The write that made it the first leader took place after it had given it up.
TEST_F(ClusterMemberTest, TheFirstLeaderLeadsWithoutALogIfNothingWasLoggedYet) {
  const auto leads = [this](uint64_t epoch, const MemberNames& names, size_t acknowledge) {
    store_.record = {store_.record.revision + 1, TextOf({epoch, "", "", 1, names})};
    ReplicationOptions options;
    options.first_leader = "a";
    options.acknowledge = acknowledge;
    return Leads(options);
  };
  EXPECT_FALSE(leads(1, {"a"}, 0));  // It may have logged alone.
  EXPECT_FALSE(leads(1, {"a", "b"}, 1));
  EXPECT_FALSE(leads(2, {"a"}, 1));
  EXPECT_TRUE(leads(1, {"a"}, 1));
}

// Method: its log is new, as after the loss of a disk, and no leader has said that it is complete.
TEST_F(ClusterMemberTest, AMemberThatMayLackRowsLeadsOnlyIfNoOtherMay) {
  MakeLog();
  SetInSync({"a", "b"});
  EXPECT_FALSE(Leads());
  SetInSync({"a"});
  ReplicationOptions never_alone;
  never_alone.acknowledge = 1;
  EXPECT_FALSE(Leads(never_alone));
  EXPECT_TRUE(Leads());
  // As the leader it has all rows.
  SetInSync({"a", "b"});
  EXPECT_TRUE(Leads());
}

}  // namespace
}  // namespace tickstack::tickerplant
