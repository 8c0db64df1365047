#include "query/column.h"

#include <algorithm>

#include "query/encoded_item.h"

namespace tickstack::query {
namespace {

absl::StatusOr<Value> MaterialiseCapturedSymbols(const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(size_t) + 8));
  const SymbolTable& symbols = slice.column.symbols();
  SymbolVector names;
  names.reserve(slice.count(), slice.count() * 8);
  TS_RETURN_IF_ERROR(ForEachBlock<SymbolId>(slice, budget, [&](const Block<SymbolId>& block) {
    for (SymbolId id : block.elements) names.push_back(symbols.NameOf(id));
  }));
  return Value::Symbols(std::move(names));
}

absl::StatusOr<Value> MaterialiseList(const Slice& slice, Budget& budget) {
  std::vector<Value> items;
  for (uint32_t row : slice.rows->ToVector()) {
    TS_ASSIGN_OR_RETURN(Value item, slice.column.At(row));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(item)));
    items.push_back(std::move(item));
  }
  return Value::List(std::move(items));
}

absl::StatusOr<Value> MaterialiseFixedWidth(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), WidthOf(type)));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    VectorWriter<T> out(type, slice.count());
    T* at = out.data();
    TS_RETURN_IF_ERROR(ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
      at = std::copy(block.elements.begin(), block.elements.end(), at);
    }));
    return std::move(out).Finish();
  });
}

template <typename T>
absl::StatusOr<Value> GatherFixedWidth(const Column& column, std::span<const uint32_t> rows,
                                       Budget& budget) {
  VectorWriter<T> out(column.type(), rows.size());
  const T missing = NullElement<T>(column.type());
  const ChunkLayout layout = column.layout();
  ChunkLayout::Chunk chunk{};  // In hand.
  const T* elements = nullptr;
  T* at = out.data();
  for (size_t row : rows) {
    if (row == kNoItem) {
      *at++ = missing;
      continue;
    }
    if (row >= chunk.end_row || row < chunk.begin_row) [[unlikely]] {
      TS_RETURN_IF_ERROR(budget.CheckTime());
      chunk = layout.ChunkOf(row);
      elements = column.Chunk<T>(chunk.number).data();
    }
    *at++ = elements[row - chunk.begin_row];
  }
  return std::move(out).Finish();
}

}  // namespace

Column::Column(Value vector) : value_(std::make_shared<Value>(std::move(vector))) {
  TS_CHECK(value_->is_vector() || value_->is_list());
}

Column::Column(std::shared_ptr<const Snapshot> snapshot, size_t index)
    : snapshot_(std::move(snapshot)), index_(index) {}

Type Column::type() const {
  return captured() ? snapshot_->schema().columns[index_].type : value_->type();
}

size_t Column::rows() const { return captured() ? snapshot_->rows() : value_->count(); }

std::optional<Value> Column::Release() && {
  if (captured() || value_.use_count() != 1) return std::nullopt;
  return std::move(*value_);
}

std::string_view Column::SymbolAt(size_t row) const {
  if (!captured()) return value_->symbols()[row];
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  return symbols().NameOf(Chunk<SymbolId>(chunk.number)[row - chunk.begin_row]);
}

absl::StatusOr<Value> Column::At(size_t row) const {
  if (!captured()) return ItemAt(*value_, row);
  if (type() == Type::kSymbol) return Value::Symbol(SymbolAt(row));
  if (type() == Type::kList) return DecodeItem(snapshot_->Item(index_, row));
  const size_t width = WidthOf(type());
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  const std::span<const std::byte> bytes = snapshot_->ChunkBytes(index_, chunk.number);
  return Value::AtomFromBytes(type(), bytes.subspan((row - chunk.begin_row) * width, width));
}

Slice Slice::Of(Value vector) {
  Column column(std::move(vector));
  auto rows = std::make_shared<const RowSet>(RowSet::Range(0, column.rows()));
  return Slice{std::move(column), std::move(rows)};
}

absl::StatusOr<Value> Materialise(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return MaterialiseList(slice, budget);
  if (slice.type() != Type::kSymbol) return MaterialiseFixedWidth(slice, budget);
  if (slice.column.captured()) return MaterialiseCapturedSymbols(slice, budget);
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(size_t) + 8));
  if (slice.IsAll()) return *slice.column.value();
  return TakeItems(*slice.column.value(), slice.rows->ToVector());
}

absl::StatusOr<Value> Release(Slice slice, Budget& budget) {
  if (slice.IsAll()) {
    if (std::optional<Value> value = std::move(slice.column).Release()) return *std::move(value);
  }
  return Materialise(slice, budget);
}

absl::StatusOr<Value> GatherRows(const Column& column, std::span<const uint32_t> rows,
                                 Budget& budget) {
  const Type type = column.type();
  if (IsFixedWidth(type)) {
    TS_RETURN_IF_ERROR(budget.Charge(rows.size(), WidthOf(type)));
    return VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
      return GatherFixedWidth<T>(column, rows, budget);
    });
  }
  TS_RETURN_IF_ERROR(type == Type::kSymbol ? budget.Charge(rows.size(), sizeof(size_t) + 8)
                                           : budget.ChargeItems(rows.size()));
  if (!column.captured()) return TakeItems(*column.value(), rows);
  if (type == Type::kSymbol) {
    SymbolVector names;
    names.reserve(rows.size(), rows.size() * 8);
    for (uint32_t row : rows) names.push_back(row == kNoItem ? "" : column.SymbolAt(row));
    return Value::Symbols(std::move(names));
  }
  Value missing = Value::List({});
  if (column.rows() > 0) {
    TS_ASSIGN_OR_RETURN(const Value first, column.At(0));
    if (first.is_vector()) missing = EmptyVector(first.type());
  }
  std::vector<Value> items;
  for (uint32_t row : rows) {
    if (row == kNoItem) {
      items.push_back(missing);
      continue;
    }
    TS_ASSIGN_OR_RETURN(Value item, column.At(row));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(item)));
    items.push_back(std::move(item));
  }
  return Value::List(std::move(items));
}

}  // namespace tickstack::query
