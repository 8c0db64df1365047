#include "cli/init_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/init_questions.h"
#include "cli/stack_config.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StackConfig Parsed(const InitAnswers& answers) {
  const absl::StatusOr<std::string> text = InitConfigText(answers, "stack.toml");
  EXPECT_TRUE(text.ok()) << text.status();
  absl::StatusOr<StackConfig> config = ParseStackConfig(text.value_or(""), "stack.toml");
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text.value_or("");
  return config.ok() ? *std::move(config) : StackConfig();
}

std::string ErrorOf(const absl::Status& status) { return std::string(Message(status)); }

// Goal: each answer arrives in the configuration. Method: all combinations of feed, columns,
// clients, users and TLS, read back by the parser of the stack.
TEST(InitConfig, EveryCombinationIsAConfigurationWithTheAnswers) {
  for (int i = 0; i < 3 * 2 * 2 * 2 * 2; ++i) {
    SCOPED_TRACE(i);
    InitAnswers answers;
    answers.feed = static_cast<InitFeed>(i % 3);
    if (answers.feed == InitFeed::kLean) {
      answers.ticks = "/ticks";
      answers.symbols = {"aig", "bac"};
      answers.date = "2013.10.07";
    }
    if ((i / 3) % 2 == 1) answers.tier_path = "/mnt/pmem0", answers.tier_size = "2GiB";
    answers.others_connect = (i / 6) % 2 == 1;
    if ((i / 12) % 2 == 1) answers.users = "my users";
    if ((i / 24) % 2 == 1) answers.certificate = "c.pem", answers.key = "k.pem";
    answers.port = 7000;
    const StackConfig config = Parsed(answers);
    EXPECT_EQ(config.data, "data");
    ASSERT_TRUE(config.tickerplant && config.hdb && config.rdbs.size() == 1);
    EXPECT_EQ(config.tickerplant->listener.port, 7000);
    EXPECT_EQ(config.rdbs[0].listener.port, 7001);
    EXPECT_EQ(config.tickerplant->listener.host, answers.others_connect ? "0.0.0.0" : "127.0.0.1");
    EXPECT_EQ(config.feeds.size(), answers.feed == InitFeed::kNone ? 0U : 1U);
    EXPECT_EQ(config.rdbs[0].placement.Uses("second"), !answers.tier_path.empty());
    EXPECT_EQ(config.security.users, answers.users);
    EXPECT_EQ(config.hdb->listener.tls != wire::TlsUse::kOff, !answers.certificate.empty());
    EXPECT_EQ(config.date.value_or(""), answers.date);
    EXPECT_THAT(config.warnings, ElementsAre());
  }
}

TEST(InitConfig, PortsDifferAndStayInTheirRange) {
  StackConfig config = Parsed({.port = 7000});
  std::vector<int> ports;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    ports.push_back(listed.process->listener().port);
  }
  EXPECT_THAT(ports, testing::UnorderedElementsAre(7000, 7001, 7002, 7003, 7005));
  EXPECT_THAT(ports, testing::Each(testing::Lt(7000 + kInitPorts)));
}

TEST(InitConfig, PathsWithQuotesAndBackslashesAreReadAsTheyWere) {
  EXPECT_EQ(Parsed({.data = R"(a "b" \c)"}).data, R"(a "b" \c)");
  EXPECT_EQ(Parsed({.data = "märz"}).data, "märz");
}

TEST(InitConfig, ControlCharactersAreRefused) {
  EXPECT_THAT(ErrorOf(InitConfigText({.data = "a\nb"}, "stack.toml").status()),
              HasSubstr("\"a?b\" contains a control character"));
  EXPECT_FALSE(InitConfigText({}, "a\nb").ok());
}

TEST(InitConfig, NamesSecretsIfThereAreUsersOrAKey) {
  EXPECT_FALSE(InitAnswers().names_secrets());
  EXPECT_TRUE(InitAnswers{.users = "users"}.names_secrets());
  EXPECT_TRUE(InitAnswers{.key = "key.pem"}.names_secrets());
}

class InitQuestions : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/initXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Touch(const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name)).put('\n');
  }
  // Answers without a terminal.
  static absl::StatusOr<InitAnswers> Ask(const InitOptions& options) {
    Questions questions(false);
    return AskForAnswers(options, questions);
  }
  static std::string Refusal(const InitOptions& options) {
    const absl::StatusOr<InitAnswers> answers = Ask(options);
    return answers.ok() ? "accepted" : ErrorOf(answers.status());
  }

  std::string folder_;
};

TEST_F(InitQuestions, WithoutFlagsTheDefaultsAreTaken) {
  const absl::StatusOr<InitAnswers> answers = Ask({});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ(answers->data, "data");
  EXPECT_EQ(answers->feed, InitFeed::kSimulated);
  EXPECT_EQ(answers->tier_path, "");
  EXPECT_FALSE(answers->others_connect);
  EXPECT_EQ(answers->port, 5010);
}

TEST_F(InitQuestions, AFlagThatIsWrongIsNamed) {
  EXPECT_EQ(Refusal({.data = ""}), "--data: expected a path, found nothing");
  EXPECT_EQ(Refusal({.feed = "x\033"}), "--feed: expected sim or lean or none, found x\\x1b");
  EXPECT_EQ(Refusal({.columns = "nvme"}), "--columns: expected dram or tier, found nvme");
  EXPECT_EQ(Refusal({.clients = "all"}), "--clients: expected local or others, found all");
  EXPECT_EQ(Refusal({.port = 0}), "--port: expected a port from 1 to 65530, found 0");
  EXPECT_EQ(Refusal({.port = 65'531}), "--port: expected a port from 1 to 65530, found 65531");
  EXPECT_EQ(Refusal({.tier_path = "/nowhere"}),
            "--tier-path: /nowhere: expected a directory that exists");
  EXPECT_EQ(Refusal({.tier_path = folder_, .tier_size = "much"}),
            "--tier-size: expected a size from 16MiB on, such as 64GiB, found much");
  EXPECT_THAT(Refusal({.tier_path = folder_, .tier_size = "8000000TiB"}),
              HasSubstr("is free, found 8000000TiB"));
  EXPECT_EQ(Refusal({.certificate = "/nowhere"}), "--certificate: /nowhere: there is no such file");
}

TEST_F(InitQuestions, FlagsThatDoNotBelongTogetherAreRefused) {
  EXPECT_THAT(Refusal({.feed = "sim", .date = "2013.10.07"}), HasSubstr("need --feed lean"));
  EXPECT_THAT(Refusal({.columns = "dram", .tier_size = "1GiB"}), HasSubstr("need --columns tier"));
  EXPECT_THAT(Refusal({.ca = "ca.pem"}), HasSubstr("need --certificate"));
}

TEST_F(InitQuestions, AnArchiveGivesItsFirstDayAndTheSymbolsOfADay) {
  Touch("aig/20131008_trade.zip");
  Touch("aig/20131007_quote.zip");
  Touch("bac/20131008_trade.zip");
  Touch("ibm/notes.txt");
  Touch("list.txt");
  absl::StatusOr<InitAnswers> answers = Ask({.feed = "lean", .ticks = folder_});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ(answers->date, "2013.10.07");
  EXPECT_THAT(answers->symbols, ElementsAre("aig"));
  answers = Ask({.feed = "lean", .ticks = folder_, .date = "2013.10.08"});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_THAT(answers->symbols, ElementsAre("aig", "bac"));
  EXPECT_THAT(Refusal({.feed = "lean", .ticks = folder_, .date = "2013.10.09"}),
              HasSubstr("no archive of 2013.10.09 found"));
  EXPECT_THAT(Refusal({.feed = "lean", .ticks = folder_, .date = "monday"}),
              HasSubstr("--date: expected a date"));
  EXPECT_THAT(Refusal({.feed = "lean", .ticks = Path("ibm")}), HasSubstr("no archive found"));
  EXPECT_THAT(Refusal({.feed = "lean", .ticks = Path("no")}), HasSubstr("--ticks"));
}

TEST_F(InitQuestions, OtherMachinesNeedAUsersFile) {
  const absl::StatusOr<InitAnswers> answers = Ask({.clients = "others"});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ(answers->users, "users");
  EXPECT_THAT(Refusal({.clients = "others", .users = ""}), HasSubstr("--users: expected a path"));
}

}  // namespace
}  // namespace tickstack::cli
