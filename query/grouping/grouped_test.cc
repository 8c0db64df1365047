// Goal: a query with `by` gives what its expressions give for each group alone.
// Method: random tables, captured and as values, with random keys, conditions and expressions; each
// item of the result is compared with `exec expression from t where key=...`. Floats have few bits,
// so that their sums are exact and do not depend on the order of addition.

#include "query/grouping/grouped.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "query/columns/elements.h"
#include "query/language/term.h"
#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

template <typename T, size_t n>
const T& OneOf(const T (&all)[n], std::mt19937_64& rng) {
  return all[rng() % n];
}

template <typename T>
Value RandomVector(Type type, size_t rows, std::mt19937_64& rng) {
  std::vector<T> values(rows);
  for (T& value : values) {
    value = static_cast<T>(static_cast<int64_t>(rng() % 9) - (std::is_unsigned_v<T> ? 0 : 4));
    if (std::is_signed_v<T> && rng() % 10 == 0) value = NullElement<T>(type);
    if (std::is_floating_point_v<T>) {
      value /= 4;
      if (rng() % 10 == 0) value = NullElement<T>(type);
      if (rng() % 40 == 0) value = std::numeric_limits<T>::infinity();
    }
  }
  return Value::Vector(type, std::span<const T>(values));
}

// Returns a table whose column `m` is nearly sorted into runs, as minutes are.
Value RandomTable(size_t rows, std::mt19937_64& rng) {
  static constexpr const char* kNames[] = {"a", "b", "c", "longername1", "longername2", ""};
  SymbolVector sym, name;
  std::vector<int64_t> time;
  std::vector<int32_t> minute;
  std::vector<Value> text;
  std::string letter, flag;
  for (size_t i = 0; i < rows; ++i) {
    letter.push_back(OneOf("zbA \xff", rng));
    flag.push_back(static_cast<char>(rng() % 2));
    sym.push_back(OneOf(kNames, rng));
    name.push_back(OneOf(kNames, rng));
    time.push_back(static_cast<int64_t>(i / 2) * 1'000);
    minute.push_back(static_cast<int32_t>(i / 40));
    if (rng() % 30 == 0 && minute.back() > 0) --minute.back();
    text.push_back(Value::String(i % 2 == 0 ? "x" : "yz"));
  }
  if (rng() % 3 == 0 && rows > 0) time[rng() % rows] = 3;  // The index is then not sorted.
  std::vector<Value> columns;
  columns.push_back(Value::Vector(Type::kTimestamp, std::span<const int64_t>(time)));
  columns.push_back(Value::Symbols(std::move(sym)));
  columns.push_back(Value::Vector(Type::kMinute, std::span<const int32_t>(minute)));
  columns.push_back(RandomVector<uint8_t>(Type::kByte, rows, rng));
  columns.push_back(RandomVector<int16_t>(Type::kShort, rows, rng));
  columns.push_back(RandomVector<int32_t>(Type::kInt, rows, rng));
  columns.push_back(RandomVector<int64_t>(Type::kLong, rows, rng));
  columns.push_back(RandomVector<float>(Type::kReal, rows, rng));
  columns.push_back(RandomVector<double>(Type::kFloat, rows, rng));
  columns.push_back(Value::Symbols(std::move(name)));
  columns.push_back(Value::List(std::move(text)));
  columns.push_back(Value::String(letter));
  columns.push_back(Value::Vector(Type::kBoolean, ByteBuffer(AsBytes(flag))));
  return Value::Table({"time", "sym", "m", "x", "h", "i", "j", "e", "f", "name", "text", "c", "b"},
                      std::move(columns));
}

constexpr std::string_view kKeys[] = {"sym",
                                      "sym",
                                      "m",
                                      "sym,m",
                                      "m,sym",
                                      "h",
                                      "name,m",
                                      "f",
                                      "sym,h",
                                      "h,x",
                                      "j,i",
                                      "m,name,h",
                                      "time",
                                      "time.second,sym",
                                      "sym,0D00:00:00.000010000 xbar time",
                                      "10000 xbar time",
                                      "time,m",
                                      "x,sym,m",
                                      "sym,sym",
                                      "c",
                                      "b",
                                      "x",
                                      "sym,c",
                                      "c,m",
                                      "b,c,x",
                                      "names c",
                                      "sym,names c",
                                      "numbers x,m",
                                      "flags b"};
constexpr std::string_view kConditions[] = {
    "",
    "",
    " where sym in `a`c",
    " where sym in `a`longername1`nosuch,time within 2000.01.01D00:00 2000.01.01D00:00:00.000100",
    " where sym=`b,time>2000.01.01D00:00:00.000020",
    " where sym in `a`b`,time<2000.01.01D00:00:00.000080,h>0",
    " where sym in `nosuch`other",
    " where sym in `a`b`c`longername1`longername2",
    " where sym in `a`b`c`longername1`longername2,time>2000.01.01D00:00:00.000040",
    " where sym like \"longer*\",f<0.5",
    " where f>0",
    " where sym in `a`b,time>=min time",
    " where time>2000.01.01D00:00:00.000050",
};
constexpr std::string_view kExpressions[] = {
    "count i",
    "count text",
    "first f",
    "last sym",
    "last text",
    "first time",
    "sum x",
    "sum h",
    "sum i",
    "sum j",
    "sum e",
    "sum f",
    "avg x",
    "avg i",
    "avg f",
    "avg e",
    "min x",
    "min h",
    "min f",
    "max time",
    "max i",
    "max e",
    "i wavg f",
    "j wsum e",
    "h wavg x",
    "f wavg f",
    "dev f",
    "floor 0.3+1e8*var i",  // Some results end in a 5, which rounding may move either way.
    "sdev x",
    "floor 0.3+1e8*svar e",
    "dev i-f",
    "floor 0.3+1e6*i cov f",
    "floor 0.3+1e6*h scov x",
    "floor 0.3+1e6*i cor e",
    "floor 0.3+1e6*f cor f",
    "floor 0.3+1e6*x cor i-2*j",
    "sum 2*f",
    "max j-i",
    "(max j-i)-min j-i",
    "(j-i) wsum 2*f",
    "max -[j;i]",
    "avg f>0",
    "(max f)-min f",
    "(sum i)%count i",
    "neg sum j",
    "1+max i-min h",
    "f",
    "distinct h",
    "sum f*i*2",
    "max abs f",
    "count i>1",
    "last m",
    "2*(first j)+last j",
    "sum 1+til count i",
    "sum null f",
    "max sum f",
    "min m",
    "sum sym=`a",
    "last name",
    "sum not x"};

// Returns a condition on the rows of a key, as `k=literal`.
std::string IsKey(std::string_view column, const Value& key) {
  const bool name = column.find(' ') == std::string_view::npos;
  return fmt::format(fmt::runtime(name ? "{}={}" : "({})={}"), column, Show(key));
}

std::vector<std::string> Split(std::string_view names) {
  std::vector<std::string> split(1);
  for (char c : names) {
    if (c == ',') {
      split.emplace_back();
    } else {
      split.back() += c;
    }
  }
  return split;
}

class Grouped {
 public:
  Grouped(uint64_t seed, size_t rows_max) : rng_(seed) {
    environment_.SetValue("v", RandomTable(rng_() % rows_max, rng_));
    environment_.CaptureTable("t", "v", 64);
    // Two values map to one key, and some to none.
    environment_.SetValue("names",
                          Value::Dict(Value::String("bzA"), Value::Symbols({"x", "y", "x"})));
    environment_.SetValue("numbers",
                          Value::Dict(Value::Vector(Type::kByte, ByteBuffer(AsBytes("\1\3\4"))),
                                      Value::Longs({10, -10, 10})));
    environment_.SetValue(
        "flags",
        Value::Dict(Value::Vector(Type::kBoolean, ByteBuffer(AsBytes("\1"))), Value::String("t")));
  }

  void ExpectByDefinition() {
    const std::string table = rng_() % 3 == 0 ? "v" : "t";
    const std::string condition(OneOf(kConditions, rng_));
    const std::string keys(OneOf(kKeys, rng_));
    std::vector<std::string> expressions;
    std::string columns;
    for (size_t i = 0; i < 4; ++i) {
      expressions.emplace_back(OneOf(kExpressions, rng_));
      columns += fmt::format("{}c{}:{}", i == 0 ? "" : ",", i, expressions.back());
    }
    const std::string query =
        fmt::format("select {} by {} from {}{}", columns, keys, table, condition);
    SCOPED_TRACE(query);
    WorkerPool pool(2);
    Limits limits;
    if (rng_() % 2 == 0) limits.workers = &pool;
    const absl::StatusOr<Value> result = Evaluate(query, environment_, limits);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->is_keyed_table());
    const std::vector<std::string> names = Split(keys);
    const size_t groups = result->keys().columns()[0].count();
    size_t rows = 0;
    for (size_t group = 0; group < groups; ++group) {
      std::string of_group = condition.empty() ? " where " : condition + ",";
      for (size_t key = 0; key < names.size(); ++key) {
        const Value& items = result->keys().columns()[key];
        of_group += (key == 0 ? "" : ",") + IsKey(names[key], ItemAt(items, group));
      }
      ExpectAfter(result->keys(), group);
      for (size_t i = 0; i < expressions.size(); ++i) {
        ASSERT_EQ(
            Show(ItemAt(result->values().columns()[i], group)),
            environment_.Ask(fmt::format("exec {} from {}{}", expressions[i], table, of_group)))
            << expressions[i] << " from " << table << of_group;
      }
      rows += std::stoul(environment_.Ask(fmt::format("exec count i from {}{}", table, of_group)));
    }
    ASSERT_EQ(std::to_string(rows),
              environment_.Ask(fmt::format("exec count i from {}{}", table, condition)));
    if (groups == 0) return;
    // Selects whole rows, which gives the last one of each group.
    const std::string& first_key = names[0];
    if (first_key == "j") return;
    const auto last = [&](std::string_view picked) {
      return environment_.Ask(fmt::format("exec j from select {} by {} from {}{}", picked,
                                          first_key, table, condition));
    };
    ASSERT_EQ(last(""), last("last j"));
  }

 private:
  // Expects that keys ascend, by the first column first.
  static void ExpectAfter(const Value& keys, size_t group) {
    if (group == 0) return;
    for (const Value& column : keys.columns()) {
      const int order = CompareItems(column, group - 1, group);
      ASSERT_LE(order, 0);
      if (order < 0) return;
    }
    FAIL() << "group " << group << " is there twice";
  }

  std::mt19937_64 rng_;
  TestEnvironment environment_;
};

TEST(Grouped, AgreesWithEachGroupAlone) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Grouped grouped(seed, 300);
    for (int i = 0; i < 3; ++i) {
      grouped.ExpectByDefinition();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Grouped, ErrorsAreThoseOfTheExpressions) {
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const char* expression :
       {"max sym", "sum sym", "size wavg sym", "sum price+sym", "(sum price)+first sym"}) {
    EXPECT_EQ(environment.Ask(fmt::format("exec {} from trade", expression)), "'type");
    EXPECT_EQ(environment.Ask(fmt::format("select c:{} by sym from trade", expression)), "'type");
    EXPECT_EQ(environment.Ask(fmt::format("select c:{} by size from trade", expression)), "'type");
  }
}

TEST(Grouped, ByStringsAndLists) {
  constexpr Pair kPairs[] = {
      {"select n:count i,sum size by cond from trade",
       "([cond:(\"\";\"AB\";,\"C\")]n:1 2 1;size:200 500 300i)"},
      {"select n:count i by cond from vtrade", "([cond:(\"\";\"AB\";,\"C\")]n:1 2 1)"},
      {"select price by cond,sym from trade",
       "([cond:(\"\";\"AB\";\"AB\";,\"C\");sym:`bac`aig`bac`aig]price:(,13.75;,48.5;,14f;,48.25))"},
      {"select n:count i by string sym from trade", "([sym:(\"aig\";\"bac\")]n:2 2)"},
      {"exec sum size by cond from trade", "(\"\";\"AB\";,\"C\")!200 500 300i"},
      {"(exec sum size by cond from trade)\"AB\"", "500i"},
      {"update n:count i by cond from select cond from trade",
       "([]cond:(\"AB\";\"\";,\"C\";\"AB\");n:2 1 1 2)"},
      {"select by cond from select sym,cond from trade",
       "([cond:(\"\";\"AB\";,\"C\")]sym:`bac`bac`aig)"},
      {"select n:count i by k from ([]k:(1 2;3;`a;1 2))", "([k:(1 2;3;`a)]n:2 1 1)"},
      {"exec (count;i)fby cond from trade", "2 1 1 2"},
      {"exec i from trade where i=(last;i)fby cond", "1 2 3"},
      {"distinct select cond from trade", "([]cond:(\"AB\";\"\";,\"C\"))"},
      {"select distinct cond from trade", "([]cond:(\"AB\";\"\";,\"C\"))"},
      {"(select cond from trade) lj ([cond:(\"AB\";enlist\"C\")]v:1 2)",
       "([]cond:(\"AB\";\"\";,\"C\";\"AB\");v:1 0N 2 1)"},
      {"`cond xgroup select cond,size from trade",
       "([cond:(\"AB\";\"\";,\"C\")]size:(100 400i;,200i;,300i))"},
      {"([]k:(\"ab\";\"c\";\"ab\"))?([]k:enlist\"ab\")", ",0"},
      {"t:([]k:(\"ab\";\"cd\";\"ab\");j:1 2 1);(group t)t 0", "0 2"},
      {"([k:(\"ab\";\"cd\");j:(\"x1\";\"y2\")]v:5 6)`k`j!(\"cd\";\"y2\")", ",`v!,6"},
      {"([]k:(\"ab\";enlist\"c\")) in ([]k:enlist enlist\"c\")", "01b"},
      {"([k:(\"ab\";\"cd\")]v:1 2),([k:(\"cd\";\"ef\")]v:5 6)",
       "([k:(\"ab\";\"cd\";\"ef\")]v:1 5 6)"},
  };
  ExpectAll(kPairs);
}

// Goal: rows beyond one part of accumulators (kRowsPerPart in grouped.cc) are merged correctly, in
// the index's order and by another key.
TEST(Grouped, ManyRowsAreAddedUpInParts) {
  constexpr size_t kRows = (size_t{1} << 22) + 1'000;
  std::vector<int32_t> keys(kRows);
  std::vector<int64_t> items(kRows);
  for (size_t i = 0; i < kRows; ++i) {
    keys[i] = static_cast<int32_t>(i % 3);
    items[i] = static_cast<int64_t>(i);
  }
  TestEnvironment environment;
  environment.SetValue(
      "v", Value::Table({"k", "j"}, {Value::Vector(Type::kInt, std::span<const int32_t>(keys)),
                                     Value::Vector(Type::kLong, std::span<const int64_t>(items))}));
  for (const char* expression :
       {"sum j", "avg j", "min j", "max j", "first j", "last j", "count j", "j wavg j"}) {
    for (int key = 0; key < 3; ++key) {
      const std::string alone =
          environment.Ask(fmt::format("exec {} from v where k={}i", expression, key));
      EXPECT_EQ(environment.Ask(fmt::format("(exec {} by k from v) {}i", expression, key)), alone)
          << expression;
    }
  }
}

// Goal: aggregates over the rows that pass one condition, which are never listed, equal those over
// listed rows. Method: as above, with tables of several tasks' rows.
TEST(Grouped, AggregatesOfFilteredRowsAgreeWithThoseOfListedOnes) {
  constexpr std::string_view kPasses[] = {"f>0",
                                          "f>=-0.25",
                                          "f=0.5",
                                          "f<>0.5",
                                          "f<0n",
                                          "null f",
                                          "f>100",
                                          "h<2",
                                          "h within -1 3",
                                          "i=2i",
                                          "i<>0N",
                                          "j>0Nj",
                                          "j<=-3",
                                          "x>4",
                                          "e>0.25",
                                          "m within 00:03 20:00",
                                          "time>2000.01.01D00:00:00.02",
                                          "f>first f",
                                          "j in 1 2",
                                          "not f>0"};
  constexpr std::string_view kColumns[] = {
      "sum j",       "avg f", "n:count i,max h",  "min x,sum i",      "i wavg f,sum f",
      "dev f,var i", "max f", "(max f)-min f",    "first j,sum j",    "max time,min m",
      "sum 2*j",     "f",     "count distinct j", "last sym,count i", "max sym"};
  std::mt19937_64 rng(5);
  TestEnvironment environment;
  environment.SetValue("v", RandomTable((size_t{1} << 18) + 5'000, rng));
  environment.CaptureTable("t", "v", 4'096);
  WorkerPool pool(2);
  Limits limits;
  limits.workers = &pool;
  for (const std::string_view passes : kPasses) {
    const std::string_view table = rng() % 2 == 0 ? "v" : "t", columns = OneOf(kColumns, rng);
    const std::string listed =
        fmt::format("{} from select from {} where {}", columns, table, passes);
    const std::string filtered = fmt::format("{} from {} where {}", columns, table, passes);
    const std::string_view how = rng() % 2 == 0 ? "exec " : "select ";
    ASSERT_EQ(environment.Ask(fmt::format("{}{}", how, filtered), limits),
              environment.Ask(fmt::format("{}{}", how, listed)))
        << how << filtered;
  }
}

std::vector<std::string> FunctionsByItem() {
  std::vector<std::string> names = {"+", "-", "*", "%",  "&",  "|", "^",
                                    "=", "<", ">", "<>", "<=", ">="};
  const SymbolVector words = BuiltinNames();
  for (size_t i = 0; i < words.size(); ++i) names.emplace_back(words[i]);
  std::erase_if(names, [](const std::string& name) {
    return FindBuiltin(name)->depends_on != Builtin::Items::kSameItem;
  });
  return names;
}

// Expressions of all items of `x`, and of one item after the other.
std::vector<std::pair<std::string, std::string>> WholeAndByItem(const std::string& name,
                                                                std::string_view x) {
  if (FindBuiltin(name)->min_args == 1) {
    return {{fmt::format("{} {}", name, x), fmt::format("{{{} x}} each {}", name, x)}};
  }
  std::vector<std::pair<std::string, std::string>> both = {
      {fmt::format("({}) {} reverse {}", x, name, x),
       fmt::format("{{x {} y}}'[{};reverse {}]", name, x, x)}};
  for (const std::string_view atom : {"2", "0.5", "`b", "\"b\"", "0Ni"}) {
    both.emplace_back(fmt::format("({}) {} {}", x, name, atom),
                      fmt::format("{{x {} {}}} each {}", name, atom, x));
    both.emplace_back(fmt::format("{} {} {}", atom, name, x),
                      fmt::format("{{{} {} x}} each {}", atom, name, x));
  }
  return both;
}

// A function that says "item by item" in its row, and is not, would make queries with `by` wrong.
TEST(Grouped, FunctionsWhoseRowsSayByItemAreSo) {
  static constexpr std::string_view kOperands[] = {
      "-1 0 2 0N 7", "-1 0 2 0N 7i", "2 0N 7h",        "-2.5 0n 0w 3",
      "01101b",      "0x0102ff",     "2020.03.09 0Nd", "09:30 0Nu 16:00",
      "\"a zb\"",    "`a``zb",       "0D01 0Nn 0D",    "2020.03.09D12 0Np"};
  TestEnvironment environment;
  int compared = 0;
  for (const std::string& name : FunctionsByItem()) {
    for (const std::string_view x : kOperands) {
      for (const auto& [whole, by_item] : WholeAndByItem(name, x)) {
        const std::string expected = environment.Ask(by_item);
        if (expected.starts_with('\'')) continue;
        ++compared;
        EXPECT_EQ(environment.Ask(whole), expected) << whole;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace tickstack::query
