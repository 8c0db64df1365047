// Goal: a request gets the facts of its client, and sends messages back to it.

#include "query/language/client_handle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "query/columns/errors.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr int32_t kHandle = 7;

// The answer to a request, and the messages to its client, as text.
struct Outcome {
  std::string answer;
  std::vector<std::string> messages;
};

Outcome Ask(std::string_view text, bool awaits_answer = true, const Limits& limits = {}) {
  TestEnvironment environment;
  AddSampleTables(environment);
  ClientHandle client({kHandle, "ann", 0x7f000001}, awaits_answer);
  const absl::StatusOr<Value> value =
      EvaluateRequest(Value::String(text), environment, limits, nullptr, &client);
  Outcome outcome{value.ok() ? Show(*value) : "'" + QErrorText(value.status()), {}};
  for (const Value& message : client.TakeMessages()) outcome.messages.push_back(Show(message));
  return outcome;
}

using Messages = std::vector<std::string>;

TEST(ClientHandle, IsKnownToTheRequest) {
  EXPECT_EQ(Ask(".z.w").answer, "7i");
  EXPECT_EQ(Ask(".z.u").answer, "`ann");
  EXPECT_EQ(Ask(".z.a").answer, "2130706433i");
  EXPECT_EQ(Ask("{.z.w}[]").answer, "7i");
  TestEnvironment environment;
  EXPECT_EQ(environment.Ask("(.z.w;.z.u;.z.a)"), "(0i;`;0i)");
}

TEST(ClientHandle, GetsTheMessagesInOrder) {
  struct Case {
    std::string_view text;
    std::string_view answer;
    Messages messages;
  };
  const Case kCases[] = {
      {"(neg .z.w)(`result;value \"1+2\")", "::", {"(`result;3)"}},
      {"neg[.z.w] \"text\"", "::", {"\"text\""}},
      {"@[neg .z.w;`msg];1", "1", {"`msg"}},
      {"@[neg .z.w;`msg;{`trapped}];1", "1", {"`msg"}},
      {".[neg .z.w;enlist `msg;{`trapped}];1", "1", {"`msg"}},
      {".[neg .z.w;enlist 2 3];1", "1", {"2 3"}},
      {"(neg .z.w)@`msg", "::", {"`msg"}},
      {"{(neg .z.w)(`cb;x)} each 1 2;0", "0", {"(`cb;1)", "(`cb;2)"}},
      {"(neg .z.w) each `a`b`c;0", "0", {"`a", "`b", "`c"}},
      {"h:neg .z.w;h 1;h 2;h\"3\"", "::", {"1", "2", "\"3\""}},
      {"neg[.z.w] 1;neg[.z.w][];neg[.z.w](::);5", "5", {"1"}},
      {"{x(`upd;y)}[neg .z.w]([]a:1 2);0", "0", {"(`upd;([]a:1 2))"}},
      {"x:1 2;(neg .z.w)x;x[0]:9;x", "9 2", {"1 2"}},
      // Messages are sent although the request fails.
      {"(neg .z.w)1;'oops", "'oops", {"1"}},
      {"@[{(neg .z.w)x;'oops};1;::]", "\"oops\"", {"1"}},
      // A message that cannot be encoded is not sent.
      {"(neg .z.w)1+`a", "'type", {}},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = Ask(c.text);
    EXPECT_EQ(outcome.answer, c.answer) << c.text;
    EXPECT_EQ(outcome.messages, c.messages) << c.text;
    EXPECT_EQ(Ask(c.text, false).messages, c.messages) << c.text;
  }
}

TEST(ClientHandle, TakesNoOtherHandle) {
  EXPECT_EQ(Ask(".z.w \"1+1\"").answer, "'nyi: .z.w");
  EXPECT_EQ(Ask("neg[.z.w][1;2]").answer, "'rank");
  TestEnvironment environment;
  for (const std::string_view text : {"h:8i;h 1", "h:-8i;h 1", "h:-7;h 1", "neg[.z.w+1] 1"}) {
    const Outcome outcome = Ask(text);
    EXPECT_EQ(outcome.answer, environment.Ask(text)) << text;
    EXPECT_EQ(outcome.answer, "'type") << text;
    EXPECT_TRUE(outcome.messages.empty()) << text;
  }
  // Handle 0 evaluates what it gets, and is .z.w where there is no client.
  for (const std::string_view text : {"h:0i;h 1", "(neg .z.w) 1"}) {
    EXPECT_EQ(environment.Ask(text), "'nyi: value") << text;
  }
}

TEST(ClientHandle, BoundsTheMessages) {
  const Outcome many = Ask("(neg .z.w) each til 50001");
  EXPECT_EQ(many.answer, "'limit");
  EXPECT_EQ(many.messages.size(), ClientHandle::kMaxMessages);
  Limits limits;
  limits.max_result_bytes = size_t{1} << 20;
  const Outcome large = Ask("do[5;(neg .z.w) til 40000];0", true, limits);
  EXPECT_EQ(large.answer, "'limit");
  EXPECT_EQ(large.messages.size(), 3u);
}

TEST(ClientHandle, AnswersADeferredRequest) {
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;0b;1 2 3);`ignored").answer, "1 2 3");
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;1b;\"no rows\")").answer, "'no rows");
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;1b;`busy)").answer, "'busy");
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;0b;5);'late").answer, "5");
  EXPECT_EQ(Ask("{-30!(::);-30!(.z.w;0b;x)}[3]").answer, "3");
  EXPECT_EQ(Ask("-30!(::)").answer, "'deferred");
  EXPECT_EQ(Ask("-30!(::);'oops").answer, "'oops");
  const Outcome both = Ask("-30!(::);(neg .z.w)`first;-30!(.z.w;0b;`second)");
  EXPECT_EQ(both.answer, "`second");
  EXPECT_EQ(both.messages, Messages{"`first"});
}

TEST(ClientHandle, RefusesAnAnswerThatNobodyAwaits) {
  EXPECT_EQ(Ask("-30!(.z.w;0b;1)").answer, "'domain");
  EXPECT_EQ(Ask("-30!(::);-30!(8i;0b;1)").answer, "'domain");
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;0b;1);@[-30!;(.z.w;0b;2);0N!]").answer, "1");
  EXPECT_EQ(Ask("-30!(::);-30!(.z.w;1b;3)").answer, "'type");
  EXPECT_EQ(Ask("-30!5").answer, "'type");
  EXPECT_EQ(Ask("-30!(::)", false).answer, "'domain");
  TestEnvironment environment;
  EXPECT_EQ(environment.Ask("-30!(::)"), "'domain");
}

}  // namespace
}  // namespace tickstack::query
