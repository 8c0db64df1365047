#include "mem/medium.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/status.h"
#include "mem/tier.h"

namespace tickstack::mem {
namespace {

using testing::HasSubstr;

// Round figures: a unit takes 100 ns, and ten can be in progress; a thread reads 2 bytes per ns in
// order, all threads together 4, and writes are half as fast.
MediumModel Round() {
  return {.name = "round",
          .unit_bytes = 256,
          .read_ns = 100,
          .reads_at_once = 10,
          .thread_read_gb_per_s = 2,
          .thread_write_gb_per_s = 1,
          .read_gb_per_s = 4,
          .write_gb_per_s = 2,
          .full_duplex = false};
}

// Time that passes only by waiting, or when the test says so.
class StoppedClock final : public MediumClock {
 public:
  int64_t NowNs() const override { return now_ns; }
  void WaitUntil(int64_t ns) override {
    waited_ns += ns - now_ns;
    now_ns = ns;
  }
  int64_t now_ns = 1'000'000;
  int64_t waited_ns = 0;
};

class MediumTest : public testing::Test {
 protected:
  explicit MediumTest(const MediumModel& model = Round())
      : medium_(model, std::make_unique<MediumTimeline>(), clock_) {}
  // Returns how long an access waits that really took `took_ns`.
  template <typename Touch>
  int64_t WaitOf(int64_t took_ns, Touch touch) {
    clock_.waited_ns = 0;
    MediumAccess access(&medium_);
    clock_.now_ns += took_ns;
    touch(access);
    return clock_.waited_ns;
  }

  StoppedClock clock_;
  Medium medium_;
};

const void* At(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(MediumModel, AddsUpWhatAThreadTakes) {
  const MediumModel model = Round();
  EXPECT_EQ(ReadNs(model, {}), 0);
  EXPECT_EQ(ReadNs(model, {.chained = 3}), 300);
  EXPECT_EQ(ReadNs(model, {.scattered = 3}), 100);  // All at once.
  EXPECT_EQ(ReadNs(model, {.scattered = 25}), 250);
  EXPECT_EQ(ReadNs(model, {.in_order = 1}), 100);
  EXPECT_EQ(ReadNs(model, {.in_order = 11}), 100 + 10 * 128);
  EXPECT_EQ(ReadNs(model, {.in_order = 10, .scattered = 1}), 100 + 10 * 128);
  EXPECT_EQ(WriteNs(model, 4), 1024);
}

TEST(MediumModel, CountsUnitsOnce) {
  const MediumModel model = Round();
  EXPECT_EQ(UnitsOf(model, At(0x1000), 0), 0u);
  EXPECT_EQ(UnitsOf(model, At(0x10ff), 1), 1u);
  EXPECT_EQ(UnitsOf(model, At(0x10ff), 2), 2u);
  EXPECT_EQ(UnitsOf(model, At(0x1000), 2048), 8u);
  EXPECT_EQ(UnitsOfSearch(model, 8), 1u);
  EXPECT_EQ(UnitsOfSearch(model, 8 * 256), 4u);

  // 32 elements of 8 bytes per unit: rows 0 and 31 are in the first unit, 32 begins the next.
  const std::vector<uint32_t> rows = {0, 1, 31, 32, 63, UINT32_MAX, 64, 640, 640, 641, 5, 36};
  const TouchedUnits touched = UnitsOfRows(model, rows, 8);
  EXPECT_EQ(touched.in_order, 3u);   // 32, 64, 36.
  EXPECT_EQ(touched.scattered, 3u);  // 0, 640, 5.
  EXPECT_EQ(UnitsOfRows(model, {}, 8).all(), 0u);
}

TEST(MediumModel, IsFoundByNameAndMakesSense) {
  for (const MediumModel& model : MediumModels()) {
    EXPECT_EQ(FindMediumModel(model.name)->read_ns, model.read_ns);
    EXPECT_TRUE(CheckMediumModel(model).ok()) << model.name;
    EXPECT_GT(model.read_ns, 100) << "slower than DRAM: " << model.name;
  }
  EXPECT_EQ(Message(FindMediumModel("tape").status()),
            "expected one of the models optane-dc, cxl, cxl-fast, cxl-slow, found \"tape\"");
  MediumModel odd = Round();
  odd.unit_bytes = 8192;
  EXPECT_THAT(Message(CheckMediumModel(odd)), HasSubstr("units of 8192 bytes"));
  odd = Round();
  odd.read_gb_per_s = 0;
  EXPECT_THAT(Message(CheckMediumModel(odd)), HasSubstr("read_gb_per_s 0, expected"));
}

TEST_F(MediumTest, ChargesTheDifferenceToWhatAnAccessTook) {
  const auto one = [](MediumAccess& access) { access.ReadChained(1); };
  EXPECT_EQ(WaitOf(0, one), 100);
  EXPECT_EQ(WaitOf(30, one), 70);
  EXPECT_EQ(WaitOf(100, one), 0);
  EXPECT_EQ(WaitOf(5000, one), 0);  // Slower than the medium: no wait, and no credit for later.
  EXPECT_EQ(WaitOf(30, one), 70);
  EXPECT_EQ(medium_.Stats().read_bytes, 5u * 256);
  EXPECT_EQ(medium_.Stats().waited_ns, 100 + 70 + 70);
}

TEST_F(MediumTest, AddsUpTheStepsOfAnAccess) {
  EXPECT_EQ(WaitOf(50,
                   [](MediumAccess& access) {
                     access.ReadChained(2);
                     access.ReadInOrder(At(0x1000), 512);
                     access.Searched(256, 2);
                   }),
            200 + (100 + 128) + 2 * 100 - 50);
}

TEST_F(MediumTest, ChargesWritesByTheUnitsThatTheyTouch) {
  EXPECT_EQ(WaitOf(0, [](MediumAccess& access) { access.Wrote(At(0x1008), 8); }), 256);
  EXPECT_EQ(WaitOf(0, [](MediumAccess& access) { access.Wrote(At(0x10fc), 8); }), 512);
  // A line of 64 bytes is a unit of its own if its neighbours are written at other times.
  EXPECT_EQ(WaitOf(0, [](MediumAccess& access) { access.WroteScattered(65); }), 512);
  EXPECT_EQ(medium_.Stats().written_bytes, 5u * 256);
}

TEST_F(MediumTest, CostsNothingWhereThereIsNone) {
  MediumAccess access(nullptr);
  access.ReadInOrder(At(0x1000), size_t{1} << 40);
  access.ReadChained(1'000'000);
  access.Wrote(At(0x1000), size_t{1} << 40);
  EXPECT_EQ(clock_.waited_ns, 0);
}

// Goal: concurrent accesses share the medium's bandwidth. Method: all begin at the same time, and
// each is told when it ends.
TEST_F(MediumTest, SharesItsBandwidthAmongThoseWhoReadAtOnce) {
  const int64_t begin_ns = clock_.now_ns;
  // 4,096 units are 1 MiB: 262,144 ns of the medium, 524,260 of a thread.
  const TouchedUnits block{.in_order = 4096};
  constexpr int64_t kMediumNs = 262'144;
  EXPECT_EQ(medium_.Read(begin_ns, block), begin_ns + 100 + 4095 * 128);
  EXPECT_EQ(medium_.Read(begin_ns, block), begin_ns + 2 * kMediumNs);  // Two threads fill it.
  EXPECT_EQ(medium_.Read(begin_ns, block), begin_ns + 3 * kMediumNs);
  EXPECT_EQ(medium_.Read(begin_ns, block), begin_ns + 4 * kMediumNs);
  // Writes use the same bandwidth.
  EXPECT_EQ(medium_.Write(begin_ns, 4096), begin_ns + 6 * kMediumNs);
  // Unused bandwidth is lost.
  const int64_t later_ns = begin_ns + 100 * kMediumNs;
  clock_.now_ns = later_ns;  // Read moves the clock.
  EXPECT_EQ(medium_.Read(later_ns, {.scattered = 10'240}), later_ns + 10'240 * 256 / 4);
}

TEST(Medium, DoesNotLetWritesTakeFromReadsIfItIsDuplex) {
  StoppedClock clock;
  MediumModel model = Round();
  model.full_duplex = true;
  Medium medium(model, std::make_unique<MediumTimeline>(), clock);
  const int64_t begin_ns = clock.now_ns;
  for (int i = 0; i < 4; ++i) medium.Write(begin_ns, 4096);
  EXPECT_EQ(medium.Read(begin_ns, {.in_order = 1}), begin_ns + 100);
}

TEST(MediumTimeline, GivesEachThreadWhatNoOtherHas) {
  MediumTimeline timeline;
  constexpr int kThreads = 4, kTakes = 10'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&timeline] {
      for (int take = 0; take < kTakes; ++take) {
        timeline.Take(MediumTimeline::Lane::kRead, 1000, 2.5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(timeline.Take(MediumTimeline::Lane::kRead, 1000, 0), 1000 + kThreads * kTakes * 5 / 2);
  EXPECT_EQ(timeline.Take(MediumTimeline::Lane::kWrite, 1000, 0), 1000);
}

class SharedTimeline : public testing::Test {
 protected:
  SharedTimeline() {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    path_ = folder_ + "/medium";
  }
  ~SharedTimeline() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<MediumTimeline> Open() const {
    absl::StatusOr<std::unique_ptr<MediumTimeline>> opened = MediumTimeline::Open(path_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  static int64_t Take(MediumTimeline& timeline, double ns) {
    return timeline.Take(MediumTimeline::Lane::kRead, kNow, ns);
  }

  static constexpr int64_t kNow = 1'000'000'000;
  std::string folder_ = "/tmp/tickstack-medium-test-XXXXXX";
  std::string path_;
};

TEST_F(SharedTimeline, IsOneForAllWhoOpenIt) {
  std::unique_ptr<MediumTimeline> one = Open(), other = Open();
  EXPECT_EQ(Take(*one, 100), kNow + 100);
  EXPECT_EQ(Take(*other, 100), kNow + 200);
  one.reset();
  EXPECT_EQ(Take(*other, 100), kNow + 300);
  EXPECT_TRUE(std::filesystem::exists(path_));
  other.reset();
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the last one removes it";
}

// Goal: a killed process delays others only by what it had reserved.
TEST_F(SharedTimeline, OutlivesAProcessThatIsKilled) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::unique_ptr<MediumTimeline> of_child = Open();
    Take(*of_child, 500);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::exists(path_));
  std::unique_ptr<MediumTimeline> next = Open();
  EXPECT_EQ(Take(*next, 100), kNow + 600);
  next.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SharedTimeline, DoesNotWaitForTimesOfAnotherBoot) {
  std::ofstream(path_) << std::string(4096, '\x7f');
  EXPECT_EQ(Take(*Open(), 100), kNow + 100);
}

TEST_F(SharedTimeline, LeavesAFileOfSomebodyElseAlone) {
  std::ofstream(path_) << "mine";
  const absl::Status status = MediumTimeline::Open(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("/medium: 4 bytes, expected none or 4096"));
  EXPECT_EQ(MediumTimeline::Open(folder_ + "/none/medium").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(SimulatedTier, SaysWhichModelItIsAndSharesTheMediumOfItsDirectory) {
  std::string folder = "/tmp/tickstack-medium-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  TierOptions options;
  options.name = "slow";
  options.kind = TierKind::kSimulate;
  options.path = folder;
  options.capacity_bytes = size_t{16} << 20;
  options.model = Round();
  {
    const absl::StatusOr<std::unique_ptr<Tier>> one = OpenTier(options), other = OpenTier(options);
    ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
    const TierStats stats = (*one)->Stats();
    EXPECT_EQ(stats.kind, "simulate");
    EXPECT_EQ(stats.model, "round");
    EXPECT_THAT(stats.figures, HasSubstr("100 ns, 4 GB/s read and 2 written"));
    EXPECT_EQ(stats.path, folder);
    EXPECT_NE((*one)->medium(), nullptr);
    EXPECT_TRUE(std::filesystem::exists(folder + "/.tickstack-medium-round"));
    EXPECT_TRUE((*one)->Allocate(4096).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);

  options.path.clear();  // Of DRAM then.
  options.capacity_bytes = SIZE_MAX;
  EXPECT_TRUE(OpenTier(options).ok());
  options.model = {};
  EXPECT_THAT(Message(OpenTier(options).status()), HasSubstr("tier slow: model : read_ns 0"));
  EXPECT_EQ(MakeDramTier("dram")->medium(), nullptr);
}

}  // namespace
}  // namespace tickstack::mem
