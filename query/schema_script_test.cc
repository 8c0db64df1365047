// Goal: a q script gives the schemas of the tables that a kdb+tick tickerplant would publish, or an
// error with its place. Method: scripts with the forms that are in use, and with each thing that
// cannot be converted.

#include "query/schema_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tickstack::query {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Each table as `name: columns`; the only item is the error if there is one.
std::vector<std::string> TablesOf(std::string_view script) {
  const absl::StatusOr<SchemaScript> read = ReadSchemaScript(script, "sym.q");
  if (!read.ok()) return {std::string(Message(read.status()))};
  std::vector<std::string> tables;
  for (const Schema& schema : read->tables) {
    tables.push_back(schema.table + ": " + FormatSchema(schema));
  }
  return tables;
}

std::vector<std::string> NotesOf(std::string_view script) {
  const absl::StatusOr<SchemaScript> read = ReadSchemaScript(script, "sym.q");
  return read.ok() ? read->notes : std::vector{std::string(Message(read.status()))};
}

TEST(SchemaScript, ReadsTheSchemaOfTick) {
  EXPECT_THAT(TablesOf("quote:([]time:`timespan$();sym:`symbol$();bid:`float$();ask:`float$();"
                       "bsize:`long$();asize:`long$();mode:`char$();ex:`char$())\n"
                       "trade:([]time:`timespan$();sym:`g#`symbol$();price:`float$();size:`int$();"
                       "stop:`boolean$();cond:`char$();ex:`char$())\n"),
              ElementsAre("quote: time n, sym s, bid f, ask f, bsize j, asize j, mode c, ex c",
                          "trade: time n, sym s, price f, size i, stop b, cond c, ex c"));
}

TEST(SchemaScript, ReadsEveryType) {
  EXPECT_THAT(TablesOf("t:([]b:`boolean$();g:`guid$();x:`byte$();h:`short$();w:`int$();j:`long$();"
                       "e:`real$();f:`float$();c:`char$();s:`symbol$();p:`timestamp$();"
                       "m:`month$();d:`date$();z:`datetime$();n:`timespan$();u:`minute$();"
                       "v:`second$();t:`time$();l:())"),
              ElementsAre("t: b b, g g, x x, h h, w i, j j, e e, f f, c c, s s, p p, m m, d d, z z,"
                          " n n, u u, v v, t t, l *"));
}

TEST(SchemaScript, ReadsTheOtherFormsOfTables) {
  // Keyed, by dictionary, by letters, with rows, as a copy, several on a line, and over lines.
  EXPECT_THAT(TablesOf("bars:([sym:`u#`symbol$();minute:`timestamp$()]open:`float$();n:`long$())"),
              ElementsAre("bars: sym s, minute p | open f, n j"));
  EXPECT_THAT(TablesOf("t:flip `time`sym!(`timespan$();`symbol$())"),
              ElementsAre("t: time n, sym s"));
  EXPECT_THAT(TablesOf("t:flip`time`sym`bid!\"nsf\"$\\:()"),
              ElementsAre("t: time n, sym s, bid f"));
  EXPECT_THAT(TablesOf("t:1!([]sym:`symbol$();price:`float$())"),
              ElementsAre("t: sym s | price f"));
  EXPECT_THAT(TablesOf("t:([]time:enlist .z.p;sym:enlist`a;note:enlist\"text\")"),
              ElementsAre("t: time p, sym s, note *"));
  EXPECT_THAT(TablesOf("b:a:([]x:`int$());c:a"), ElementsAre("b: x i", "a: x i", "c: x i"));
  EXPECT_THAT(TablesOf("t:([]\r\n  time:`timestamp$();   / when\r\n  / a comment between\r\n"
                       "  sym:`symbol$()\r\n  )\r\nu:([]x:`int$()) / the end\r\n"),
              ElementsAre("t: time p, sym s", "u: x i"));
  EXPECT_THAT(TablesOf("t:([]time:`timespan$();sym:`symbol$())\nt:update price:`float$() from t"),
              ElementsAre("t: time n, sym s, price f"));
}

TEST(SchemaScript, LeavesOutWhatIsNoTable) {
  EXPECT_THAT(TablesOf("levels:5\nf:{[x]x+1}\nt:([]x:`int$())\n"), ElementsAre("t: x i"));
  EXPECT_THAT(TablesOf("// all\n/\nt:([]y:`int$()\n\\\nt:([]x:`int$())\n\\\nu:([\n"),
              ElementsAre("t: x i"));
}

TEST(SchemaScript, LeavesOutOtherNamespaces) {
  constexpr std::string_view kScript =
      "a:([]x:`int$())\n\\d .u\nb:([]y:`int$())\nw:.z.ts[\n\\d .\nc:([]z:`int$())\n"
      ".ref.d:([]x:`int$())\n";
  EXPECT_THAT(TablesOf(kScript), ElementsAre("a: x i", "c: z i"));
  EXPECT_THAT(NotesOf(kScript), ElementsAre(StartsWith("line 2: what follows `\\d .u` is left out"),
                                            StartsWith("table .ref.d is left out")));
}

TEST(SchemaScript, NotesAttributesThatAreLost) {
  EXPECT_THAT(NotesOf("t:([]time:`timespan$();sym:`g#`symbol$();ex:`g#`symbol$())"),
              ElementsAre("table t: the attribute of column ex is left out"));
  EXPECT_THAT(NotesOf("t:([]time:`timespan$();sym:`g#`symbol$())"), IsEmpty());
}

TEST(SchemaScript, SaysWhereAnErrorIs) {
  // A type that does not exist, a bracket that is not closed, a function that is not supported.
  EXPECT_THAT(TablesOf("\nt:([]a:`int$();b:`flaot$())"),
              ElementsAre(AllOf(StartsWith("sym.q:2:"), HasSubstr("expected a definition"))));
  EXPECT_THAT(
      TablesOf("t:([]a:`int$())\n\n  / x\nu:([]a:`int$()"),
      ElementsAre(StartsWith("sym.q:4:3: found `([]a:`int$()`: (: opened and never closed")));
  EXPECT_THAT(TablesOf("t:([]a:`int$())\nu:hopen 5010"),
              ElementsAre(AllOf(StartsWith("sym.q:2:"), HasSubstr("hopen"))));
  EXPECT_THAT(TablesOf("t:([]\n a:`int$();\n b:missing)"),
              ElementsAre(AllOf(StartsWith("sym.q:3:4: found `missing)`"))));
  EXPECT_THAT(TablesOf("t:([]a:`int$())\n\\l u.q\n"),
              ElementsAre(StartsWith("sym.q:2:1: found the system command `\\\\l u.q`, expected")));
}

TEST(SchemaScript, RefusesNamesThatAConfigurationCannotHave) {
  EXPECT_THAT(TablesOf("x:1\nt:([]a:`int$())\nq:([]date:`date$())"),
              ElementsAre(AllOf(StartsWith("sym.q:3:1: table q: column date"))));
  EXPECT_THAT(TablesOf("sym:([]a:`int$())"), ElementsAre(StartsWith("sym.q:1:1: table sym: ")));
  EXPECT_THAT(TablesOf("t:flip(enlist`$\"a b\")!enlist`int$()"),
              ElementsAre(AllOf(StartsWith("sym.q:1:1: table t: column"))));
}

TEST(SchemaScript, RefusesAScriptWithoutTables) {
  for (const std::string_view script :
       {"", "\n", "/ a comment", "x:1", "\\d .a\nt:([]x:`int$())"}) {
    EXPECT_THAT(TablesOf(script), ElementsAre(StartsWith("sym.q: found no table"))) << script;
  }
  EXPECT_THAT(TablesOf("t:([]x:`int$())\n:1"), ElementsAre(HasSubstr("ends the script early")));
}

TEST(SchemaScript, EndsWithinItsLimits) {
  EXPECT_THAT(TablesOf("t:([]x:til 1000000000)"), ElementsAre(HasSubstr("limit")));
  EXPECT_THAT(TablesOf("t:" + std::string(1000, '(')), ElementsAre(StartsWith("sym.q:1:")));
}

}  // namespace
}  // namespace tickstack::query
