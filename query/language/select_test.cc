// Goal: the less common phrases of select and exec do what the reference says (code.kx.com/q/ref:
// select, exec; basics/qsql). Method: pairs.

#include <gtest/gtest.h>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Select, TakesTheFirstRowsOfAnOrder) {
  constexpr Pair kPairs[] = {
      {"select[2;>price] sym,price from trade", "([]sym:`aig`aig;price:48.5 48.25)"},
      {"select[2;<price] sym,price from trade", "([]sym:`bac`bac;price:13.75 14)"},
      {"select[>size] size from trade", "([]size:400 300 200 100i)"},
      {"select[<size] size from trade where sym=`bac", "([]size:200 400i)"},
      {"select[-1;<size] size from trade", "([]size:,400i)"},
      {"select[1 2;>size] size from trade", "([]size:300 200i)"},
      {"select[9;>size] size from trade", "([]size:400 300 200 100i)"},
      {"select[0;>size] size from trade", "([]size:`int$())"},
      {"select[1;>price] from select sym,price from trade", "([]sym:,`aig;price:,48.5)"},
      {"select[2;>price] sym,n:price*size from trade", "([]sym:`aig`aig;n:4850 14475f)"},
      {"select[2;>price*size] size from trade", "([]size:300 400i)"},
      {"select[2;<sym] sym,size from trade", "([]sym:`aig`aig;size:100 300i)"},
      {"select[2;>time] size from trade", "([]size:400 200i)"},
      {"select[2;>time.minute] cond from trade", "([]cond:(\"AB\";\"\"))"},
      {"select[2;>price] max size from trade", "([]size:,300i)"},
      {"select[1;>v] from ([k:`a`b]v:1 2)", "([k:,`b]v:,2)"},
      {"select[1;<a] from ([]a:3 1 1;b:`x`y`z)", "([]a:,1;b:,`y)"},
      {"select[1;>a] from ([]a:3 1 3;b:`x`y`z)", "([]a:,3;b:,`x)"},
      {"select[1;>i] from ([]a:3 1 2)", "([]a:,2)"},
      {"select distinct sym from select[3;>size] from trade", "([]sym:`bac`aig)"},
      {"select[1;>price] i from trade", "'nyi: i in select[;>]"},
      {"select[1;>price] last size by sym from trade", "'nyi: select[;>] by"},
      {"select[1;>nope] from trade", "'nope"},
      {"select[1;>2 3] from trade", "'length"},
      {"select[1;>2] from trade", "'type"},
      {"select[1;price] from trade", "'nyi: select[;]"},
      {"select[;>price] from trade", "'nyi: select[]"},
      {"select[] from trade", "'nyi: select[]"},
      {"select[1;>price from trade", "'from"},
      {"select[1;>price", "'["},
      {"exec size from select[2i] from trade", "100 200i"},
      {"exec size from select[1 2h] from trade", "200 300i"},
      {"exec size from {select[x 0;>price] from trade} enlist 1i", ",100i"},
      {"select[1.5] from trade", "'type"},
      {"select[1 2 3] from trade", "'length"},
      {"exec[1] size from trade", "'nyi: exec["},
  };
  ExpectAll(kPairs);
}

TEST(Select, GroupsBySeveralColumnsAndExpressions) {
  constexpr Pair kPairs[] = {
      {"select sum size by sym,big:size>250 from trade",
       "([sym:`aig`aig`bac`bac;big:0101b]size:100 300 200 400i)"},
      {"select n:count i by time.hh,sym from trade", "([hh:9 9i;sym:`aig`bac]n:2 2)"},
      {"select first price by 2 xbar i from trade", "([x:0 2]price:48.5 48.25)"},
      {"select n:count i by i mod 2 from trade", "([x:0 1]n:2 2)"},
      {"select count i by i mod 2 from trade", "'dup names for cols/groups x"},
      {"select sum size by `date$time from trade", "([time:,2013.10.07]size:,1000i)"},
      {"select hi:max price,lo:min price,vwap:size wavg price by 0D00:02 xbar time from trade "
       "where sym=`aig",
       "([time:,2013.10.07D09:30:00.000000000]hi:,48.5;lo:,48.25;vwap:,48.3125)"},
      {"select open:first price,high:max price,low:min price,close:last price,sum size by "
       "sym,time.minute from trade where sym=`bac",
       "([sym:`bac`bac;minute:09:31 09:33]open:13.75 14;high:13.75 14;low:13.75 14;close:13.75 "
       "14;size:200 400i)"},
      {"select avg price by sym:sym,sym1:sym from trade",
       "([sym:`aig`bac;sym1:`aig`bac]price:48.375 13.875)"},
      {"select size,i by sym from trade", "([sym:`aig`bac]size:(100 300i;200 400i);x:(0 2;1 3))"},
      {"select last i by sym from trade", "([sym:`aig`bac]x:2 3)"},
      {"select distinct sym by time.hh from trade", "([hh:,9i]sym:,`aig`bac)"},
      {"select distinct s:sym by size>200 from trade", "([size:01b]s:(`aig`bac;`aig`bac))"},
      {"ungroup select distinct sym by time.hh from trade", "([]hh:9 9i;sym:`aig`bac)"},
      {"parse\"select distinct a by b from t\"", "(?;`t;();,`b!,`b;,`a!,(distinct;`a))"},
      {"select distinct sym,size by time.hh from trade", "'nyi: select distinct by"},
      {"select distinct by sym from trade", "'nyi: select distinct by"},
      {"select sum size by sym from trade where price>20", "([sym:,`aig]size:,400i)"},
      {"select max size from select sum size by sym from trade", "([]size:,600i)"},
      {"select from (select sum size by sym from trade) where size>500", "([sym:,`bac]size:,600i)"},
      {"select sym from trade where size=(max;size)1", "([]sym:`aig`bac`aig`bac)"},
      {"select size from trade where price=(max price)-0.25", "([]size:,300i)"},
      {"select size from trade where i=last i", "([]size:,400i)"},
      {"select size from trade where sym in exec distinct sym from quote where bid>20",
       "([]size:100 300i)"},
      {"select sum size by sym from trade where i in 0 1", "([sym:`aig`bac]size:100 200i)"},
      {"select size by price>20,sym from trade",
       "([price:01b;sym:`bac`aig]size:(200 400i;100 300i))"},
  };
  ExpectAll(kPairs);
}

TEST(Exec, ByHasTheShapeThatItsNamesAskFor) {
  constexpr Pair kPairs[] = {
      {"exec sum size by sym from trade", "`aig`bac!400 600i"},
      {"exec q:sum size by sym from trade", "`aig`bac!([]q:400 600i)"},
      {"exec sum size by s:sym from trade", "([]s:`aig`bac)!400 600i"},
      {"exec q:sum size by s:sym from trade", "([s:`aig`bac]q:400 600i)"},
      {"exec last price,sum size by sym from trade", "`aig`bac!([]price:48.25 14;size:400 600i)"},
      {"exec sum size by sym,time.minute from trade where sym=`bac",
       "([]sym:`bac`bac;minute:09:31 09:33)!200 400i"},
      {"exec size by 2 xbar i from trade", "0 2!(100 200i;300 400i)"},
      {"exec med price by sym from trade", "`aig`bac!48.375 13.875"},
      {"exec distinct sym by time.hh from trade", ",9i!,`aig`bac"},
      {"exec `aig`bac#sym!price by m:time.minute from trade where time.minute<09:32",
       "([m:09:30 09:31]aig:48.5 48.25;bac:0n 13.75)"},
      {"exec `a`b!(first price;sum size) by sym from trade",
       "`aig`bac!([]a:48.5 13.75;b:400 600i)"},
      {"type value exec (2#sym)!2#price by sym from trade", "0h"},
      {"exec by sym from trade", "'nyi: exec by without columns"},
      {"exec size by 0b from trade", "'nyi: exec by 0b"},
      {"exec by 0b from trade", "'nyi: exec by 0b"},
      {"select size by 0b from trade", "'nyi: select by 0b"},
      {"exec size,sym by 0b from trade where sym=`aig", "([]size:100 300i;sym:`aig`aig)"},
      {"exec n:max size by 0b from trade", "([]n:,400i)"},
      {"parse\"exec a,b by 0b from t\"", "(?;`t;();0b;`a`b!`a`b)"},
      {"exec asc size by sym from trade", "`aig`bac!(100 300i;200 400i)"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
