#include "feed/sources/market_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace tickstack::feed {
namespace {

// Positions in kMarketTables. A status precedes the trades and orders that it permits.
enum MarketTable : size_t {
  kInstrumentTable,
  kStatisticTable,
  kStatusTable,
  kAuctionTable,
  kQuoteTable,
  kLevelTable,
  kOrderTable,
  kTradeTable,
  kTradeBreakTable,
  kBarTable,
  kGapTable,
};

struct TableText {
  std::string_view name;
  std::string_view columns;  // Between those of every table.
};
constexpr std::string_view kFirstColumns = "time p, sym s";
constexpr std::string_view kLastColumns = "seq j, recv p, venue s, channel s";
constexpr TableText kMarketTables[] = {
    {"instrument",
     "id j, kind s, market s, lot j, prior_close f, luld_tier s, leverage j, currency s, "
     "underlying s, tick f, multiplier f, strike f, expiry p, test b, flags s"},
    {"statistic", "kind s, price f, size j, at p, action c, cond s"},
    {"status", "kind s, state s, reason s, mpid s, price f, at p"},
    {"auction",
     "kind s, state s, side c, paired j, imbalance j, ref_price f, indicative f, book_price f, "
     "collar f, low f, high f, min_price f, max_price f, at p, extensions j, cond s"},
    {"quote", "bid f, ask f, bsize j, asize j, cond s, bid_venue s, ask_venue s"},
    {"level", "side c, price f, size j, orders j, complete b, cond s"},
    {"order", "action c, side c, price f, size j, id j, old_id j, trade_id j, cond s, mpid s"},
    {"trade", "price f, size j, side c, cond s, id j"},
    {"trade_break", "price f, size j, cond s, id j"},
    {"bar", "interval s, open f, high f, low f, close f, volume j"},
    {"gap",
     "session s, first_seq j, last_seq j, first_time p, last_time p, tried s, closed s, "
     "closed_time p"},
};

bool IsSizeColumn(std::string_view name) {
  return name == "size" || name == "bsize" || name == "asize";
}

// A size: one of both, or none.
struct SizeCell {
  int64_t size;
  double amount;
};
// The id of a trade: one of both, or none.
struct TradeIdCell {
  int64_t id;
  std::string_view text;
};

}  // namespace

std::vector<Schema> MarketSchemas(const MarketTypes& types) {
  static const std::vector<Schema> kSchemas = [] {
    std::vector<Schema> schemas;
    for (const TableText& table : kMarketTables) {
      absl::StatusOr<Schema> schema = ParseSchema(
          table.name, fmt::format("{}, {}, {}", kFirstColumns, table.columns, kLastColumns));
      TS_CHECK(schema.ok());
      schemas.push_back(*std::move(schema));
    }
    return schemas;
  }();
  std::vector<Schema> schemas = kSchemas;
  for (const size_t table : {kTradeTable, kTradeBreakTable, kQuoteTable, kLevelTable}) {
    for (ColumnSpec& column : schemas[table].columns) {
      if (IsSizeColumn(column.name)) column.type = types.size;
      if (table == kTradeTable && column.name == "id") column.type = types.trade_id;
    }
  }
  return schemas;
}

// Appends the cells of one row, each with its column's type.
class MarketRows::RowWriter {
 public:
  RowWriter(ColumnList& list, const MappedTable& table) : list_(list), table_(table) {}
  void Put(double value) {
    if (Keeps()) list_.Append(column_++, value);
  }
  void Put(int64_t value) {
    if (Keeps()) list_.Append(column_++, value);
  }
  void Put(char value) {
    if (Keeps()) list_.Append(column_++, value);
  }
  void Put(bool value) {
    if (Keeps()) list_.Append(column_++, static_cast<uint8_t>(value));
  }
  // A symbol ends at a 0, so it cannot have one.
  void Put(std::string_view text) {
    if (Keeps()) list_.AppendSymbol(column_++, text.substr(0, text.find('\0')));
  }
  void Put(const SizeCell& cell) {
    if (!Keeps()) return;
    if (list_.type(column_) == Type::kLong) {
      list_.Append(column_++, cell.size);
    } else {
      list_.Append(column_++,
                   cell.size == kNullLong ? cell.amount : static_cast<double>(cell.size));
    }
  }
  void Put(const TradeIdCell& cell) {
    if (!Keeps()) return;
    if (list_.type(column_) == Type::kLong) {
      list_.Append(column_++, cell.id);
    } else {
      list_.AppendText(column_++, cell.text);
    }
  }
  void End() {
    for (const std::string& symbol : table_.added) list_.AppendSymbol(column_++, symbol);
    list_.EndRow();
  }

 private:
  bool Keeps() { return table_.kept[cell_++]; }

  ColumnList& list_;
  const MappedTable& table_;
  size_t cell_ = 0;    // A column of the source.
  size_t column_ = 0;  // A column of the list.
};

MarketRows::MarketRows(std::string venue, std::vector<MappedTable> tables)
    : venue_(std::move(venue)) {
  for (const MappedTable& table : tables) tables_.push_back(table.schema.table);
  for (const Schema& schema : MarketSchemas()) {
    const auto found = std::ranges::find(tables, schema.table, &MappedTable::of);
    const bool wanted = found != tables.end();
    MappedTable mapped = wanted ? std::move(*found) : MappedTable();
    std::vector<Type> types;
    for (const ColumnSpec& column : mapped.schema.columns) types.push_back(column.type);
    all_.push_back({std::move(mapped), ColumnList(types), wanted});
  }
}

void MarketRows::Rewind(const NameMap<int64_t>& rows_done) {
  for (Table& table : all_) {
    table.rows.Clear();
    table.next_row = 0;
    const auto found = rows_done.find(table.mapped.schema.table);
    table.rows_done = found == rows_done.end() ? 0 : found->second;
  }
  rows_max_ = 0;
}

void MarketRows::Continue(const NameMap<int64_t>& next_rows) {
  for (Table& table : all_) {
    const auto found = next_rows.find(table.mapped.schema.table);
    if (found != next_rows.end()) table.next_row = found->second;
  }
}

bool MarketRows::Take(ByteBuffer& data, FeedBatch& batch) {
  for (Table& table : all_) {
    const int64_t rows = table.rows.rows();
    if (rows == 0) continue;
    data.clear();
    table.rows.Encode(data);
    table.rows.Clear();
    batch.table = table.mapped.schema.table;
    batch.first_row = table.next_row - rows;
    batch.rows = rows;
    batch.data = data.span();
    return true;
  }
  rows_max_ = 0;
  return false;
}

template <typename... Cells>
void MarketRows::Add(size_t index, const market::EventHead& head, const Cells&... cells) {
  Table& table = all_[index];
  if (!table.wanted || table.next_row++ < table.rows_done) return;
  RowWriter writer(table.rows, table.mapped);
  writer.Put(head.time_ns);
  writer.Put(head.sym);
  (writer.Put(cells), ...);
  writer.Put(head.seq);
  writer.Put(head.recv_ns);
  writer.Put(head.venue.empty() ? std::string_view(venue_) : head.venue);
  writer.Put(head.channel);
  writer.End();
  rows_max_ = std::max(rows_max_, table.rows.rows());
}

void MarketRows::On(const market::Trade& e) {
  Add(kTradeTable, e, e.price, SizeCell{e.size, e.amount}, e.side, e.cond,
      TradeIdCell{e.id, e.id_text});
}

void MarketRows::On(const market::TradeBreak& e) {
  Add(kTradeBreakTable, e, e.price, SizeCell{e.size, e.amount}, e.cond, e.id);
}

void MarketRows::On(const market::Quote& e) {
  Add(kQuoteTable, e, e.bid, e.ask, SizeCell{e.bsize, e.bamount}, SizeCell{e.asize, e.aamount},
      e.cond, e.bid_venue, e.ask_venue);
}

void MarketRows::On(const market::Order& e) {
  Add(kOrderTable, e, e.action, e.side, e.price, e.size, e.id, e.old_id, e.trade_id, e.cond,
      e.mpid);
}

void MarketRows::On(const market::Level& e) {
  Add(kLevelTable, e, e.side, e.price, SizeCell{e.size, e.amount}, e.orders, e.complete, e.cond);
}

void MarketRows::On(const market::Status& e) {
  Add(kStatusTable, e, e.kind, e.state, e.reason, e.mpid, e.price, e.at_ns);
}

void MarketRows::On(const market::Auction& e) {
  Add(kAuctionTable, e, e.kind, e.state, e.side, e.paired, e.imbalance, e.ref_price, e.indicative,
      e.book_price, e.collar, e.low, e.high, e.min_price, e.max_price, e.at_ns, e.extensions,
      e.cond);
}

void MarketRows::On(const market::Instrument& e) {
  Add(kInstrumentTable, e, e.id, e.kind, e.market, e.lot, e.prior_close, e.luld_tier, e.leverage,
      e.currency, e.underlying, e.tick, e.multiplier, e.strike, e.expiry_ns, e.test, e.flags);
}

void MarketRows::On(const market::Bar& e) {
  Add(kBarTable, e, e.interval, e.open, e.high, e.low, e.close, e.volume);
}

void MarketRows::On(const market::Statistic& e) {
  Add(kStatisticTable, e, e.kind, e.price, e.size, e.at_ns, e.action, e.cond);
}

void MarketRows::On(const market::Gap& e) {
  Add(kGapTable, e, e.session, e.first_seq, e.last_seq, e.first_time_ns, e.last_time_ns, e.tried,
      e.closed, e.closed_ns);
}

}  // namespace tickstack::feed
