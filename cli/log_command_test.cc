#include "cli/log_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "wire/tplog_for_test.h"

namespace tickstack::cli {
namespace {

using wire::BlockOf;

class LogCommandTest : public wire::TplogTest {
 protected:
  void WriteSome() {
    const auto writer = OpenWriter();
    ASSERT_TRUE(BlockOf("sim").Add("quote", 2).Add("trade", 1).AppendTo(*writer).ok());
    ASSERT_TRUE(BlockOf().Add("quote", 5).AppendTo(*writer).ok());
  }
  // Runs the command, with its stdout in out_.
  template <typename Run, typename Options>
  int Captured(Run run, const Options& options) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(options);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  LogDumpOptions Dump() const {
    LogDumpOptions options;
    options.file = path_;
    return options;
  }
  int Check(bool json = false) { return Captured(RunLogCheck, LogCheckOptions{path_, json}); }
  int Repair(bool json = false, bool skip_damaged = false) {
    return Captured(RunLogRepair, LogRepairOptions{path_, json, skip_damaged});
  }

  std::string out_;
  std::string err_;
};

TEST_F(LogCommandTest, DumpPrintsALinePerMessage) {
  WriteSome();
  EXPECT_EQ(Captured(RunLogDump, Dump()), 0);
  std::istringstream lines(out_);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "   message         offset      bytes verb     table              rows");
  std::getline(lines, line);
  EXPECT_EQ(line, "         0              8         82 upd      quote                 2");
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 4);
  EXPECT_EQ(err_, "");
}

TEST_F(LogCommandTest, DumpSelectsByNumberCountAndTable) {
  WriteSome();
  LogDumpOptions options = Dump();
  options.json = true;
  options.table = "quote";
  options.from = 1;
  EXPECT_EQ(Captured(RunLogDump, options), 0);
  const auto message = nlohmann::json::parse(out_);
  EXPECT_EQ(message["seq"], 2);
  EXPECT_EQ(message["verb"], "upd");
  EXPECT_EQ(message["table"], "quote");
  EXPECT_EQ(message["rows"], 5);
  EXPECT_FALSE(message.contains("values"));

  options.from = 0;
  options.count = 1;
  EXPECT_EQ(Captured(RunLogDump, options), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["seq"], 0);
  options.from = 4;
  EXPECT_EQ(Captured(RunLogDump, options), 1);
  EXPECT_NE(err_.find("the log has 3"), std::string::npos) << err_;
}

TEST_F(LogCommandTest, DumpShowsValues) {
  WriteSome();
  LogDumpOptions options = Dump();
  options.json = true;
  options.values = true;
  options.count = 1;
  EXPECT_EQ(Captured(RunLogDump, options), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["values"],
            nlohmann::json::parse(R"([["AIG","BAC"],[0.0,0.25],[0,100]])"));
  options.json = false;
  EXPECT_EQ(Captured(RunLogDump, options), 0);
  EXPECT_NE(out_.find("`AIG`BAC"), std::string::npos) << out_;
}

TEST_F(LogCommandTest, DumpStopsAtDamageAndFails) {
  WriteSome();
  FlipBit(path_, Content(path_).size() - 3);
  EXPECT_EQ(Captured(RunLogDump, Dump()), 1);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 3);
  EXPECT_NE(err_.find("checksum"), std::string::npos) << err_;
}

TEST_F(LogCommandTest, DumpShowsMessagesThatAreNoUpd) {
  WriteSome();
  const Value end = Value::List({Value::Symbol(".u.end"), Value::Date(5000)});
  ByteBuffer body;
  wire::Encode(end, body);
  AppendTo(path_, body);
  LogDumpOptions options = Dump();
  options.json = options.values = true;
  options.from = 3;
  EXPECT_EQ(Captured(RunLogDump, options), 0);
  const auto message = nlohmann::json::parse(out_);
  EXPECT_TRUE(message["table"].is_null());
  EXPECT_EQ(message["values"][0], ".u.end");
}

TEST_F(LogCommandTest, CheckSaysWhatIsThere) {
  WriteSome();
  EXPECT_EQ(Check(), 0);
  EXPECT_NE(out_.find("3 messages"), std::string::npos) << out_;
  EXPECT_NE(out_.find("quote: 7 rows"), std::string::npos) << out_;
  EXPECT_NE(out_.find("feed sim, quote: 2 rows"), std::string::npos) << out_;
  EXPECT_NE(out_.find("no damage found"), std::string::npos) << out_;

  EXPECT_EQ(Check(true), 0);
  const auto report = nlohmann::json::parse(out_);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["messages"], 3);
  EXPECT_EQ(report["rows"]["quote"], 7);
  EXPECT_EQ(report["feeds"]["sim"]["trade"], 1);
  EXPECT_EQ(report["blocks"], 2);
}

TEST_F(LogCommandTest, CheckFailsAndNamesTheOffset) {
  WriteSome();
  FlipBit(path_, 50);
  EXPECT_EQ(Check(), 1);
  EXPECT_NE(out_.find("block at byte 8,"), std::string::npos) << out_;
  EXPECT_EQ(Check(true), 1);
  const auto report = nlohmann::json::parse(out_);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["problems"][0]["offset"], 8);
  EXPECT_EQ(report["problems"][0]["kind"], "damaged log");
  EXPECT_EQ(Captured(RunLogCheck, LogCheckOptions{path_ + ".none", false}), 1);
  EXPECT_NE(err_.find(path_ + ".none"), std::string::npos) << err_;
}

TEST_F(LogCommandTest, RepairCutsAndSaysWhereTheRestIs) {
  WriteSome();
  Write(path_, Content(path_).substr(0, Content(path_).size() - 3));
  EXPECT_EQ(Repair(true), 0);
  const auto report = nlohmann::json::parse(out_);
  EXPECT_EQ(report["messages"], 2);
  EXPECT_TRUE(*FileExists(report["cut_path"].get<std::string>()));
  EXPECT_EQ(Check(), 0);
  EXPECT_EQ(Repair(), 0);
  EXPECT_NE(out_.find("no damage found; nothing was changed"), std::string::npos) << out_;
}

TEST_F(LogCommandTest, RepairRefusesDamageUntilItIsToldTo) {
  WriteSome();
  FlipBit(path_, 50);
  EXPECT_EQ(Repair(), 1);
  EXPECT_NE(err_.find("--skip-damaged"), std::string::npos) << err_;
  EXPECT_EQ(Repair(false, true), 0);
  EXPECT_NE(out_.find(".repaired: 1 messages"), std::string::npos) << out_;
  EXPECT_NE(out_.find("from byte 8"), std::string::npos) << out_;
}

}  // namespace
}  // namespace tickstack::cli
