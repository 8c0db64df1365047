// Goal: the verdicts of logins, their back-off, and what a change of the users file does. Method:
// a real file with cheap hashes; the test waits for the worker.

#include "security/login_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "base/logging.h"
#include "base/status.h"
#include "security/password.h"

namespace tickstack::security {
namespace {

using testing::HasSubstr;
using Rights = std::shared_ptr<const wire::ClientRights>;

class LoginCheckTest : public testing::Test {
 protected:
  LoginCheckTest()
      : path_(std::filesystem::temp_directory_path() /
              ("login_check_test." + std::to_string(::getpid()))) {
    InitLogging("test", LogLevel::kOff);
    Write(Section("alice", "right", "query = ['trade']") + Section("bob", "other", ""));
  }
  ~LoginCheckTest() override { std::filesystem::remove(path_); }

  static std::string Section(std::string_view user, std::string_view password,
                             std::string_view more) {
    constexpr HashCost kCheap{8192, 1};
    return fmt::format("[users.{}]\npassword = \"{}\"\n{}\n", user, *HashPassword(password, kCheap),
                       more);
  }
  void Write(std::string_view text) {
    std::filesystem::remove(path_);
    ASSERT_TRUE(WritePrivateFile(path_, text).ok());
  }
  // A change is read by the second look.
  void Reload() const {
    check_->ReloadIfChanged();
    check_->ReloadIfChanged();
  }
  void Open() {
    LoginCheckOptions options;
    options.look_ns = look_ns_;
    options.users = path_;
    options.stack_secret.emplace("the-secret");
    options.waiting = waiting_;
    absl::StatusOr<std::shared_ptr<LoginCheck>> opened = LoginCheck::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    check_ = *std::move(opened);
  }
  Rights LogIn(std::string user, std::string password, std::string peer = "10.0.0.1:5") {
    std::promise<Rights> verdict;
    check_->Check({std::move(user), std::move(password), std::move(peer)},
                  [&](Rights rights) { verdict.set_value(std::move(rights)); });
    return verdict.get_future().get();
  }

  const std::string path_;
  int64_t look_ns_ = kNsPerSecond;
  LoginQueueBounds waiting_ = {.all = 4, .of_address = 4};
  std::shared_ptr<LoginCheck> check_;
};

TEST_F(LoginCheckTest, LetsInWhoHasTheRightPassword) {
  Open();
  const Rights rights = LogIn("alice", "right");
  ASSERT_NE(rights, nullptr);
  const auto& own = static_cast<const UserRights&>(*rights);
  EXPECT_EQ(own.user(), "alice");
  EXPECT_TRUE(own.grants().query.Has("trade"));
  EXPECT_EQ(LogIn("alice", "right"), rights) << "known by now";
  EXPECT_EQ(LogIn("alice", "other"), nullptr) << "bob's";
  EXPECT_EQ(LogIn("alice", ""), nullptr);
  EXPECT_EQ(LogIn("", ""), nullptr);
  EXPECT_EQ(LogIn("carol", "right"), nullptr)
      << "whose password is verified against another's hash";
  EXPECT_EQ(LogIn("carol", "other"), nullptr);
  EXPECT_EQ(LogIn("alice\nx", "right"), nullptr);
}

TEST_F(LoginCheckTest, TheStackHasItsSecretAndNoBackOff) {
  Open();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(LogIn("stack", "the-secreT"), nullptr);
  const Rights rights = LogIn("stack", "the-secret");
  ASSERT_NE(rights, nullptr);
  EXPECT_EQ(static_cast<const UserRights&>(*rights).grants(), AllGrants());
}

TEST_F(LoginCheckTest, WrongPasswordsArePausedWhetherTheUserExistsOrNot) {
  Open();
  for (const char* user : {"bob", "nobody"}) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(LogIn(user, "wrong", "10.0.0.9:1"), nullptr);
  }
  EXPECT_EQ(LogIn("bob", "other", "10.0.0.9:2"), nullptr) << "the right password waits, too";
  EXPECT_NE(LogIn("bob", "other", "10.0.0.8:1"), nullptr) << "from elsewhere it does not";
  EXPECT_NE(LogIn("alice", "right", "10.0.0.9:1"), nullptr) << "another user does not";
}

TEST_F(LoginCheckTest, AttemptsWithOnePasswordShareAVerificationAndOthersAreBounded) {
  Open();
  std::atomic<int> in = 0, refused = 0;
  const auto ask = [&](std::string user, std::string password) {
    check_->Check({std::move(user), std::move(password), "10.0.0.1:1"},
                  [&](const Rights& rights) { ++(rights == nullptr ? refused : in); });
  };
  for (int i = 0; i < 100; ++i) ask("alice", "right");
  while (in + refused < 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(in, 100);
  for (int i = 0; i < 200; ++i) ask(fmt::format("u{}", i), "x");
  while (in + refused < 300) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(refused, 200);
}

// Goal: somebody who sends many wrong passwords, under names of users and others, refuses nobody
// else. Method: a full queue of them before each right login.
TEST_F(LoginCheckTest, WrongLoginsDoNotRefuseRightOnes) {
  waiting_ = {.all = 40, .of_address = 16};
  Open();
  std::atomic<int> wrong = 0, sent = 0;
  const auto send_wrong = [&](std::string user, std::string peer) {
    ++sent;
    check_->Check({std::move(user), fmt::format("wrong{}", sent.load()), std::move(peer)},
                  [&](const Rights& rights) { wrong += rights == nullptr ? 1 : 0; });
  };
  for (int i = 0; i < 30; ++i) send_wrong("eve", "127.0.0.1:1");
  EXPECT_NE(LogIn("alice", "right", "127.0.0.1:9"), nullptr) << "the same address";
  for (int i = 0; i < 10; ++i) {
    for (int address = 0; address < 10; ++address) {
      send_wrong(fmt::format("u{}", i), fmt::format("10.0.1.{}:1", address));
    }
  }
  EXPECT_NE(LogIn("bob", "other", "10.0.2.1:9"), nullptr) << "another address";
  while (wrong < sent) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(LoginCheckTest, AChangedFileChangesRightsAndEndsOldOnes) {
  Open();
  const Rights alice = LogIn("alice", "right"), bob = LogIn("bob", "other");
  ASSERT_NE(alice, nullptr);
  ASSERT_NE(bob, nullptr);
  const absl::StatusOr<std::string> text = ReadPrivateFile(path_, kOwnerOnly);
  Write(*text + "publish = ['trade']\n" + Section("carol", "new", ""));
  Reload();
  EXPECT_TRUE(alice->is_current()) << "nothing changed for this user";
  EXPECT_FALSE(bob->is_current());
  EXPECT_NE(LogIn("carol", "new"), nullptr);
  EXPECT_EQ(LogIn("alice", "right"), alice);
  Write(Section("alice", "changed", "query = ['trade']"));
  Reload();
  EXPECT_FALSE(alice->is_current()) << "its password changed";
  EXPECT_EQ(LogIn("alice", "right"), nullptr) << "which was known";
  EXPECT_NE(LogIn("alice", "changed"), nullptr);
  EXPECT_EQ(LogIn("bob", "other"), nullptr);
}

// As an editor writes it that empties the file first.
TEST_F(LoginCheckTest, AFileThatIsBeingWrittenIsNotRead) {
  look_ns_ = int64_t{3600} * kNsPerSecond;
  Open();
  const Rights alice = LogIn("alice", "right");
  ASSERT_NE(alice, nullptr);
  const absl::StatusOr<std::string> text = ReadPrivateFile(path_, kOwnerOnly);
  Write("");
  EXPECT_FALSE(check_->ReloadIfChanged());
  Write(*text + Section("carol", "new", ""));
  EXPECT_FALSE(check_->ReloadIfChanged());
  EXPECT_TRUE(alice->is_current());
  EXPECT_EQ(LogIn("carol", "new"), nullptr);
  EXPECT_TRUE(check_->ReloadIfChanged());
  EXPECT_TRUE(alice->is_current());
  EXPECT_NE(LogIn("carol", "new"), nullptr);
  EXPECT_TRUE(check_->ReloadIfChanged());
}

TEST_F(LoginCheckTest, TheWorkerLooksAtTheFile) {
  Open();
  const Rights alice = LogIn("alice", "right");
  ASSERT_NE(alice, nullptr);
  Write(Section("bob", "other", ""));
  for (int i = 0; i < 20'000 && alice->is_current(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(alice->is_current());
}

TEST_F(LoginCheckTest, ABadFileChangesNothingAndIsNamedOnce) {
  Open();
  const Rights alice = LogIn("alice", "right");
  InitLogging("test", LogLevel::kError);
  testing::internal::CaptureStderr();
  Write("[users.alice]\npassword = 5\n");
  for (int i = 0; i < 3; ++i) check_->ReloadIfChanged();
  std::filesystem::remove(path_);
  Reload();
  Write(Section("alice", "right", "query = ['trade']"));
  ::chmod(path_.c_str(), 0644);
  Reload();
  const std::string logged = testing::internal::GetCapturedStderr();
  InitLogging("test", LogLevel::kOff);
  const size_t first = logged.find(":2:12: users.alice.password: expected a string");
  ASSERT_NE(first, std::string::npos) << logged;
  EXPECT_EQ(logged.find(":2:12:", first + 1), std::string::npos) << logged;
  EXPECT_THAT(logged, HasSubstr("No such file"));
  EXPECT_THAT(logged, HasSubstr("mode 0644, expected 0600"));
  EXPECT_TRUE(alice->is_current());
  EXPECT_NE(LogIn("alice", "right"), nullptr);
}

TEST_F(LoginCheckTest, AFileThatCannotBeReadIsAnErrorAtTheStart) {
  LoginCheckOptions options;
  options.users = path_ + ".not";
  EXPECT_TRUE(absl::IsNotFound(LoginCheck::Open(std::move(options)).status()));
  ::chmod(path_.c_str(), 0666);
  LoginCheckOptions again;
  again.users = path_;
  EXPECT_TRUE(absl::IsFailedPrecondition(LoginCheck::Open(std::move(again)).status()));
}

TEST_F(LoginCheckTest, WithoutUsersThereIsStillAVerification) {
  Write("# nobody yet\n");
  Open();
  EXPECT_EQ(LogIn("alice", "right"), nullptr);
  EXPECT_NE(LogIn("stack", "the-secret"), nullptr);
}

}  // namespace
}  // namespace tickstack::security
