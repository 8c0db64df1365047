#include "wire/listen_on.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/status.h"

namespace tickstack::wire {
namespace {

TEST(ListenOn, NamesTheAddressThatIsTaken) {
  const absl::StatusOr<OwnedFd> first = ListenOn("127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<OwnedFd> second = ListenOn("127.0.0.1", PortOf(*first));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(second.status()),
            fmt::format("127.0.0.1:{0}: port {0} is in use by this process (pid {1})",
                        PortOf(*first), ::getpid()));
}

}  // namespace
}  // namespace tickstack::wire
