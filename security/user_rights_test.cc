#include "security/user_rights.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "wire/event_loop.h"
#include "wire/socket_network.h"

namespace tickstack::security {
namespace {

class AccessTest : public testing::Test {
 protected:
  AccessTest() { InitLogging("test", LogLevel::kOff); }

  Access Of(std::shared_ptr<const UserRights> rights) {
    auto ends = wire::MakeSocketPair();
    EXPECT_TRUE(ends.ok()) << ends.status();
    connection_ =
        wire::Connection::Adopt(ends->first->Attach(loop_), "10.0.0.5:42", 3, false, {}, nullptr);
    connection_->set_rights(std::move(rights));
    return Access(*connection_);
  }
  Access Of(Grants grants) { return Of(std::make_shared<UserRights>("bob", std::move(grants))); }

  wire::EventLoop loop_;
  std::shared_ptr<wire::Connection> connection_;
};

TEST(UserRights, HaveAPlace) {
  EXPECT_EQ(UserRights("bob", {}).place(), wire::PlaceClass::kUser);
  EXPECT_EQ(UserRights("boss", AllGrants()).place(), wire::PlaceClass::kAdministrator);
  EXPECT_EQ(UserRights("stack", AllGrants()).place(), wire::PlaceClass::kStack);
  Grants grants;
  EXPECT_FALSE(UserRights("bob", grants).PublishesAnything());
  EXPECT_FALSE(UserRights("bob", grants).QueriesAnything());
  grants.publish.names.insert("trade");
  grants.query.all = true;
  grants.connections = 3;
  EXPECT_TRUE(UserRights("bob", grants).PublishesAnything());
  EXPECT_TRUE(UserRights("bob", grants).QueriesAnything());
  EXPECT_EQ(UserRights("bob", grants).max_connections(), 3u);
}

const std::vector<std::string> kAll, kIbm = {"IBM"};

TEST_F(AccessTest, WithoutAUsersFileEverythingIsAllowed) {
  const Access access = Of(std::shared_ptr<const UserRights>());
  EXPECT_FALSE(access.is_restricted());
  EXPECT_TRUE(access.MayPublish("t").ok());
  EXPECT_TRUE(access.MaySubscribe("t", kAll).ok());
  EXPECT_TRUE(access.MaySubscribeToAll(".u.log").ok());
  EXPECT_TRUE(access.MayQuery("t").ok());
  EXPECT_TRUE(access.MayAdminister(".u.end").ok());
  EXPECT_TRUE(access.TakeRequest(0).ok());
}

TEST_F(AccessTest, WithoutRightsNothingIs) {
  const Access access = Of(Grants());
  for (const absl::Status& status :
       {access.MayPublish("t"), access.MaySubscribe("t", kAll), access.MaySubscribe("t", kIbm),
        access.MaySubscribeToAll(".u.log"), access.MayQuery("t"), access.MayAdminister(".u.end")}) {
    EXPECT_TRUE(absl::IsPermissionDenied(status));
    EXPECT_EQ(Message(status).find("access: bob may not "), 0u) << status;
  }
  EXPECT_FALSE(access.PublishesAnything());
}

TEST_F(AccessTest, EachRightIsOfItsOwn) {
  Grants grants;
  grants.publish.names = {"p"};
  grants.query.names = {"q"};
  grants.subscribe["s"].names = {"IBM"};
  const Access access = Of(grants);
  EXPECT_TRUE(access.MayPublish("p").ok());
  EXPECT_TRUE(access.MayQuery("q").ok());
  EXPECT_TRUE(access.MaySubscribe("s", kIbm).ok());
  EXPECT_FALSE(access.MaySubscribe("s", kAll).ok());
  EXPECT_FALSE(access.MaySubscribe("s", std::vector<std::string>{"IBM", "VOD"}).ok());
  for (const char* other : {"q", "s", "", "*"}) EXPECT_FALSE(access.MayPublish(other).ok());
  for (const char* other : {"p", "s", "", "*"}) EXPECT_FALSE(access.MayQuery(other).ok());
  EXPECT_FALSE(access.MayAdminister("x").ok());
}

TEST_F(AccessTest, RequestsOfAUserAreCountedTogether) {
  Grants grants;
  grants.requests_per_second = 2;
  const auto rights = std::make_shared<UserRights>("bob", grants);
  const Access one = Of(rights), two = Of(rights);
  EXPECT_TRUE(one.TakeRequest(0).ok());
  EXPECT_TRUE(two.TakeRequest(0).ok());
  EXPECT_EQ(Message(one.TakeRequest(0)), "limit: bob may send 2 requests per second");
  EXPECT_TRUE(two.TakeRequest(kNsPerSecond / 2).ok());
  EXPECT_FALSE(one.TakeRequest(kNsPerSecond / 2).ok());
  EXPECT_TRUE(one.TakeRequest(100 * kNsPerSecond).ok());
  EXPECT_TRUE(one.TakeRequest(100 * kNsPerSecond).ok());
  EXPECT_FALSE(one.TakeRequest(100 * kNsPerSecond).ok()) << "pauses save up no more";
}

TEST_F(AccessTest, RightsEnd) {
  UserRights rights("bob", Grants());
  EXPECT_TRUE(rights.is_current());
  rights.Revoke();
  EXPECT_FALSE(rights.is_current());
}

}  // namespace
}  // namespace tickstack::security
