// Goal: a client sees only the tables that it may query, however it asks, and calls only what it
// may. Method: expressions over a guarded environment; those that read a hidden table must all fail
// with `access`, and those that list names must not contain it.

#include "serve/guarded_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/errors.h"
#include "query/query.h"
#include "query/testing.h"
#include "table/format_value.h"
#include "wire/event_loop.h"
#include "wire/socket_network.h"

namespace tickstack::serve {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// `.t.echo` only reads; what else there is changes the process.
class ProcessForTest final : public query::TestEnvironment {
 public:
  bool Changes(std::string_view name, std::span<const Value>) override { return name != ".t.echo"; }
};

class GuardedEnvironmentTest : public testing::Test {
 protected:
  GuardedEnvironmentTest() {
    InitLogging("test", LogLevel::kOff);
    query::AddSampleTables(process_);
    process_.SetValue("holidays", Value::Table({"day"}, {Value::Longs({1})}));
    process_.SetValue("date", Value::Longs({1, 2}));
    process_.SetValue(".u.i", Value::Long(3));
  }

  std::string Ask(std::string_view text, security::Grants grants) {
    auto ends = wire::MakeSocketPair();
    const auto connection =
        wire::Connection::Adopt(ends->first->Attach(loop_), "10.0.0.5:42", 3, false, {}, nullptr);
    connection->set_rights(std::make_shared<security::UserRights>("bob", std::move(grants)));
    const security::Access access(*connection);
    GuardedEnvironment guarded(process_, access);
    const absl::StatusOr<Value> answer = query::Evaluate(text, guarded);
    return answer.ok() ? FormatText(*answer) : query::QErrorText(answer.status());
  }
  std::string Ask(std::string_view text) {
    security::Grants grants;
    grants.query.names = {"trade"};
    return Ask(text, std::move(grants));
  }

  wire::EventLoop loop_;
  ProcessForTest process_;
};

TEST_F(GuardedEnvironmentTest, ATableOfOthersCannotBeReadInAnyWay) {
  EXPECT_THAT(Ask("count trade"), Not(HasSubstr("access")));
  EXPECT_THAT(Ask("count quote", security::AllGrants()), Not(HasSubstr("access")));
  for (const char* text : {"quote",
                           "count quote",
                           "select from quote",
                           "exec bid from quote",
                           "meta quote",
                           "cols quote",
                           "quote.bid",
                           "value `quote",
                           "get `quote",
                           "value \"quote\"",
                           "?[`quote;();0b;()]",
                           "?[quote;();0b;()]",
                           "aj[`sym`time;trade;quote]",
                           "aj[`sym`time;trade;`quote]",
                           "select from `quote",
                           "{quote}[]",
                           "{count value x}`quote",
                           "parse \"1\";quote",
                           "eval parse \"select from quote\"",
                           "first quote",
                           "0#quote",
                           "t:quote",
                           "quote`bid",
                           "holidays",
                           "select from holidays",
                           "value `holidays",
                           "quote . 0",
                           "1#value[\"quote\"]"}) {
    const std::string answer = Ask(text);
    EXPECT_THAT(answer, StartsWith("access: bob may not query ")) << text;
  }
}

TEST_F(GuardedEnvironmentTest, ListsOfNamesLeaveItOut) {
  for (const char* text : {"tables[]", "tables`.", "key `.", "\\a", "\\v", "system \"a\""}) {
    EXPECT_THAT(Ask(text), Not(HasSubstr("quote"))) << text;
    EXPECT_THAT(Ask(text), Not(HasSubstr("holidays"))) << text;
    EXPECT_THAT(Ask(text), HasSubstr("trade")) << text;
  }
  EXPECT_THAT(Ask("`quote in tables[]"), StartsWith("0"));
}

TEST_F(GuardedEnvironmentTest, AnswersOfTheProcessLeaveItOut) {
  const auto both = [] { return Value::Symbols({"quote", "trade", "quote"}); };
  process_.SetValue(".Q.pt", both());
  process_.SetValue(".Q.pn", Value::Dict(Value::Symbols({"quote", "trade"}),
                                         Value::List({Value::List({}), Value::Longs({1})})));
  process_.SetValue(".p.of", Value::Table({"table", "bytes"}, {both(), Value::Longs({1, 2, 3})}));
  process_.SetValue(".p.stale",
                    Value::Dict(Value::Symbols({"quote", "trade"}), Value::Longs({1, 2})));
  process_.SetValue(".p.stats",
                    Value::Dict(Value::Symbols({"rows", "quote"}), Value::Longs({4, 5})));
  process_.SetValue(".p.why", Value::String("quote: no column bid"));
  process_.SetValue(".p.list", Value::List({Value::String("2020/quote"), Value::Long(7)}));
  process_.SetValue(".p.link", Value::Dict(Value::Symbols({"n", "error"}),
                                           Value::List({Value::Long(6), Value::String("quote")})));
  for (const char* name : {".Q.pt", ".Q.pn", ".p.of", ".p.stale", ".p.why", ".p.list", ".p.link"}) {
    EXPECT_THAT(Ask(name), Not(HasSubstr("quote"))) << name;
    EXPECT_THAT(Ask(name, security::AllGrants()), HasSubstr("quote")) << name;
    security::Grants metrics;
    metrics.metrics = true;
    EXPECT_THAT(Ask(name, metrics), HasSubstr("quote")) << name;
  }
  for (const char* name : {".Q.pt", ".Q.pn", ".p.of", ".p.stale"}) {
    EXPECT_THAT(Ask(name), HasSubstr("trade")) << name;
  }
  EXPECT_THAT(Ask(".p.of"), HasSubstr("2"));
  EXPECT_THAT(Ask(".p.list"), HasSubstr("7"));
  EXPECT_THAT(Ask(".p.link"), HasSubstr("6"));
  EXPECT_THAT(Ask(".p.stats"), HasSubstr("quote")) << "a counter of this name is no table";
}

TEST_F(GuardedEnvironmentTest, ValuesOfTheProcessAreThereAndUnknownNamesAreThemselves) {
  EXPECT_THAT(Ask(".u.i"), StartsWith("3"));
  EXPECT_THAT(Ask("count date"), StartsWith("2"));
  EXPECT_EQ(Ask("nothing"), "nothing");
  EXPECT_EQ(Ask("nothing.bid"), "nothing.bid");
  EXPECT_EQ(Ask("hopen 5"), "nyi: hopen");
}

TEST_F(GuardedEnvironmentTest, WhatChangesTheProcessNeedsTheRightToAdminister) {
  EXPECT_THAT(Ask(".t.echo[1]"), Not(HasSubstr("access")));
  EXPECT_EQ(Ask(".t.fail[1]"), "access: bob may not call .t.fail");
  EXPECT_THAT(Ask(".t.fail[1]", security::AllGrants()), Not(HasSubstr("access")));
  EXPECT_EQ(Ask("system \"ls\""), "access: bob may not call system");
  EXPECT_EQ(Ask("f:.t.fail; f 1"), "access: bob may not call .t.fail");
}

TEST_F(GuardedEnvironmentTest, AFunctionIsToldOnlyTablesThatMayBeQueried) {
  EXPECT_THAT(Ask(".t.echo`trade"), Not(HasSubstr("access")));
  EXPECT_EQ(Ask(".t.echo`quote"), "access: bob may not query quote");
  EXPECT_EQ(Ask(".t.echo`trade`quote"), "access: bob may not query quote");
  EXPECT_THAT(Ask(".t.echo`elsewhere"), Not(HasSubstr("access")));
}

}  // namespace
}  // namespace tickstack::serve
