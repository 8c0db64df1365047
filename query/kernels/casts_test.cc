// Goal: casts and parts of times mean what the reference says (code.kx.com/q/ref: cast, tok).
// Method: pairs, and a property test of the date parts over four centuries.

#include "query/kernels/casts.h"

#include <gtest/gtest.h>

#include <string>

#include "base/time.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Casts, NamesLettersAndNumbersMeanTheSame) {
  constexpr Pair kPairs[] = {
      {"`long$1i", "1"},
      {"\"j\"$1i", "1"},
      {"7h$1i", "1"},
      {"$[`long;1i]", "1"},
      {"$[\"j\";1 2i]", "1 2"},
      {"(`int;\"i\";6h)$10", "10 10 10i"},
      {"`int`float$3", "(3i;3f)"},
      {"\"ij\"$1 2", "(1i;2)"},
      {"`int`float$1 2 3", "'length"},
      {"\"*\"$1 2", "1 2"},
      {"0h$`a", "`a"},
      {"`long$()", "`long$()"},
      {"`symbol$()", "`symbol$()"},
      {"`timestamp$()", "`timestamp$()"},
      {"\"f\"$`long$()", "`float$()"},
      {"`nope$1", "'type"},
      {"\"!\"$1", "'type"},
      {"20h$1", "'type"},
      {"3h$1", "'type"},
      {"1$1", "'type"},
      {"\"G\"$\"192.0.2.1\"", "00000000000000000000ffffc0000201"},
      {"\"G\"$\"2001:0DB8:85A3:0000:0000:8A2E:0370:7334\"", "20010db885a3000000008a2e03707334"},
      {"\"G\"$\"::FFFF:c000:201\"", "00000000000000000000ffffc0000201"},
      {"null \"G\"$(\"192.0.2\";\"::1::\";\"\";\"1:2\")", "1111b"},
      {"0ni", "0Ni"},
      {"0nh", "0Nh"},
      {"null 0ne", "1b"},
      {"type 0ne", "-8h"},
      {"0wi", "0Wi"},
      {"0n 2 3i", "0N 2 3i"},
      {"0n 2 3", "0n 2 3"},
      {"1 0w", "1 0w"},
      {"til 1b", ",0"},
      {"til 3h", "0 1 2"},
      {"til 0Ni", "'domain"},
      {"til 1.0", "'type"},
      {"$[`long][2.6]", "3"},  // The cast waits for its second argument.
  };
  ExpectAll(kPairs);
}

TEST(Casts, NumbersKeepTheirNullsAndAreRounded) {
  constexpr Pair kPairs[] = {
      {"`int$6.1 6.6", "6 7i"},
      {"`int$-6.1 -6.6", "-6 -7i"},
      {"`long$0.5 1.5 2.5", "1 2 3"},
      {"`long$0.49999999999999994", "0"},
      {"`long$0n 0w -0w", "0N 0W -0W"},
      {"`int$0n 0w -0w", "0N 0W -0Wi"},
      {"`short$1e10", "0Wh"},
      {"`int$0N 5", "0N 5i"},
      {"`int$3000000000 -3000000000", "0W -0Wi"},
      {"`short$100000 -100000 7", "0W -0W 7h"},
      {"`float$1 0N", "1 0n"},
      {"`float$0Wh", "32767f"},
      {"`real$1.5", "1.5e"},
      {"`float$1.5e", "1.5"},
      {"`real$0N", "0Nee"},
      {"`long$101b", "1 0 1"},
      {"`long$0x0aff", "10 255"},
      {"\"i\"$\"a\"", "97i"},
      {"\"i\"$\" a\"", "32 97i"},
      {"`char$97 98", "\"ab\""},
      {"\"c\"$0x4142", "\"AB\""},
      {"`byte$255 16", "0xff10"},
      {"`byte$256 257", "0x0001"},
      {"`boolean$1 0 2", "101b"},
      {"1h$-1 0 -2", "101b"},
      {"`boolean$0n", "1b"},
      {"`boolean$\" a\"", "11b"},
      {"`long$`a", "'type"},
      {"`symbol$1", "'type"},
      {"`guid$1", "'type"},
      {"`float$(1;2 3;`a`b!4 5)", "(1f;2 3f;`a`b!4 5f)"},
      {"`float$`a`b!1 2", "`a`b!1 2f"},
      {"`float$([]a:1 2)", "'nyi: $ of a table"},
      {"exec `float$size from trade", "100 200 300 400f"},
      {"exec `size$size from trade", "'type"},
      {"exec `long$cond from trade", "(65 66;`long$();,67;65 66)"},
      {"exec \"j\"$sum size from trade where sym=`aig", "400"},
  };
  ExpectAll(kPairs);
}

TEST(Casts, TimesBecomeOtherTimes) {
  constexpr Pair kPairs[] = {
      {"`date$2013.10.07D09:30:15.123456789", "2013.10.07"},
      {"`month$2013.10.07D09:30", "2013.10m"},
      {"`minute$2013.10.07D09:30:15", "09:30"},
      {"`second$2013.10.07D09:30:15.9", "09:30:15"},
      {"`time$2013.10.07D09:30:15.1239", "09:30:15.123"},
      {"`timespan$2013.10.07D09:30:15.5", "0D09:30:15.500000000"},
      {"`datetime$2013.10.07D12:00", "2013.10.07T12:00:00.000"},
      {"`timestamp$2013.10.07", "2013.10.07D00:00:00.000000000"},
      {"`timestamp$2013.10m", "2013.10.01D00:00:00.000000000"},
      {"`timestamp$2013.10.07T12:00:00.000", "2013.10.07D12:00:00.000000000"},
      {"`month$2013.10.07", "2013.10m"},
      {"`date$2013.10m", "2013.10.01"},
      {"`date$3 xbar `month$2019.11.19", "2019.10.01"},
      {"-1+`date$3+3 xbar `month$2019.11.19", "2019.12.31"},
      {"`date$1999.12.31D23:59:59.999999999", "1999.12.31"},
      {"`minute$1999.12.31D23:59:59", "23:59"},
      {"`month$1999.12.31", "1999.12m"},
      {"`date$0Np", "0Nd"},
      {"`minute$0Np", "0Nu"},
      {"`timestamp$0Nd", "0Np"},
      {"`timestamp$0Wd", "0Wp"},
      {"`minute$09:30:15", "09:30"},
      {"`minute$-00:00:01", "-00:01"},
      {"`timespan$09:30", "0D09:30:00.000000000"},
      {"`second$09:30", "09:30:00"},
      {"`time$09:30:15", "09:30:15.000"},
      {"`minute$1D02:00", "26:00"},
      {"`timestamp$0D01", "2000.01.01D01:00:00.000000000"},
      {"`date$09:30", "'nyi: `date$ of a minute"},
      {"`long$2000.01.02", "1"},
      {"`long$0D00:00:01", "1000000000"},
      {"`int$09:30", "570i"},
      {"`int$2000.02m", "1i"},
      {"`float$2000.01.02T12:00:00.000", "1.5"},
      {"`date$366", "2001.01.01"},
      {"`minute$570", "09:30"},
      {"`timestamp$1000000000", "2000.01.01D00:00:01.000000000"},
      {"`timespan$0N", "0Nn"},
      {"`date$1.4", "2000.01.02"},
      {"\"d\"$2013.10.07 2013.10.08", "2013.10.07 2013.10.08"},
  };
  ExpectAll(kPairs);
}

TEST(Casts, PartsOfTimes) {
  constexpr Pair kPairs[] = {
      {"`hh`uu`ss$03:55:58.11", "3 55 58i"},
      {"`year`dd`mm`hh`uu`ss$2015.10.28D03:55:58", "2015 28 10 3 55 58i"},
      {"`year$2013.10m", "2013i"},
      {"`mm$2013.10m", "10i"},
      {"`mm$09:30", "30i"},
      {"`mm$09:31:15 0Nv", "31 0Ni"},
      {"`mm$09:32:15.250", "32i"},
      {"`mm$0D01:33", "33i"},
      {"`mm$2013.10.07D09:30", "10i"},
      {"`mm$2013.10.07T09:30", "10i"},
      {"`mm$`a`b!09:30 10:45", "`a`b!30 45i"},
      {"t:09:30:15.5;t.mm", "30i"},
      {"exec time.mm from ([]time:09:30 10:45t)", "30 45i"},
      {"select by time.mm from ([]time:09:30 10:30;a:1 2)", "([mm:,30i]time:,10:30;a:,2)"},
      {"exec time.minute from ([]time:(2013.10.07D09:30 2013.10.07D09:31;enlist 2013.10.07D10:00))",
       "(09:30 09:31;,10:00)"},
      {"exec size.minute from ([]size:(1 2;3 4))", "'nyi: size.minute"},
      {"type each (0p;0t;0u;0v;0d;0m;0z;0n;0D)", "-12 -19 -17 -18 -14 -13 -15 -9 -16h"},
      {"0p", "2000.01.01D00:00:00.000000000"},
      {"0 0t", "00:00:00.000 00:00:00.000"},
      {"5t", "'nyi: 5t: a time as a number"},
      {"5 0t", "'nyi: 5: a time as a number"},
      {"`mm$2013.10.07 0N", "10 0Ni"},
      {"`mm$2013.10.07 1999.01.01", "10 1i"},
      {"`dd$2000.02.29", "29i"},
      {"`week$2013.10.07 2013.10.06 2013.10.13", "2013.10.07 2013.09.30 2013.10.07"},
      {"`week$1999.12.31D12", "1999.12.27"},
      {"`hh$2013.10.07T13:00:00.000", "13i"},
      {"`hh$25:00", "25i"},
      {"`uu$1D02:05", "5i"},
      {"`ss$09:30", "0i"},
      {"`hh$0Np", "0Ni"},
      {"`week$0Nd", "0Nd"},
      {"`hh$2013.10.07", "'type"},
      {"`year$09:30", "'type"},
      {"`dd$2013.10m", "'type"},
      {"`hh$1 2", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Casts, DottedNamesReachPartsOfColumns) {
  constexpr Pair kPairs[] = {
      {"select time.minute,size from trade where sym=`aig", "([]minute:09:30 09:31;size:100 300i)"},
      {"exec time.date from trade where i=0", ",2013.10.07"},
      {"exec time.hh from trade where i=0", ",9i"},
      {"exec time.mm from trade where i=0", ",10i"},
      {"exec time.uu from trade", "30 31 31 33i"},
      {"exec time.ss from trade where i=0", ",0i"},
      {"exec time.year from trade where i=0", ",2013i"},
      {"exec time.month from trade where i=0", ",2013.10m"},
      {"exec time.week from trade where i=0", ",2013.10.07"},
      {"exec time.dd from trade where i=0", ",7i"},
      {"exec time.second from trade where i=0", ",09:30:00"},
      {"exec time.time from trade where i=0", ",09:30:00.000"},
      {"exec time.timespan from trade where i=0", ",0D09:30:00.000000000"},
      {"select last price by time.minute from trade",
       "([minute:09:30 09:31 09:33]price:48.5 48.25 14)"},
      {"select sum size by sym,time.minute from trade",
       "([sym:`aig`aig`bac`bac;minute:09:30 09:31 09:31 09:33]size:100 300 200 400i)"},
      {"select sum size by 5 xbar time.minute from trade", "([minute:,09:30]size:,1000i)"},
      {"select sum size by bar:2 xbar time.minute from trade", "([bar:09:30 09:32]size:600 400i)"},
      {"select sum size by `minute$time from trade", "([time:09:30 09:31 09:33]size:100 500 400i)"},
      {"select size from trade where time.minute=09:31", "([]size:200 300i)"},
      {"select size from trade where time.hh within 9 10,time.uu>31", "([]size:,400i)"},
      {"exec max time.minute from quote", "09:32"},
      {"exec time.nope from trade", "'nyi: time.nope"},
      {"exec time.long from trade", "'nyi: time.long"},
      {"exec size.minute from trade", "'nyi: size.minute"},
      {"exec time.hh from select time.minute,time from trade where i=0", ",9i"},
      {".u.i.minute", "'nyi: .u.i.minute"},
      {".z.p.date", "'nyi: .z.p.date"},
  };
  ExpectAll(kPairs);
}

TEST(Casts, TextIsRead) {
  constexpr Pair kPairs[] = {
      {"\"J\"$\"12\"", "12"},
      {"\"J\"$\" -12 \"", "-12"},
      {"\"J\"$\"1x\"", "0N"},
      {"\"J\"$\"\"", "0N"},
      {"\"I\"$(\"1\";\"22\";\"x\")", "1 22 0Ni"},
      {"\"H\"$\"40000\"", "0Nh"},
      {"-7h$\"12\"", "12"},
      {"\"F\"$\"3.25\"", "3.25"},
      {"\"F\"$\"3\"", "3f"},
      {"\"E\"$\"2.5\"", "2.5e"},
      {"\"D\"$\"2000-12-12\"", "2000.12.12"},
      {"\"D\"$\"20001212\"", "2000.12.12"},
      {"\"D\"$\"2000.13.12\"", "0Nd"},
      {"\"P\"$\"2015-10-28D03:55:58.6542\"", "2015.10.28D03:55:58.654200000"},
      {"\"P\"$\"2015.10.28\"", "2015.10.28D00:00:00.000000000"},
      {"\"N\"$\"09:30:00.5\"", "0D09:30:00.500000000"},
      {"\"U\"$\"12:13:14\"", "12:13"},
      {"\"V\"$\"12:13:14\"", "12:13:14"},
      {"\"T\"$\"12:13:14.5\"", "12:13:14.500"},
      {"\"T\"$\"x\"", "0Nt"},
      {"\"B\"$(\" 1\";\"0 \";\"t \";\"N \";\"10\")", "10100b"},
      {"\"S\"$\"hello\"", "`hello"},
      {"`$\"hello\"", "`hello"},
      {"`$\"   IBM   \"", "`IBM"},
      {"`$(\"ab\";\"cd\")", "`ab`cd"},
      {"`$\"a\"", "`a"},
      {"`$`a`b", "`a`b"},
      {"`$1", "'type"},
      {"\"J\"$12", "'type"},
      {"\"D\"$(\"2000/12/25\";\"12/25/2000\";\"25Dec2000\";\"2000/dec/25\";\"DEC/25/2000\")",
       "2000.12.25 2000.12.25 2000.12.25 2000.12.25 2000.12.25"},
      {"\"D\"$(\"13/25/2000\";\"25Dex2000\";\"1/2\";\"//\";\"25Dec\";\"/12/25\")",
       "0Nd 0Nd 0Nd 0Nd 0Nd 0Nd"},
      {"\"D\"$(\"12.31.2014\";\"12-31-2014\";\"2014/12/31\";\"2014-Dec-31\";\"1.2.2014\")",
       "2014.12.31 2014.12.31 2014.12.31 2014.12.31 2014.01.02"},
      {"\"D\"$(\"31.12.2014\";\"12.31-2014\";\"12.31\";\"..\";\"12.31.2014.1\";\"-\")",
       "0Nd 0Nd 0Nd 0Nd 0Nd 0Nd"},
      {"\"PZ\"$\\:\"12/31/2014 09:30\"", "(2014.12.31D09:30:00.000000000;2014.12.31T09:30:00.000)"},
      {"\"P\"$(\"25Dec2000D10\";\"25Dec2000\";\"12.31.2014\";\"2014.12.31D\";\"2014.12.31Dx\")",
       "2000.12.25D10:00:00.000000000 2000.12.25D00:00:00.000000000 2014.12.31D00:00:00.000000000 "
       "2014.12.31D00:00:00.000000000 0Np"},
      {"\"D\"$\"001225\"", "'nyi: a date whose year has two digits"},
      {"\"D\"$\"25Dec00\"", "'nyi: a date whose year has two digits"},
      {"\"NT\"$'2#enlist\"00:00:01.0010000009\"", "(0D00:00:01.001000000;00:00:01.001)"},
      {"\"P\"$\"2014.12.31D10:00:00.1234567891234\"", "2014.12.31D10:00:00.123456789"},
      {"\"N\"$\"00:00:01.12345678901x\"", "0Nn"},
      {"\"T\"$(\"123456789\";\"1234\";\"12345\";\"996060\")", "12:34:56.789 12:34:00.000 0Nt 0Nt"},
      {"\"N\"$\"123456123987654\"", "0D12:34:56.123987654"},
      // No text is no time. A fraction is one of a second, after hours, minutes and seconds.
      {"\"NUVTPZMDGBXJEFHI\"$\\:\"\"",
       "(0Nn;0Nu;0Nv;0Nt;0Np;0Nz;0Nm;0Nd;00000000000000000000000000000000;0b;0x00;0N;0Nee;0n;0Nh;"
       "0Ni)"},
      {"\"NUVT\"$\\:\" \"", "(0Nn;0Nu;0Nv;0Nt)"},
      {"null each "
       "\"NUVT\"$/"
       ":\\:(\"-\";\"D\";\":\";\".\";\":30\";\".5\";\"0.\";\"1.x\";\"-D1\";\"1x\";\"123\")",
       "(11111111111b;11111111111b;11111111111b;11111111111b)"},
      {"\"N\"$(\"0.123456789\";\"-0.5\";\"123456.5\";\"1D\";\"2D01:30\";\"9\";\"0.1234567891\")",
       "0D00:00:00.123456789 -0D00:00:00.500000000 0D12:34:56.500000000 1D00:00:00.000000000 "
       "2D01:30:00.000000000 0D09:00:00.000000000 0D00:00:00.123456789"},
      {"\"UVT\"$\\:\"09\"", "(09:00;09:00:00;09:00:00.000)"},
      {"\"P\"$\"10129708800\"", "2290.12.31D00:00:00.000000000"},
      {"\"P\"$(\"00000000000.5\";\"99999999999\";\"1234567.5\")",
       "1970.01.01D00:00:00.500000000 0Np 0Np"},
      {"\"P\"$(\"20191122-11:11:11.123\";\"20191122x11\";\"2019\")",
       "2019.11.22D11:11:11.123000000 0Np 0Np"},
      {"\"Z\"$\"20191122-11:11:11.123\"", "2019.11.22T11:11:11.123"},
      {"\"I\"$(\"192.168.1.34\";\"1.2.3\";\"1.2.3.256\";\"1.2.3.4.5\")", "-1062731486 0N 0N 0Ni"},
      {"\"X\"$(\"1f\";\"a\";\"x1\";\"123\")", "0x1f0a0000"},
      {"\"M\"$(\"2013.10\";\"2013-10\";\"201310\";\"2013.13\";\"x\")",
       "2013.10m 2013.10m 2013.10m 0Nm 0Nm"},
      {"\"Z\"$(\"2013-10-07T09:30:00.125\";\"2013.10.07\";\"noon\")",
       "2013.10.07T09:30:00.125 2013.10.07T00:00:00.000 0Nz"},
      {"\"G\"$\"ddb87915-b672-2c32-a6cf-296061671e9d\"", "ddb87915b6722c32a6cf296061671e9d"},
      {"null "
       "\"G\"$(\"\";\"ddb87915xb672-2c32-a6cf-296061671e9d\";\"ddb87915-b672-2c32-a6cf-29606167+"
       "e9d\")",
       "111b"},
      {"select size from trade where sym=`$\"aig\"", "([]size:100 300i)"},
  };
  ExpectAll(kPairs);
}

// Goal: the calendar's parts are right on every day of four centuries. Method: composes each day
// again from its parts; its Monday is at most six days before it, and seven days before the next
// Monday.
TEST(Casts, PartsOfEveryDayComposeItAgain) {
  VectorWriter<int32_t> days(Type::kDate, 146'097);
  for (int32_t i = 0; i < 146'097; ++i) days.data()[i] = i - 73'000;
  const Slice slice = Slice::Of(std::move(days).Finish());
  const Limits limits;
  Budget budget(limits);
  const auto part = [&](std::string_view name) {
    absl::StatusOr<Value> value = CastColumn(slice, *FindCastTarget(name), budget);
    TS_CHECK(value.ok());
    return *std::move(value);
  };
  const Value year = part("year"), month = part("mm"), day = part("dd"), week = part("week");
  for (int32_t i = 0; i < 146'097; ++i) {
    const int32_t date = i - 73'000;
    const auto at = [i](const Value& value) {
      return value.span<int32_t>()[static_cast<size_t>(i)];
    };
    ASSERT_EQ(DaysFromCivil(at(year), at(month), at(day)), date);
    ASSERT_LE(at(week), date);
    ASSERT_GT(at(week) + 7, date);
    ASSERT_EQ((at(week) % 7 + 7) % 7, 2) << "2000.01.03 was a Monday";
  }
}

}  // namespace
}  // namespace tickstack::query
