#include "tplog/subscription_answer.h"

#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::tplog {
namespace {

Value EmptyTrade() {
  return Value::Table({"time", "sym", "text"}, {Value::Vector(Type::kTimestamp, ByteBuffer()),
                                                Value::Symbols({}), Value::List({})});
}
Value Named(std::string_view name, Value table) {
  return Value::List({Value::Symbol(name), std::move(table)});
}

TEST(SubscriptionAnswer, ReadsTheAnswerToSubx) {
  const Value answer = Value::List({Value::List({Named("trade", EmptyTrade())}), Value::Long(42),
                                    Value::Symbol(":/data/sym2013.10.07")});
  const absl::StatusOr<SubscriptionAnswer> parsed = ParseSubscriptionAnswer(answer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->schemas.size(), 1u);
  EXPECT_EQ(FormatSchema(parsed->schemas[0]), "time p, sym s, text *");
  EXPECT_EQ(parsed->log.seq, 42u);
  EXPECT_EQ(parsed->log.path, "/data/sym2013.10.07");
}

TEST(SubscriptionAnswer, ReadsWhenOthersArePublishedTo) {
  const auto answer = [](Value times) {
    return Value::List({Value::List({Named("trade", EmptyTrade())}), Value::Long(42),
                        Value::Symbol(":log"), std::move(times)});
  };
  const absl::StatusOr<SubscriptionAnswer> parsed =
      ParseSubscriptionAnswer(answer(Value::List({Value::Timespan(50), Value::Timestamp(1007)})));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->batches.has_value());
  EXPECT_EQ(parsed->batches->interval_ns, 50);
  EXPECT_EQ(parsed->batches->next_ns, 1007);
  for (const Value& times : {Value::Long(50), Value::List({Value::Timespan(50)}),
                             Value::List({Value::Timestamp(50), Value::Timestamp(1007)})}) {
    const absl::StatusOr<SubscriptionAnswer> other = ParseSubscriptionAnswer(answer(times));
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_FALSE(other->batches.has_value());
  }
}

TEST(SubscriptionAnswer, ReadsTheAnswerOfPlainKdbTick) {
  const Value keyed = Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({})}),
                                        Value::Table({"price"}, {Value::Vector(Type::kFloat, {})}));
  const Value answer =
      Value::List({Value::List({Named("trade", EmptyTrade()), Named("last", keyed)}),
                   Value::List({Value::Long(7), Value::Symbol(":sym2020.03.09")})});
  const absl::StatusOr<SubscriptionAnswer> parsed = ParseSubscriptionAnswer(answer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatSchema(parsed->schemas[1]), "sym s | price f");
  EXPECT_EQ(parsed->log.seq, 7u);
  EXPECT_EQ(parsed->log.path, "sym2020.03.09");
}

TEST(SubscriptionAnswer, TakesOnePairAndNoLog) {
  const Value nothing = Value::Symbol("");
  for (const Value& position :
       {Value::List({Value::Long(kNullLong), nothing}), Value::List({Value(), Value()})}) {
    const absl::StatusOr<SubscriptionAnswer> parsed =
        ParseSubscriptionAnswer(Value::List({Named("trade", EmptyTrade()), position}));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->schemas.size(), 1u);
    EXPECT_EQ(parsed->log.seq, 0u);
    EXPECT_EQ(parsed->log.path, "");
  }
}

TEST(SubscriptionAnswer, RefusesWhatIsNone) {
  for (const Value& answer :
       {Value::Long(1), Value::List({}), Value::List({Value::Long(1), Value::Long(2)}),
        Value::List({Value::List({Value::Long(1)}), Value::Long(2), Value::Symbol("")}),
        Value::List({Named("trade", Value::Long(1)), Value::Long(0), Value::Symbol("")}),
        Value::List({Value::List({}), Value::Long(5), Value::Symbol("")})}) {
    EXPECT_EQ(ParseSubscriptionAnswer(answer).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tickstack::tplog
