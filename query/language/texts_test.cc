// Goal: functions of text do what the reference says (code.kx.com/q/ref: string, upper, trim, ss,
// ssr, vs, sv, like). Method: pairs, and a property test of ss against a loop.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "query/kernels/text_patterns.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Texts, StringWritesValues) {
  constexpr Pair kPairs[] = {
      {"string `ibm", "\"ibm\""},
      {"string 2", ",\"2\""},
      {"string -12i", "\"-12\""},
      {"string 1b", ",\"1\""},
      {"string 0x0a", "\"0a\""},
      {"string \"a\"", ",\"a\""},
      {"string \"cat\"", "(,\"c\";,\"a\";,\"t\")"},
      {"string 1.5", "\"1.5\""},
      {"string 1f", ",\"1\""},
      {"string 1%3", "\"0.3333333\""},
      {"string 12345678.9", "\"1.234568e+07\""},
      {"string 1234567.8", "\"1234568\""},
      {"string 0.00001", "\"1e-05\""},
      {"string 1e100", "\"1e+100\""},
      {"string 1.5e", "\"1.5\""},
      {"string 0N", "\"\""},
      {"string 0n", "\"\""},
      {"string 0Nd", "\"\""},
      {"string 0W -0W", "(\"0W\";\"-0W\")"},
      {"string -0w", "\"-0w\""},
      {"string 0Ng", "\"00000000-0000-0000-0000-000000000000\""},
      {"string 2013.10.07", "\"2013.10.07\""},
      {"string 2013.10m", "\"2013.10\""},
      {"string 09:30", "\"09:30\""},
      {"string 09:30:15", "\"09:30:15\""},
      {"string 09:30:15.250", "\"09:30:15.250\""},
      {"string 0D00:00:01", "\"0D00:00:01.000000000\""},
      {"string 2013.10.07D09:30", "\"2013.10.07D09:30:00.000000000\""},
      {"string 1 20", "(,\"1\";\"20\")"},
      {"string `a`bc`", "(,\"a\";\"bc\";\"\")"},
      {"string (2 3;\"abc\")", "((,\"2\";,\"3\");(,\"a\";,\"b\";,\"c\"))"},
      {"string `a`b!2002 5", "`a`b!(\"2002\";,\"5\")"},
      {"string ([]a:1 2;b:`x`yy)", "([]a:(,\"1\";,\"2\");b:(,\"x\";\"yy\"))"},
      {"string {x*x}", "\"{x*x}\""},
      {"string (+/)", "\"+/\""},
      {"string ()", "()"},
      {"string `long$()", "()"},
      {"exec string sym from trade", "(\"aig\";\"bac\";\"aig\";\"bac\")"},
      {"raze string `a`b", "\"ab\""},
      {"`$string 42", "`42"},
      {"\"J\"$string 42", "42"},
      {"upper \"abC1\"", "\"ABC1\""},
      {"upper `ab`c", "`AB`C"},
      {"upper \"a\"", "\"A\""},
      {"upper `a", "`A"},
      {"upper (\"ab\";\"c\")", "(\"AB\";\"C\")"},
      {"lower `a`b!`X`Y", "`a`b!`x`y"},
      {"lower ([]a:`X`Y)", "([]a:`x`y)"},
      {"lower \"\"", "\"\""},
      {"lower ()", "()"},
      {"upper 1", "'type"},
      {"upper (\"a\";1)", "'type"},
      {"exec upper sym from trade where i<2", "`AIG`BAC"},
      {"trim \"  a b  \"", "\"a b\""},
      {"ltrim \"  a \"", "\"a \""},
      {"rtrim \"  a \"", "\"  a\""},
      {"trim \"    \"", "\"\""},
      {"trim \"\"", "\"\""},
      {"trim \"a\"", "\"a\""},
      {"trim (\" a\";\"b \";\"c\")", "(,\"a\";,\"b\";\"c\")"},
      {"trim `a`b!(\" x\";\"y \")", "`a`b!(,\"x\";,\"y\")"},
      {"trim `a", "`a"},
      {"trim 1 2", "1 2"},
      {"exec trim cond from trade where i<2", "(\"AB\";\"\")"},
      {".Q.s1 (1;`a;\"x\")", "\"(1;`a;\\\"x\\\")\""},
      {".Q.s1 1 2", "\"1 2\""},
      {".Q.s1 {x}", "\"{x}\""},
      {".Q.s 1 2", "\"1 2\\n\""},
      {".Q.s ([]a:1 2)", "\"a\\n-\\n1\\n2\\n\""},
      {"count .Q.s til 1000", "81"},
      {".Q.s (::)", "\"\""},
      {"string each (+;max)", "(,\"+\";\"max\")"},
      {"(string;1)", "(string;1)"},
      {"string (+;1)", "(,\"+\";,\"1\")"},
  };
  ExpectAll(kPairs);
}

TEST(Texts, ArePadded) {
  constexpr Pair kPairs[] = {
      {"9$\"foo\"", "\"foo      \""},
      {"-9$\"foo\"", "\"      foo\""},
      {"2$\"foo\"", "\"fo\""},
      {"-2$\"foo\"", "\"oo\""},
      {"6$\"x\"", "\"x     \""},
      {"0$\"foo\"", "\"\""},
      {"3$(\"a\";\"bcde\")", "(\"a  \";\"bcd\")"},
      {"5$(\"The\";(\"fox\";(\"ju\";\"over\")))", "(\"The  \";(\"fox  \";(\"ju   \";\"over \")))"},
      {"-3$`a`b!(\"x\";\"yz\")", "`a`b!(\"  x\";\" yz\")"},
      {"3$([]a:(\"x\";\"yz\"))", "([]a:(\"x  \";\"yz \"))"},
      {"0N$\"foo\"", "'domain"},
      {"3$`a", "'type"},
      {"3$1 2", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Texts, AreSearchedAndChanged) {
  constexpr Pair kPairs[] = {
      {"\"We the people of the United States\" ss \"the\"", "3 17"},
      {"\"toronto ontario\" ss \"ont\"", "3 8"},
      {"\"toronto ontario\" ss \"[ir]o\"", "2 13"},
      {"\"toronto ontario\" ss \"t?r\"", "0 10"},
      {"\"abc\" ss \"b\"", ",1"},
      {"\"aaaa\" ss \"aa\"", "0 2"},
      {"\"abc\" ss \"x\"", "`long$()"},
      {"\"\" ss \"x\"", "`long$()"},
      {"\"ab\" ss \"abc\"", "`long$()"},
      {"\"a[b\" ss \"[[]b\"", ",1"},
      {"\"abc\" ss \"\"", "'length"},
      {"\"abc\" ss \"a*\"", "'nyi: * in a pattern of ss"},
      {"`abc ss \"a\"", "'type"},
      {"\"abc\" ss `a", "'type"},
      {"ssr[\"toronto ontario\";\"ont\";\"x\"]", "\"torxo xario\""},
      {"ssr[\"toronto ontario\";\"t?r\";upper]", "\"TORonto onTARio\""},
      {"ssr[\"abc\";\"b\";\"\"]", "\"ac\""},
      {"ssr[\"abc\";\"x\";\"y\"]", "\"abc\""},
      {"ssr[\"a.b.c\";\".\";\"-\"]", "\"a-b-c\""},
      {"ssr[\"aXbX\";\"X\";{\"<\",x,\">\"}]", "\"a<X>b<X>\""},
      {"ssr[;\"a\";\"b\"] each (\"aa\";\"ca\")", "(\"bb\";\"cb\")"},
      {"ssr[\"abc\";\"b\";1]", "'type"},
      {"ssr[\"abc\";\"b\";{1}]", "'type"},
      {"ssr[`abc;\"b\";\"c\"]", "'type"},
      {"ssr[\"abc\";\"b\"]", "ssr[..;..;]"},
      {"\",\" vs \"one,two,three\"", "(\"one\";\"two\";\"three\")"},
      {"\", \" vs \"spring, summer\"", "(\"spring\";\"summer\")"},
      {"\"|\" vs \"red|green||blue\"", "(\"red\";\"green\";\"\";\"blue\")"},
      {"\",\" vs \"abc\"", ",\"abc\""},
      {"\",\" vs \"\"", ",\"\""},
      {"\",\" vs \"a,\"", "(,\"a\";\"\")"},
      {"\"\" vs \"abc\"", "'length"},
      {"\",\" vs `a", "'type"},
      {"\",\" vs (\"a,b\";\"c\")", "'type"},
      {"\",\" vs/: (\"a,b\";\"c\")", "((,\"a\";,\"b\");,,\"c\")"},
      {"` vs \"abc\\ndef\\r\\nghi\"", "(\"abc\";\"def\";\"ghi\")"},
      {"` vs \"abc\\n\"", ",\"abc\""},
      {"` vs `mywork.dat", "`mywork`dat"},
      {"` vs `a", ",`a"},
      {"` vs `:/home/data/work.dat", "`:/home/data`work.dat"},
      {"` vs 1", "'type"},
      {"0b vs 23173h", "0101101010000101b"},
      {"0b vs 0x05", "00000101b"},
      {"0x02 vs 0x0102010201", "(,0x01;,0x01;,0x01)"},
      {"0x0203 vs 0x000102030405", "(0x0001;0x0405)"},
      {"\" \" vs \"x\"$\"a b\"", "(,\"a\";,\"b\")"},
      {"0x03 sv 0x02 vs 0x0102010201", "0x0103010301"},
      {"0x0203 sv (0x0100;1 2)", "'type"},
      {"0x0 vs 2413h", "0x096d"},
      {"0x0 vs 2413i", "0x0000096d"},
      {"0x0 vs 2413e", "0x4516d000"},
      {"0x0 vs 2413f", "0x40a2da0000000000"},
      {"0x0 vs `a", "'type"},
      {"0x0 vs 1 2", "'type"},
      {"10 vs 1995", "1 9 9 5"},
      {"2 vs 9", "1 0 0 1"},
      {"10 vs 0", ",0"},
      {"24 60 60 vs 3805", "1 3 25"},
      {"0 24 60 60 vs 183907", "2 3 5 7"},
      {"24 60 60 vs 100000", "3 46 40"},
      {"256 vs 3232235777", "192 168 1 1"},
      {"10 vs 15 1995", "(0 1;0 9;1 9;5 5)"},
      {"10 10 vs 12 34i", "(1 3;2 4)"},
      {"1 vs 5", "'domain"},
      {"10 vs -5", "'domain"},
      {"10 vs 0N", "'domain"},
      {"10 0 vs 5", "'domain"},
      {"10 vs 1.5", "'type"},
      {"\",\" sv (\"one\";\"two\";\"three\")", "\"one,two,three\""},
      {"\", \" sv (\"a\";\"bc\")", "\"a, bc\""},
      {"\".\" sv string 192 168 1 23", "\"192.168.1.23\""},
      {"\"\" sv (\"ab\";\"c\")", "\"abc\""},
      {"\",\" sv ()", "\"\""},
      {"\",\" sv \"abc\"", "'type"},
      {"\",\" sv \"\"", "\"\""},
      {"\",\" sv 1 2", "'type"},
      {"\",\" sv (\"a\";1)", "'type"},
      {"` sv (\"one\";\"two\")", "\"one\\ntwo\\n\""},
      {"` sv `quick`brown`fox", "`quick.brown.fox"},
      {"` sv `:/home/kdb`data`trade", "`:/home/kdb/data/trade"},
      {"` sv 1 2", "'type"},
      {"10 sv 2 3 5 7", "2357"},
      {"100 sv 2010 3 17", "20100317"},
      {"0 24 60 60 sv 2 3 5 7", "183907"},
      {"2 sv 101b", "5"},
      {"10 sv (1 2;3 4)", "13 24"},
      {"10 sv 1.5 2", "17f"},
      {"10 sv `long$()", "0"},
      {"10 10 sv 1 2 3", "'length"},
      {"10 sv `a`b", "'type"},
      {"10 sv 5", "'type"},
      {"0x0 sv 0x096d", "2413h"},
      {"0x0 sv 0x0000096d", "2413i"},
      {"0x0 sv 0x40a2da0000000000", "4657524658189369344"},
      {"0x0 sv 0x010203", "'length"},
      {"0x0 sv 0x01", "'type"},
      {"0x0 sv 1 2", "'type"},
      {"0b sv 0101101010000101b", "23173h"},
      {"0b sv 00000101b", "0x05"},
      {"0b sv 101b", "'length"},
      {"0b sv 0b vs 123456", "123456"},
      {"`aig`bac like \"a*\"", "10b"},
      {"(\"ab\";\"cd\") like \"*d\"", "01b"},
      {"(`a`b!`xy`z) like \"x*\"", "`a`b!10b"},
      {"(`a`b!(\"xy\";\"z\")) like \"?\"", "`a`b!01b"},
  };
  ExpectAll(kPairs);
}

// Goal: a match is found where the text has the pattern and no earlier match overlaps. Method:
// texts of two letters, compared with std::string::find.
TEST(Texts, TrimRemovesNullsOfEveryType) {
  constexpr Pair kPairs[] = {
      {"trim 42", "42"},
      {"trim 0N 0N 1 2 0N 3 0N", "1 2 0N 3"},
      {"ltrim 0N 1 0N", "1 0N"},
      {"rtrim 0N 1 0N", "0N 1"},
      {"trim ``a`", ",`a"},
      {"trim 0n 0n", "`float$()"},
      {"trim 0Np 2013.10.07D00 0Np", ",2013.10.07D00:00:00.000000000"},
      {"trim 0101b", "0101b"},
      {"trim {x}", "'type"},
      {"trim `a`b!1 2", "`a`b!1 2"},
      {"trim `a`b!1 0N", "'type"},
      {"trim ([]a:1 2;b:(\" x\";\"y \"))", "([]a:1 2;b:(,\"x\";,\"y\"))"},
      {"ltrim`a`b!((\" f\";(\"j \";\" o\"));(\" a\";\"d \"))",
       "`a`b!((,\"f\";(\"j \";,\"o\"));(,\"a\";\"d \"))"},
      {"trim (1 2;0N 3;\"x \")", "(1 2;,3;,\"x\")"},
  };
  ExpectAll(kPairs);
}

TEST(Texts, LinesBecomeColumnsAndBack) {
  constexpr Pair kPairs[] = {
      {"csv 0: ([]a:1 2 3;b:`x`y`z)", "(\"a,b\";\"1,x\";\"2,y\";\"3,z\")"},
      {"\"|\" 0: (`a`b`c;1 2 3;\"xyz\")", "(\"a|1|x\";\"b|2|y\";\"c|3|z\")"},
      {"csv 0: ([]d:2022.03.14 0Nd;t:16:12:57.427 0Nt)",
       "(\"d,t\";\"2022-03-14,16:12:57.427\";,\",\")"},
      {"csv 0: ([]p:1#2013.10.07D09:30;f:1#1.5;s:enlist\"a b\")",
       "(\"p,f,s\";\"2013-10-07T09:30:00.000000000,1.5,a b\")"},
      {"\",\" 0: ([]x:(\"foo\";\"bar,baz\";\"qu\\\"ux\";\"fred\\\",barney\"))",
       "(,\"x\";\"foo\";\"\\\"bar,baz\\\"\";\"qu\\\"ux\";\"\\\"fred\\\"\\\",barney\\\"\")"},
      {"csv 0: ([]x:(\"a\\nb\";\"cc\"))", "(,\"x\";\"\\\"a\\nb\\\"\";\"cc\")"},
      {"csv 0: ([]x:(\"ab\";1 2))", "'type"},
      {"csv 0: 5", "'type"},
      {"csv 0: (1 2;1 2 3)", "'length"},
      {"csv 0: select sym,size from trade where i<2", "(\"sym,size\";\"aig,100\";\"bac,200\")"},
      {"(\"DT\";\",\")0:\"20130315,185540686\"", "(2013.03.15;18:55:40.686)"},
      {"(\"ISI\";\",\") 0: (\"0,hea,481\";\"10,dfi,579\")", "(0 10i;`hea`dfi;481 579i)"},
      {"(\"IS\";enlist\",\") 0: (\"a,b\";\"1,x\";\"2,y\")", "([]a:1 2i;b:`x`y)"},
      {"(\"I S\";enlist\",\") 0: (\"a,b,c\";\"1,q,x\";\"2,r,y\")", "([]a:1 2i;c:`x`y)"},
      {"(\"J*C\";\",\") 0: (\"1,ab,c\";\"2,,\")", "(1 2;(\"ab\";\"\");\"c \")"},
      {"(\"JJ\";\",\") 0: (\"1,2\";\"x\")", "(1 0N;2 0N)"},
      {"(\"**\";\",\") 0: (\"\\\"a,b\\\",c\";\"\\\"d\\\"\\\"e\\\",f\")",
       "((\"a,b\";\"d\\\"e\");(,\"c\";,\"f\"))"},
      {"(\"I*\";\",\";1)0:(\"0,\\\"ab\\nc\\\"\";\"1,\\\"def\\\"\")", "(0 1i;(\"ab\\nc\";\"def\"))"},
      {"(\"I*\";\",\";1)0:\"0,\\\"ab\\nc\\\"\\n1,d\"", "(0 1i;(\"ab\\nc\";,\"d\"))"},
      {"(\"JS\";enlist\",\")0:\"a,b\\n1,x\\r\\n2,y\\n\"", "([]a:1 2;b:`x`y)"},
      {"(1#\"J\";\",\")0:()", ",`long$()"},
      {"(\"JJ\";enlist\",\")0:(\"a\";\"1\")", "'length"},
      {"(\"JJ\";enlist\",\")0:(\"a,a\";\"1,2\")", "'dup a"},
      {"(1#\"q\";\",\")0:\"1\"", "'type"},
      {"(1#\"Q\";\",\")0:\"1\"", "'type"},
      {"(\"J\";\"\")0:\"1\"", "'length"},
      {"(\"DT\";8 9)0:(\"20130315185540686\";\"20130316185540686\")",
       "(2013.03.15 2013.03.16;18:55:40.686 18:55:40.686)"},
      {"sum(\"DT\";8 9)0:enlist\"20130315185540686\"", ",2013.03.15D18:55:40.686000000"},
      {"(\"J S\";2 1 1)0:\"12xa34yb\"", "(12 34;`a`b)"},
      {"(\"JJ\";1 2 3)0:\"a\"", "'length"},
      {"\"S=;\"0:\"one=1;two=2;three=3\"", "(`one`two`three;(,\"1\";,\"2\";,\"3\"))"},
      {"\"I=;\"0:\"1=first;2=second\"", "(1 2i;(\"first\";\"second\"))"},
      {"\"J=*,\"0:\"5=\\\"hello,world\\\",6=1\"", "(5 6;(\"hello,world\";,\"1\"))"},
      {"\"F=;\"0:\"1=2\"", "'type"},
      {"\"S=\"0:\"a\"", "'length"},
      {"`:f 0: enlist\"x\"", "'nyi: 0:"},
      {"(\"I\";\",\")0:`:f", "'nyi: 0:"},
      {"(\"I\";\",\")0:(`:f;0)", "'nyi: 0:"},
      {"0:[csv;([]a:1 2)]", "(,\"a\";,\"1\";,\"2\")"},
      {"t:([]a:1 0N;b:`x`y;d:2013.10.07 2013.10.08);t~(\"JSD\";enlist csv)0:csv 0:t", "1b"},
  };
  ExpectAll(kPairs);
}

TEST(Texts, OnOneLineCanBeReadAgain) {
  constexpr Pair kPairs[] = {
      {".Q.s1 (enlist`a)!enlist 1", "\"(,`a)!,1\""},
      {".Q.s1 enlist[1 2]!enlist 3", "\"(,1 2)!,3\""},
      {".Q.s1 ([]a:1 2)", "\"+(,`a)!,1 2\""},
      {".Q.s1 ([]a:1 2;b:3 4)", "\"+`a`b!(1 2;3 4)\""},
      {".Q.s1 ([a:1 2]b:3 4)", "\"(+(,`a)!,1 2)!+(,`b)!,3 4\""},
      {".Q.s1 `a`b!1 2", "\"`a`b!1 2\""},
      {".Q.s1 enlist `a`b!1 2", "\"+`a`b!(,1;,2)\""},
      {"ssr[\"a\";\"a\";\"-\"]", "'type"},
      {"ssr[enlist \"a\";\"a\";\"-\"]", ",\"-\""},
      {"(`a`b!(([]a:1 2);([]a:3 4)))`c", "([]a:`long$())"},
      {"(([]a:1 2);1)5", "([]a:`long$())"},
  };
  ExpectAll(kPairs);
}

TEST(Texts, SearchAgreesWithItsDefinition) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const auto letters = [&](size_t n) {
      std::string text(n, 'a');
      for (char& c : text) c = rng() % 2 == 0 ? 'a' : 'b';
      return text;
    };
    const std::string text = letters(rng() % 30), pattern = letters(1 + rng() % 3);
    std::vector<size_t> expected;
    for (size_t at = text.find(pattern); at != std::string::npos;
         at = text.find(pattern, at + pattern.size())) {
      expected.push_back(at);
    }
    Budget budget(limits);
    const Matches matches = *FindMatches(text, pattern, budget);
    EXPECT_EQ(std::vector<size_t>(matches.begins.begin(), matches.begins.end()), expected);
  }
}

TEST(Texts, HostileOnesEndInLimits) {
  TestEnvironment environment;
  Limits limits;
  limits.max_result_bytes = size_t{1} << 20;
  for (const std::string_view text :
       {"string til 100000", "\"a\" vs 500000#\"a\"", "ssr[200000#\"a\";\"a\";100#\"b\"]",
        ".Q.s1 til 100000", ".Q.s 100000#0Ng", "{x,x}/[17;\"ab\"] ss \"a\"", "2 vs til 100000"}) {
    EXPECT_EQ(environment.Ask(text, limits), "'limit") << text;
  }
  limits.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(environment.Ask("(100000#\"a\") ss 50000#\"a\"", limits), "'stop");
}

}  // namespace
}  // namespace tickstack::query
