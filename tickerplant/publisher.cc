#include "tickerplant/publisher.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "tickerplant/row_ends.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using wire::Segment;

namespace {

// A column's bytes in one message are copied below this size, and referenced from it on.
// Connections use the same bound, so that nothing is copied twice.
constexpr size_t kReferenceBytes = 4096;
// Messages up to this size are encoded into one piece, which is cheaper than a list of segments for
// each subscriber.
constexpr size_t kContiguousBytes = size_t{16} << 10;

// Number of emptied batches to keep: those of a second at 100,000 rows/s.
constexpr size_t kSpareBatches = 64;

// A column of a pending batch: runs of bytes, each in `own` or in memory of another owner.
struct PendingColumn {
  struct Part {
    std::span<const std::byte> bytes;   // Bytes of another owner; unused if `owner` is nullptr.
    size_t own_begin = 0, own_end = 0;  // Range in `own`; used if `owner` is nullptr.
    std::shared_ptr<const void> owner;  // nullptr: the bytes are in `own`.
  };

  void Append(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    size += bytes.size();
    if (owner != nullptr && bytes.size() >= kReferenceBytes) {
      parts.push_back({bytes, 0, 0, owner});
      return;
    }
    const size_t begin = own->size();
    own->Append(bytes);
    if (!parts.empty() && parts.back().owner == nullptr) {
      parts.back().own_end = own->size();
    } else {
      parts.push_back({{}, begin, own->size(), nullptr});
    }
  }
  std::span<const std::byte> BytesOf(const Part& part) const {
    return part.owner != nullptr
               ? part.bytes
               : own->span().subspan(part.own_begin, part.own_end - part.own_begin);
  }
  void Clear() {
    parts.clear();
    size = 0;
    if (own.use_count() == 1) {
      own->clear();
    } else {
      own = std::make_shared<ByteBuffer>();  // A slow subscriber still reads the old one.
    }
  }

  std::shared_ptr<ByteBuffer> own = std::make_shared<ByteBuffer>();
  std::vector<Part> parts;
  size_t size = 0;
};

}  // namespace

struct Publisher::Batch {
  size_t table = 0;
  size_t rows = 0;
  size_t bytes = 0;  // Sum of the columns' bytes.
  std::vector<PendingColumn> columns;
  std::vector<Type> types;  // As they arrived: a nested column of the schema takes any type.
};

namespace {

// The message up to its columns, whose heads and elements take `columns_bytes`.
void AppendPrefix(wire::UpdEncoder& upd, const Schema& schema, bool numbered,
                  size_t columns_bytes) {
  upd.BeginFrame();
  upd.Head(protocol::kUpd, schema.table, numbered);
  upd.Table(schema);
  upd.EndFrame(wire::MessageKind::kAsync, columns_bytes + (numbered ? wire::kSeqBytes : 0));
}

}  // namespace

Publisher::Publisher(std::span<const Schema> schemas, bool keep_order)
    : schemas_(schemas),
      keep_order_(keep_order),
      subscriptions_(schemas.size()),
      batch_of_table_(schemas.size(), nullptr) {}

Publisher::~Publisher() = default;

void Publisher::ReleaseMemory() { spare_.clear(); }

void Publisher::Subscribe(size_t table, Subscription subscription) {
  TS_CHECK(pending_.empty());
  std::vector<Subscription>& all = subscriptions_[table];
  std::erase_if(all,
                [&](const Subscription& other) { return other.outlet == subscription.outlet; });
  if (std::find(outlets_.begin(), outlets_.end(), subscription.outlet) == outlets_.end()) {
    outlets_.push_back(subscription.outlet);
  }
  all.push_back(std::move(subscription));
}

void Publisher::Remove(const Outlet* outlet) {
  for (std::vector<Subscription>& all : subscriptions_) {
    std::erase_if(all, [&](const Subscription& other) { return other.outlet == outlet; });
  }
  std::erase(outlets_, outlet);
}

void Publisher::Remove(const Outlet* outlet, size_t table) {
  const auto is_of = [&](const Subscription& other) { return other.outlet == outlet; };
  std::erase_if(subscriptions_[table], is_of);
  const bool remains = std::ranges::any_of(
      subscriptions_, [&](const auto& all) { return std::ranges::any_of(all, is_of); });
  if (!remains) std::erase(outlets_, outlet);
}

std::span<const Subscription> Publisher::SubscriptionsOf(size_t table) const {
  return subscriptions_[table];
}

Publisher::Batch& Publisher::BatchFor(size_t table) {
  if (keep_order_) {
    if (!pending_.empty() && pending_.back()->table == table) return *pending_.back();
  } else if (Batch* const batch = batch_of_table_[table];
             batch != nullptr && batch->bytes < kMessageBytes) {
    return *batch;
  }
  std::unique_ptr<Batch> batch;
  const auto same =
      std::find_if(spare_.begin(), spare_.end(), [&](const auto& b) { return b->table == table; });
  if (same != spare_.end()) {
    batch = std::move(*same);
    spare_.erase(same);
  } else {
    batch = std::make_unique<Batch>();
    batch->table = table;
    batch->columns.resize(schemas_[table].columns.size());
    batch->types.resize(schemas_[table].columns.size());
  }
  batch_of_table_[table] = batch.get();
  pending_.push_back(std::move(batch));
  return *pending_.back();
}

void Publisher::Add(size_t table, const BatchView& batch,
                    const std::shared_ptr<const void>& owner) {
  if (subscriptions_[table].empty() || batch.rows == 0) return;
  Batch* pending = &BatchFor(table);
  const std::vector<ColumnSpec>& specs = schemas_[table].columns;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (pending->rows == 0) pending->types[i] = batch.columns[i].type;
  }
  // A nested column may arrive as strings in one message and as a simple vector in the next. These
  // cannot share a vector, so the second one starts a new message.
  const bool same_types =
      std::equal(batch.columns.begin(), batch.columns.end(), pending->types.begin(),
                 [](const ColumnView& view, Type type) { return view.type == type; });
  if (!same_types) {
    auto next = std::make_unique<Batch>();
    next->table = table;
    next->columns.resize(specs.size());
    for (const ColumnView& view : batch.columns) next->types.push_back(view.type);
    batch_of_table_[table] = next.get();
    pending_.push_back(std::move(next));
    pending = pending_.back().get();
  }
  pending->rows += batch.rows;
  for (size_t i = 0; i < specs.size(); ++i) {
    pending->columns[i].Append(batch.columns[i].data, owner);
    pending->bytes += batch.columns[i].data.size();
    pending_bytes_ += batch.columns[i].data.size();
  }
}

void Publisher::Publish(int64_t seq) {
  if (pending_.empty()) return;
  std::vector<std::unique_ptr<Batch>> batches = std::exchange(pending_, {});
  std::fill(batch_of_table_.begin(), batch_of_table_.end(), nullptr);
  pending_bytes_ = 0;
  for (const std::unique_ptr<Batch>& batch : batches) Send(*batch, seq);
  const std::vector<Outlet*> outlets = outlets_;  // A copy, since one may fail and be removed.
  for (Outlet* outlet : outlets) outlet->Flush();
  for (std::unique_ptr<Batch>& batch : batches) {
    batch->rows = batch->bytes = 0;
    for (PendingColumn& column : batch->columns) column.Clear();
    if (spare_.size() < kSpareBatches) spare_.push_back(std::move(batch));
  }
}

// A batch divided into rows, computed once for all filtered subscriptions.
struct Publisher::Rows {
  explicit Rows(const Schema& table_schema, const Batch& batch)
      : schema(table_schema),
        types(batch.types),
        rows(batch.rows),
        columns(batch.columns.size()),
        ends(batch.columns.size()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      columns[i].reserve(batch.columns[i].size);
      for (const PendingColumn::Part& part : batch.columns[i].parts)
        columns[i].Append(batch.columns[i].BytesOf(part));
      if (WidthOf(types[i]) == 0) ends[i] = EndsOf(types[i], columns[i], rows);
    }
  }
  std::span<const std::byte> Cell(size_t column, size_t row) const {
    const std::span<const std::byte> bytes = columns[column].span();
    if (const size_t width = WidthOf(types[column]); width != 0)
      return bytes.subspan(row * width, width);
    const size_t begin = row == 0 ? 0 : ends[column][row - 1];
    return bytes.subspan(begin, ends[column][row] - begin);
  }

  const Schema& schema;
  std::span<const Type> types;
  size_t rows;
  std::vector<ByteBuffer> columns;
  std::vector<std::vector<size_t>> ends;  // For columns whose cells differ in width.
};

void Publisher::Send(const Batch& batch, int64_t seq) {
  const Schema& schema = schemas_[batch.table];
  const std::vector<Subscription>& subscriptions = subscriptions_[batch.table];
  size_t columns_bytes = 0;
  for (const PendingColumn& column : batch.columns)
    columns_bytes += wire::kVectorHeadBytes + column.size;
  ++published_messages_;

  for (const bool numbered : {false, true}) {
    const auto wants = [&](const Subscription& s) {
      return s.symbols.empty() && s.numbered == numbered;
    };
    if (std::none_of(subscriptions.begin(), subscriptions.end(), wants)) continue;

    // Small pieces first, into a buffer that does not move once segments point into it.
    auto small = std::make_shared<ByteBuffer>();
    const bool contiguous = columns_bytes <= kContiguousBytes;
    small->reserve(256 + 64 * schema.columns.size() + (contiguous ? columns_bytes : 0));
    wire::UpdEncoder upd(*small);
    AppendPrefix(upd, schema, numbered, columns_bytes);
    std::vector<size_t> cuts;  // Where, in `small`, each column's bytes belong.
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      upd.Column(batch.types[i], batch.rows);
      cuts.push_back(small->size());
      if (!contiguous) continue;
      for (const PendingColumn::Part& part : batch.columns[i].parts)
        small->Append(batch.columns[i].BytesOf(part));
    }
    if (numbered) upd.Seq(seq);

    std::vector<Segment> segments;
    if (contiguous) {
      segments.push_back({small->span(), small});
    } else {
      size_t begin = 0;
      for (size_t i = 0; i < batch.columns.size(); ++i) {
        const PendingColumn& column = batch.columns[i];
        segments.push_back({small->span().subspan(begin, cuts[i] - begin), small});
        begin = cuts[i];
        for (const PendingColumn::Part& part : column.parts) {
          segments.push_back({column.BytesOf(part), part.owner != nullptr
                                                        ? part.owner
                                                        : std::shared_ptr<const void>(column.own)});
        }
      }
      segments.push_back({small->span().subspan(begin), small});
    }
    for (const Subscription& subscription : subscriptions) {
      if (wants(subscription)) subscription.outlet->Queue(segments);
    }
  }
  std::optional<Rows> rows;
  for (const Subscription& subscription : subscriptions) {
    if (subscription.symbols.empty()) continue;
    if (!rows) rows.emplace(schema, batch);
    SendFiltered(*rows, subscription, seq);
  }
}

void Publisher::SendFiltered(const Rows& rows, const Subscription& subscription,
                             int64_t seq) const {
  const int sym = rows.schema.Find("sym");
  if (sym < 0 || rows.types[static_cast<size_t>(sym)] != Type::kSymbol) return;
  std::vector<size_t> chosen;
  for (size_t row = 0; row < rows.rows; ++row) {
    std::string_view name = AsText(rows.Cell(static_cast<size_t>(sym), row));
    name.remove_suffix(1);
    if (subscription.symbols.contains(name)) chosen.push_back(row);
  }
  if (chosen.empty()) return;

  ByteBuffer columns;
  wire::UpdEncoder x(columns);
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    x.Column(rows.types[i], chosen.size());
    for (const size_t row : chosen) columns.Append(rows.Cell(i, row));
  }
  auto message = std::make_shared<ByteBuffer>();
  wire::UpdEncoder upd(*message);
  AppendPrefix(upd, rows.schema, subscription.numbered, columns.size());
  message->Append(columns.span());
  if (subscription.numbered) upd.Seq(seq);
  const Segment segment{message->span(), message};
  subscription.outlet->Queue({&segment, 1});
}

Value EmptyTable(const Schema& schema) {
  const bool keyed = schema.key_columns > 0;
  SymbolVector names[2];
  std::vector<Value> columns[2];  // Columns of the key, and the others.
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    const int part = i < schema.key_columns ? 0 : 1;
    names[part].push_back(column.name);
    if (column.type == Type::kSymbol) {
      const bool grouped = !keyed && column.name == "sym";
      columns[part].push_back(Value::Symbols({}, grouped ? Attribute::kGrouped : Attribute::kNone));
    } else if (column.type == Type::kList) {
      columns[part].push_back(Value::List({}));
    } else {
      columns[part].push_back(Value::Vector(column.type, ByteBuffer()));
    }
  }
  Value values = Value::Table(std::move(names[1]), std::move(columns[1]));
  if (!keyed) return values;
  return Value::KeyedTable(Value::Table(std::move(names[0]), std::move(columns[0])),
                           std::move(values));
}

}  // namespace tickstack::tickerplant
