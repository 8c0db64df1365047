#include "wire/listen_on.h"

#include <gtest/gtest.h>

namespace tickstack::wire {
namespace {

TEST(ListenOn, NamesTheAddressThatIsTaken) {
  const absl::StatusOr<OwnedFd> first = ListenOn("127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<OwnedFd> second = ListenOn("127.0.0.1", PortOf(*first));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().ToString().find(std::to_string(PortOf(*first))), std::string::npos);
}

}  // namespace
}  // namespace tickstack::wire
