// Goal: SQL is an error that says so, with the right q where that is simple, and no q is taken for
// SQL.
// Method: tables of statements.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "query/pair_testing.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

// Goal: SQL is an error that names the same query in q, which has the answer of that SQL; never an
// answer of q's own. Method: pairs of SQL and its q, which is then evaluated.
TEST(Sql, SimpleSqlIsAnsweredByItsQ) {
  constexpr Pair kSql[] = {
      {"select * from trade", "select from trade"},
      {"SELECT * FROM trade", "select from trade"},
      {"Select * From trade;", "select from trade"},
      {"select * from trade limit 2", "2 sublist select from trade"},
      {"select top 2 * from trade", "2 sublist select from trade"},
      {"SELECT sym, price FROM trade", "select sym,price from trade"},
      {"select sym, price as p from trade", "select sym,p:price from trade"},
      {"SELECT sym s FROM trade", "select s:sym from trade"},
      {"SELECT DISTINCT sym FROM trade", "select distinct sym from trade"},
      {"select count(*) from trade", "select count i from trade"},
      {"select count(1) from trade", "select count i from trade"},
      {"select sum(1) from trade;", "select count i from trade"},
      {"SELECT COUNT(*) AS n FROM trade", "select n:count i from trade"},
      {"SELECT COUNT(price) FROM trade", "select sum not null price from trade"},
      {"SELECT COUNT(DISTINCT sym) FROM trade", "select count distinct sym from trade"},
      {"select sym, max(price) from trade group by sym", "select max price by sym from trade"},
      {"select sym, sum(price*size)/sum(size) as vwap from trade group by sym",
       "select vwap:(sum price*size)%sum size by sym from trade"},
      {"select * from trade where sym='aig'", "select from trade where sym=`aig"},
      {"select sym from trade where sym <> 'aig' and size >= 200",
       "select sym from trade where sym<>`aig,size>=200"},
      {"select sym from trade where sym = 'a b'", "select sym from trade where sym=`$\"a b\""},
      {"select * from trade where sym in ('aig','bac')", "select from trade where sym in `aig`bac"},
      {"select * from trade where sym in ('aig')", "select from trade where sym in enlist `aig"},
      {"select * from trade where sym not in ('aig')",
       "select from trade where not sym in enlist `aig"},
      {"select * from trade where price in (14, 48.5)", "select from trade where price in 14 48.5"},
      {"select * from trade where price between 10 and 14.5",
       "select from trade where price within 10 14.5"},
      {"select * from trade where sym like 'b%'", "select from trade where sym like \"b*\""},
      {"select * from trade where price is not null", "select from trade where not null price"},
      {"select * from trade where time > '2013-10-07 09:30:00'",
       "select from trade where time>2013.10.07D09:30:00"},
      {"select * from trade where time < '2013-10-08'", "select from trade where time<2013.10.08"},
      {"select * from trade order by price desc", "`price xdesc select from trade"},
      {"select * from trade order by sym, price limit 1",
       "1 sublist `sym`price xasc select from trade"},
      {"show tables", "tables[]"},
      {"SHOW TABLES;", "tables[]"},
      {"describe trade", "meta trade"},
      {"DESC trade", "meta trade"},
      {"select 1", "1"},
      {"SELECT 1;", "1"},
      {"update trade set price=0.5 where sym='aig'", "update price:0.5 from trade where sym=`aig"},
      {"DELETE FROM trade WHERE sym = 'aig'", "delete from trade where sym=`aig"},
      {"s)select * from trade", "select from trade"},
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  GatewayTo gateway(environment);
  for (const Pair& pair : kSql) {
    const std::string refusal = fmt::format("'nyi: SQL; in q: {}", pair.result);
    EXPECT_EQ(environment.Ask(pair.expression), refusal);
    EXPECT_EQ(gateway.Ask(pair.expression), refusal);
    EXPECT_FALSE(environment.Ask(pair.result).starts_with("'")) << pair.result;
    // A text inside of a request is one too.
    const std::string inside = fmt::format("value{}", Show(Value::String(pair.expression)));
    EXPECT_EQ(environment.Ask(inside), refusal);
  }
}

TEST(Sql, OtherSqlIsNamed) {
  constexpr std::string_view kOther[] = {
      "select * from trade where sym='aig' or sym='bac'",
      "select a.sym from trade a join quote b on a.sym=b.sym",
      "select sym from trade union select sym from quote",
      "SELECT sym, count(*) FROM trade GROUP BY sym HAVING count(*) > 1",
      "select sym, price from trade group by sym",
      "select * from (select * from trade) t",
      "SELECT version()",
      "select current_schema()",
      "select sym from trade order by 1",
      "select sym from trade where sym in (select sym from quote) limit 1",
      "with t as (select 1) select * from t",
      "create table x (a int)",
      "drop table trade",
      "BEGIN",
      "commit;",
      "set names utf8",
      "SET x = 1",
      "explain select * from trade",
      "use trade",
      "show databases",
      "select sum(price) from trade where sym != 'aig'",
      "select sym from nothing limit 10",
      "select sym from trade where sym is null and price is null order by price",
      "select sym FROM trade",
      "select t.* from trade t",
      "1+1; select * from trade; 2+2",
      "-- all of them\nselect * from trade",
      "/* DBeaver */ select * from trade limit 'x'",
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const std::string_view sql : kOther) {
    EXPECT_TRUE(environment.Ask(sql).starts_with("'nyi: SQL")) << sql << environment.Ask(sql);
  }
  EXPECT_EQ(environment.Ask("insert into trade values (1, 'x')"),
            "'nyi: SQL; a row is published to the tickerplant with .u.upd");
  EXPECT_EQ(environment.Ask("10#select count(*) from trade"),
            "'nyi: SQL; in q: select count i from t");
  EXPECT_EQ(environment.Ask("{select * from x} trade"), "'nyi: SQL; in q: select from t");
  EXPECT_EQ(environment.Ask("select " + std::string(200, 'a') + " from trade limit 1"),
            "'nyi: SQL; write it in q");
}

// Goal: q that looks like SQL is q. All other pairs of the tests of q show the same.
TEST(Sql, QThatLooksLikeSqlIsQ) {
  constexpr Pair kPairs[] = {
      {"select max(price) from trade", "([]price:,48.5)"},
      {"select sym from trade where size=100 and price=48.5", "([]sym:`symbol$())"},
      {"exec sum(size) from trade", "1000i"},
      {"count(*)", "1"},
      {"select sym from trade where sym=`nosuch;", "::"},
      {"exec size from trade where price>(avg;price)fby sym", "100 400i"},
      {"delete from trade where size>0",
       "([]time:`timestamp$();sym:`symbol$();price:`float$();"
       "size:`int$();cond:())"},
      {"select order:price from trade where size=100", "([]order:,48.5)"},
      {"exec limit from ([]limit:1 2)", "1 2"},
      {"f:{x+y};exec f'[size;1] from trade where f'[size;1]>300", "301 401"},
      {"\"select * from trade where sym='aig'\"", "\"select * from trade where sym='aig'\""},
      {"count \"select count(*) from t\"", "22"},
      {"(parse\"select count(*) from trade\")1", "`trade"},
      {"$[0b;select count(1) from trade;1]", "1"},
      {"desc 1 3 2", "3 2 1"},
      {"show 1", "::"},
      {"select nothing from trade", "'nothing"},
      {"select from nothing", "'nothing"},
      {"select sym from trade where price=`a", "'type"},
      {"select sum f'[size] from trade where g'[size]", "'g"},
      {"update price:`a+1 from trade", "'type"},
      {"select price trade", "'from"},
      {"begin:1;begin", "1"},
      {"use:{x};use 1", "1"},
      {"with:1;with", "1"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
