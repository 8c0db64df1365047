#include "cli/log_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tplog/tplog_for_test.h"

namespace tickstack::cli {
namespace {

using tplog::BlockOf;

class LogCommandTest : public tplog::TplogTest {
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
  EXPECT_EQ(Captured(RunLogDump, options), 1);  // No index proves that a tickerplant logged it.
  EXPECT_NE(err_.find("may be damaged: 1 messages have no upd"), std::string::npos) << err_;
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

// A log without an index, as plain kdb+ writes it.
TEST_F(LogCommandTest, NoiseWithoutAnIndexFailsDumpAndCheck) {
  WriteSome();
  std::filesystem::remove(index_path_);
  std::string log = Content(path_);
  log.replace(92, 4, "\xff\xff\xff\x7f");  // The second message claims many items.
  Write(path_, log);
  EXPECT_EQ(Captured(RunLogDump, Dump()), 1);
  EXPECT_NE(err_.find("message 1 at byte 90 is damaged: whole ones follow from byte"),
            std::string::npos)
      << err_;
  EXPECT_EQ(Check(), 1);
  EXPECT_EQ(Repair(), 1);
  EXPECT_EQ(Repair(false, true), 0);
  EXPECT_NE(out_.find(".repaired: 2 messages"), std::string::npos) << out_;
}

// Goal: noise that turns several messages into a valid one is found. Method: a list's count, or a
// vector's, is enlarged so that the messages after it become its items.
TEST_F(LogCommandTest, DumpAndCheckFindMessagesThatBecameOne) {
  const auto upd = [](const Value& x) {
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("t"), x}), body);
    return std::string(AsText(body));
  };
  const std::string row = upd(Value::List({Value::Longs({7}), Value::Symbols({"A"})}));
  const std::string text = upd(Value::String("some text"));
  const auto enlarged = [](std::string message, size_t at, size_t by) {
    message[at] = static_cast<char>(static_cast<size_t>(message[at]) + by);
    return message;
  };
  const std::string header("\xff\x01\0\0\0\0\0\0", 8);
  const auto check = [&](const std::string& messages, bool is_sound) {
    Write(path_, header + messages);
    std::filesystem::remove(index_path_);
    EXPECT_EQ(Captured(RunLogDump, Dump()), is_sound ? 0 : 1) << err_;
    EXPECT_EQ(Check(), is_sound ? 0 : 1) << out_;
    if (is_sound) return;
    EXPECT_NE(out_.find("messages have the beginning of another message in their middle; the first "
                        "one is message 1 at byte"),
              std::string::npos)
        << out_;
    // The others are copied.
    EXPECT_EQ(Repair(false, true), 0) << err_;
    EXPECT_NE(out_.find(".repaired: 2 messages"), std::string::npos) << out_;
    std::filesystem::remove(path_ + ".repaired");
  };
  check(row + row + row + row, true);
  // Arguments of the call.
  check(row + enlarged(row, 2, 1) + row + row, false);
  check(row + enlarged(row, 2, 2) + row + row + row, false);
  // Chars of its text, up to the end of the next message.
  check(text + enlarged(text, text.size() - 13, text.size()) + text + text, false);
}

// Goal: a feed's chars or strings where symbols belong are named although all rows of the table
// have them. A log with an index is one of tickstack, whose tables may have other columns.
TEST_F(LogCommandTest, CheckNamesATableWithoutSymbols) {
  const Value two = Value::Longs({1, 2});
  const Value chars = Value::String("ab");
  const Value symbols = Value::Symbols({"a", "b"});
  const Value strings = Value::List({Value::String("ab"), Value::String("c")});
  const Value named = Value::Table({"x", "y", "sym"}, {two, two, chars});
  const auto code_of = [&](const Value& rows, bool has_index = false) {
    std::filesystem::remove(path_);
    std::filesystem::remove(index_path_);
    ByteBuffer header;
    header.Append(std::string_view("\xff\x01\0\0\0\0\0\0", 8));
    AppendTo(path_, header);
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("depth"), rows}), body);
    AppendTo(path_, body);
    AppendTo(path_, body);
    if (has_index) EXPECT_EQ(Repair(), 0);
    const int code = Check();
    EXPECT_EQ(Captured(RunLogDump, Dump()), code);
    Check();
    return code;
  };
  for (const Value& rows : {Value::List({two, chars, two}), Value::List({two, strings, two}),
                            Value::List({chars, two, symbols}), named}) {
    EXPECT_EQ(code_of(rows), 1);
    EXPECT_NE(out_.find("2 messages have rows of depth without symbols in the column sym, where "
                        "they have chars or a list, which no rdb can take; the first one is "
                        "message 0"),
              std::string::npos)
        << out_;
  }
  for (const Value& rows :
       {Value::List({two, symbols, chars}), Value::List({symbols, chars}), Value::List({two, two}),
        Value::Table({"sym", "y"}, {symbols, chars})}) {
    EXPECT_EQ(code_of(rows), 0) << out_;
  }
  EXPECT_EQ(code_of(Value::List({two, chars, two}), /*has_index=*/true), 0) << out_;
}

// Goal: what parses and cannot be right is named, and can be left out. Method: a message that is no
// upd, one with chars where others have symbols, and one with a column less.
TEST_F(LogCommandTest, CheckNamesOddMessages) {
  WriteSome();
  std::filesystem::remove(index_path_);
  const auto append = [&](const Value& message) {
    ByteBuffer body;
    wire::Encode(message, body);
    AppendTo(path_, body);
  };
  const auto upd = [](std::vector<Value> columns) {
    return Value::List(
        {Value::Symbol("upd"), Value::Symbol("quote"), Value::List(std::move(columns))});
  };
  const Value price = Value::Vector(Type::kFloat, std::span<const double>({1.5, 2.5}));
  append(Value::List({Value::Symbol("upd"), Value::Long(5)}));
  append(upd({Value::String("ab"), price, Value::Longs({1, 2})}));
  append(upd({Value::String("ab"), price, Value::Longs({1, 2})}));
  append(upd({Value::Symbols({"A", "B"}), price}));
  append(
      upd({Value::List({Value::String("ab"), Value::String("c")}), price, Value::Longs({1, 2})}));
  EXPECT_EQ(Check(), 1);
  EXPECT_EQ(out_.find("no damage found"), std::string::npos) << out_;
  for (const char* const text :
       {"odd messages: ",
        "1 messages have no upd, and a replay skips it; the first one is message 3",
        "2 messages have rows of quote with chars in column 0, and symbols in other messages; the "
        "first one is message 4",
        "1 messages have rows of quote with 2 columns, and 3 in other messages"}) {
    EXPECT_NE(out_.find(text), std::string::npos) << text << "\n" << out_;
  }
  EXPECT_EQ(Check(true), 1);
  const auto report = nlohmann::json::parse(out_);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["problem_count"], 0);
  ASSERT_EQ(report["odd"].size(), 3u);
  EXPECT_EQ(report["odd"][1]["messages"], 2);

  EXPECT_EQ(Repair(), 0);
  EXPECT_NE(out_.find("left as they are, --skip-damaged copies the others"), std::string::npos);
  EXPECT_EQ(Repair(false, true), 0);
  EXPECT_NE(out_.find(".repaired: 4 messages"), std::string::npos) << out_;
  path_ += ".repaired";
  EXPECT_EQ(Check(), 0) << out_;
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
