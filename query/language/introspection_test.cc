// Goal: a client can ask what exists: names and namespaces, facts of the process, parts of
// functions.
// Method: pairs over the sample tables; several requests in turn for what is kept for a client.

#include <gtest/gtest.h>

#include <string>

#include "query/columns/errors.h"
#include "query/language/client_handle.h"
#include "query/pair_testing.h"
#include "query/query.h"

namespace tickstack::query {
namespace {

TEST(Introspection, NamespacesAreDictionariesOfTheirNames) {
  constexpr Pair kPairs[] = {
      {"key`", "`Q`h`j`o`q`t`u"},
      {"key`.", "`quote`trade`vquote`vtrade"},
      {"key`.u", "``L`i`j"},
      {"key`.t", "``echo`fail"},
      {"key`.nosuch", "()"},
      {"key`nosuch", "()"},
      {"key`trade", "`trade"},
      {"key`vtrade", "`vtrade"},
      {"d:`a`b!1 2;key`d", "`a`b"},
      {"t:([k:1 2]v:3 4);key`t", "([]k:1 2)"},
      {"key 3", "0 1 2"},
      {"key 1 2h", "`short"},
      {"key `a`b", "`symbol"},
      {"key`:file", "'nyi: key of a file"},
      {"`max in key`.q", "1b"},
      {"` in key`.Q", "1b"},
      {".u", "``L`i`j!(::;`:log/sym2013.10.07;3;5)"},
      {".u`i", "3"},
      {".u `i`L", "(3;`:log/sym2013.10.07)"},
      {".u`icounts", "::"},
      {"`.u `j", "5"},
      {".u[`i]", "3"},
      {"type .u", "99h"},
      {"type .q", "99h"},
      {".q.max 1 5 2", "5"},
      {"value (`.q.neg;2)", "-2"},
      {"(.q`max) 1 5 2", "5"},
      {".nosuch", "'.nosuch"},
      {"v:5;..v", "5"},
      {"@[value;`..upd;0]", "0"},
      {"v:5;`. `v", "5"},
      {"v:5;`. `v`v", "5 5"},
      {"`. `nosuch", "'nosuch"},
      {"@[value;`tptype;`standard]", "`standard"},
      {"tables`.u", "`symbol$()"},
      {"system\"v .nosuch\"", "'.nosuch"},
      {"system\"d .new\";value\"system\\\"v\\\"\"", "`symbol$()"},
  };
  ExpectAll(kPairs);
}

// Editors compare the value of every name with `.q` to find the namespaces, hundreds of times in a
// request. Goal: that costs no search for names each time. Method: the process counts how often it
// is asked for its tables.
TEST(Introspection, TheNamespaceOfWordsIsMadeOnce) {
  class Counting : public TestEnvironment {
   public:
    std::vector<std::string> TableNames() override {
      ++asked;
      return TestEnvironment::TableNames();
    }
    int asked = 0;
  };
  Counting environment;
  EXPECT_EQ(environment.Ask("count .q"), environment.Ask("count key`.q"));
  environment.asked = 0;
  EXPECT_EQ(environment.Ask("do[100;.q];(.q`neg) 1"), "-1");
  EXPECT_LE(environment.asked, 1);
  EXPECT_EQ(environment.Ask("{raze x,.z.s'[{x where{@[{1#get x};x;`]~1#.q}'[x]}` sv'x,'key x]}`"),
            "``.Q`.h`.j`.o`.q`.t");
}

TEST(Introspection, ARequestHasNamespacesOfItsOwn) {
  constexpr Pair kPairs[] = {
      {".a.b:1;.a.b+1", "2"},
      {".a.b:1;.a.c:2;key`.a", "``b`c"},
      {".a.b:1;.a", "``b!(::;1)"},
      {".a.b:1;.a`b", "1"},
      {".a.b.c:1;.a.b.c", "1"},
      {".a.b.c:1;key`.a", "``b"},
      {".a.b:1 2 3;.a.b[1]:9;.a.b", "1 9 3"},
      {".a.b:1;.a.b+:5;.a.b", "6"},
      {"{.a.b:x}[7];.a.b", "7"},
      {".a.t:([]x:1 2);tables`.a", ",`t"},
      {".a.t:([]x:1 2);select from .a.t where x>1", "([]x:,2)"},
      {"t:([]x:1 2);tables[]", "`quote`t`trade"},
      {".a.b:1;.a[`b]:5;.a[`c]:6;.a", "``b`c!(::;5;6)"},
      {".a.b:1 2;.a[`b]+:5;.a.b", "6 7"},
      {".a.b:1 2;.a.b[0]:5;.a.b", "5 2"},
      {".Q[`x]:1", "'assign: .Q.x"},
      {".a:1", "'assign: .a"},
      {".u.x:1", "'assign: .u.x"},
      {".Q.x:1", "'assign: .Q.x"},
      {".z.ps:{x}", "'assign: .z.ps"},
      {".t.mine:1", "'assign: .t.mine"},
      {"`a set 5;a", "5"},
      {"{`a set x;a} 5", "5"},
      {"`.a.b set 5;.a.b", "5"},
      {"`trade set 5", "'assign: trade"},
      {"`:f set 5", "'nyi: set"},
      {"a:5;get`a", "5"},
      {"get`.u.i", "3"},
      {"get \"1+1\"", "2"},
      {"get`nosuch", "'nosuch"},
      {"count get`trade", "4"},
      {"system\"d\"", "`."},
      {"system\"d .a\";value\"b:1\";.a.b", "1"},
      {"system\"d .a\";value\"b:1;b\"", "1"},
      {"system\"d .a\";system\"d\"", "`.a"},
      {"value\"\\\\d .a\";value\"b:1;f:{b}\";value\"\\\\d .\";.a.f[]", "1"},
      {"system\"d .a\";value\"count trade\"", "'trade"},
      {"system\"d .a\";value\"max 1 2\"", "2"},
      {"system\"d nope\"", "'domain"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, ViewsAreEvaluatedWhenTheyAreAsked) {
  constexpr Pair kPairs[] = {
      {"x::1;x", "1"},
      {"a:1;b::a+1;a:5;b", "6"},
      {"a:1;b::a+1;views[]", ",`b"},
      {"a:1;b::a+1;system\"b\"", ",`b"},
      {"a:1;b::a+1;view`b", "\"a+1\""},
      {"b::a+1", "::"},
      {"b::a+1;b", "'a"},
      {"b::1;b:7;views[]", "`symbol$()"},
      {"view`trade", "'trade"},
      {"views[]", "`symbol$()"},
      {"b::c;c::b;b", "'stack"},
      {"trade::1", "'assign: trade"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, SystemCommandsThatReport) {
  constexpr Pair kPairs[] = {
      {"system\"a\"", "`quote`trade`vquote`vtrade"},
      {"\\a", "`quote`trade`vquote`vtrade"},
      {"type system\"t til 1000\"", "-7h"},
      {"n:0;system\"t:3 n+:1\";n", "3"},
      {"-1<value\"\\\\t count trade\"", "1b"},
      {"system\"t 1+`a\"", "'type"},
      {"system\"t 1000\"", "'nyi: \\t"},
      {"system\"t:x 1+1\"", "'nyi: \\t:x"},
      {"type system\"ts til 1000\"", "7h"},
      {"(last system\"ts til 1000\")within 8000 20000", "1b"},
      {"(last system\"ts:100 til 1000\")within 8000 20000", "1b"},
      {"(last system\"ts system\\\"ts til 1000\\\"\")within 8000 30000", "1b"},
      {"n:0;system\"ts:3 n+:1\";n", "3"},
      {"system\"ts 5\";1", "1"},
      {"system\"ts\"", "'nyi: \\ts"},
      {"system\"tsx 1+1\"", "'nyi: \\tsx"},
      {"system\"f .t\"", "`echo`fail"},
      {"system\"v .u\"", "`L`i`j"},
      {"a:1;system\"v\"", "`a`quote`trade`vquote`vtrade"},
      {"f:{x};system\"f\"", ",`f"},
      {"system\"b\"", "`symbol$()"},
      {"system\"p\"", "5010i"},
      {"system\"P\"", "7i"},
      {"system\"T\"", "30i"},
      {"system\"s\"", "2i"},
      {"system\"t\"", "0i"},
      {"system\"c\"", "25 80i"},
      {"system\"c 10 20\";.Q.s til 100", "\"0 1 2 3 4 5 6 7 8 ..\\n\""},
      {"system\"c x\"", "'domain"},
      {"count system\"w\"", "6"},
      {"system\"W\"", "2i"},
      {"system\"o\"", "0Ni"},
      {"system\"e\"", "0i"},
      {"system\"g\"", "0i"},
      {"system\"z\"", "0i"},
      {"type system\"pwd\"", "0h"},
      {"system\"p 5\"", "'nyi: \\p"},
      {"system\"t 1\"", "'nyi: \\t"},
      {"system\"rm -rf x\"", "'nyi: \\rm"},
      {"system 1", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, WhatTheProcessIs) {
  constexpr Pair kPairs[] = {
      {".z.K", "4.1"},
      {".z.k", "2024.02.13"},
      {".z.o", "`l64"},
      {".z.f", "`tickstack"},
      {".z.x", "(\"rdb\";\"--port\";\"5010\")"},
      {"type .z.h", "-11h"},
      {".z.i>0", "1b"},
      {".z.c>0", "1b"},
      {".z.q", "0b"},
      {".z.H", "`int$()"},
      {".z.W", "`int$()!`long$()"},
      {"(ltime .z.p)~.z.P", "1b"},
      {"(gtime .z.P)~.z.p", "1b"},
      {"type each(gtime .z.Z;ltime 2#.z.z)", "-15 15h"},
      {"gtime 0N 0Wp", "0Np 0Wp"},
      {"gtime 5", "'type"},
      {"fkeys trade", "`symbol$()!`symbol$()"},
      {"fkeys`trade", "`symbol$()!`symbol$()"},
      {"fkeys 5", "'type"},
      {".z.p", "2013.10.07D08:00:00.000000123"},
      {"(.z.P-.z.p) within -0D14 0D14", "1b"},
      {"type each (.z.D;.z.T;.z.N;.z.Z)", "-14 -19 -16 -15h"},
      {"0b~.z.K<3", "1b"},
      {".z.zd", "'nyi: .z.zd"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, FunctionsOfQWrittenInQ) {
  constexpr Pair kPairs[] = {
      {".Q.qt each (trade;([k:1 2]v:3 4);1;`a`b!1 2)", "1100b"},
      {".Q.qp trade", "0"},
      {".Q.v`trade",
       "([]time:2013.10.07D09:30:00.000000000 2013.10.07D09:31:00.000000000 "
       "2013.10.07D09:31:00.000000000 2013.10.07D09:33:00.000000000;"
       "sym:`aig`bac`aig`bac;price:48.5 13.75 48.25 14;size:100 200 300 "
       "400i;cond:(\"AB\";\"\";,\"C\";\"AB\"))"},
      {".Q.v 5", "5"},
      {".Q.pt", "'.Q.pt"},
      {"`pt in key .Q", "0b"},
      {".Q.an", "\"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789\""},
      {".Q.dd[`AAPL]\"O\"", "`AAPL.O"},
      {".Q.ft[{x 1 2};([k:`a`b`c]v:1 2 3)]", "([k:`b`c]v:2 3)"},
      {".Q.id each `$(\"ab\";\"a/b\";\"two words\";\"2drifters\";\"2+2\";\"+\")",
       "`ab`ab`twowords`a2drifters`a22`a"},
      {"cols .Q.id flip(`$(\"aa\";enlist\"=\";enlist\"+\"))!(1 2;3 4;5 6)", "`aa`a`a1"},
      {"cols .Q.id flip(`$(\"count+\";\"count*\";\"count1\"))!(1 2;3 4;5 6)",
       "`count1`count11`count12"},
      {"cols .Q.id flip (`$(\"max\";\"a b\"))!(1 2;3 4)", "`max1`ab"},
      {".Q.ty each (3 4;\"ab\";(3;\"xy\");(1 2;3 4);(\"abc\";\"de\");())", "\"jc JC \""},
      {".Q.ind[trade;1 2]`sym", "`bac`aig"},
      {".Q.ff[([]a:1 2);([]a:`x`y`z;b:`p`q`r;c:1 2 3)]", "([]a:1 2;b:``;c:0N 0N)"},
      {".Q.ff[([]a:1 2);([]a:3 4)]", "([]a:1 2)"},
      {".Q.ff[([]a:1 2);enlist`a`b!3 4]", "([]a:1 2;b:0N 0N)"},
      {".Q.fc[{x*2};1 2 3]", "2 4 6"},
      {".Q.fu[{x*2};1 2 1]", "2 4 2"},
      {".Q.x10 12345", "\"AAAAAAADA5\""},
      {".Q.j10 \"AAAAAAADA5\"", "12345"},
      {".Q.j12 .Q.x12 12345", "12345"},
      {".Q.f[2;1.239]", "\"1.24\""},
      {".Q.fmt[6;2;-1.234]", "\" -1.23\""},
      {".Q.addmonths[2007.10.16;6 7]", "2008.04.16 2008.05.16"},
      {".Q.addmonths[2006.10.29;4]", "2007.03.01"},
      {".Q.opt (\"-a\";\"-b\";\"as\";\"asd\";\"-c\";\"5\")", "`a`b`c!(();(\"as\";\"asd\");\"5\")"},
      {".Q.def[`a`b!1 2;`b`c!(\"7\";\"8\")]", "`a`b!1 7"},
      {"key .Q.w[]", "`used`heap`peak`wmax`mmap`mphy`syms`symw"},
      {".Q.gc[]", "0"},
      {".Q.addr`$\"127.0.0.1\"", "2130706433i"},
      {".Q.addr`localhost", "2130706433i"},
      {".Q.addr`$\"elsewhere.example\"", "'nyi: .Q.addr"},
      {".Q.host 2130706433i", "`localhost"},
      {"3#.Q.res", "`abs`acos`asin"},
      {".Q.sha1\"Hello World!\"", "0x2ef7bde608ce5404e97d5f042f95f89f1c232871"},
      {".Q.btoa\"Hello World!\"", "\"SGVsbG8gV29ybGQh\""},
      {".Q.atob\"SGVsbG8gV29ybGQh\"", "\"Hello World!\""},
      {"md5\"\"", "0xd41d8cd98f00b204e9800998ecf8427e"},
      {".Q.sha1\"\"", "0xda39a3ee5e6b4b0d3255bfef95601890afd80709"},
      {"md5\"this is a not so secret message\"", "0x6cf192c1938b79012c323fa30e62787e"},
      {".h.hc\"a<b\"", "\"a&lt;b\""},
      {".h.hu\"a b\"", "\"a%20b\""},
      {".h.uh\"a%20b%21\"", "\"a b!\""},
      {".h.htac[`a;`b`c!(\"1\";\"xy\");\"z\"]", "\"<a b=\\\"1\\\" c=\\\"xy\\\">z</a>\""},
      {".h.htc[`b;\"x\"]", "\"<b>x</b>\""},
      {".h.cd ([]a:1 2;b:`x`y)", "(\"a,b\";\"1,x\";\"2,y\")"},
      {".h.cd ([]a:(\"x,y\";\"z\"))", "(,\"a\";\"\\\"x,y\\\"\";,\"z\")"},
      {".h.td ([]a:1 2;b:`x`y)", "(\"a\tb\";\"1\tx\";\"2\ty\")"},
      {".h.xd ([]a:1 2)", "(\"<R>\";\"<r><a>1</a></r>\";\"<r><a>2</a></r>\";\"</R>\")"},
      {".h.cd (`a`b`c;1 2 3;\"xyz\")", "(\"a,1,x\";\"b,2,y\";\"c,3,z\")"},
      {".h.cd ([a:0 1]b:2 3#\"abc\";c:2 3#1 2 3)", "(\"a,b,c\";\"0,abc,1 2 3\";\"1,abc,1 2 3\")"},
      {".h.cd 0#([]a:1 2;b:`x`y)", ",\"a,b\""},
      {".h.tx[`json] ([]a:1 2)", "(\"{\\\"a\\\":1}\";\"{\\\"a\\\":2}\")"},
      {".h.tx[`csv] ([]a:1 2)", "(,\"a\";,\"1\";,\"2\")"},
      {".h.tx[`xls] ([]a:1 2)", "'nyi: .h.ed"},
      {".h.xt[`json;enlist \"{\\\"b\\\":\\\"c\\\",\\\"a\\\":1}\"]", "([]b:,,\"c\";a:,1f)"},
      {".h.iso8601 100", "\"2000-01-01T00:00:00.000000100\""},
      {".h.iso8601 2013.10.07D09:30", "\"2013-10-07T09:30:00.000000000\""},
      {".j.j ([]a:1 2;b:`x`y)",
       "\"[{\\\"a\\\":1,\\\"b\\\":\\\"x\\\"},{\\\"a\\\":2,\\\"b\\\":\\\"y\\\"}]\""},
      {".j.k .j.j ([]a:1 2;b:`x`yy)", "([]a:1 2f;b:(,\"x\";\"yy\"))"},
      {".j.k .j.j `a`b!(0 1;(\"hello\";\"world\"))", "`a`b!(0 1f;(\"hello\";\"world\"))"},
      {".j.k \"{\\\"b\\\":1,\\\"a\\\":[]}\"", "`b`a!(1f;())"},
      {".j.k .j.j ([]b:1 2;a:3 4)", "([]b:1 2f;a:3 4f)"},
      {".j.k \"{\\\"b\\\":1,\\\"b\\\":2}\"", "`b`b!1 2f"},
      {".j.k \"1\"", "1f"},
      {".j.k \"\"", "'json"},
      {".j.k \"[1]]\"", "'json"},
      {".j.k \"[1,null,true]\"", "(1f;0n;1b)"},
      {".j.k \"{\"", "'json"},
      {".j.k 100000#\"[\"", "'stack"},
      {".j.k (200#\"[\"),200#\"]\"", "'stack"},
  };
  ExpectAll(kPairs);
}

// The public reference's own examples of pages and responses.
TEST(Introspection, PagesAndResponsesForBrowsers) {
  constexpr Pair kPairs[] = {
      {".h.code \"foo\\tbar\"", "\"foo <code><nobr>bar</nobr></code>\""},
      {".h.code \"foo\\tbar\\tabc\\tdef\"",
       "\"foo <code><nobr>bar</nobr></code> abc <code><nobr>def</nobr></code>\""},
      {".h.code \"foo\"", "\"foo\""},
      {".h.ha[`http://www.example.com;\"Main\"]", "\"<a href=http://www.example.com>Main</a>\""},
      {".h.ha[\"http://www.example.com\";\"Main\"]",
       "\"<a href=\\\"http://www.example.com\\\">Main</a>\""},
      {".h.hb[\"http://www.example.com\";\"Main\"]",
       "\"<a target=v href=\\\"http://www.example.com\\\">Main</a>\""},
      {".h.hr \"foo\"", "\"---\""},
      {".h.nbr \"foo bar\"", "\"<nobr>foo bar</nobr>\""},
      {".h.pre(\"foo\";\"bar\")", "\"<pre>foo\\nbar\\n</pre>\""},
      {".h.xmp(\"foo\";\"bar\")", "\"<xmp>foo\\nbar\\n</xmp>\""},
      {".h.text(\"foo\";\"bar\")", "\"<p>foo</p>\\n<p>bar</p>\\n\""},
      {".h.xs \"Arthur & Co.\"", "\"Arthur &amp; Co.\""},
      {".h.hu \"http://www.kx.com\"", "\"http%3a%2f%2fwww.kx.com\""},
      {".h.html \"<p>Hello world!</p>\"",
       "\"<html><head><style>a{text-decoration:none}a:link{color:024C7E}a:visited{color:024C7E}"
       "a:active{color:958600}body{font:10pt verdana;text-align:justify}</style></head><body>"
       "<p>Hello world!</p></body></html>\""},
      {"\"\\r\\n\" vs .h.hn[\"404\";`txt;\"Not found: favicon.ico\"]",
       "(\"HTTP/1.1 404\";\"Content-Type: text/plain\";\"Connection: close\";"
       "\"Content-Length: 22\";\"\";\"Not found: favicon.ico\")"},
      {"(\"\\r\\n\" vs .h.hn[\"200\";`;\"x\"])1", "\"Content-Type: application/octet-stream\""},
      {"(\"\\r\\n\" vs .h.hn[\"200\";`nosuch;\"x\"])1",
       "\"Content-Type: application/octet-stream\""},
      {"(\"\\r\\n\" vs .h.hy[`xls;0x6162])1 3 5",
       "(\"Content-Type: application/msexcel\";\"Content-Length: 2\";\"ab\")"},
      {"(\"\\r\\n\" vs .h.hy[`json] .j.j ([]val:`a`b;x:1 1))0 1",
       "(\"HTTP/1.1 200 OK\";\"Content-Type: application/json\")"},
      {"(\"\\r\\n\" vs .h.hp (\"foo\";\"bar\"))1 3 5",
       "(\"Content-Type: text/html\";\"Content-Length: 115\";"
       "\"<html><head><style>body{font:10pt verdana;text-align:justify}</style></head><body>"
       "<pre>foo\\nbar\\n</pre></body></html>\")"},
      {"(\"\\r\\n\" vs .h.he \"<rubbish>\")0 1 5",
       "(\"HTTP/1.1 400 Bad Request\";\"Content-Type: text/plain\";\"'&lt;rubbish>\")"},
      {".h.val \"1+1\"", "2"},
      {".h.d", "\" \""},
      {".h.c0,.h.c1", "`024C7E`958600"},
      {".h.ht`t", "'nyi: .h.ht"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, FunctionsByTheirNumbers) {
  constexpr Pair kPairs[] = {
      {"-3!`a`b", "\"`a`b\""},
      {"-4!\"select this from that\"",
       "(\"select\";,\" \";\"this\";,\" \";\"from\";,\" \";\"that\")"},
      {"-4!\"a:1 2 3 / comment\\nb\"", "(,\"a\";,\":\";\"1 2 3\";\" / comment\";,\"\\n\";,\"b\")"},
      {"-4!\"\"", "()"},
      {"-5!\"1+1\"", "(+;1;1)"},
      {"-6!(+;1;2)", "3"},
      {"-8!1 2h", "0x010000001200000005000200000001000200"},
      {"-9!-8!trade`sym", "`aig`bac`aig`bac"},
      {"count -18!til 1000", "3276"},
      {"8#-18!til 1000", "0x01000100cc0c0000"},
      {"(til 1000)~-9!-18!til 1000", "1b"},
      {"(-8!trade)~-18!trade", "1b"},
      {"-9!20#-18!til 1000", "'length"},
      {"-9!0x010001000c00000008000000", "'length"},
      {"-9!0x010001000c000000ff000000", "'length"},
      {"-9!0x0100000009000000", "'length"},
      {"-9!0x010000000900000063", "'type"},
      {"-22!1 2h", "18"},
      {"(count -8!trade)=-22!trade", "1b"},
      {"-33!\"Hello World!\"", "0x2ef7bde608ce5404e97d5f042f95f89f1c232871"},
      {"-26!()", "`symbol$()!()"},
      {"0N!5", "5"},
      {"show 5", "::"},
      {"-24!(+;1;2)", "3"},
      {"-29!\"[1,2]\"", "1 2f"},
      {"-19!1", "'nyi: -19!"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, PartsOfFunctions) {
  constexpr Pair kPairs[] = {
      {"value {[a;b]d::neg c:a*b+5;c+e}",
       "(`byte$();`a`b;,`c;``d`e;5;`long$();\"\";\"\";-1;\"{[a;b]d::neg c:a*b+5;c+e}\")"},
      {"(value {x+y}) 1", "`x`y"},
      {"last value {x+y}", "\"{x+y}\""},
      {"value each (::;+;-;*;%)", "0 1 2 3 4"},
      {"value (+[2])", "(+;2)"},
      {"value (+/)", "+"},
      {"value '[neg;+]", "(neg;+)"},
      {"value differ", "(`byte$();,`x;`symbol$();,`;`long$();\"\";\"\";-1;\"differ\")"},
      {"(value .Q.s) 1", ",`x"},
      {"(value .j.j) 1", ",`x"},
      {"(value .Q.dd) 1", "`x`y"},
      {"(value wj) 1", "`a`b`c`d"},
      {"(value .t.echo) 1", ",`x"},
      {"last value .t.echo", "\".t.echo\""},
      // Every function that says that it is a lambda.
      {"{n:` sv'x,'key[get x]except`;n where{$[100h=type f:get x;not 11h=type(value f)1;0b]}each "
       "n}each"
       "`.q`.Q`.h`.j`.o`.t",
       "(`symbol$();`symbol$();`symbol$();`symbol$();`symbol$();`symbol$())"},
      {"count .z.l", "9"},
      {"all 10h=type each .z.l", "1b"},
      {"type .z.ws", "10h"},
      {".z.ws like\"*ds:-9!x;*\"", "1b"},
      {".Q.trp[{x+`a};2;{(x;count y)}]", "(\"type\";2)"},
      {".Q.trp[{x+1};2;{y}]", "3"},
      {".Q.trp[value;\"1+`a\";{(x;.Q.trp~first first last y;y[0;1;3])}]", "(\"type\";1b;\"1+`a\")"},
      {".Q.trpd[{x+y};(1;`a);{y;x}]", "\"type\""},
      {"10h=type .Q.trp[{x+`a};2;{.Q.sbt y}]", "1b"},
      {"@[{x+`a};1;{x}];.Q.trp[{x+`b};2;{count y}]", "2"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, FunctionsOfTheProcessAreValues) {
  constexpr Pair kPairs[] = {
      {".t.echo[1;2]", "(1;2)"},
      {".t.echo[;1] each `a`b", "((`a;1);(`b;1))"},
      {".t.echo\\:[`a`b;1]", "((`a;1);(`b;1))"},
      {"f:.t.echo;f[3;4]", "(3;4)"},
      {"type .t.echo", "100h"},
      {"@[.t.fail;1;::]", "\"no such luck\""},
      {".t.nosuch 1", "'.t.nosuch"},
  };
  ExpectAll(kPairs);
}

TEST(Introspection, TextIsAsQWritesIt) {
  constexpr Pair kPairs[] = {
      {".Q.s1 `s#1 2 3", "\"`s#1 2 3\""},
      {".Q.s1 (+;neg;{x};+/)", "\"(+;neg;{x};+/)\""},
      {".Q.s (1 2 3;10 20 30)", "\"1  2  3\\n10 20 30\\n\""},
      {".Q.s `a`b!(0 1;(\"hello\";\"world\"))",
       "\"a| 0       1\\nb| \\\"hello\\\" \\\"world\\\"\\n\""},
      {".Q.s (1 2;3 4 5)", "\"1 2\\n3 4 5\\n\""},
      {".Q.s (`a`b;`ccc`d)", "\"a   b\\nccc d\\n\""},
      {".Q.s `a`b!(1 2 3;\"xyz\")", "\"a| 1 2 3\\nb| x y z\\n\""},
      {".Q.s (\"ab\";\"cd\")", "\"\\\"ab\\\"\\n\\\"cd\\\"\\n\""},
  };
  ExpectAll(kPairs);
}

// Goal: drivers' statements, which call `.o.ex` with text, are evaluated in their language.
TEST(Introspection, StatementsBehindTheirLanguage) {
  constexpr Pair kPairs[] = {
      {".o.ex \"q)1+2\"", "3"},
      {".o.ex \"q)exec sum size from trade\"", "1000i"},
      {"value[\".o.ex\"]\"q)count trade\"", "4"},
      {".o.ex \"q)\"", "::"},
      {".o.ex \"select * from trade\"", "'nyi: SQL; write q with q) in front: q)select from trade"},
      {".o.ex \"\"", "'nyi: SQL; write q with q) in front: q)select from trade"},
      {".o.ex \"q)1+`a\"", "'type"},
      {".o.ex `trade", "'type"},
  };
  ExpectAll(kPairs);
}

// Goal: a driver gets a result in blocks of rows: all but the last are messages, the last is the
// answer.
TEST(Introspection, ResultsInBlocksOfRows) {
  TestEnvironment environment;
  AddSampleTables(environment);
  const auto ask = [&](std::string_view statement, int64_t most, int64_t block) {
    ClientHandle client({5, "ann", 0}, true);
    const Value request = Value::List(
        {Value::String("{[most;block;f;x]$[not .Q.qt t:value[f]x;::;count t:select[most]from 0!t;"
                       "{neg[.z.w]@/:-1_x;last x}(0N;block)#t;t]}"),
         Value::Long(most), Value::Long(block), Value::String(".o.ex"), Value::String(statement)});
    const absl::StatusOr<Value> answer =
        EvaluateRequest(request, environment, {}, nullptr, &client);
    std::string shown = answer.ok() ? Show(*answer) : "'" + QErrorText(answer.status());
    for (const Value& block_of_rows : client.TakeMessages()) shown += " " + Show(block_of_rows);
    return shown;
  };
  EXPECT_EQ(ask("q)select size from trade", 100, 2), "([]size:300 400i) ([]size:100 200i)");
  EXPECT_EQ(ask("q)select size from trade", 3, 2), "([]size:,300i) ([]size:100 200i)");
  EXPECT_EQ(ask("q)select size from trade", 100, 2147483647), "([]size:100 200 300 400i)");
  EXPECT_EQ(ask("q)select sum size by sym from trade", 100, 100), "([]sym:`aig`bac;size:400 600i)");
  EXPECT_EQ(ask("q)select size from trade where size>900", 100, 2), "([]size:`int$())");
  EXPECT_EQ(ask("q)1+1", 100, 2), "::");
}

// Goal: the questions of drivers for tables, columns and types are answered.
TEST(Introspection, TablesAndColumnsForDrivers) {
  TestEnvironment environment;
  AddSampleTables(environment);
  const Value tables =
      Value::List({Value::String("raze{([]CATALOG:`;NAME:system string`a`b x=`VIEW;KIND:x)}each"),
                   Value::Symbols({"TABLE", "VIEW"})});
  EXPECT_EQ(environment.AskRequest(tables),
            "([]CATALOG:````;NAME:`quote`trade`vquote`vtrade;KIND:`TABLE`TABLE`TABLE`TABLE)");
  constexpr Pair kPairs[] = {
      {"([]CATALOG:`symbol$())", "([]CATALOG:`symbol$())"},
      {"([]KIND:`TABLE`VIEW)", "([]KIND:`TABLE`VIEW)"},
      {"`CODE xasc([]NAME:`boolean`byte`long;CODE:16 -2 -5i;WIDTH:11i;PREFIX:`;NULLS:1h)",
       "([]NAME:`long`byte`boolean;CODE:-5 -2 16i;WIDTH:11 11 11i;PREFIX:```;NULLS:1 1 1h)"},
      {".Q.nct`trade",
       "([]n:`trade`trade`trade`trade`trade;c:`time`sym`price`size`cond;t:\"psfiC\")"},
      {"select TABLE:n,COLUMN:c,CODE:0i,TYPE:`int$t,PLACE:`int$1+til count n,NULLS:`YES from "
       ".Q.nct`quote",
       "([]TABLE:`quote`quote`quote`quote`quote;COLUMN:`time`sym`bid`ask`bsize;CODE:0 0 0 0 0i;"
       "TYPE:112 115 102 102 106i;PLACE:1 2 3 4 5i;NULLS:`YES`YES`YES`YES`YES)"},
      {"select NAME:c,NULLS:1i,NULLS:`YES from 2#.Q.nct`quote",
       "([]NAME:`time`sym;NULLS:1 1i;NULLS1:`YES`YES)"},
      {".Q.nct`nosuch", "'nosuch"},
      {"exec distinct n from .Q.nct`", "`quote`trade"},
      {"(0N;2)#([]a:1 2 3;b:`x`y`z)", "(([]a:1 2;b:`x`y);([]a:,3;b:,`z))"},
      {"2 0N#([]a:1 2 3)", "(([]a:,1);([]a:2 3))"},
      {"2 2#([]a:1 2 3;b:(1;`c;\"xy\"))", "(([]a:1 2;b:(1;`c));([]a:3 1;b:(\"xy\";1)))"},
      {"0N 2#([]a:`int$())", "()"},
      {"0N 2#0!select sum size by sym from trade", ",([]sym:`aig`bac;size:400 600i)"},
      {"0N 2#([a:1 2]b:3 4)", "'type"},
  };
  ExpectAll(kPairs);
}

// Sends requests of one client, one after the other.
class Client {
 public:
  Client() { AddSampleTables(environment_); }
  std::string Ask(std::string_view text, const Limits& limits = {}) {
    const absl::StatusOr<Value> value =
        EvaluateRequest(Value::String(text), environment_, limits, &names_);
    return value.ok() ? Show(*value) : "'" + QErrorText(value.status());
  }

 private:
  TestEnvironment environment_;
  KeptNames names_;
};

TEST(KeptNames, LiveFromOneRequestToTheNext) {
  Client client, other;
  EXPECT_EQ(client.Ask("f:{x*2};a:`s#1 2 3"), "::");
  EXPECT_EQ(client.Ask("f each a"), "2 4 6");
  EXPECT_EQ(other.Ask("a"), "'a");
  EXPECT_EQ(client.Ask("a[1]:9;.x.y:7"), "::");
  EXPECT_EQ(client.Ask("a"), "1 9 3");
  EXPECT_EQ(client.Ask("key`.x"), "``y");
  EXPECT_EQ(client.Ask("v::count a;t:([]c:1 2)"), "::");
  EXPECT_EQ(client.Ask("a:5 6;v"), "2");
  EXPECT_EQ(client.Ask("tables[]"), "`quote`t`trade");
  EXPECT_EQ(client.Ask("p:{x+y}[10];d:`a`b!1 2;g:max"), "::");
  EXPECT_EQ(client.Ask("(p 1;d`b;g 1 7 2)"), "11 2 7");
  // Assignments before an error are kept, as in a q process.
  EXPECT_EQ(client.Ask("b:1;'oops"), "'oops");
  EXPECT_EQ(client.Ask("b"), "1");
  // The effect of `\d` ends with its request.
  EXPECT_EQ(client.Ask("system\"d .x\""), "::");
  EXPECT_EQ(client.Ask("b"), "1");
  EXPECT_EQ(client.Ask("trade:1"), "'assign: trade");
}

TEST(KeptNames, AreForgottenWhenTheyAreDeleted) {
  Client client;
  EXPECT_EQ(client.Ask("a:1;b:2;.x.c:3;.x.d:4;v::a+b"), "::");
  EXPECT_EQ(client.Ask("delete a,v from `."), "`.");
  EXPECT_EQ(client.Ask("a"), "'a");
  EXPECT_EQ(client.Ask("views[]"), "`symbol$()");
  EXPECT_EQ(client.Ask("b"), "2");
  EXPECT_EQ(client.Ask("a:5;delete a from `.;a:6"), "::");
  EXPECT_EQ(client.Ask("a"), "6");
  EXPECT_EQ(client.Ask("delete c from `.x"), "`.x");
  EXPECT_EQ(client.Ask("key`.x"), "``d");
  EXPECT_EQ(client.Ask("delete zz,b from `."), "'zz");
  EXPECT_EQ(client.Ask("b"), "2");
  EXPECT_EQ(client.Ask("delete from `."), "`.");
  EXPECT_EQ(client.Ask("b"), "'b");
  EXPECT_EQ(client.Ask(".x.d"), "4");
}

TEST(KeptNames, AreBounded) {
  Client client;
  EXPECT_EQ(client.Ask("a:1;big:til 3000000;count big"), "3000000");
  EXPECT_EQ(client.Ask("a"), "1");
  EXPECT_EQ(client.Ask("big"), "'limit");
  EXPECT_EQ(client.Ask("big:5"), "::");
  EXPECT_EQ(client.Ask("big"), "5");
  // All variables together have a bound.
  EXPECT_EQ(client.Ask("x:til 1500000"), "::");
  EXPECT_EQ(client.Ask("y:til 1500000"), "::");
  EXPECT_EQ(client.Ask("count x"), "1500000");
  EXPECT_EQ(client.Ask("y"), "'limit");
  EXPECT_EQ(client.Ask("x:0"), "::");
  EXPECT_EQ(client.Ask("y:til 1500000"), "::");
  EXPECT_EQ(client.Ask("count y"), "1500000");
  // A value that is too large removes the older one.
  EXPECT_EQ(client.Ask("y:til 3000000;1"), "1");
  EXPECT_EQ(client.Ask("y"), "'limit");
}

TEST(KeptNames, CountAgainstTheMemoryOfARequest) {
  Client client;
  EXPECT_EQ(client.Ask("x:til 100000"), "::");
  Limits small;
  small.max_result_bytes = 1000;
  EXPECT_EQ(client.Ask("1", small), "'limit");
  EXPECT_EQ(client.Ask("count x"), "100000");
}

}  // namespace
}  // namespace tickstack::query
