// Goal: no expression reaches the host: no shell, file, socket, library, environment variable or
// process. Method: each documented form in which q does so must be an error by name, here and
// within strings and lambdas; and a file that all of them would write must not appear.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "query/testing.h"

namespace tickstack::query {
namespace {

// FILE stands for a path that can be written, and is not there.
constexpr const char* kForms[] = {
    // The shell and system commands that change something.
    "system \"touch FILE\"",
    "system \"ls\"",
    "\\touch FILE",
    "\\ls",
    "\\l FILE",
    "system \"l FILE\"",
    "system \"l .\"",
    "\\1 FILE",
    "\\2 FILE",
    "\\cd /",
    "system \"cd /\"",
    "\\x .z.pg",
    "\\u",
    "\\_ FILE",
    "\\r FILE",
    "\\\\",
    "\\e 1",
    "\\g 1",
    "\\t 100",
    "\\p 5555",
    "\\T 1",
    "\\w 100",
    "\\z 1",
    "exit 0",
    "exit[0]",
    // Files.
    "read0 `:/etc/passwd",
    "read0 (`:/etc/passwd;0;10)",
    "read1 `:/etc/passwd",
    "get `:/etc/passwd",
    "value `:/etc/passwd",

    "key `:/etc",
    "key `:/etc/passwd",
    "hcount `:/etc/passwd",
    "hdel `:FILE",
    "`:FILE set 1",
    "set[`:FILE;1]",
    "save `:FILE",
    "load `:FILE",
    "rsave `t",
    "rload `t",
    "dsave[`:FILE;`t]",
    "`:FILE 0: enlist \"a\"",
    "0:[`:FILE;enlist \"a\"]",
    "(\"S\";\",\")0:`:/etc/passwd",
    "`:FILE 1: 0x00",
    "1: `:/etc/passwd",
    "read1(`:/etc/passwd;0;4)",
    "(\"i\";4)1:`:/etc/passwd",
    "`:FILE upsert 1",
    ".[`:FILE;();,;1]",
    ".[`:FILE;();:;1]",
    "@[`:FILE;0;:;1]",
    "`:FILE insert 1",
    "-11!`:FILE",
    "-21!`:/etc/passwd",
    "-19!(`:FILE;`:FILE;17;2;6)",
    "-23!`:FILE",
    "select from `:/etc/passwd",
    "`:/etc/passwd?`a",
    // Standard streams, handles, other processes and the network.
    "3 \"x\"",
    "-3 \"x\"",
    "hopen 5010",
    "hopen `:localhost:5010",
    "hopen `:FILE",
    "hopen `:fifo:///tmp/x",
    "hclose 1",
    "`:localhost:5010 \"1\"",
    "`:localhost:5010(`f;1)",
    "3 \"1\"",
    "-3 \"1\"",
    "5010 \"1\"",
    ".Q.hg `:http://localhost/",
    ".Q.hp[`:http://localhost/;\"a\";\"b\"]",
    ".Q.hmb[`:http://localhost/;`GET;()]",
    "-25!(1 2;1)",
    "-36!(`:FILE;\"x\")",

    "-38!1",
    "-16!1",
    ".Q.addr`$\"elsewhere.example\"",
    ".Q.host 16909060i",
    // Libraries and the environment.
    "`libc 2:(`getpid;1)",
    "2:[`libc;(`getpid;1)]",
    "getenv `PATH",
    "`X setenv \"y\"",
    "setenv[`X;\"y\"]",
    // Functions of `.Q` that use these, and handlers.
    ".Q.dpft[`:FILE;2020.01.01;`sym;`t]",
    ".Q.dpfts[`:FILE;2020.01.01;`sym;`t;`s]",
    ".Q.dpt[`:FILE;2020.01.01;`t]",
    ".Q.en[`:FILE;([]a:`b`c)]",
    ".Q.ens[`:FILE;([]a:`b`c);`s]",
    ".Q.fs[0N!;`:/etc/passwd]",
    ".Q.fsn[0N!;`:/etc/passwd;10]",
    ".Q.fps[0N!;`:/etc/passwd]",
    ".Q.hdpf[1;`:FILE;2020.01.01;`sym]",
    ".Q.l `FILE",
    ".Q.chk `:FILE",
    ".Q.par[`:FILE;1;`t]",
    ".Q.bv[]",

    ".Q.def[()!();()]",
    ".Q.f[2;1]`",
    ".Q.v `:/etc/passwd",
    ".Q.qt `:/etc/passwd;read0`:FILE",
    ".Q.cn `:FILE",
    ".z.pg:{x}",
    ".z.ps:{x}",
    ".z.ts:{x}",
    ".z.po:{x}",
    ".z.pc:{x}",
    ".z.ph:{x}",
    ".z.ws:{x}",
    ".z.exit:{x}",
    ".z.pw:{x}",
    ".z.pi:{x}",

    ".h.hy[`txt;\"x\"]`:FILE",
    ".j.k read0 `:/etc/passwd",
};

class HostAccessTest : public testing::Test {
 protected:
  HostAccessTest()
      : file_(std::filesystem::temp_directory_path() /
              ("host_access_test." + std::to_string(::getpid()))) {
    std::filesystem::remove_all(file_);
    environment_.CaptureTable("t", "([]a:1 2)");
  }
  ~HostAccessTest() override { std::filesystem::remove_all(file_); }

  std::string Filled(std::string form) const {
    for (size_t at = 0; (at = form.find("FILE")) != std::string::npos;) form.replace(at, 4, file_);
    return form;
  }
  static std::string Escaped(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    return escaped;
  }

  const std::string file_;
  TestEnvironment environment_;
};

TEST_F(HostAccessTest, EachFormIsAnErrorByName) {
  for (const char* form : kForms) {
    const std::string text = Filled(form);
    const std::string answer = environment_.Ask(text);
    EXPECT_TRUE(answer.starts_with('\'') && answer.size() > 1) << text << " answers " << answer;
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(HostAccessTest, AlsoWithinStringsAndLambdas) {
  for (const char* form : kForms) {
    const std::string text = Filled(form);
    if (text.starts_with('\\')) continue;  // A command is one only at the beginning of a line.
    for (const std::string& wrapped :
         {"value \"" + Escaped(text) + "\"", "{value x}\"" + Escaped(text) + "\"",
          "eval parse \"" + Escaped(text) + "\""}) {
      const std::string answer = environment_.Ask(wrapped);
      EXPECT_TRUE(answer.starts_with('\'') && answer.size() > 1)
          << wrapped << " answers " << answer;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(HostAccessTest, ConsoleHandlesWriteNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (const std::string handle : {"1", "-1", "2", "-2"}) {
    EXPECT_EQ(environment_.Ask(handle + " \"x\""), handle);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(HostAccessTest, AlsoAsTheFunctionOfARequest) {
  for (const char* name : {"system", "hopen",  "hclose", "hdel", "hcount", "read0", "read1",
                           "exit",   "getenv", "load",   "save", "rload",  "rsave", "1:",
                           "2:",     "value",  "get",    "key",  ".Q.en",  ".Q.hg"}) {
    const Value argument = name == std::string_view("system") ? Value::String("touch " + file_)
                                                              : Value::Symbol(":" + file_);
    for (const Value& request : {Value::List({Value::Symbol(name), argument}),
                                 Value::List({Value::String(name), argument})}) {
      const std::string answer = environment_.AskRequest(request);
      EXPECT_TRUE(answer.starts_with('\'')) << name << " answers " << answer;
    }
  }
  const Value lines = Value::List({Value::String("a line")});
  const Value write = Value::List({Value::Symbol("0:"), Value::Symbol(":" + file_), lines});
  EXPECT_EQ(environment_.AskRequest(write), "'nyi: 0:");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace tickstack::query
