#include "cli/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/logging.h"
#include "base/status.h"
#include "wire/listen_on.h"

namespace tickstack::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The scripts of these tests begin with this: they are called with `--ready-fd N --parent-fd M`.
constexpr std::string_view kPrelude = R"(
ready() { echo ready >/proc/self/fd/$2; }
forever() { while :; do sleep 0.02; done; }
serve() { trap 'echo $0 >>stopped; exit 0' TERM; ready $*; forever; }
beat() { trap 'exit 0' TERM; ready $*; while :; do echo alive >/proc/self/fd/$2; sleep 0.02; done; }
)";

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    folder_ =
        std::filesystem::path(testing::TempDir()) / fmt::format("supervisor_test.{}", getpid());
    std::filesystem::create_directories(folder_);
    options_.log_folder = (folder_ / "logs").string();
    options_.ready_file = (folder_ / "ready.json").string();
    options_.stop_timeout_ns = 20 * kNsPerSecond;
    options_.first_pause_ns = kNsPerSecond / 100;
    options_.forward_output = false;
  }
  ~SupervisorTest() override { std::filesystem::remove_all(folder_); }

  // Adds a process that runs a shell script in the test's folder.
  void Add(std::string_view name, std::string_view script, int stop_rank = 0) {
    ProcessSpec spec;
    spec.name = name;
    spec.role = "test";
    spec.stop_rank = stop_rank;
    spec.command = {"/bin/sh", "-c",
                    fmt::format("cd {}\n{}\n{}", folder_.string(), kPrelude, script),
                    std::string(name)};
    specs_.push_back(std::move(spec));
  }
  // Adds one that may end.
  void AddEnding(std::string_view name, std::string_view script) {
    Add(name, script);
    specs_.back().may_end = true;
  }
  absl::Status Run() { return Supervisor(options_, std::move(specs_)).Run(); }

  // Calls `act` on a second thread, once the ready file shows that all processes answer.
  template <typename Act>
  absl::Status RunAnd(Act act) {
    sigset_t
        stop;  // Blocked before the second thread starts, so that only the signalfd receives them.
    sigemptyset(&stop);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&stop, number);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    std::atomic<bool> over = false;
    std::thread beside([&] {
      while (!over && ReadyFile().empty()) Pause();
      if (!over) act();
    });
    const absl::Status status = Run();
    over = true;
    beside.join();
    return status;
  }
  static void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  static void StopStack() { kill(getpid(), SIGTERM); }

  std::string Read(std::string_view name) const {
    std::ifstream file(folder_ / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string ReadyFile() const { return Read("ready.json"); }

  std::filesystem::path folder_;
  SupervisorOptions options_;
  std::vector<ProcessSpec> specs_;
};

TEST_F(SupervisorTest, SaysWhoIsReadyOnceAllAnswer) {
  Add("first", "serve $*");
  Add("slow", "sleep 0.2; serve $*");
  specs_[0].port = 5010;
  nlohmann::json ready;
  const absl::Status status = RunAnd([&] {
    ready = nlohmann::json::parse(ReadyFile());
    StopStack();
  });
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(ready["processes"].size(), 2u);
  EXPECT_EQ(ready["processes"][0]["name"], "first");
  EXPECT_EQ(ready["processes"][0]["role"], "test");
  EXPECT_EQ(ready["processes"][0]["port"], 5010);
  EXPECT_GT(ready["processes"][1]["pid"], 1);
  EXPECT_EQ(ReadyFile(), "");  // Removed with the stack.
}

TEST_F(SupervisorTest, StopsByRankAndWaitsForEachRank) {
  Add("last", "serve $*", 2);
  Add("first", "trap 'sleep 0.2; echo first >>stopped; exit 0' TERM; ready $*; forever", 0);
  Add("middle", "serve $*", 1);
  EXPECT_TRUE(RunAnd(StopStack).ok());
  EXPECT_EQ(Read("stopped"), "first\nmiddle\nlast\n");
}

TEST_F(SupervisorTest, StartsAgainTheOneThatDiedAndRewritesTheReadyFile) {
  Add("fragile", "serve $*");
  Add("solid", "serve $*");
  int first = 0, second = 0;
  const absl::Status status = RunAnd([&] {
    first = nlohmann::json::parse(ReadyFile())["processes"][0]["pid"];
    kill(first, SIGKILL);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
      Pause();
      second = nlohmann::json::parse(ReadyFile())["processes"][0]["pid"];
    } while (second == first && std::chrono::steady_clock::now() < give_up);
    StopStack();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_NE(first, second);
}

// Goal: a tickerplant that a SIGTERM ended is restarted. Method: its first run ends with exit code
// 0, the second one waits.
TEST_F(SupervisorTest, StartsAgainTheOneThatEndedWellAndMayNot) {
  Add("needed", "[ -e lived ] || { touch lived; ready $*; exit 0; }; touch again; serve $*");
  const absl::Status status = RunAnd([&] {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!std::filesystem::exists(folder_ / "again") &&
           std::chrono::steady_clock::now() < give_up) {
      Pause();
    }
    StopStack();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "again"));
}

TEST_F(SupervisorTest, StopsEverythingWhenOneThatMayNotEndDoesSoBeforeItAnswered) {
  Add("needed", "exit 0");
  EXPECT_EQ(Message(Run()), "needed failed during startup: exit_code=0");
}

TEST_F(SupervisorTest, StopsEverythingWhenOneFailsBeforeItAnswered) {
  Add("good", "serve $*");
  Add("bad", "echo cannot open the log >&2; exit 3");
  const absl::Status status = Run();
  EXPECT_EQ(Message(status), "bad failed during startup: exit_code=3: cannot open the log");
  EXPECT_EQ(Read("logs/bad.log"), "bad | cannot open the log\n");
}

// Method: errors in our format, with time and level, among other lines; the last one counts.
TEST_F(SupervisorTest, SaysTheLastErrorOfOneThatFailed) {
  Add("bad",
      "echo '2020-03-09T14:30:00.123456 E bad first'\n"
      "echo '2020-03-09T14:30:00.123456 E bad no room error=\"disk full\"'\n"
      "echo '2020-03-09T14:30:00.123456 I bad stops'\n"
      "kill -9 $$");
  EXPECT_EQ(Message(Run()),
            "bad failed during startup: signal=SIGKILL: no room error=\"disk full\"");
}

TEST_F(SupervisorTest, FailsWhereItCannotWriteItsLogs) {
  std::ofstream(folder_ / "file") << "x";
  options_.log_folder = (folder_ / "file" / "logs").string();
  Add("one", "serve $*");
  EXPECT_THAT(std::string(Message(Run())), HasSubstr((folder_ / "file").string()));
}

TEST_F(SupervisorTest, StopsEverythingAtADeathIfNothingIsToBeRestarted) {
  options_.restart = false;
  Add("good", "serve $*");
  Add("bad", "ready $*; sleep 0.1; kill -9 $$");
  EXPECT_EQ(Message(Run()), "bad died: signal=SIGKILL");
  EXPECT_EQ(Read("stopped"), "good\n");
}

// Goal: a child whose loop hangs is restarted, and others are left alone. Method: the first life of
// a child answers and then is silent; in the second case, it also ignores SIGABRT.
TEST_F(SupervisorTest, RestartsTheOneThatHangs) {
  for (const char* const deaf : {"", "trap '' ABRT;"}) {
    options_.hang_timeout_ns = kNsPerSecond;
    options_.abort_timeout_ns = kNsPerSecond / 10;
    Add("hangs",
        fmt::format("ulimit -c 0; [ -e lived ] || {{ touch lived; {} ready $*; forever; }}; "
                    "touch again; beat $*",
                    deaf));
    Add("lively", "echo >>lives; beat $*");
    const absl::Status status = RunAnd([&] {
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (!std::filesystem::exists(folder_ / "again") &&
             std::chrono::steady_clock::now() < give_up) {
        Pause();
      }
      StopStack();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "again"));
    EXPECT_EQ(Read("lives"), "\n");
    for (const char* const file : {"lived", "again", "lives"}) {
      std::filesystem::remove(folder_ / file);
    }
    specs_.clear();
  }
}

TEST_F(SupervisorTest, TheOneThatHangsEndsTheStackIfNothingIsToBeRestarted) {
  options_.restart = false;
  options_.hang_timeout_ns = kNsPerSecond / 5;
  Add("hangs", "ulimit -c 0; ready $*; forever");
  EXPECT_THAT(std::string(Message(Run())), StartsWith("hangs died: signal=SIGABRT: hung for "));
}

// Without a limit, silence is no hang: such a child closes its pipe, or never beats.
TEST_F(SupervisorTest, WithoutALimitAChildMayBeSilent) {
  Add("silent", "[ $# = 4 ] && echo yes >unwatched; serve $*");
  options_.run_ns = kNsPerSecond / 2;
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(Read("stopped"), "silent\n");
  EXPECT_EQ(Read("unwatched"), "yes\n");
}

TEST_F(SupervisorTest, TellsTheServiceManagerWhatItsChildrenDo) {
  const std::string name = fmt::format("@tickstack/supervisor_test/{}", getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size() - 1, 1);
  const OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
            0);
  setenv("NOTIFY_SOCKET", name.c_str(), 1);
  setenv("WATCHDOG_USEC", "100000", 1);
  options_.service_manager = ServiceManager();
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  Add("one", "sleep 0.1; serve $*");
  Add("two", "sleep 0.3; serve $*");
  options_.run_ns = kNsPerSecond / 2;
  std::vector<std::string> told;
  size_t watchdogs = 0;
  std::atomic<bool> over = false;
  std::thread reader([&] {  // The socket's queue is short.
    char buffer[512];
    while (true) {
      const bool last = over;
      for (ssize_t bytes = 0; (bytes = recv(socket.get(), buffer, sizeof(buffer), 0)) > 0;) {
        const std::string text(buffer, static_cast<size_t>(bytes));
        watchdogs += text == "WATCHDOG=1" ? 1 : 0;
        if (text != "WATCHDOG=1") told.push_back(text);
      }
      if (last) break;
      Pause();
    }
  });
  EXPECT_TRUE(Run().ok());
  over = true;
  reader.join();
  ASSERT_GE(told.size(), 3u);
  EXPECT_THAT(told.front(), StartsWith("STATUS=0 of 2 processes answer; not yet: one, two"));
  EXPECT_THAT(told, testing::Contains("READY=1\nSTATUS=2 of 2 processes answer"));
  EXPECT_EQ(told.back(), "STOPPING=1\nSTATUS=stopping, 0 processes left");
  EXPECT_GE(watchdogs, 2u);  // In at least 0.8 s, one is due every 50 ms.
}

// Goal: a log file is opened again, and keeps all lines, also if that is not possible. Method: a
// child writes a line each time that a file appears, before and after the log was renamed.
TEST_F(SupervisorTest, OpensLogFilesAgainWithoutLosingALine) {
  Add("talks",
      "ready $*; for i in 1 2 3; do until [ -e say$i ]; do sleep 0.01; done; echo line$i; done; "
      "trap 'exit 0' TERM; forever");
  const auto say = [this](int number, const std::string& file) {
    std::ofstream(folder_ / fmt::format("say{}", number)) << "";
    const std::string line = fmt::format("line{}\n", number);
    for (int tries = 0; tries < 4000 && Read(file).find(line) == std::string::npos; ++tries)
      Pause();
  };
  const absl::Status status = RunAnd([&] {
    const auto logs = folder_ / "logs";
    say(1, "logs/talks.log");
    std::filesystem::rename(logs / "talks.log", logs / "old");
    kill(getpid(), SIGUSR1);
    for (int tries = 0; tries < 4000 && !exists(logs / "talks.log"); ++tries) Pause();
    say(2, "logs/talks.log");
    std::filesystem::rename(logs / "talks.log", logs / "older");
    std::filesystem::create_directory(logs / "talks.log");  // It cannot be opened.
    kill(getpid(), SIGUSR1);
    say(3, "logs/older");
    StopStack();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Read("logs/old"), "talks | line1\n");
  EXPECT_EQ(Read("logs/older"), "talks | line2\ntalks | line3\n");
}

TEST_F(SupervisorTest, TellsItsChildrenToReloadIfTheConfigurationIsRight) {
  std::atomic<int> asked = 0;
  options_.reload = [&asked] { return ++asked > 1; };  // The first one is wrong.
  Add("one", "trap 'echo $0 >>reloaded' HUP; serve $*");
  Add("two", "trap 'echo $0 >>reloaded' HUP; serve $*");
  const absl::Status status = RunAnd([&] {
    for (int number = 1; number <= 2; ++number) {
      kill(getpid(), SIGHUP);
      for (int tries = 0; tries < 4000 && asked < number; ++tries) Pause();
      EXPECT_EQ(asked, number);
    }
    for (int tries = 0; tries < 4000 && Read("reloaded").size() < 8; ++tries) Pause();
    StopStack();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read("reloaded"), testing::AnyOf("one\ntwo\n", "two\none\n"));
}

TEST_F(SupervisorTest, WritesForeignLinesAsJsonAndKnowsErrorsInJson) {
  SetLogFormat(LogFormat::kJson);
  Add("fails",
      R"(echo '{"time":"2020-03-09T14:30:00.123456789Z","level":"error","process":"fails",)"
      R"("event":"log failed","error":"disk full"}'; echo 'a "foreign" line' >other; )"
      R"(cat other; echo '{"time":"2020-03-09T14:30:00.123456789Z","level":"error",)"
      R"("process":"fails","event":"fails ends","code":7}'; exit 1)");
  const std::string message(Message(Run()));
  SetLogFormat(LogFormat::kText);
  EXPECT_EQ(message, "fails failed during startup: exit_code=1: fails ends code=7");
  const std::string log = Read("logs/fails.log");
  EXPECT_THAT(log, StartsWith("{\"time\":\"2020-03-09T14:30:00.123456789Z\""));
  EXPECT_THAT(log, HasSubstr(R"("level":"info","process":"fails","event":"a \"foreign\" line"})"));
}

TEST_F(SupervisorTest, LeavesAloneTheOneThatEndedWell) {
  AddEnding("done", "ready $*; exit 0");
  Add("other", "serve $*");
  options_.run_ns = kNsPerSecond / 2;
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(Read("stopped"), "other\n");
}

TEST_F(SupervisorTest, LeavesAloneTheOneThatHandedOver) {
  Add("taken", "echo started >> taken; ready $*; exit 3");
  Add("other", "serve $*");
  options_.run_ns = kNsPerSecond / 2;
  const absl::Status status = Run();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Read("taken"), "started\n");
  EXPECT_EQ(Read("stopped"), "other\n");
}

TEST_F(SupervisorTest, EndsWhenAllEndedWell) {
  AddEnding("one", "ready $*; exit 0");
  AddEnding("two", "ready $*; exit 0");
  EXPECT_TRUE(Run().ok());
}

TEST_F(SupervisorTest, TakesItWellIfOneIsStoppedBeforeItAnswered) {
  Add("fast", "serve $*");
  Add("slow", "touch slow; forever");
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  std::thread beside([&] {
    while (!std::filesystem::exists(folder_ / "slow")) Pause();
    StopStack();
  });
  const absl::Status status = Run();
  beside.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(SupervisorTest, KillsTheOneThatDoesNotStop) {
  options_.stop_timeout_ns = kNsPerSecond / 5;
  options_.run_ns = 1;
  Add("deaf", "trap '' TERM; ready $*; forever");
  EXPECT_EQ(Message(Run()), "deaf failed during shutdown: signal=SIGKILL");
}

TEST_F(SupervisorTest, KillsAllAtTheSecondSignal) {
  Add("deaf", "trap '' TERM; ready $*; touch deaf; forever");
  const absl::Status status = RunAnd([&] {
    while (!std::filesystem::exists(folder_ / "deaf")) Pause();
    kill(getpid(), SIGTERM);
    Pause();
    kill(getpid(), SIGINT);
  });
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(Message(status)), HasSubstr("killed by a second SIG"));
}

TEST_F(SupervisorTest, GivesAChildItsListeningSocketAndNobodyElses) {
  Add("owner",
      "[ $1 = --listen-fd ] && [ -S /proc/self/fd/$2 ] && echo yes >owner; shift 2; serve $*");
  Add("other",
      "[ $1 = --ready-fd ] && ! ls -l /proc/self/fd | grep -q socket && echo yes >other; serve $*");
  absl::StatusOr<OwnedFd> listener = wire::ListenOn("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_GT(wire::PortOf(*listener), 0);
  specs_[0].listener = *std::move(listener);
  EXPECT_TRUE(RunAnd(StopStack).ok());
  EXPECT_EQ(Read("owner"), "yes\n");
  EXPECT_EQ(Read("other"), "yes\n");
}

TEST_F(SupervisorTest, WritesLinesOfOursAsTheyAreAndOthersWithTheName) {
  AddEnding("one",
            "ready $*; echo '2020-03-09T14:30:00.123456 I one hello'; printf unfinished; exit 0");
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(Read("logs/one.log"), "2020-03-09T14:30:00.123456 I one hello\none | unfinished\n");
}

TEST_F(SupervisorTest, FailsWhenAProgramIsNotThere) {
  Add("one", "");
  specs_[0].command = {"/no/such/program"};
  EXPECT_THAT(std::string(Message(Run())), StartsWith("one: /no/such/program"));
}

}  // namespace
}  // namespace tickstack::cli
