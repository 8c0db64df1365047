#include "loadtest/bare_relay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/time.h"

namespace tickstack::loadtest {
namespace {

TEST(BareRelay, CountsEveryMessageThatWasDueAndRemovesItsFile) {
  const std::string path = testing::TempDir() + "bare_relay_test." + std::to_string(getpid());
  {
    const int64_t begin_ns = MonotonicNs();
    absl::StatusOr<std::unique_ptr<BareRelay>> relay = BareRelay::Start(path);
    ASSERT_TRUE(relay.ok()) << relay.status();
    const int64_t started_ns = MonotonicNs();
    while (MonotonicNs() < started_ns + 20 * BareRelay::kIntervalNs) std::this_thread::yield();
    const Histogram latency = (*relay)->Stop();
    const int64_t took_ns = MonotonicNs() - begin_ns;
    // On any machine, each message that was due before the end was sent, late or not.
    EXPECT_GE(latency.Count(), 20u);
    EXPECT_LE(latency.Count(), static_cast<uint64_t>(took_ns / BareRelay::kIntervalNs) + 2);
    EXPECT_GT(latency.Min(), 0);
    EXPECT_LE(latency.Max(), took_ns);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(BareRelay, AFileThatIsThereIsAnError) {
  const absl::StatusOr<std::unique_ptr<BareRelay>> relay = BareRelay::Start("/dev/null");
  EXPECT_FALSE(relay.ok());
  EXPECT_TRUE(std::filesystem::exists("/dev/null"));
}

}  // namespace
}  // namespace tickstack::loadtest
