#include "tickerplant/cluster/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/cluster/etcd_messages.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// One value, in memory, with delays and losses.
class FakeStore {
 public:
  // The store as one member reaches it.
  class View final : public ElectionStore {
   public:
    View(FakeStore& store, wire::EventLoop& loop) : store_(store), loop_(loop) {}
    void Read(std::function<void(absl::StatusOr<Record>)> done) override {
      After([this, done = std::move(done)](bool, bool arrives) {
        done(arrives ? absl::StatusOr<Record>(store_.record) : Unavailable("fake"));
      });
    }
    void Write(uint64_t revision, std::string value,
               std::function<void(absl::StatusOr<Written>)> done) override {
      After([this, revision, value = std::move(value), done = std::move(done)](bool reaches,
                                                                               bool arrives) {
        bool replaced = false;
        if (reaches && store_.record.revision == revision) {
          store_.record = {++store_.revisions, value};
          replaced = true;
        }
        done(arrives ? absl::StatusOr<Written>(Written{replaced, store_.record})
                     : Unavailable("fake"));
      });
    }
    bool is_cut = false;  // Nothing reaches the store.
    bool loses_answers = false;
    std::chrono::milliseconds delay{2};

   private:
    void After(std::function<void(bool, bool)> then) {
      auto timer = std::make_shared<wire::Timer>(loop_);
      timer->Once(delay, [this, timer, then = std::move(then)] {
        then(!is_cut, !is_cut && !loses_answers);
        loop_.Post([timer] {});
      });
    }
    FakeStore& store_;
    wire::EventLoop& loop_;
  };

  ElectionStore::Record record;
  uint64_t revisions = 0;
};

class Member final : public ElectionHandler {
 public:
  Member(wire::EventLoop& loop, FakeStore& store, std::string name)
      : loop_(loop), name_(std::move(name)), view(store, loop) {}
  void Start() {
    lost.clear();
    elected.reset();
    election = std::make_unique<Election>(
        loop_, ElectionOptions{name_, name_ + ":5010", 600'000'000}, &view, this);
  }
  void Kill() { election = nullptr; }
  bool leads() const { return election != nullptr && election->leads(); }

  absl::Status MayLead(const Leadership&) override { return may_lead; }
  void OnElected(const Leadership& leadership) override { elected = leadership; }
  void OnLeader(const Leadership& leadership) override { leader = leadership; }
  bool MayOutlastLease() const override { return outlasts; }
  void OnLost(const absl::Status& why) override { lost = Message(why); }

 private:
  wire::EventLoop& loop_;
  const std::string name_;

 public:
  FakeStore::View view;
  absl::Status may_lead;
  bool outlasts = false;
  std::optional<Leadership> elected, leader;
  std::string lost;
  std::unique_ptr<Election> election;
};

class ElectionTest : public testing::Test {
 protected:
  ElectionTest() { InitLogging("test", LogLevel::kOff); }
  bool Until(const std::function<bool()>& done, std::chrono::nanoseconds at_most = 60s) {
    return simulation_.RunUntil(done, at_most);
  }
  int64_t Ms() { return loop_.clock().MonotonicNs() / 1'000'000; }
  void AddToSet(Member& leader, const MemberNames& names) {
    std::optional<absl::Status> done;
    leader.election->Write(names, [&](absl::Status status) { done = std::move(status); });
    ASSERT_TRUE(Until([&] { return done.has_value(); }));
    ASSERT_TRUE(done->ok()) << *done;
  }

  wire::Simulation simulation_{9'500 * kNsPerDay};
  wire::EventLoop& loop_ = simulation_.loop();
  FakeStore store_;
  Member a_{loop_, store_, "a"}, b_{loop_, store_, "b"}, c_{loop_, store_, "c"};
};

TEST_F(ElectionTest, TheFirstMemberLeadsAndOthersLearnIt) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }, 1s));
  EXPECT_EQ(a_.elected->epoch, 1u);
  b_.Start();
  ASSERT_TRUE(Until([&] { return b_.leader.has_value(); }, 1s));
  EXPECT_EQ(b_.leader->leader, "a");
  EXPECT_EQ(b_.leader->address, "a:5010");
  simulation_.RunFor(10s);
  EXPECT_TRUE(a_.leads());
  EXPECT_FALSE(b_.leads());
}

TEST_F(ElectionTest, OnlyAMemberOfTheSetLeadsNext) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  b_.Start();
  c_.Start();
  simulation_.RunFor(1s);
  a_.Kill();
  const int64_t begin = Ms();
  ASSERT_TRUE(Until([&] { return b_.leads(); }));
  EXPECT_LT(Ms() - begin, 700);
  EXPECT_EQ(b_.elected->epoch, 2u);
  EXPECT_EQ(b_.elected->in_sync, (MemberNames{"a", "b"}));
  b_.Kill();
  simulation_.RunFor(30s);
  EXPECT_FALSE(c_.leads());
}

// Goal: if a new leader cannot open its log, the old one leads again.
TEST_F(ElectionTest, TheOldLeaderMayLeadUntilTheNewOneRemovesIt) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  a_.Kill();
  b_.Start();
  ASSERT_TRUE(Until([&] { return b_.leads(); }));
  b_.Kill();
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  EXPECT_EQ(a_.elected->epoch, 3u);
  a_.Kill();
  b_.Start();
  ASSERT_TRUE(Until([&] { return b_.leads(); }));
  AddToSet(b_, {});
  b_.Kill();
  a_.Start();
  simulation_.RunFor(5s);
  EXPECT_FALSE(a_.leads());
}

// Goal: a loss of etcd's own leader does not replace the leader of the cluster.
// Method: both members lose the store and get it back together, at any phase of their ticks.
TEST_F(ElectionTest, AStoreThatReturnsKeepsTheLeader) {
  a_.outlasts = true;
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  for (int phase = 0; phase < 40; ++phase) {
    SCOPED_TRACE(phase);
    b_.Start();
    simulation_.RunFor(2s + phase * 1ms);
    a_.view.is_cut = b_.view.is_cut = true;
    simulation_.RunFor(3s);
    EXPECT_EQ(b_.election->StoreError(), "fake");
    a_.view.is_cut = b_.view.is_cut = false;
    simulation_.RunFor(3s);
    EXPECT_EQ(b_.election->StoreError(), "");
    ASSERT_TRUE(a_.leads());
    ASSERT_FALSE(b_.leads());
  }
  a_.view.is_cut = b_.view.is_cut = true;
  simulation_.RunFor(3s);
  a_.Kill();
  b_.view.is_cut = false;
  const int64_t begin = Ms();
  ASSERT_TRUE(Until([&] { return b_.leads(); }));
  EXPECT_LT(Ms() - begin, 800);
}

TEST_F(ElectionTest, AMemberThatMayNotLeadDoesNot) {
  a_.may_lead = FailedPrecondition("no log");
  a_.Start();
  simulation_.RunFor(5s);
  EXPECT_FALSE(a_.leads());
  EXPECT_EQ(store_.record.revision, 0u);
}

// Goal: a leader that is cut off stops before the next one begins.
TEST_F(ElectionTest, ALeaderThatIsCutOffStopsFirst) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  b_.Start();
  simulation_.RunFor(3s);
  a_.view.is_cut = true;
  int64_t lost_ms = 0;
  ASSERT_TRUE(Until([&] {
    EXPECT_FALSE(a_.leads() && b_.leads());
    if (!a_.leads() && lost_ms == 0) lost_ms = Ms();
    return b_.leads();
  }));
  EXPECT_THAT(a_.lost, HasSubstr("lease ran out"));
  EXPECT_GT(lost_ms, 0);
}

TEST_F(ElectionTest, ALeaderWithItsWholeSetOutlastsTheStore) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  b_.Start();
  a_.outlasts = true;
  a_.view.is_cut = b_.view.is_cut = true;
  simulation_.RunFor(60s);
  EXPECT_TRUE(a_.leads());
  EXPECT_FALSE(b_.leads());
  a_.view.is_cut = b_.view.is_cut = false;
  simulation_.RunFor(10s);
  EXPECT_TRUE(a_.leads());
  EXPECT_FALSE(b_.leads());
}

TEST_F(ElectionTest, ALeaderThatResignsIsReplacedAtOnce) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  AddToSet(a_, {"b"});
  b_.Start();
  simulation_.RunFor(1s);
  bool resigned = false;
  const int64_t begin = Ms();
  a_.election->Resign([&] { resigned = true; });
  ASSERT_TRUE(Until([&] { return resigned && b_.leads(); }));
  EXPECT_LT(Ms() - begin, 100);
  EXPECT_TRUE(a_.lost.empty());
  // It has all rows. Only the next leader removes it.
  EXPECT_EQ(b_.elected->in_sync, (MemberNames{"a", "b"}));
}

TEST_F(ElectionTest, OnlyAMemberThatIsStartedAgainReplacesALostEntry) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  b_.Start();
  simulation_.RunFor(1s);
  ASSERT_EQ(b_.leader->leader, "a");
  store_.record = {};
  ASSERT_TRUE(Until([&] { return !a_.lost.empty(); }));
  EXPECT_THAT(a_.lost, HasSubstr("lost the entry"));
  ASSERT_TRUE(Until([&] { return b_.leader->epoch == 0; }));
  simulation_.RunFor(10s);
  EXPECT_FALSE(b_.leads());
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }, 1s));
  EXPECT_EQ(a_.elected->epoch, 1u);
  ASSERT_TRUE(Until([&] { return b_.leader->epoch == 1; }, 1s));
}

TEST_F(ElectionTest, AWriteWithoutAnAnswerIsResolvedByARead) {
  a_.Start();
  ASSERT_TRUE(Until([&] { return a_.leads(); }));
  std::optional<absl::Status> done;
  a_.view.loses_answers = true;
  a_.election->Write({"b"}, [&](absl::Status status) { done = std::move(status); });
  ASSERT_TRUE(Until([&] { return done.has_value(); }));
  EXPECT_FALSE(done->ok());
  a_.view.loses_answers = false;
  simulation_.RunFor(5s);
  EXPECT_TRUE(a_.leads());
  EXPECT_EQ(ParseLeadership(store_.record.value)->in_sync, (MemberNames{"a", "b"}));
}

TEST_F(ElectionTest, AnUnreadableEntryIsNotReplaced) {
  store_.record = {++store_.revisions, "tickstack 2\nsomething else\n"};
  a_.Start();
  simulation_.RunFor(5s);
  EXPECT_FALSE(a_.leads());
  EXPECT_EQ(store_.record.revision, 1u);
}

// Goal: at no time do two members with current leases lead, and the epoch grows with each leader.
// Method: random cuts, slow answers, lost answers and kills.
TEST_F(ElectionTest, TwoNeverLeadAtOnce) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    store_.record = {};
    uint64_t epoch = 0;
    const std::vector<Member*> members = {&a_, &b_, &c_};
    for (Member* const member : members) member->Start();
    for (int step = 0; step < 300; ++step) {
      Member& member = *members[rng() % 3];
      const uint64_t what = rng() % 12;
      if (what < 3) {
        member.view.is_cut = rng() % 2 == 0;
      } else if (what < 6) {
        member.view.loses_answers = rng() % 2 == 0;
      } else if (what < 8) {
        member.view.delay = std::chrono::milliseconds(1 + rng() % 400);
      } else if (what == 8 || !member.lost.empty()) {
        member.Kill();
        member.Start();
      } else if (member.leads() && rng() % 2 == 0) {
        member.election->Write({"a", "b", "c"}, [](const absl::Status&) {});
      }
      const auto check = [&] {
        int leaders = 0;
        for (const Member* const each : members) leaders += each->leads() ? 1 : 0;
        EXPECT_LE(leaders, 1);
        const absl::StatusOr<Leadership> entry = ParseLeadership(store_.record.value);
        if (entry.ok()) {
          EXPECT_GE(entry->epoch, epoch);
          epoch = entry->epoch;
        }
        return leaders > 1;
      };
      Until(check, std::chrono::milliseconds(rng() % 300));
    }
    for (Member* const member : members) {
      member->Kill();
      member->view.is_cut = member->view.loses_answers = false;
      member->view.delay = 2ms;
    }
    simulation_.RunFor(1s);  // Answers that are under way arrive nowhere.
  }
}

TEST(Leadership, IsTheSameAfterItsText) {
  const Leadership leadership{7, "a", "10.0.0.1:5010", 1200, {"a", "b"}};
  EXPECT_EQ(*ParseLeadership(TextOf(leadership)), leadership);
  const Leadership resigned{7, "", "", 1201, {}};
  EXPECT_EQ(*ParseLeadership(TextOf(resigned)), resigned);
  const std::string text = TextOf(leadership);
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    (void)ParseLeadership(text.substr(0, bytes));
    std::string flipped = text;
    flipped[bytes] = static_cast<char>(flipped[bytes] ^ 0x10);
    (void)ParseLeadership(flipped);
  }
  EXPECT_FALSE(CheckMemberName("a b").ok());
  EXPECT_FALSE(CheckMemberName("").ok());
}

TEST(EtcdMessages, AreThoseOfTheGateway) {
  EXPECT_EQ(etcd::RangeRequest("k"), R"({"key":"aw=="})");
  EXPECT_THAT(etcd::SwapRequest("k", 5, "v"), HasSubstr(R"("mod_revision":"5")"));
  const auto none = etcd::ParseRange(R"({"header":{"cluster_id":"1","revision":"9"}})");
  EXPECT_EQ(none->revision, 0u);
  const auto one =
      etcd::ParseRange(R"({"header":{"revision":"9"},"kvs":[{"key":"aw==","create_revision":"2",)"
                       R"("mod_revision":"7","version":"3","value":"dg=="}],"count":"1"})");
  EXPECT_EQ(one->revision, 7u);
  EXPECT_EQ(one->value, "v");
  const auto swapped = etcd::ParseSwap(
      R"({"header":{"revision":"10"},"succeeded":true,"responses":[{"response_put":{}}]})", "w");
  EXPECT_TRUE(swapped->replaced);
  EXPECT_EQ(swapped->now.revision, 10u);
  const auto refused = etcd::ParseSwap(
      R"({"header":{"revision":"10"},"responses":[{"response_range":{"header":{"revision":"10"},)"
      R"("kvs":[{"key":"aw==","mod_revision":"8","value":"dg=="}]}}]})",
      "w");
  EXPECT_FALSE(refused->replaced);
  EXPECT_EQ(refused->now.revision, 8u);
  for (const std::string_view wrong : {"", "{}", "[]", "\"kvs\":", R"({"header":{},"kvs":[{}]})"}) {
    EXPECT_FALSE(etcd::ParseRange(wrong).ok()) << wrong;
    EXPECT_FALSE(etcd::ParseSwap(wrong, "w").ok()) << wrong;
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
