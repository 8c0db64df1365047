#pragma once

// The rows that feeds send, decided before a life begins, and tables as texts, which the oracle
// compares. Row n of a feed's table is always the same, and its cells name the feed and n.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "aggengine/aggregate.h"
#include "feed/sources/source.h"
#include "feed/sources/table_map.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/table.h"
#include "table/value.h"
#include "tests/simulate/random.h"

namespace tickstack::simulate {

// The schemas of trade and quote, each with the columns `feed s` and `n j`; the bars; the schemas
// of all their tables; those and news, a table that a life may add; and all that lives may have.
const std::vector<Schema>& SourceSchemas();
const std::vector<aggengine::BarSpec>& BarSpecs();
const std::vector<Schema>& AllSchemas();
const std::vector<Schema>& SchemasWithNews();
const std::vector<Schema>& KnownSchemas();
// The tables of a live feed: order, deal (which the feed knows as trade) and gap.
std::vector<feed::MappedTable> ExchangeTables();

struct PlannedRow {
  int64_t due_ns;  // Also the row's time.
  std::string sym;
  double price;
  int64_t size;
};

// By table: its rows, in the order of their numbers.
using FeedPlan = std::map<std::string, std::vector<PlannedRow>, std::less<>>;

// A time without rows. The rows that would be in it come in a burst of `burst_ns` at its beginning.
struct Silence {
  int64_t begin_ns, end_ns;
  int64_t burst_ns;
};

// Plans rows from `begin_ns` to `end_ns`, many of them just before `roll_ns`, and some of symbols
// that only this day has.
FeedPlan PlanRows(Random& random, int64_t rows, int64_t begin_ns, int64_t end_ns, int64_t roll_ns,
                  const std::vector<Silence>& silences);

// Rows as texts, with | between cells.
using RowTexts = std::vector<std::string>;
using TableTexts = std::map<std::string, RowTexts, std::less<>>;

std::string TextOf(std::string_view table, std::string_view feed, size_t n, const PlannedRow& row);
// Replaces what no database can store by what a partition has instead.
TableTexts AsStored(TableTexts tables);
void AppendTexts(const Schema& schema, const BatchView& batch, RowTexts& texts);
// `table`: a table whose columns have the types that the schema says.
void AppendTexts(const Schema& schema, const Value& table, RowTexts& texts);
RowTexts TextsOf(const Snapshot& snapshot);
// Returns the rows of all messages of a log, by table.
absl::StatusOr<TableTexts> TextsOfLog(const std::string& path);
// Checks all that a reader of a day's partition relies on: order, attributes and checksums.
absl::Status CheckPartition(const std::string& database, int32_t date);
// Returns the rows of a day's partition, by table.
absl::StatusOr<TableTexts> TextsOfPartition(const std::string& database, int32_t date);
std::string Cell(const std::string& text, size_t column);
const Schema* FindSchema(std::string_view table);  // nullptr if there is none.

// Returns a source of the planned rows, which come when they are due, in batches of one to
// `batch_rows` rows.
std::unique_ptr<feed::Source> MakeSource(const FeedPlan& plan, std::string name,
                                         int64_t batch_rows);

// Encodes rows [begin, end) of a table as the `x` of an upd.
Value EncodeRows(std::string_view table, std::string_view feed, const std::vector<PlannedRow>& rows,
                 size_t begin, size_t end);

}  // namespace tickstack::simulate
