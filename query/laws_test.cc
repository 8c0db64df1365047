// Goal: functions agree with their definitions in q, whatever the type and shape of their operands.
// Method: laws, each of two expressions of x and y with one answer. Operands are random: atoms,
// vectors of every type with nulls, infinities and repetitions, empty ones, lists of them,
// dictionaries and tables. A failure prints the operands. TICKSTACK_LAWS=N tests each law with N
// operands that differ from those of every run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

int OperandsPerLaw() {
  const char* const wanted = std::getenv("TICKSTACK_LAWS");
  return wanted == nullptr ? 60 : std::atoi(wanted);
}

// Items of a type as texts, and the empty vector of that type.
struct Kind {
  std::string_view empty;
  std::vector<std::string_view> items;
};

const std::vector<Kind>& Numbers() {
  static const std::vector<Kind> kKinds = {
      {"(0#0)", {"1", "2", "3", "-7", "0N", "2", "100", "0"}},
      {"(0#0i)", {"1i", "2i", "0Ni", "-3i", "2i", "0i"}},
      {"(0#0f)", {"1.5", "-2f", "0n", "4f", "1.5", "0f"}},
  };
  return kKinds;
}

const std::vector<Kind>& AllKinds() {
  static const std::vector<Kind> kKinds = [] {
    std::vector<Kind> kinds = Numbers();
    const std::vector<Kind> others = {
        {"(0#0h)", {"1h", "2h", "0Nh", "-3h", "2h", "0h"}},
        {"(0#0e)", {"1e", "0Ne", "-2.5e", "1e"}},
        {"(0#0b)", {"0b", "1b"}},
        {"(0#0x00)", {"0x00", "0xff", "0x0a"}},
        {"\"\"", {"\"a\"", "\"b\"", "\" \"", "\"Z\""}},
        {"(0#`)", {"`a", "`b", "`", "`cc", "`a"}},
        {"(0#0Np)", {"2013.10.07D09:30", "0Np", "2000.01.01D00", "1999.12.31D23:59:59.5"}},
        {"(0#0Nn)", {"0D01", "0Nn", "-0D00:00:01", "0D"}},
        {"(0#0Nd)", {"2013.10.07", "0Nd", "2000.01.01"}},
        {"(0#0Nm)", {"2013.10m", "0Nm", "1999.12m"}},
        {"(0#0Nu)", {"09:30", "0Nu", "00:00"}},
        {"(0#0Nv)", {"09:30:15", "0Nv", "00:00:00"}},
        {"(0#0Nt)", {"09:30:15.250", "0Nt", "00:00:00.000"}},
    };
    kinds.insert(kinds.end(), others.begin(), others.end());
    return kinds;
  }();
  return kKinds;
}

class Operands {
 public:
  explicit Operands(uint32_t seed) : random_(seed) {}

  std::string Atom() { return std::string(Pick(Pick(AllKinds()).items)); }
  std::string Vector() { return VectorOf(Pick(AllKinds())); }
  std::string NumberVector() { return VectorOf(Pick(Numbers())); }
  // Returns a list that is not a vector: its first two items have two types, or it consists of
  // vectors.
  std::string List() {
    if (Below(2) == 0) return "(1;`a;" + Atom() + ")";
    std::string text = "(" + NonEmpty();
    for (size_t n = Below(3) + 1; n > 0; --n) text += ";" + NonEmpty();
    return text + ")";
  }
  std::string Items() { return Below(4) == 0 ? List() : Vector(); }
  std::string Dict() {
    constexpr std::array<std::string_view, 6> kKeys = {
        "`a`b`c", "3 1 2", "\"xyz\"", "0D01 0D02 0D03", "(1;`b;0x03)", "(1 2;3 4;5 6)"};
    return "(" + std::string(kKeys[Below(6)]) + "!" + VectorOf(Pick(Numbers()), 3) + ")";
  }
  std::string Table() {
    const size_t rows = Below(4);
    const Kind& kind = Below(6) == 0 ? kStrings : Pick(AllKinds());
    return "([]a:" + VectorOf(Pick(Numbers()), rows) + ";b:" + VectorOf(kind, rows) + ")";
  }
  // With keys that are all different.
  std::string KeyedTable() {
    constexpr std::array<std::string_view, 3> kKeys = {"`a`b`c", "3 1 2", "(\"ab\";1 2;`x)"};
    return "([k:" + std::string(kKeys[Below(3)]) + "]v:" + VectorOf(Pick(Numbers()), 3) +
           ";w:" + VectorOf(Pick(AllKinds()), 3) + ")";
  }
  std::string Anything() {
    switch (Below(5)) {
      case 0:
        return Atom();
      case 1:
        return List();
      case 2:
        return Dict();
      case 3:
        return Table();
      default:
        return Vector();
    }
  }

 private:
  static inline const Kind kStrings = {"()", {"\"ab\"", "\"\"", "\"cd\"", "\"ab\""}};

  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }
  std::string VectorOf(const Kind& kind) { return VectorOf(kind, Below(6)); }
  std::string VectorOf(const Kind& kind, size_t n) {
    if (n == 0) return std::string(kind.empty);
    std::string items = "(";
    for (size_t i = 0; i < n; ++i) items += (i > 0 ? ";" : "") + std::string(Pick(kind.items));
    return n == 1 ? "(enlist " + items + "))" : items + ")";
  }
  std::string NonEmpty() { return VectorOf(Pick(AllKinds()), Below(3) + 1); }

  std::mt19937 random_;
};

using MakeOperand = std::string (Operands::*)();
constexpr MakeOperand kVectors = &Operands::Vector, kNumbers = &Operands::NumberVector,
                      kItems = &Operands::Items, kDicts = &Operands::Dict,
                      kTables = &Operands::Table, kKeyed = &Operands::KeyedTable,
                      kAnything = &Operands::Anything;

struct Law {
  std::string_view one;
  std::string_view other;
  MakeOperand x;
  MakeOperand y = &Operands::Atom;
};

// Evaluates both expressions; if one is an error, the other must be one too. Evaluates the first
// one also with values in place of variables, because other code may evaluate it then.
void Expect(TestEnvironment& environment, const Law& law, const std::string& x,
            const std::string& y) {
  const std::string operands = "x:" + x + ";y:" + y + ";";
  std::string one = environment.Ask(operands + std::string(law.one));
  std::string other = environment.Ask(operands + std::string(law.other));
  const std::string of_values = environment.Ask(fmt::format("{{[x;y] {}}}[{};{}]", law.one, x, y));
  EXPECT_EQ(of_values, one) << operands << "  " << law.one;
  if (one.starts_with('\'') && other.starts_with('\'')) return;
  EXPECT_EQ(one, other) << operands << "  " << law.one << "  is  " << law.other;
}

void ExpectLaws(std::span<const Law> laws) {
  TestEnvironment environment;
  AddSampleTables(environment);
  const int n = OperandsPerLaw();
  auto seed = static_cast<uint32_t>(n);
  for (const Law& law : laws) {
    Operands operands(++seed);
    for (int i = 0; i < n; ++i) {
      const std::string x = (operands.*law.x)(), y = (operands.*law.y)();
      Expect(environment, law, x, y);
    }
  }
}

TEST(Laws, OfLists) {
  constexpr Law kLaws[] = {
      {"raze x", "(,/)x", kAnything},
      {"reverse reverse x", "x", kItems},
      {"first x", "x 0", kVectors},
      {"last x", "first reverse x", kVectors},
      {"x til count x", "x", kItems},
      {"x,()", "x", kItems},
      {"(),x", "x", kItems},
      {"count x,x", "2*count x", kItems},
      {"(x,x) til count x", "x", kVectors},
      {"(1#x),1_x", "(count[x]|1)#x", kVectors},
      {"(count x)#x", "x", kItems},
      {"-1_x,1#x", "x", kVectors},
      {"(-2_x),-2 sublist x", "x", kVectors},
      {"raze 2 cut x", "$[count x;x;()]", kVectors},
      {"$[count x;raze 0 2 cut x,x;x]", "x,x", kNumbers},
      {"count 2 cut x", "ceiling .5*count x", kVectors},
      {"1 rotate x", "$[count x;(1_x),1#x;x]", kVectors},
      {"2 sublist x", "((count x)&2)#x", kItems},
      {"distinct x", "x where (til count x)=x?x", kVectors},
      {"count distinct x", "count group x", kItems},
      {"key group x", "distinct x", kItems},
      {"x raze value group x", "x iasc x?x", kVectors},
      {"x in x", "(count x)#1b", kVectors},
      {"x in 2#x", "$[count x;{any x~/:y}[;2#x]each x;0#0b]", kVectors},
      {"x union y", "distinct x,y", kVectors, kVectors},
      {"x inter y", "x where x in y", kVectors, kVectors},
      {"x except y", "x where not x in y", kVectors, kVectors},
      {"prev x", "1 xprev x", kVectors},
      {"next x", "-1 xprev x", kVectors},
      {"next x", "reverse prev reverse x", kVectors},
      {"{x}each x", "$[count x;x;()]", kItems},
      {"(::)x", "x", kAnything},
      {"first enlist x", "x", kAnything},
      {"count enlist x", "1", kAnything},
      {"count@x", "count x", kAnything},
      {"count . enlist x", "count x", kAnything},
      {".[{[a;b]count[a]+count b};(x;y);`]", "count[x]+count y", kAnything, kAnything},
      {"$[count x;@[x;0;:;x 0];x]", "x", kVectors},
      {"a:x;a,:x;a", "x,x", kVectors},
      {"eval parse .Q.s1 x", "x", &Operands::Atom},
      {"where x=x", "til count x", kVectors},
      {"0#x", "(0#)x", kAnything},
  };
  ExpectLaws(kLaws);
}

TEST(Laws, OfOrder) {
  constexpr Law kLaws[] = {
      {"asc x", "x iasc x", kVectors},
      {"desc x", "x idesc x", kVectors},
      {"asc asc x", "asc x", kItems},
      {"rank x", "iasc iasc x", kVectors},
      {"attr asc x", "`s", kVectors},
      {"asc x", "`s#x iasc x", kVectors},
      {"x iasc x", "(asc x)til count x", kVectors},
      {"all 0<=(asc x)binr x", "1b", kNumbers},
      {"asc x", "x iasc x", kTables},
      {"desc x", "x idesc x", kTables},
      {"asc x", "`a`b xasc x", kTables},
      {"`a xasc x", "x iasc x`a", kTables},
      {"value asc x", "asc value x", kDicts},
      {"key asc x", "iasc x", kDicts},
  };
  ExpectLaws(kLaws);
}

TEST(Laws, OfNumbers) {
  constexpr Law kLaws[] = {
      {"x+y", "y+x", kVectors, kVectors},
      {"x*y", "y*x", kVectors, kVectors},
      {"x&y", "y&x", kVectors, kVectors},
      {"x|y", "y|x", kVectors, kVectors},
      {"x=y", "y=x", kVectors, kVectors},
      {"x<y", "y>x", kVectors, kVectors},
      {"x<=y", "not x>y", kVectors, kVectors},
      {"x<>y", "not x=y", kVectors, kVectors},
      {"x+y", "y+x", kVectors},
      {"x<y", "y>x", kVectors},
      {"x+y", "$[(count[x]=count y)&0<count x;{x+y}'[x;y];x+y]", kNumbers, kNumbers},
      {"x-y", "neg y-x", kNumbers, kNumbers},
      {"x mod 3", "x-3*x div 3", kNumbers},
      {"3 xbar x", "3*x div 3", kNumbers},
      {"neg neg x", "x", kNumbers},
      {"abs x", "x|neg x", kNumbers},
      {"signum neg x where not null x", "neg signum x where not null x", kNumbers},
      {"sums deltas x where not null x", "x where not null x", kNumbers},
      {"deltas x", "(-) prior x", kNumbers},
      {"(<) prior x", "{x<y} prior x", kVectors},
      {"(&) prior x", "{x&y} prior x", kVectors},
      {"(^) prior x", "{x^y} prior x", kVectors},
      {"(=) prior x", "{x=y} prior x", kVectors},
      {"*':[2;x]", "{x*y}':[2;x]", kVectors},
      {"-':[2;x]", "{x-y}':[2;x]", kVectors},
      {"+':[0.5;x]", "{x+y}':[0.5;x]", kNumbers},
      {"$[count x;last sums x;sum x]", "sum x", kNumbers},
      {"$[count x;last maxs x;max x]", "max x", kNumbers},
      {"$[count x;last mins x;min x]", "min x", kNumbers},
      {"$[count x;last prds x;prd x]", "prd x", kNumbers},
      {"sum x", "sum x where not null x", kNumbers},
      {"avg x", "(sum x)%sum not null x", kNumbers},
      {"dev x", "sqrt var x", kNumbers},
      {"3 mavg x", "(3 msum x)%3 mcount x", kNumbers},
      {"not not 0<x", "0<x", kNumbers},
      {"x within (min x;max x)", "(x>=min x)&x<=max x", kNumbers},
      {"`long$`float$x", "`long$x", kNumbers},
      {"\"f\"$x", "9h$x", kVectors},
      {"$[`float;x]", "`float$x", kVectors},
  };
  ExpectLaws(kLaws);
}

TEST(Laws, OfStatisticsOverLists) {
  constexpr Law kLaws[] = {
      {"$[count x;var (x;x);0#0f]", "?[null x;0n;0f]", kNumbers},
      {"$[count x;med (x;x;x);0#0f]", "`float$x", kNumbers},
      {"var ([]a:x;b:reverse x)", "`a`b!2#var x", kNumbers},
      {"{x mmu x}0f^`float$x", "{sum x*x}0f^`float$x", kNumbers},
      {"{(x;x)mmu x}1f,0f^`float$x", "{2#sum x*x}1f,0f^`float$x", kNumbers},
      {"asc (neg count x)?x", "asc x", kVectors},
      {"asc 0N?x", "asc x", kVectors},
      {"all (20?1,x) in 1,x", "1b", kNumbers},
  };
  ExpectLaws(kLaws);
}

TEST(Laws, OfDictionariesAndTables) {
  constexpr Law kLaws[] = {
      {"(key x)!value x", "x", kDicts},
      {"x key x", "value x", kDicts},
      {"x 2#key x", "2#value x", kDicts},
      {"x(1#key x;reverse key x)", "(1#value x;reverse value x)", kDicts},
      {"d:x;d[2#key x]:2#reverse value x;d", "(key x)!(2#reverse value x),2_value x", kDicts},
      {"(key x)?reverse key x", "2 1 0", kDicts},
      {"(key x)?(1#key x;2#key x)", "(enlist 0;0 1)", kDicts},
      {"x,x", "x", kDicts},
      {"x+x", "(key x)!(value x)+value x", kDicts},
      {"x-x", "(key x)!(value x)-value x", kDicts},
      {"x-y", "x+neg y", kDicts, kDicts},
      {"reverse reverse x", "x", kDicts},
      {"2#x", "(2#key x)!2#value x", kDicts},
      {"neg x", "(key x)!neg value x", kDicts},
      {"x?first value x", "first key[x]where (value x)~\\:first value x", kDicts},
      {"{x}each x", "x", kDicts},
      {"sum x", "sum value x", kDicts},
      {"max x", "max value x", kDicts},
      {"x in 1 2", "(key x)!(value x)in 1 2", kDicts},
      {"`#`s#asc[key x]!value x", "asc[key x]!value x", kDicts},
      // A keyed table is a dictionary of rows.
      {"first x", "first value x", kKeyed},
      {"last x", "last value x", kKeyed},
      {"reverse x", "(reverse key x)!reverse value x", kKeyed},
      {"2#x", "(2#key x)!2#value x", kKeyed},
      {"1_x", "(1_key x)!1_value x", kKeyed},
      {"iasc x", "(key x)iasc value x", kKeyed},
      {"idesc x", "(key x)idesc value x", kKeyed},
      {"key asc x", "(key x)iasc value x", kKeyed},
      {"value desc x", "(value x)idesc value x", kKeyed},
      {"x key x", "value x", kKeyed},
      {"x reverse key x", "reverse value x", kKeyed},
      {"x upsert x", "x", kKeyed},
      {"x,reverse x", "x", kKeyed},
      {"x lj x", "x", kKeyed},
      {"x uj x", "x", kKeyed},
      {"x ujf x", "x", kKeyed},
      {"sum x", "sum value x", kKeyed},
      {"max x", "max value x", kKeyed},
      {"med x", "med value x", kKeyed},
      {"sums x", "(key x)!sums value x", kKeyed},
      {"0!x", "(key x),'value x", kKeyed},
      {"1!0!x", "x", kKeyed},
      {"select from x", "x", kKeyed},
      {"x~-9!-8!x", "1b", kKeyed},
      {"first x", "first value x", kDicts},
      {"last x", "last value x", kDicts},
      {"key desc x", "(key x)idesc value x", kDicts},
      {"(`s#(`a`c`e!3#x))`b`c`f", "(3#x)(`a`c`e)bin`b`c`f", kNumbers},
      {"flip flip x", "x", kTables},
      {"(flip x)`a", "x`a", kTables},
      {"select from x", "x", kTables},
      {"exec a from x", "x`a", kTables},
      {"exec count i from x", "count x", kTables},
      {"delete from x", "0#x", kTables},
      {"select from x where a>1", "x where x[`a]>1", kTables},
      {"distinct x", "select distinct from x", kTables},
      {"x,x", "raze (x;x)", kTables},
      {"(x,x)til count x", "x", kTables},
      {"t:x;t,:x;t", "x,x", kTables},
      {"update a:a from x", "x", kTables},
      {"update c:sum a from x", "update c:(count i)#sum a from x", kTables},
      {"key select by b from x", "flip (enlist `b)!enlist asc distinct x`b", kTables},
      {"exec count i by b from x", "$[count x;(asc distinct x`b)#count each group x`b;(0#x`b)!0#0]",
       kTables},
      {"exec b from x where a=(max;a)fby b", "exec b from x where a=(exec max a by b from x) b",
       kTables},
      {"exec (sum;a)fby b from x", "$[count x;(exec sum a by b from x) x`b;0#sum x`a]", kTables},
      {"update s:sums a by b from x", "update s:(sums;a)fby b from x", kTables},
      {"update m:max a by b from x", "update m:(max;a)fby b from x", kTables},
      {"count aj[`b`a;x;x]", "count x", kTables},
      {"cols x", "key flip x", kTables},
      {"value x 0", "first each value flip x", kTables},
      {"1_x", "x 1+til 0|-1+count x", kTables},
      {"$[0h=type x`b;`;ungroup `b xgroup x]",
       "$[0h=type x`b;`;count x;`b xcols x raze value group x`b;ungroup `b xgroup x]", kTables},
  };
  ExpectLaws(kLaws);
}

}  // namespace
}  // namespace tickstack::query
