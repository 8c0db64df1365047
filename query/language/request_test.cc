// Goal: every form in which clients send a request is answered.
// Method: values that node-q, kola, PyKX, qPython, kdbgo and Grafana's plug-in send.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/query.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

Value ListOf(std::initializer_list<Value> items) { return Value::List(std::vector<Value>(items)); }

class Request : public testing::Test {
 protected:
  Request() { AddSampleTables(environment_); }
  std::string Ask(const Value& request) { return environment_.AskRequest(request); }
  TestEnvironment environment_;
};

TEST_F(Request, TextIsEvaluated) {
  EXPECT_EQ(Ask(Value::String("1+1")), "2");
  EXPECT_EQ(Ask(Value::String("")), "::");
  EXPECT_EQ(Ask(Value::Char('1')), "1");
}

TEST_F(Request, AFunctionInFrontOfAListIsCalled) {
  const Value arg = Value::Longs({1, 2});
  EXPECT_EQ(Ask(ListOf({Value::String(".t.echo"), arg, Value::Symbol("s")})), "(1 2;`s)");
  EXPECT_EQ(Ask(ListOf({Value::Symbol(".t.echo"), arg})), ",1 2");
  EXPECT_EQ(Ask(ListOf({Value::String("max"), arg})), "2");
  EXPECT_EQ(Ask(ListOf({Value::Char('+'), Value::Long(1), arg})), "2 3");
  EXPECT_EQ(Ask(ListOf({Value::String("count"), Value::Symbol("trade")})), "1");
  EXPECT_EQ(Ask(ListOf({Value::String("cols"), Value::Symbol("quote")})),
            "`time`sym`bid`ask`bsize");
}

TEST_F(Request, ALambdaInFrontOfAListIsCalled) {
  EXPECT_EQ(Ask(ListOf({Value::String("{x+y}"), Value::Long(2), Value::Long(3)})), "5");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("{x+y}"), Value::Long(2), Value::Long(3)})), "5");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("{[t;s] exec price from t where sym=s}"),
                        Value::Symbol("trade"), Value::Symbol("bac")})),
            "13.75 14");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("{x}"), Value::Symbol("a")})), "`a");
}

// Goal: a function that a query returns can be sent back.
TEST_F(Request, FunctionsTravel) {
  for (const std::string_view text :
       {"{x+1}", "(1+)", "{x+y}[1]", "+/", "sums", "max", "neg", "-[;1]", "{x,y}\\:[;3]",
        "'[neg;{x-1}]", "(+/')", "{x+y}/", "(2#)", "enlist"}) {
    const absl::StatusOr<Value> function = Evaluate(text, environment_);
    ASSERT_TRUE(function.ok()) << text << function.status();
    EXPECT_TRUE(function->is_function()) << text;
    const Value request = ListOf({*function, Value::Longs({1, 2})});
    EXPECT_EQ(Ask(request), environment_.Ask("(" + std::string(text) + ") 1 2")) << text;
  }
}

// Goal: primitives have the bytes of kdb+ (docs/q.md).
TEST_F(Request, PrimitivesTravelByNumber) {
  const auto bytes_of = [&](std::string_view text) {
    std::string hex;
    const absl::StatusOr<Value> function = Evaluate(text, environment_);
    for (const std::byte byte : function->function_bytes()) {
      hex += fmt::format("{:02x}", static_cast<int>(byte));
    }
    return hex;
  };
  EXPECT_EQ(bytes_of("::"), "6500");
  EXPECT_EQ(bytes_of("(+)"), "6601");
  EXPECT_EQ(bytes_of("neg"), "6502");
  EXPECT_EQ(bytes_of("enlist"), "6529");
  EXPECT_EQ(bytes_of("within"), "6618");
  EXPECT_EQ(bytes_of("+/"), "6b6601");
  EXPECT_EQ(bytes_of("+[;1]"), "6803000000660165fff90100000000000000");
  EXPECT_EQ(bytes_of("{x+y}"), "64000a00050000007b782b797d");
}

TEST_F(Request, SymbolsThatCollapsedIntoAVectorAreACall) {
  EXPECT_EQ(Ask(Value::Symbols({".t.echo", "trade", ""})), "(`trade;`)");
  EXPECT_EQ(Ask(Value::Symbols({".t.echo"})), ",::");
}

TEST_F(Request, ASymbolIsTheValueOfItsName) {
  EXPECT_EQ(Ask(Value::Symbol("trade")), Ask(Value::String("trade")));
  EXPECT_EQ(Ask(Value::Symbol("nope")), "'nope");
}

TEST_F(Request, WhatCannotBeCalledIsAnError) {
  EXPECT_EQ(Ask(ListOf({Value::Long(1), Value::Long(2)})), "'type");
  EXPECT_EQ(Ask(ListOf({Value::String("nope"), Value::Long(2)})), "'nope");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("{x"), Value::Long(2)})), "'{");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("x+1"), Value::Long(2)})), "'type");
  EXPECT_EQ(Ask(ListOf({Value::Lambda("system"), Value::String("ls")})), "'nyi: \\ls");
  EXPECT_EQ(Ask(ListOf({Value::String(""), Value::Long(2)})), "'type");
  EXPECT_EQ(Ask(Value::List({})), "()");
  EXPECT_EQ(Ask(Value::List(std::vector<Value>(10, Value::String("max")))), "'rank");
}

// Goal: PyKX gets an answer when it asks in k whether a name is a namespace.
TEST_F(Request, PykxFindsWhatItLooksForWhenItConnects) {
  const Value probe = Value::String(
      "k){x:. x;$[99h<@x;:`$\"_pykx_fn_marker\";99h~@x;if[` in!x;if[(::)~x`;"
      ":`$\"_pykx_ctx_marker\"]]];x}");
  EXPECT_EQ(Ask(ListOf({probe, Value::Symbol(".q")})), "`_pykx_ctx_marker");
  EXPECT_EQ(Ask(ListOf({probe, Value::Symbol("max")})), "`_pykx_fn_marker");
  const std::string names = Ask(ListOf({Value::String("key"), Value::Symbol(".q")}));
  EXPECT_NE(names.find("`max`"), std::string::npos);
  EXPECT_EQ(Ask(Value::String("@[{2<count .s};(::);{0b}]")), "0b");
}

TEST_F(Request, GrafanaWrapsItsQuery) {
  const auto wrap = [](Value query) {
    return ListOf({Value::String("{[x] value x[`Query;`Query]}"),
                   Value::Dict(Value::Symbols({"OrgID", "Query"}),
                               Value::List({Value::Long(1), std::move(query)}))});
  };
  const Value inner = Value::Dict(Value::Symbols({"Query", "RefID"}),
                                  Value::List({Value::String("count trade"), Value::String("A")}));
  EXPECT_EQ(Ask(wrap(inner)), "4");
  EXPECT_EQ(Ask(wrap(Value::Long(1))), "'type");
}

// Goal: tables and dictionaries off the wire are checked, because they may be anything that parses.
TEST_F(Request, RaggedTablesAreRefused) {
  const Value ragged = Value::Pair(Type::kTable, Attribute::kNone, Value::Symbols({"a", "b"}),
                                   Value::List({Value::Longs({1, 2}), Value::Longs({1})}));
  EXPECT_EQ(Ask(ListOf({Value::String("cols"), ragged})), "'length");
  const Value atoms = Value::Pair(Type::kTable, Attribute::kNone, Value::Symbols({"a"}),
                                  Value::List({Value::Long(1)}));
  EXPECT_EQ(Ask(ListOf({Value::String("cols"), atoms})), "'type");
  const Value uneven =
      Value::Pair(Type::kDict, Attribute::kNone, Value::Symbols({"a", "b"}), Value::Longs({1}));
  EXPECT_EQ(Ask(ListOf({Value::String("+"), uneven, Value::Long(1)})), "'length");
}

TEST_F(Request, ErrorsOfTheProcessArePassedOn) {
  EXPECT_EQ(Ask(Value::Symbols({".t.fail", "x"})), "'no such luck");
}

}  // namespace
}  // namespace tickstack::query
