#pragma once

// Reads the schemas of tables from a q script, such as the `sym.q` that a kdb+tick tickerplant
// loads. The script is evaluated, so every way of writing a table that docs/q.md lists is read:
//
//   trade:([]time:`timespan$();sym:`g#`symbol$();price:`float$();cond:())    / cond: lists, `*`
//   last_trade:([sym:`u#`symbol$()]time:`timespan$();price:`float$())        / keyed
//   quote:flip`time`sym`bid`ask!"nsff"$\:(); depth:quote                     / two on a line

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::query {

struct SchemaScript {
  std::vector<Schema> tables;  // In the order in which the script first assigns their names.
  // What schemas cannot express, such as an attribute: a sentence each, with its line or table.
  std::vector<std::string> notes;
};

// Returns the tables that the root namespace has when the script has run. As in tick.q, tables of
// other namespaces are not published; a note names them. Lines after `\d .name` are not evaluated,
// up to `\d .`.
//
// Errors:  kInvalidArgument, `NAME:LINE:COLUMN: found, expected`, for a statement outside of
//          docs/q.md, a line that begins with a backslash other than `\d`, and a table or column
//          whose name or type a configuration cannot have. kNotFound if there is no table.
// Threads: reentrant.
absl::StatusOr<SchemaScript> ReadSchemaScript(std::string_view script, std::string_view name);

}  // namespace tickstack::query
