// Goal: functions agree with their definitions in q, whatever the type and shape of their operands.
// Method: laws, each of two expressions of x and y with one answer. Operands are random: atoms,
// vectors of every type with nulls, infinities and repetitions, empty ones, lists of them,
// dictionaries and tables. A failure prints the operands. TICKSTACK_LAWS=N tests each law with N
// operands that differ from those of every run.
//
// Definitions do the same for what has many forms, such as indexing at depth: a generator makes an
// expression and its definition in simpler q. TICKSTACK_DEFINITIONS=N tests N of them, which differ
// from those of every run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
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
  // Returns whole numbers of any width.
  std::string Whole() {
    static const std::vector<Kind> kKinds = {
        {"(0#0)", {"1", "2", "0N", "-3", "100", "0"}}, {"(0#0i)", {"1i", "2i", "0Ni", "-3i", "0i"}},
        {"(0#0h)", {"1h", "2h", "0Nh", "-3h", "0h"}},  {"(0#0b)", {"0b", "1b"}},
        {"(0#0x00)", {"0x00", "0x01", "0x64"}},
    };
    return VectorOf(Pick(kKinds));
  }
  std::string Times() {
    static const std::vector<Kind> kKinds = [] {
      std::vector<Kind> kinds = {
          {"(0#0Nz)", {"2013.10.07T09:30:15.250", "0Nz", "1999.12.31T23:59:00.000"}}};
      for (const Kind& kind : AllKinds()) {
        constexpr std::string_view kLetters = "pndmuvt";
        if (kind.empty.starts_with("(0#0N") && kLetters.find(kind.empty[5]) != kLetters.npos) {
          kinds.push_back(kind);
        }
      }
      return kinds;
    }();
    return VectorOf(Pick(kKinds));
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

// What q answers though other databases would not: operands of several widths, dictionaries and
// matrices, parts of every time, indices in lists, keys that are missing, and text in memory.
TEST(Laws, OfUnlikeOperands) {
  constexpr Law kLaws[] = {
      {"x in y", "(`long$x)in`long$y", &Operands::Whole, &Operands::Whole},
      {"x inter y", "x where(`long$x)in`long$y", &Operands::Whole, &Operands::Whole},
      {"x except y", "x where not(`long$x)in`long$y", &Operands::Whole, &Operands::Whole},
      {"x union y", "distinct x,y", &Operands::Whole, &Operands::Whole},
      {"x?y", "(`long$x)?`long$y", &Operands::Whole, &Operands::Whole},
      {"x inter y", "(value x)inter value y", kDicts, kDicts},
      {"x except y", "(value x)except value y", kDicts, kDicts},
      {"x in y", "x in value y", kDicts, kDicts},
      {"x inter y", "x inter value y", kNumbers, kDicts},
      {"`mm$x", "$[(type x)in 16 17 18 19h;`uu$x;1i+(`month$x)mod 12]", &Operands::Times},
      {"t:x;t.mm", "`mm$x", &Operands::Times},
      {"t:x;t.uu", "`uu$x", &Operands::Times},
      {"t:x;t.year", "`year$x", &Operands::Times},
      {"t:x;t.minute", "`minute$x", &Operands::Times},
      {"exec a.mm from([]a:x)", "`mm$x", &Operands::Times},
      {"exec first a.mm from([k:til count x]a:x)", "first`mm$x", &Operands::Times},
      {"exec a.ss from([]a:(x;x))", "`ss$(x;x)", &Operands::Times},
      {"value exec a.mm by k from([]k:count[x]#0;a:x)", "$[count x;enlist`mm$x;()]",
       &Operands::Times},
      {"trim x", "{m:where not null x;$[count m;(first m)_(1+last m)#x;0#x]}x", kVectors},
      {"ltrim reverse x", "reverse rtrim x", kVectors},
      {"trim x", "x", &Operands::Atom},
      {"trim(x;x)", "(trim x;trim x)", kVectors},
      {"$[2<count x;@[x;(0 1;2);:;first x];`]", "$[2<count x;@[x;0 1 2;:;first x];`]", kVectors},
      {"$[2<count x;@[x;(0;(1;2 0));+;1];`]", "$[2<count x;@[x;0 1 2 0;+;1];`]", kNumbers},
      {"$[2<count x;@[x;(0 1;2);:;((x 1;x 2);x 0)];`]", "$[2<count x;@[x;0 1 2;:;(x 1;x 2;x 0)];`]",
       kVectors},
      {".[(x;x);(0 1;(0;0 1));:;first x]",
       "@[@[(x;x);0;@[;0 0 1;:;first x]];1;@[;0 0 1;:;first x]]", kNumbers},
      {"d:`p`q!(x;x);d[`q;first key x]:y;d", "`p`q!(x;@[x;first key x;:;y])", kDicts,
       &Operands::Atom},
      {".[`p`q!(x;x);(`p;2#key x);+;1]", "`p`q!(@[x;2#key x;+;1];x)", kDicts},
      {"$[2=count x;x wsum(1 2 3;4 5 6);`]", "$[2=count x;sum x*(1 2 3;4 5 6);`]", kNumbers},
      {"$[2=count x;x wavg(1 2 3;4 5 6);`]", "$[2=count x;(sum x*(1 2 3;4 5 6))%sum x;`]",
       kNumbers},
      {"(x;x)wsum(x;1+x)", "sum(x*x;x*1+x)", kNumbers},
      {"(x;x)wavg(x;1+x)", "(sum(x*x;x*1+x))%sum(x;x)", kNumbers},
      {"(x;x)cov(x;1+x)", "(avg(x*x;x*1+x))-(avg(x;x))*avg(x;1+x)", kNumbers},
      {"`b`zz _ x", "(enlist`a)#x", kTables},
      {"``a`zz _ x", "(enlist`b)#x", kTables},
      {"x _ 1", "x(til count x)except 1", kTables},
      {"(1#key x)_x", "1_x", kKeyed},
      {"(key x)_x", "0#x", kKeyed},
      {"(2#key x)#x", "2#x", kKeyed},
      {"x _ first key x", "1_x", kKeyed},
      {"(1#key x)_x", "1_x", kDicts},
      {"x upsert()", "x", kTables},
      {"x upsert()", "x", kKeyed},
      {"x upsert()", "x", kDicts},
      {"(first reverse::)x", "first reverse x", kVectors},
      {"(2#::)x", "2#x", kVectors},
      {"f:count distinct::;f x", "count distinct x", kItems},
      {"-1 .Q.s1 x", "-1", kAnything},
      {"t:x;t.a", "x`a", kTables},
      {"t:x;t.a:reverse t.a;t", "update a:reverse a from x", kTables},
      {"t:x;t.c:til count t;t", "update c:i from x", kTables},
      {"$[(type x`b)in 0 4 13 16h;`;(upper .Q.t type each value flip x;enlist csv)0:csv 0:x]",
       "$[(type x`b)in 0 4 13 16h;`;x]", kTables},
  };
  ExpectLaws(kLaws);
}

// Expressions that have a definition in simpler q. Both are evaluated in one request, after
// `setup`.
struct Defined {
  std::string setup;
  std::string expression;
  std::string definition;
};

// Makes them of one kind after the other.
class Definitions {
 public:
  explicit Definitions(uint32_t seed) : random_(seed) {}

  Defined Next() {
    using Make = Defined (Definitions::*)();
    constexpr Make kMakers[] = {
        &Definitions::EachByKey,  &Definitions::ScanByKey,  &Definitions::OneSide,
        &Definitions::RowsByName, &Definitions::RowChange,  &Definitions::KeyedAtDepth,
        &Definitions::MissingKey, &Definitions::MissingRow, &Definitions::MissingList,
        &Definitions::RowsAgain,  &Definitions::KeysAgain,  &Definitions::MissingWith,
        &Definitions::LongKeys,   &Definitions::OtherWidth, &Definitions::Nothing,
        &Definitions::Machine,    &Definitions::FromEmpty,  &Definitions::FromTheRight,
        &Definitions::InBrackets, &Definitions::DateText,   &Definitions::TimeText,
        &Definitions::NoTime,     &Definitions::Attribute,  &Definitions::Name,
        &Definitions::Seed};
    return (this->*kMakers[made_++ % std::size(kMakers)])();
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  int Number() { return static_cast<int>(Below(199)) - 99; }
  std::string Pick(std::initializer_list<std::string_view> from) {
    return std::string(from.begin()[Below(from.size())]);
  }
  // A vector of n numbers, each of them next().
  template <typename F>
  std::string Vector(size_t n, F next) {
    std::string items;
    for (size_t i = 0; i < n; ++i) items += fmt::format("{}{}", i > 0 ? " " : "", next());
    return n == 0 ? "(0#0)" : fmt::format("((),{})", items);
  }
  std::string Numbers(size_t n) {
    return Vector(n, [&] { return Number(); });
  }
  std::string Indices(size_t n, size_t below) {
    return Vector(n, [&] { return Below(below); });
  }
  // Some of six keys, in any order, each once.
  std::string Keys() {
    std::vector<std::string_view> all = {"`a", "`b", "`c", "`d", "`e", "`f"};
    std::ranges::shuffle(all, random_);
    std::string keys;
    for (size_t i = Below(5) + 1; i > 0; --i) keys += all[i];
    return fmt::format("((),{})", keys);
  }
  std::string Dict() {
    const std::string keys = Keys();
    const auto count = static_cast<size_t>(std::ranges::count(keys, '`'));
    return fmt::format("({}!{})", keys, Numbers(count));
  }
  std::string KeyedTable() {
    const std::string keys = Keys();
    const auto count = static_cast<size_t>(std::ranges::count(keys, '`'));
    return fmt::format("([k:{}]v:{})", keys, Numbers(count));
  }
  std::string Table(size_t rows) {
    return fmt::format("([]a:{};b:{};c:{}?`x`y`z)", Numbers(rows), Numbers(rows), rows);
  }
  std::string Names() { return Pick({"`a`b", "`b`a", "`a`b`a", "(),`a", "`a`c", "`c`b`a"}); }

  Defined EachByKey() {
    const std::string f = Pick({"{x+y}", "{x,y}", "{(y;x)}", "{x~y}", "+", ",", "-", "{y}"});
    if (Below(3) == 0) {  // Rows are dictionaries: only what takes these.
      const std::string g = Pick({"{x+y}", "{x-y}", "{x,y}", "{x~y}", "{y}"});
      return {fmt::format("x:{};y:{};", KeyedTable(), KeyedTable()), fmt::format("x {}'y", g),
              fmt::format("k:(key x)union key y;k!{}'[x k;y k]", g)};
    }
    if (Below(3) == 0) {
      return {fmt::format("x:{};y:{};z:{};", Dict(), Dict(), Dict()), "{x,y,z}'[x;y;z]",
              "k:distinct raze(key x;key y;key z);k!{x,y,z}'[x k;y k;z k]"};
    }
    return {fmt::format("x:{};y:{};", Dict(), Dict()), fmt::format("x {}'y", f),
            fmt::format("k:distinct(key x),key y;k!{}'[x k;y k]", f)};
  }
  Defined ScanByKey() {
    const std::string setup = fmt::format("x:{};y:{};", Dict(), Dict());
    if (Below(2) == 0) {
      return {setup, "{x+y-z}/[0;x;y]", "k:distinct(key x),key y;{x+y-z}/[0;x k;y k]"};
    }
    return {setup, "{x+y-z}\\[7;x;y]", "k:distinct(key x),key y;k!{x+y-z}\\[7;x k;y k]"};
  }
  Defined OneSide() {
    const std::string setup = fmt::format("x:{};y:{};", Dict(), Numbers(Below(3) + 1));
    const std::string f = Pick({"{x,y}", "{x+y}", "{y-x}", "+", ","});
    if (Below(2) == 0) {
      return {setup, fmt::format("x {}\\:y", f), fmt::format("(key x)!{}[;y]each value x", f)};
    }
    return {setup, fmt::format("y {}/:x", f), fmt::format("(key x)!{}[y;]each value x", f)};
  }
  Defined RowsByName() {
    const size_t rows = Below(4) + 1;
    const std::string setup =
        fmt::format("t:{};i:{};c:{};", Table(rows), Indices(Below(4) + 1, rows + 1), Names());
    switch (Below(4)) {
      case 0:
        return {setup, "t[i;c]", "{x c}each t i"};
      case 1:
        return {setup, "t[;c]", "{x c}each t"};
      case 2:
        return {setup, "t . (i;c)", "(t i)@\\:c"};
      default:
        return {setup, "t[c;i]", "{x i}each t c"};
    }
  }
  Defined RowChange() {
    const size_t rows = Below(3) + 2;
    const std::string setup = fmt::format(
        "t:{};i:-2?til {};c:(neg 1+rand 2)?`a`b;v:(2;count c)#{};", Table(rows), rows, Numbers(4));
    const std::string loops =
        "r:t;m:0;while[m<2;n:0;while[n<count c;r[c n;i m]:{}v[m;n];n+:1];m+:1];r";
    switch (Below(3)) {
      case 0:
        return {setup, "u:t;u[i;c]:v;u", fmt::format(fmt::runtime(loops), "")};
      case 1:
        return {setup, "u:t;u[i;c]+:v;u", fmt::format(fmt::runtime(loops), "t[c n;i m]+")};
      default:
        return {setup, ".[t;(i;c);-;v]", fmt::format(fmt::runtime(loops), "t[c n;i m]-")};
    }
  }
  Defined KeyedAtDepth() {
    const std::string setup = fmt::format("t:([k:`p`q`r]a:{};b:{});c:{};", Numbers(3), Numbers(3),
                                          Pick({"`a`b", "`b`a", "`a", "(),`b"}));
    switch (Below(4)) {
      case 0:
        return {setup, "t[`q;c]", "(t`q)c"};
      case 1:
        return {setup, "t[;c]", "(key t)!{x c}each value t"};
      case 2:
        return {setup, "t[([]k:`r`p);c]", "{x c}each t([]k:`r`p)"};
      default:
        return {setup, "d:`p`q!(t`p;t`q);d[`q`p;c]", "(t[`q;c];t[`p;c])"};
    }
  }
  Defined MissingKey() {
    const std::string setup = fmt::format("d:{};k:rand`a`b`c`d`e`f`g;", Dict());
    const std::string value = Pick({"5", "1.5", "`s", "5i", "1 2", "0N", "\"text\""});
    if (Below(2) == 0) {
      return {setup, fmt::format("d[k]:{};d", value),
              fmt::format("$[-7h=type v:{};d,(1#k)!1#v;'`type]", value)};
    }
    return {setup, "d[k]+:5;d", "d,(1#k)!1#5+0^d k"};
  }
  Defined MissingRow() {
    const std::string setup = fmt::format("t:{};k:rand`a`b`c`d`e`f`g;", KeyedTable());
    switch (Below(3)) {
      case 0:
        return {setup, "t[k]+:3;t", "t upsert(k;3+0^t[k]`v)"};
      case 1:
        return {setup, "t[k;`v]+:3;t", "t upsert(k;3+0^t[k]`v)"};
      default:
        return {setup, "t[`a`g]+:3;t", "t upsert/{(x;3+0^t[x]`v)}each`a`g"};
    }
  }
  Defined MissingList() {
    return {fmt::format("d:`a`b!({};{});k:rand`a`b`c;y:{};", Numbers(2), Numbers(3), Number()),
            "d[k],:y;d", "d,(1#k)!enlist(d k),y"};
  }
  // What is named several times is changed several times.
  Defined RowsAgain() {
    const size_t rows = Below(3) + 1, changes = Below(5) + 1;
    const std::string setup = fmt::format("t:([]a:{};b:{});i:{};v:{};", Numbers(rows),
                                          Numbers(rows), Indices(changes, rows), Numbers(changes));
    switch (Below(4)) {
      case 0:
        return {setup, "u:t;u[i]+:3;u", "{x[y]+:3;x}/[t;i]"};
      case 1:
        return {setup, "@[t;i;-;3]", "{@[x;y;-;3]}/[t;i]"};
      case 2:
        return {setup, "u:t;u[i;`a]+:v;u", "{x[y;`a]+:z;x}/[t;i;v]"};
      default:
        return {setup, "u:t;u[i;`b`a]-:3;u", "{x[y;`b`a]-:3;x}/[t;i]"};
    }
  }
  Defined KeysAgain() {
    const size_t changes = Below(6) + 1;
    const std::string setup =
        fmt::format("t:{};k:{}?`a`b`c`g`h;v:{};", KeyedTable(), changes, Numbers(changes));
    switch (Below(4)) {
      case 0:
        return {setup, "t[k]+:3;t", "{x[y]+:3;x}/[t;k]"};
      case 1:
        return {setup, "t[k;`v]+:v;t", "{x[y;`v]+:z;x}/[t;k;v]"};
      case 2:
        return {setup, "t[k;`v]-:v;t", "{x[y;`v]-:z;x}/[t;k;v]"};
      default:
        return {setup, "t[([]k);`v]:v;t", "{x[y;`v]:z;x}/[t;k;v]"};
    }
  }
  Defined MissingWith() {
    const std::string y = Pick({"5", "-2", "0", "3i", "0N"});
    const std::string setup = fmt::format("d:{};k:rand`a`b`c`d`e`f`g`h;y:{};", Dict(), y);
    if (Below(3) == 0) {
      const std::string f = Pick({"{x+2*y}", "{y}", "{0^x+y}", "{x^y}", "{neg y}"});
      return {setup, fmt::format("@[d;k;{};7]", f), fmt::format("d,(1#k)!1#{}[d k;7]", f)};
    }
    const std::string f = Pick({"+", "-", "*", "&", "|", "^"});
    return {setup, fmt::format("d[k]{}:y;d", f),
            fmt::format("$[k in key d;d,(1#k)!1#(d k){0}`long$y;d{0}(1#k)!1#`long$y]", f)};
  }
  Defined LongKeys() {
    const std::string setup =
        fmt::format("t:([k:`p`p`q;l:1 2 1]v:{};w:{});i:{};c:{};", Numbers(3), Numbers(3),
                    Pick({"((`p;2);(`q;1))", "flip(`q`p`p;1 1 1)", "enlist(`p;1)"}),
                    Pick({"`v`w", "`w`v", "`w", "(),`v"}));
    switch (Below(3)) {
      case 0:
        return {setup, "t[i;c]", "{t[x;c]}each i"};
      case 1:
        return {setup, ".[t;(i;c)]", "{x c}each t i"};
      default:
        return {setup, "t[`k`l!i 0;c]", "t[i 0;c]"};
    }
  }
  Defined OtherWidth() {
    const std::string setup = fmt::format("d:0 1 2 3!{};i:{};", Numbers(4), Indices(3, 6));
    return {setup, fmt::format("d`{}$i", Pick({"int", "short", "byte"})), "d i"};
  }
  Defined Nothing() {
    return {fmt::format("x:{};", Pick({Dict(), KeyedTable(), Table(2), Numbers(2)})), "x,:();x",
            "x"};
  }
  Defined Machine() {
    std::string rows;
    for (int i = 0; i < 3; ++i) rows += fmt::format("{}{}", i > 0 ? ";" : "", Indices(3, 3));
    const std::string setup =
        fmt::format("m:({});s:{};c:{};", rows, Below(3), Indices(Below(5) + 1, 3));
    const std::string loop = "r:0#0;i:0;while[i<count c;r,:s:m[s;c i];i+:1];";
    switch (Below(4)) {
      case 0:
        return {setup, "s m\\c", loop + "r"};
      case 1:
        return {setup, "s m/c", loop + "s"};
      case 2:
        return {setup, "(m\\)c", "r:1#s:c 0;i:1;while[i<count c;r,:s:m[s;c i];i+:1];r"};
      default:
        return {setup, "m scan c", "(first c),(first c)m\\1_c"};
    }
  }
  Defined FromEmpty() {
    const std::string setup = fmt::format("n:{};", static_cast<int>(Below(7)) - 3);
    if (Below(2) == 0) {
      const std::string empty = Pick({"0#0", "0#0n", "\"\"", "0#`", "0#0b", "0#0x00", "0#0Np",
                                      "0#0Nt", "0#0h", "0#0e", "0#0Nd", "0#0Ng"});
      return {setup + "e:" + empty + ";", "n#e", "$[n=0;e;abs[n]#enlist first e]"};
    }
    const std::string table =
        Pick({"([]a:0#0;b:0#`)", "([]a:0#0n)", "([]t:0#0Np;s:0#`;p:0#0n)", "([]a:0#0b;b:\"\")",
              "select sym,price from trade where size<0"});
    return {setup + "e:" + table + ";", "n#e", "$[n=0;e;flip{abs[n]#first x}each flip e]"};
  }
  Defined FromTheRight() {
    const std::string value = Numbers(Below(4) + 1);
    const std::string form =
        Pick({"([]a:count q;b:{})", "([k:count q]b:{})", "([a:sum q;b:{}])", "(sum q;{})",
              "enlist[sum q;{}]", "{{x,y}}[sum q;{}]", "(sum q)+{}", "`a`b!(sum q;{})",
              "(,)[sum q;{}]", "([]a:2*q;b:q;c:{})"});
    const auto with = [&](std::string_view last) { return fmt::format(fmt::runtime(form), last); };
    return {"", fmt::format("{{q:9 9;q:0#q;{}}}[]", with("q:" + value)),
            fmt::format("{{q:{};{}}}[]", value, with("q"))};
  }
  Defined InBrackets() {
    const std::string setup = fmt::format("x:{};", Numbers(3)), y = fmt::format("{}", Number());
    switch (Below(4)) {
      case 0:
        return {setup, fmt::format(":[x;{}];x", y), y};
      case 1:
        return {setup, fmt::format("{{:[x;{}];x}}[1]", y), y};
      case 2:
        return {setup, fmt::format("+:[x;{}];x", y), fmt::format("x+{}", y)};
      default:
        return {setup, fmt::format(":[x[1];{}];x", y), fmt::format("@[x;1;:;{}]", y)};
    }
  }
  Defined DateText() {
    const std::string setup = fmt::format(
        "d:1990.01.01+{};y:string`year$d;m:-2#\"0\",string`mm$d;"
        "a:-2#\"0\",string`dd$d;",
        Below(30'000));
    const std::string dash = Pick({".", "-", "/"});
    const std::string text = Below(2) == 0 ? fmt::format("m,\"{0}\",a,\"{0}\",y", dash)
                                           : fmt::format("y,\"{0}\",m,\"{0}\",a", dash);
    return Below(2) == 0 ? Defined{setup, fmt::format("\"D\"$({})", text), "d"}
                         : Defined{setup, fmt::format("\"P\"$({}),\"D12:30\"", text), "d+12:30"};
  }
  Defined TimeText() {
    const std::string setup = fmt::format(
        "h:{};m:{};s:{};n:{};p:{{-2#\"0\",string x}};f:-9#\"00000000\",string n;"
        "r:0D01*h;w:0D00:01*m;z:0D00:00:01*s;",
        Below(24), Below(60), Below(60), Below(1'000'000'000));
    switch (Below(6)) {
      case 0:
        return {setup, "\"N\"$(string h),\".\",f", "r+`timespan$n"};
      case 1:
        return {setup, "\"N\"$raze p each(h;m;s)", "r+w+z"};
      case 2:
        return {setup, "\"N\"$(raze p each(h;m;s)),f", "r+w+z+n"};
      case 3:
        return {setup, "\"N\"$(\":\"sv p each(h;m;s)),\".\",f", "r+w+z+n"};
      case 4:
        return {setup, "\"T\"$(raze p each(h;m)),\".\",3#f", "`time$r+w+\"j\"$1e6*\"J\"$3#f"};
      default:
        return {setup, "\"U\"$p h", "`minute$60*h"};
    }
  }
  Defined NoTime() {
    const std::string text = Pick({"", " ", "-", "D", ":", ".", "x", "1x", ".5", "0.", "1.x",
                                   "::", "12345", "123", "12:x", "-:", "1..2"});
    const std::string type = Pick({"N", "U", "V", "T"});
    return {"", fmt::format("\"{}\"$\"{}\"", type, text),
            fmt::format("first 0#\"{}\"$()", static_cast<char>(type[0] - 'A' + 'a'))};
  }
  Defined Attribute() {
    const std::string setup =
        fmt::format("t:([]time:til 4;sym:4?`x`y;v:{});c:`time`sym`v;", Numbers(4));
    const std::string one = Pick({"`g#sym", "`g#v", "`s#time", "`u#time", "`#sym"});
    const std::string name = one.substr(one.find('#') + 1),
                      attribute = one.substr(0, one.find('#'));
    const std::string result = fmt::format("(cols u;u~t;attr u`{})", name);
    const std::string expected = fmt::format("(c;1b;{})", attribute);
    switch (Below(3)) {
      case 0:
        return {setup, fmt::format("u:update {} from t;{}", one, result), expected};
      case 1:
        return {setup, fmt::format("u:t;update {} from `u;{}", one, result), expected};
      default:
        return {setup, fmt::format("u:select {},time,v,sym from t;attr u`{}", one, name),
                attribute};
    }
  }
  // An expression over the columns a and b.
  std::string Columns(int depth) {
    if (depth == 0) return Pick({"a", "b", "2", "1.5", "a", "b"});
    const std::string x = Columns(depth - 1), y = Columns(depth - 1);
    switch (Below(4)) {
      case 0:
        return fmt::format("({}){}{}", x, Pick({"+", "-", "*", "%", "&", "|", "=", "<", ">"}), y);
      case 1:
        return fmt::format("({}){}{}", x, Pick({"^", " xbar ", " mavg ", " in ", "#'", ",'"}), y);
      case 2:
        return fmt::format("{} {}", Pick({"neg", "sums", "deltas", "string"}), x);
      default:
        return fmt::format("?[{};{};{}]", "a>1", x, y);
    }
  }
  Defined Name() {
    // Names of trees: of a name, itself; of arithmetic and comparisons, of its first argument.
    const std::string setup =
        "f:{[t]$[-11h=type t;t;(0h=type t)&1<count t;"
        ".z.s t$[(3=count t)&any(t 0)~/:(+;-;*;%;&;|;=;<;>);1;-1+count t];`x]};";
    const std::string text = Columns(static_cast<int>(Below(3)) + 1);
    return {setup, fmt::format("first key last parse\"select ({}) from t\"", text),
            fmt::format("f parse\"({})\"", text)};
  }
  Defined Seed() {
    const std::string draw =
        Pick({"5?1000", "-5?1000", "3?1f", "2?`4", "0N?9", "4?0D01", "6?\" \""});
    return {fmt::format("s:\"S {}\";", Number()),
            fmt::format("system s;a:{0};system s;b:{0};a~b", draw), "1b"};
  }

  std::mt19937 random_;
  size_t made_ = 0;
};

TEST(Definitions, AgreeWithTheirExpressions) {
  const char* const wanted = std::getenv("TICKSTACK_DEFINITIONS");
  const int n = wanted == nullptr ? 5'000 : std::atoi(wanted);
  TestEnvironment environment;
  AddSampleTables(environment);
  Definitions definitions(static_cast<uint32_t>(n));
  int errors = 0;
  for (int i = 0; i < n; ++i) {
    const Defined defined = definitions.Next();
    // The same random operands on both sides.
    const std::string setup = "system\"S 7\";" + defined.setup;
    const std::string one = environment.Ask(setup + defined.expression);
    const std::string other = environment.Ask(setup + defined.definition);
    EXPECT_EQ(one, other) << setup << "  " << defined.expression << "  is  " << defined.definition;
    errors += one.starts_with('\'') ? 1 : 0;
  }
  EXPECT_LT(errors, n / 20) << "most expressions must have an answer";
}

}  // namespace
}  // namespace tickstack::query
