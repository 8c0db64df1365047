#pragma once

// The tables of exchanges' events, and events as their rows. Every venue has the same tables and
// columns; docs/feeds/README.md describes them.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "feed/market/events.h"
#include "feed/sources/columns.h"
#include "feed/sources/source.h"
#include "feed/sources/table_map.h"
#include "table/schema.h"

namespace tickstack::feed {

// Types of columns that differ between sources. A table has the same types for all sources of a
// stack: sources that differ cannot feed one table.
struct MarketTypes {
  Type size = Type::kLong;      // In trade, trade_break, quote, level; kFloat: not always whole.
  Type trade_id = Type::kLong;  // In trade; kList: ids are strings.
};

// Returns the schemas of all tables, in the order in which rows of one time are published.
std::vector<Schema> MarketSchemas(const MarketTypes& types = {});

// Collects events as rows of the tables that are wanted, and numbers them. Rows of other tables are
// not made. Threads: one owner.
class MarketRows final : public market::EventSink {
 public:
  // Makes rows of these tables, which MapTables has made of those of MarketSchemas(). `venue` is
  // that of events without their own.
  MarketRows(std::string venue, std::vector<MappedTable> tables);

  const std::vector<std::string>& tables() const { return tables_; }

  // Forgets the rows, and leaves out the first rows_done[table] rows of each table.
  void Rewind(const NameMap<int64_t>& rows_done);

  // Numbers the next row of each table (absent: 0). Call it before the first event.
  void Continue(const NameMap<int64_t>& next_rows);

  // Returns the largest number of collected rows of a table.
  int64_t rows_max() const { return rows_max_; }
  // Encodes the collected rows of one table into `data`, and removes them. False if there are none.
  bool Take(ByteBuffer& data, FeedBatch& batch);

  void On(const market::Trade& event) override;
  void On(const market::TradeBreak& event) override;
  void On(const market::Quote& event) override;
  void On(const market::Order& event) override;
  void On(const market::Level& event) override;
  void On(const market::Status& event) override;
  void On(const market::Auction& event) override;
  void On(const market::Instrument& event) override;
  void On(const market::Bar& event) override;
  void On(const market::Statistic& event) override;
  void On(const market::Gap& event) override;

 private:
  struct Table {
    MappedTable mapped;  // Without a schema: not wanted.
    ColumnList rows;
    bool wanted = false;
    int64_t next_row = 0;  // Number of the next row of the stream.
    int64_t rows_done = 0;
  };
  class RowWriter;

  // Writes a row: the columns of the head, `cells`, and the columns at the end.
  template <typename... Cells>
  void Add(size_t table, const market::EventHead& head, const Cells&... cells);

  std::string venue_;
  std::vector<Table> all_;  // As in MarketSchemas().
  std::vector<std::string> tables_;
  int64_t rows_max_ = 0;
};

}  // namespace tickstack::feed
