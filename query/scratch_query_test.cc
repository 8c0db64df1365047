// Goal: the place of a query's blocks changes nothing else. Method: expressions that reach every
// part of the evaluator, over tables whose columns are larger than kLargeBlockBytes, evaluated with
// malloc's memory, in a tier, and in memories that refuse their first, second, third... allocation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "base/status.h"
#include "mem/tier_scratch.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr size_t kRows = 20'000;

// Expressions over t and q, which are captured, and vt and vq, the same as values.
constexpr std::string_view kExpressions[] = {
    "select from t",
    "select from vt",
    "select price,size from t where price>50",
    "select from vt where price within 20 80f,size>300i",
    "select from t where sym in `S1`S2`S3",
    "select from t where sym like \"S[1-3]*\",not price=7f",
    "select from vt where id in exec id from t where price<50",
    "select from t where name<>`N7,0<size",
    "select id,px:price*size,i from t where i>100",
    "select n:count i,sum size,last price by sym from t",
    "select sum size,last price by id from t",
    "select price by sym,size from vt",
    "select by name from vt",
    "select by g from t",
    "exec price by sym from t",
    "exec hi:max price,lo:min id,w:size wavg price from t",
    "exec cond from t",
    "exec count i from t where cond like \"*b*\"",
    "distinct exec id from t",
    "distinct exec name from vt",
    "distinct exec g from t",
    "aj[`sym`time;t;q]",
    "aj[`sym`size`time;select sym,size,time,price from t;q]",
    "aj0[`sym`time;vt;vq]",
    "aj[`sym`time;t;q;0D00:00:00.000002]",
    "aj[`sym`time;select from vt where price>5;q]",
    "nbbo[`sym`size`price`price;t]",
    "nbbo[`sym`g`price`price`id`size;select from t where id>5]",
    "aj[`name`id;select name,id from t;select name,id,bid:price,sym from vt where price>50]",
    "(exec id from t),exec id from vt",
    "(exec name from t),exec name from vt",
    "(exec id from t),exec name from vt",
    "(exec price from t)+2*exec size from vt",
    "(exec name from t)=exec name from vt",
    "(exec id from t) in exec id from vt where price<20",
    "(exec name from t) in exec name from vt where price<20",
    "(exec cond from t) in (\"ab\";enlist \"c\")",
    "(exec id from t)~exec id from vt",
    "null exec price from t",
    "not exec size from t",
    "abs neg exec price from t",
    "(exec price from t) 2*til 9000",
    "t[2*til 9000]",
    "(exec name from t) 2*til 9000",
    "(exec cond from t) 2*til 9000",
    "([]a:til 20000;b:`x;c:1f)",
    "(til 20000)!exec id from t",
    "2*(`a`b!(til 20000;exec price from t))",
    "enlist exec id from t",
    "sum (exec price from t;exec price from vt)",
};

Value Vector(Type type, auto element) {
  using T = decltype(element(size_t{}));
  VectorWriter<T> out(type, kRows);
  for (size_t i = 0; i < kRows; ++i) out.data()[i] = element(i);
  return std::move(out).Finish();
}

// Returns a table with unique ids and names; times go up and, now and then, down.
Value RandomTable(uint64_t seed) {
  std::mt19937_64 rng(seed);
  ScratchVector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::shuffle(ids, rng);
  SymbolVector syms, names;
  std::vector<Value> conditions;
  constexpr std::string_view kConditions[] = {"ab", "", "c", "bcd"};
  for (size_t i = 0; i < kRows; ++i) {
    syms.push_back("S" + std::to_string(rng() % 20));
    names.push_back("N" + std::to_string(ids[i]));
    conditions.push_back(Value::String(kConditions[rng() % 4]));
  }
  std::vector<Value> columns;
  columns.push_back(Vector(Type::kTimestamp, [&](size_t i) -> int64_t {
    return static_cast<int64_t>(1000 * i - (rng() % 50 == 0 ? rng() % 5000 : 0));
  }));
  columns.push_back(Value::Symbols(std::move(syms)));
  columns.push_back(Vector(Type::kFloat, [&](size_t) -> double {
    return rng() % 100 == 0 ? NullElement<double>(Type::kFloat)
                            : static_cast<double>(rng() % 10'000) / 100;
  }));
  columns.push_back(Vector(Type::kInt, [&](size_t) { return static_cast<int32_t>(rng() % 500); }));
  columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(ids)));
  columns.push_back(Value::Symbols(std::move(names)));
  columns.push_back(Vector(Type::kGuid, [&](size_t) {
    return std::bit_cast<Guid>(std::array<uint64_t, 2>{rng() % 4000, 1});
  }));
  columns.push_back(Value::List(std::move(conditions)));
  return Value::Table({"time", "sym", "price", "size", "id", "name", "g", "cond"},
                      std::move(columns));
}

TestEnvironment& Tables() {
  static TestEnvironment* const environment = [] {
    auto* made = new TestEnvironment;  // Lives as long as the process.
    made->SetValue("vt", RandomTable(1));
    made->SetValue("vq", RandomTable(2));
    made->CaptureTable("t", "select from vt");
    made->CaptureTable("q", "select from vq");
    return made;
  }();
  return *environment;
}

// Refuses one allocation only, while a full tier may refuse later ones too.
class RefusingMemory final : public ScratchMemory {
 public:
  explicit RefusingMemory(size_t refused) : refused_(refused) {}

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    if (allocations_++ == refused_) return ResourceExhausted("refusing: {} bytes", bytes);
    used_bytes_ += bytes;
    return static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  void Free(std::byte* memory, size_t bytes) override {
    used_bytes_ -= bytes;
    std::free(memory);
  }
  const std::string& name() const override { return name_; }
  size_t capacity_bytes() const override { return SIZE_MAX; }

  size_t allocations() const { return allocations_; }
  size_t used_bytes() const { return used_bytes_; }

 private:
  const std::string name_ = "refusing";
  const size_t refused_;
  size_t allocations_ = 0;
  size_t used_bytes_ = 0;
};

size_t LargestVectorBytes(const Value& value) {
  if (value.is_table() || value.is_dict()) {
    return std::max(LargestVectorBytes(value.keys()), LargestVectorBytes(value.values()));
  }
  size_t bytes = value.is(Type::kSymbol) ? 8 * value.count() : 0;
  if (value.is_vector() && !value.is(Type::kSymbol)) bytes = value.elements().size();
  if (!value.is_list()) return bytes;
  for (const Value& item : value.items()) bytes = std::max(bytes, LargestVectorBytes(item));
  return bytes;
}

Limits LimitsIn(ScratchMemory& memory) {
  Limits limits;
  limits.scratch = &memory;
  return limits;
}

TEST(ScratchQuery, AnswersAreTheSameInATierAndLeaveNothingInIt) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("query", size_t{256} << 20);
  mem::TierScratch scratch(tier.get());
  size_t answers_in_tier = 0;
  for (const std::string_view expression : kExpressions) {
    SCOPED_TRACE(expression);
    const absl::StatusOr<Value> expected = Evaluate(expression, Tables());
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
    {
      const absl::StatusOr<Value> found = Evaluate(expression, Tables(), LimitsIn(scratch));
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_TRUE(*found == *expected);
      if (LargestVectorBytes(*found) >= kLargeBlockBytes) {
        EXPECT_GE(tier->Stats().used_bytes, kLargeBlockBytes);
        ++answers_in_tier;
      }
    }
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
  }
  EXPECT_GT(answers_in_tier, 10u);
  EXPECT_EQ(tier->Stats().refused, 0u);
}

// Goal: each allocation of each expression may fail: the error is `limit` with the memory's name,
// and nothing stays in the memory, nor elsewhere, as AddressSanitizer checks.
TEST(ScratchQuery, AnyRefusedAllocationEndsTheQueryAlone) {
  size_t refusals = 0;
  for (const std::string_view expression : kExpressions) {
    SCOPED_TRACE(expression);
    for (size_t refused = 0;; ++refused) {
      RefusingMemory memory(refused);
      const absl::StatusOr<Value> found = Evaluate(expression, Tables(), LimitsIn(memory));
      if (memory.allocations() <= refused) {
        EXPECT_TRUE(found.ok());
        break;
      }
      ASSERT_FALSE(found.ok()) << "allocation " << refused;
      EXPECT_EQ(QErrorText(found.status()), "limit: scratch memory refusing is full");
      EXPECT_EQ(found.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_EQ(memory.used_bytes(), 0u);
      ++refusals;
      // Skips most late refusals, which repeat each other in expressions that allocate for each of
      // many groups.
      if (refused > 60) refused += 20;
    }
  }
  EXPECT_GT(refusals, 300u);
}

TEST(ScratchQuery, ATierTooSmallFailsThatQueryAndTheNextOneWorks) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("small", size_t{4} << 20);
  mem::TierScratch scratch(tier.get());
  const Limits limits = LimitsIn(scratch);
  const absl::StatusOr<Value> found = Evaluate("til 1000000", Tables(), limits);
  EXPECT_EQ(QErrorText(found.status()), "limit: scratch memory small is full");
  EXPECT_THAT(std::string(Message(found.status())), testing::HasSubstr("tier small"));
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_GT(tier->Stats().refused, 0u);
  EXPECT_EQ(Tables().Ask("exec sum 2*id from t", limits), "399980000");
}

TEST(ScratchQuery, ABudgetThatIsPassedNamesTheMemory) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("query", size_t{64} << 20);
  mem::TierScratch scratch(tier.get());
  Limits limits = LimitsIn(scratch);
  limits.max_result_bytes = 100'000;
  const absl::StatusOr<Value> found = Evaluate("til 20000", Tables(), limits);
  EXPECT_EQ(QErrorText(found.status()), "limit");
  EXPECT_THAT(std::string(Message(found.status())),
              testing::HasSubstr("its scratch memory is query, 67108864 bytes"));
}

// Goal: blocks that stay in DRAM have a bound of their own. Nested columns are lists of small
// blocks, and a tier does not make room for more of them.
TEST(ScratchQuery, WhatStaysInDramHasABoundOfItsOwn) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("query", size_t{64} << 20);
  mem::TierScratch scratch(tier.get());
  Limits limits = LimitsIn(scratch);
  limits.max_dram_bytes = 100'000;
  EXPECT_EQ(Tables().Ask("exec cond from t", limits), "'limit");
  EXPECT_EQ(Tables().Ask("exec sum id from t where price>0,id>=0", limits).substr(0, 1), "1");
  // Temporaries of groups are freed with each group, so they do not add up.
  EXPECT_EQ(Tables().Ask("exec count i from select sum 1*size by id from t", limits), "20000");
  limits.scratch = nullptr;
  EXPECT_NE(Tables().Ask("exec cond from t", limits), "'limit");
}

TEST(ScratchQuery, ThreadsShareATierThatIsTooSmallForAllOfThem) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("shared", size_t{24} << 20);
  mem::TierScratch scratch(tier.get());
  constexpr std::string_view kShared[] = {"select from t where price>50", "til 100000",
                                          "distinct exec id from t", "aj[`sym`time;t;q]"};
  std::vector<Value> expected;
  for (const std::string_view expression : kShared) {
    expected.push_back(*Evaluate(expression, Tables()));
  }
  std::atomic<int> answered = 0, refused = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (size_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (size_t i = 0; i < 20; ++i) {
        const size_t which = (i + id) % std::size(kShared);
        const absl::StatusOr<Value> found = Evaluate(kShared[which], Tables(), LimitsIn(scratch));
        const bool full = QErrorText(found.status()) == "limit: scratch memory shared is full";
        if (found.ok() ? !(*found == expected[which]) : !full) ++wrong;
        ++(found.ok() ? answered : refused);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 0);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_TRUE(Evaluate("til 100000", Tables(), LimitsIn(scratch)).ok());
}

}  // namespace
}  // namespace tickstack::query
