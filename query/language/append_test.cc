// Goal: `,:` keeps the type of what it appends to, unlike `,` (code.kx.com/q/ref: join). Method:
// pairs.

#include <gtest/gtest.h>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Append, KeepsTheTypeOfAVector) {
  constexpr Pair kPairs[] = {
      {"a:1 2;a,:3;a", "1 2 3"},     {"a:1 2;a,:3 4;a", "1 2 3 4"},
      {"a:1 2;a,:();a", "1 2"},      {"a:1 2;a,:1.5;a", "'type"},
      {"a:1 2;a,:3i;a", "'type"},    {"a:1 2;a,:(3;`a);a", "'type"},
      {"a:0#0;a,:`a;a", "'type"},    {"a:\"ab\";a,:\"c\";a", "\"abc\""},
      {"a:`a;a,:`b;a", "`a`b"},      {"{a:1 2;a,:1.5;a}[]", "'type"},
      {"{a:1 2;a,:3;a}[]", "1 2 3"},
  };
  ExpectAll(kPairs);
}

TEST(Append, TakesWhatIsOneLevelLowerForAnItem) {
  constexpr Pair kPairs[] = {
      {"s:();s,:1;s,:2;s", "1 2"},
      {"s:();s,:\"abc\";s", "\"abc\""},
      {"s:(1;`a);s,:5f;s", "(1;`a;5f)"},
      {"s:(1;`a);s,:1 2;s", "(1;`a;1;2)"},
      {"s:enlist 1 2 3;s,:4 5 6;s", "(1 2 3;4 5 6)"},
      {"s:enlist 1 2 3;s,4 5 6", "(1 2 3;4;5;6)"},
      {"s:(\"ab\";\"cd\");s,:\"ef\";s", "(\"ab\";\"cd\";\"ef\")"},
      {"s:(\"ab\";\"cd\");s,:enlist \"ef\";s", "(\"ab\";\"cd\";\"ef\")"},
      {"s:(\"ab\";\"cd\");s,:`e;s", "(\"ab\";\"cd\";`e)"},
      {"s:(1;`a);s,:{x};count s", "3"},
  };
  ExpectAll(kPairs);
}

TEST(Append, KeepsTheTypesOfDictionariesAndTables) {
  constexpr Pair kPairs[] = {
      {"s:`a`b!1 2;s,:`a`c!3 4;s", "`a`b`c!3 2 4"},
      {"s:`a`b!1 2;s,:();s", "`a`b!1 2"},
      {"s:([]a:1 2);s,:();s", "([]a:1 2)"},
      {"s:([k:1 2]a:1 2);s,:();s", "([k:1 2]a:1 2)"},
      {"s:`a`b!1 2;s,:(enlist `d)!enlist 5f;s", "'type"},
      {"s:`a`b!1 2;s,:(enlist 1)!enlist 5;s", "'type"},
      {"s:`a`b!1 2;s,:5;s", "'type"},
      {"t:([]a:1 2i;b:3 4f);t,:([]a:5 6i;b:7 8f);t", "([]a:1 2 5 6i;b:3 4 7 8f)"},
      {"t:([]a:1 2i;b:3 4f);t,:([]b:7 8f;a:5 6i);t", "([]a:1 2 5 6i;b:3 4 7 8f)"},
      {"t:([]a:1 2i;b:3 4f);t,:([]a:5 6f;b:7 8i);t", "'type"},
      {"t:([]a:1 2;b:3 4);t,:5 6;t,:(7 8;9 10);t", "([]a:1 2 5 7 8;b:3 4 6 9 10)"},
      {"t:([]a:1 2;b:3 4);t,:(5;6f);t", "'type"},
      {"t:([]a:1 2;b:3 4);t,:([a:5]);t,:([]b:6 7);t", "([]a:1 2 5 0N 0N;b:3 4 0N 6 7)"},
      {"t:([]a:1 2;b:3 4);t,:([]c:6 7);t", "'mismatch"},
      {"t:([k:`a`b]a:1 2;b:3 4);t,:((`c;5;6);(`d;7;8));t,:([k:`e;a:1;b:3]);t",
       "([k:`a`b`c`d`e]a:1 2 5 7 1;b:3 4 6 8 3)"},
      {"t:([k:`a`c]a:1 2;b:3 4);t,:([k:`c`f]a:10 12);t", "([k:`a`c`f]a:1 10 12;b:3 4 0N)"},
      {"t:([k:`a`c]a:1 2;b:3 4);t,:([]a:10 12);t", "'mismatch"},
      {"trade,:1", "'type"},
      {"t:trade;t,:trade;count t", "8"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
