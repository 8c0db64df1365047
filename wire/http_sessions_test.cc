#include "wire/http_sessions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/logging.h"
#include "base/status.h"

namespace tickstack::wire {
namespace {

using testing::HasSubstr;

// A session without a socket.
class FakeSession final : public HttpClientSession {
 public:
  FakeSession(HttpSessions& sessions, PlaceClass place, std::string user, std::string_view address)
      : HttpClientSession(sessions, fmt::format("{}:4242 by http", address)) {
    login_ = InsideLogin{.place = place};
    user_ = std::move(user);
  }
  void Abort() override { DisconnectFromProcess(); }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {}
};

class HttpSessionsTest : public testing::Test {
 protected:
  HttpSessionsTest() { InitLogging("test", LogLevel::kOff); }

  absl::Status MakeBusy(PlaceClass place, std::string user, std::string_view address) {
    live_.push_back(std::make_shared<FakeSession>(sessions_, place, std::move(user), address));
    return sessions_.MakeBusy(*live_.back());
  }
  // Returns how many sessions of different users could be made busy.
  int MakeAllBusy(std::string_view address) {
    int busy = 0;
    while (MakeBusy(PlaceClass::kUser, fmt::format("u{}", live_.size()), address).ok()) ++busy;
    return busy;
  }

  static HttpOptions Options() {
    HttpOptions options;
    options.max_sessions = 16;
    return options;
  }
  HttpSessions sessions_{Options(), nullptr};
  std::vector<std::shared_ptr<FakeSession>> live_;
};

TEST_F(HttpSessionsTest, AnAddressOfAnotherMachineHasHalfOfThem) {
  EXPECT_EQ(MakeAllBusy("10.0.0.5"), 8);
  EXPECT_THAT(Message(MakeBusy(PlaceClass::kUser, "late", "10.0.0.5")),
              HasSubstr("10.0.0.5 keeps 8 HTTP sessions busy, which is the bound"));
  EXPECT_TRUE(MakeBusy(PlaceClass::kUser, "late", "10.0.0.6").ok());
  EXPECT_TRUE(MakeBusy(PlaceClass::kAdministrator, "boss", "10.0.0.5").ok());
  EXPECT_TRUE(MakeBusy(PlaceClass::kStack, "stack", "10.0.0.5").ok());
}

TEST_F(HttpSessionsTest, ThisMachineHasAllThatUsersMayHave) {
  EXPECT_EQ(MakeAllBusy("127.0.0.1"), 12);
  EXPECT_THAT(Message(MakeBusy(PlaceClass::kUser, "late", "10.0.0.5")),
              HasSubstr("users keep 12 HTTP sessions busy"));
}

// A user's bound holds for all of its addresses together.
TEST_F(HttpSessionsTest, AUserHasAQuarterOfThemWhereverItIs) {
  for (const std::string_view address : {"10.0.0.5", "10.0.0.6", "127.0.0.1", "unix"}) {
    EXPECT_TRUE(MakeBusy(PlaceClass::kUser, "eve", address).ok()) << address;
  }
  EXPECT_THAT(Message(MakeBusy(PlaceClass::kUser, "eve", "10.0.0.7")),
              HasSubstr("eve keeps 4 HTTP sessions busy"));
}

// Without a users file, clients have no names, but addresses.
TEST_F(HttpSessionsTest, AnonymousClientsAreBoundedByAddress) {
  int busy = 0;
  while (MakeBusy(PlaceClass::kAnonymous, "", "10.0.0.5").ok()) ++busy;
  EXPECT_EQ(busy, 8);
  EXPECT_TRUE(MakeBusy(PlaceClass::kAnonymous, "", "127.0.0.1").ok());
}

}  // namespace
}  // namespace tickstack::wire
