// Goal: SQL is an error that says so, with the right q where that is simple, and no q is taken for
// SQL.
// Method: tables of statements, and generated ones.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <fstream>
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
      {"SELECT COUNT(DISTINCT sym) FROM trade",
       "select count distinct sym where not null sym from trade"},
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
      // Constants and names that q would answer as such.
      {"select count(2) from trade", "select count i from trade"},
      {"select sym, count(0) from trade group by sym", "select count i by sym from trade"},
      {"select count(\"price\") from trade", "select sum not null price from trade"},
      {"select max(\"price\") from trade", "select max price from trade"},
      {"select \"sym\" from trade", "select sym from trade"},
      {"select \"sym\", \"price\" from \"trade\"", "select sym,price from trade"},
      {"SELECT \"sym\" FROM \"trade\" WHERE \"price\" > 14",
       "select sym from trade where price>14"},
      {"select \"t\".\"sym\" from \"trade\" \"t\"", "select sym from trade"},
      {"select `sym`, `price` from `trade` where `sym` = 'aig'",
       "select sym,price from trade where sym=`aig"},
      {"select price as \"Price\" from trade", "select Price:price from trade"},
      // Parts of a query, and queries of less than one.
      {"FROM trade", "select from trade"},
      {"from trade;", "select from trade"},
      {"TABLE trade", "select from trade"},
      {"(select * from trade where size > 100)", "select from trade where size>100"},
      {"t:select * from trade where sym='aig'", "t:select from trade where sym=`aig"},
      {"select 1+1", "1+1"},
      {"select -1", "-1"},
      // A division is an iteration in q, or a comment.
      {"select sum(price*size)/sum(size) from trade",
       "select (sum price*size)%sum size from trade"},
      {"select price/size from trade", "select price%size from trade"},
      {"select price / size from trade", "select price%size from trade"},
      {"select price/2 from trade", "select price%2 from trade"},
      {"select avg(price)/2.5 from trade", "select (avg price)%2.5 from trade"},
      // Aliases.
      {"select sym s, price p from trade", "select s:sym,p:price from trade"},
      {"select sum(size) total, max(price) m from trade",
       "select total:sum size,m:max price from trade"},
      {"select price*size notional from trade", "select notional:price*size from trade"},
      {"select t.sym, t.price from trade t where t.sym='aig'",
       "select sym,price from trade where sym=`aig"},
      {"select * from trade as t where t.price > 14", "select from trade where price>14"},
      {"select sym from public.trade", "select sym from trade"},
      {"SELECT Sym, PRICE FROM Trade", "select sym,price from trade"},
      // Rows.
      {"select sym from trade limit all", "select sym from trade"},
      {"select sym from trade fetch first 2 rows only", "2 sublist select sym from trade"},
      {"select * from trade limit 2 offset 1", "1 2 sublist select from trade"},
      {"select * from trade limit 1, 2", "1 2 sublist select from trade"},
      {"select sym\nfrom trade -- all\nlimit 2;", "2 sublist select sym from trade"},
      {"select sym from trade -- comment", "select sym from trade"},
      {"select /* comment */ sym from trade", "select sym from trade"},
      {"/* comment */ select sym from trade", "select sym from trade"},
      {"SELECT max(price) AS m, sym FROM trade GROUP BY sym ORDER BY m DESC LIMIT 1",
       "1 sublist `m xdesc select m:max price by sym from trade"},
      // Constants have the type of the column.
      {"select sym from trade where sym=\"aig\"", "select sym from trade where sym=`aig"},
      {"select * from trade where sym in (\"aig\",\"bac\")",
       "select from trade where sym in `aig`bac"},
      {"select * from trade where cond='AB'", "select from trade where cond like \"AB\""},
      {"select * from trade where cond<>'AB'", "select from trade where not cond like \"AB\""},
      {"select * from trade where sym='2013-10-07'",
       "select from trade where sym=`$\"2013-10-07\""},
      {"select * from trade where time between '2013-10-07 09:30' and '2013-10-07 09:31'",
       "select from trade where time within 2013.10.07D09:30 2013.10.07D09:31"},
      {"select sym, true as b from trade", "select sym,b:1b from trade"},
      {"select sym, 'x' as b from trade", "select sym,b:`x from trade"},
      {"update trade set price=1 where sym='aig'", "update price:1f from trade where sym=`aig"},
      {"update trade set size=5", "update size:5i from trade"},
      {"update trade set price=price*2", "update price:price*2 from trade"},
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
      "/* all */ select sym, count(*) n from trade group by sym having n > 1",
      "select extract(hour from time) from trade",
      "select sym from trade where price > (select avg(price) from trade)",
      "select (size+1)/2 from trade",
      "select sum(size)/2 from trade",
      "select size/100 p from trade",
      "select sym from trade where size/2 > 100",
      "select sym from trade where not (sym = 'aig')",
      "select upper(sym) from trade limit 1",
      "select * from trade where sym == 'aig'",
      "with t as (select * from trade) select sym from t",
      "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY);",
      "copy trade to 'x.csv'",
      "use mydb;",
      "count(*)",
      "count (*)",
      "COUNT(*) FROM trade",
      "count(*) from trade",
      "max(price) from trade",
      "select sum(2) from trade",
      "select size/2 from trade",
      "select sum(size)/sum(size) from trade",
      "limit 10",
      "LIMIT 10;",
      "order by price",
      "GROUP BY sym",
      "where sym='aig'",
      "select price::int from trade",
      "select case when price > 14 then 1 else 0 end from trade",
      "select coalesce(price, 0) from trade",
      "select round(price, 2) r from trade",
      "select now() from trade",
      "select date(time) from trade",
      "select cast(price as int) from trade",
      "select sym || cond from trade",
      "select sym from trade, quote",
      "select t.sym, q.bid from trade t, quote q where t.sym=q.sym",
      "select 2*3+1",
      "select 1/2",
      "select @@version",
      "select current_timestamp",
      "now()",
      "select 'x' as b from trade",
      "select true as b from trade",
      "select * from trade where cond in ('AB')",
      "select * from trade where cond='A*'",
      "select * from trade where cond is null",
      "select * from trade where price = null",
      "select * from trade where time='09:30:00'",
      "select * from trade where sym=5 or sym='x'",
      "select max(sym) m from trade limit 1",
      "select max(price) from trade group by sym",
      "select nosuch from trade limit 1",
      "select * from trade order by cond",
      "select sym from (select sym from trade) t",
      "select sym from trade where exists (select 1)",
      "select row_number() over (partition by sym order by time) from trade",
      "select sum(size) over (order by time) from trade",
      "select sym from trade where time > now() - interval '5 minutes'",
      "select sym from trade natural join quote",
      "select sym from trade for update",
      "select distinct on (sym) sym from trade",
      "select sym into x from trade",
      "count (select * from trade where size > 100)",
      "update trade set size=1.5",
      "update trade set cond='x'",
      "update trade t set price=1",
      "truncate table trade",
      "explain analyze select 1",
      "with recursive t(a) as (select 1) select a from t",
      "begin transaction",
      "rollback;",
      "end",
      "set search_path to public",
      "show create table trade",
      "EXEC sp_help",
      "declare @x int",
      "pragma table_info(trade)",
      "SELECT;",
  };
  TestEnvironment environment;
  AddSampleTables(environment);
  for (const std::string_view sql : kOther) {
    EXPECT_TRUE(environment.Ask(sql).starts_with("'nyi: SQL")) << sql << environment.Ask(sql);
  }
  EXPECT_EQ(environment.Ask("insert into trade values (1, 'x')"),
            "'nyi: SQL; a row is published to the tickerplant with .u.upd");
  EXPECT_EQ(environment.Ask("10#select count(*) from trade"),
            "'nyi: SQL; in q: select count i from trade");
  EXPECT_EQ(environment.Ask("{select * from x} trade"), "'nyi: SQL; in q: select from x");
  EXPECT_EQ(environment.Ask("select " + std::string(200, 'a') + " from trade limit 1"),
            "'nyi: SQL; write it in q");
}

// Goal: q that looks like SQL is q. All other pairs of the tests of q show the same.
TEST(Sql, QThatLooksLikeSqlIsQ) {
  constexpr Pair kPairs[] = {
      {"select max(price) from trade", "([]price:,48.5)"},
      {"select sym from trade where size=100 and price=48.5", "([]sym:`symbol$())"},
      {"exec sum(size) from trade", "1000i"},
      {"count(2)", "1"},
      {"count (1 2 3)", "3"},
      {"count(trade)", "4"},
      {"select max(1) from trade", "([]x:,1)"},
      {"select x:\"abcd\" from trade", "([]x:\"abcd\")"},
      {"exec \"sym\" from trade", "\"sym\""},
      {"exec {x+y}/[0;size] from trade", "1000"},
      {"f:{x+y};exec f/[size] from trade", "1000i"},
      {"f:{x+y};exec f/size from trade", "1000i"},
      {"value \".my.f:{x+y}\";exec .my.f/size from trade", "1000i"},
      {"value \".my.f:{x+y}\";exec .my.f size from trade", "{x+y}[..;]"},
      {"value \".my.f:{x+y}\";select .my.f nosuch from trade", "'nosuch"},
      {"value \"f:{x+y}\";select f/size from trade", "([]size:,1000i)"},
      {"value \"f:{x+y}\";select f/nosuch from trade", "'nosuch"},
      {"exec (1 2 0)/0 from trade", "2"},
      {"/* see select below */", "::"},
      {"f:{x+1};exec f/[2;size] from trade", "102 202 302 402"},
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
      {"use:{x+`a};v:1;use v", "'type"},
      {"select f sym from trade", "'f"},
      {"select nosuch sym,price from trade", "'nosuch"},
      {"select from trade nosuch", "'nosuch"},
      {"select from trade where sym=\"aig\"", "'length"},
      {"select myfunc(price) from trade", "'myfunc"},
      {"select price,nosuch from trade", "'nosuch"},
      {"select TABLE:sym,CASE:1,LIMIT:2,COUNT:3 from nosuch", "'nosuch"},
      {"TABLE:1;LIMIT:TABLE+nosuch", "'nosuch"},
      {"select last price by nosuch from trade", "'nosuch"},
      {"table:1;table", "1"},
      {"limit:10;limit", "10"},
  };
  ExpectAll(kPairs);
}

// Goal: neither q nor a slip in it is taken for SQL. Method: each example of docs/q.md, and each of
// its names in turn replaced by one without a value, which is the error of that name.
TEST(Sql, NoExampleOfQIsSqlNorWithAWrongName) {
  TestEnvironment environment;
  AddSampleTables(environment);
  Limits limits;
  std::ifstream file("docs/q.md");
  ASSERT_TRUE(file) << "run from the root of the source tree";
  const auto expect_q = [&](const std::string& text) {
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const std::string answer = environment.Ask(text, limits);
    EXPECT_FALSE(answer.starts_with("'nyi: SQL")) << text << "\n" << answer;
  };
  int texts = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("q)")) continue;
    const std::string text = line.substr(2);
    expect_q(text);
    for (size_t begin = 0; begin < text.size(); ++begin) {
      const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
      if (!is_part(text[begin]) || (begin > 0 && is_part(text[begin - 1]))) continue;
      size_t end = begin;
      while (end < text.size() && is_part(text[end])) ++end;
      if (std::isalpha(static_cast<unsigned char>(text[begin])) == 0) continue;
      expect_q(text.substr(0, begin) + "nosuch" + text.substr(end));
      ++texts;
    }
  }
  EXPECT_GE(texts, 500);
}

}  // namespace
}  // namespace tickstack::query
