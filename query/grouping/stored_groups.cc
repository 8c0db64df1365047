#include "query/grouping/stored_groups.h"

#include <algorithm>
#include <utility>

#include "base/byte_buffer.h"
#include "query/columns/elements.h"
#include "query/kernels/order.h"
#include "table/chunk_layout.h"

namespace tickstack::query {
namespace {

// The fewest rows per group for this way: with fewer, row sets and tasks cost more than the rows.
constexpr size_t kRowsPerGroupMin = 8;

// Rows of one part, and of one symbol if the groups are by symbols.
struct Piece {
  uint32_t partition;  // Number among the distinct values, in their order.
  uint32_t symbol;     // Number among the names, in their order.
  disk::RowRange rows;
};

// Groups whose rows are pieces that follow each other.
class PieceGroups final : public Groups {
 public:
  PieceGroups(std::vector<Value> keys, std::vector<disk::RowRange> pieces,
              std::vector<size_t> begins, GroupEnds ends)
      : Groups(std::move(keys), begins.size() - 1),
        pieces_(std::move(pieces)),
        begins_(std::move(begins)),
        ends_(std::move(ends)) {}

  std::shared_ptr<const RowSet> RowsOf(size_t group) const override {
    return std::make_shared<const RowSet>(RowSet::FromRanges(
        std::span(pieces_).subspan(begins_[group], begins_[group + 1] - begins_[group])));
  }
  const GroupEnds* ends() const override { return &ends_; }
  absl::StatusOr<const GroupNumbers*> Numbers(Budget&) override { return nullptr; }

 private:
  const std::vector<disk::RowRange> pieces_;
  const std::vector<size_t> begins_;  // The first piece of each group, and the end of the last one.
  const GroupEnds ends_;
};

class Maker {
 public:
  Maker(const StoredParts& parts, std::span<const StoredKey> keys) : parts_(parts), keys_(keys) {
    if (!parts_.table().is_partitioned()) return;
    for (const StoredPart& part : parts_.parts()) {
      const int64_t value = parts_.table().PartitionValue(part.partition);
      // Values ascend, and one may have two parts, in two segments.
      if (values_.empty() || values_.back() != value) values_.push_back(value);
      number_of_part_.push_back(static_cast<uint32_t>(values_.size() - 1));
    }
  }

  void AddRows(const RowSet& rows, uint32_t symbol) {
    const ChunkLayout layout = parts_.layout();
    EachRangeOf(rows, [&](size_t begin_row, size_t end_row) {
      EachPart(layout, begin_row, end_row, [&](size_t row, size_t part_end) {
        const uint32_t partition =
            number_of_part_.empty() ? 0 : number_of_part_[layout.NumberOf(row)];
        pieces_.push_back({partition, symbol, {row, part_end}});
        rows_ += part_end - row;
      });
    });
  }
  void AddSymbols(const SymbolRows& symbols) {
    SymbolVector names;
    for (size_t i = 0; i < symbols.count(); ++i) names.push_back(symbols.NameOf(i));
    const Value unsorted = Value::Symbols(std::move(names));
    const ScratchVector<uint32_t> order = AscendingOrder(unsorted);
    names_ = TakeItems(unsorted, order);
    for (uint32_t at = 0; at < order.size(); ++at) AddRows(*symbols.RowsOf(order[at]), at);
  }

  absl::StatusOr<std::unique_ptr<Groups>> Finish(Budget& budget) {
    TS_RETURN_IF_ERROR(budget.Charge(pieces_.size(), 2 * sizeof(Piece) + 64));
    std::ranges::sort(pieces_, [this](const Piece& a, const Piece& b) {
      for (const StoredKey key : keys_) {
        if (NumberIn(a, key) != NumberIn(b, key)) return NumberIn(a, key) < NumberIn(b, key);
      }
      return a.rows.begin_row < b.rows.begin_row;
    });
    std::vector<disk::RowRange> ranges;
    std::vector<size_t> begins;
    std::vector<Piece> firsts;
    GroupEnds ends;
    for (const Piece& piece : pieces_) {
      const bool same = !firsts.empty() && std::ranges::all_of(keys_, [&](StoredKey key) {
        return NumberIn(piece, key) == NumberIn(firsts.back(), key);
      });
      if (!same) {
        begins.push_back(ranges.size());
        firsts.push_back(piece);
        ends.first_rows.push_back(static_cast<uint32_t>(piece.rows.begin_row));
        ends.last_rows.push_back(0);
        ends.rows.push_back(0);
      }
      ranges.push_back(piece.rows);
      ends.last_rows.back() = static_cast<uint32_t>(piece.rows.end_row - 1);
      ends.rows.back() += static_cast<int64_t>(piece.rows.rows());
    }
    if (rows_ < kRowsPerGroupMin * firsts.size()) return nullptr;
    begins.push_back(ranges.size());
    std::vector<Value> keys;
    for (const StoredKey key : keys_) keys.push_back(ItemsOf(key, firsts));
    return std::make_unique<PieceGroups>(std::move(keys), std::move(ranges), std::move(begins),
                                         std::move(ends));
  }

 private:
  static uint32_t NumberIn(const Piece& piece, StoredKey key) {
    return key == StoredKey::kPartition ? piece.partition : piece.symbol;
  }
  Value ItemsOf(StoredKey key, std::span<const Piece> firsts) const {
    if (key == StoredKey::kSymbol) {
      ScratchVector<uint32_t> positions;
      for (const Piece& piece : firsts) positions.push_back(piece.symbol);
      return TakeItems(names_, positions);
    }
    const Type type = parts_.table().schema().columns.front().type;
    ByteBuffer items;
    for (const Piece& piece : firsts) {
      const int64_t value = values_[piece.partition];
      if (WidthOf(type) == 8) {
        items.AppendLittle(value);
      } else {
        items.AppendLittle(static_cast<int32_t>(value));
      }
    }
    return Value::Vector(type, std::move(items));
  }

  const StoredParts& parts_;
  const std::span<const StoredKey> keys_;
  std::vector<int64_t> values_;           // Distinct and ascending.
  std::vector<uint32_t> number_of_part_;  // The number of each part's value in values_.
  Value names_;
  std::vector<Piece> pieces_;
  size_t rows_ = 0;
};

}  // namespace

absl::StatusOr<std::optional<StoredKeys>> StoredKeysOf(std::span<const NamedNode> phrase,
                                                       const TableView& view, Budget& budget) {
  if (view.stored == nullptr) return std::nullopt;
  StoredKeys keys;
  for (const NamedNode& group : phrase) {
    if (group.node->kind != Node::Kind::kName) return std::nullopt;
    const int found = view.Find(group.node->name);
    if (found < 0) return std::nullopt;
    const auto& column = view.columns[static_cast<size_t>(found)];
    StoredKey kind = StoredKey::kPartition;
    if (found != 0 || !view.stored->table().is_partitioned()) {
      if (column.type() != Type::kSymbol) return std::nullopt;
      TS_ASSIGN_OR_RETURN(AnyColumn symbol, column.Get(budget));
      if (symbol.stored() == nullptr || !symbol.indexed()) return std::nullopt;
      kind = StoredKey::kSymbol;
      keys.symbol.emplace(std::move(symbol));
    }
    if (std::ranges::count(keys.kinds, kind) > 0) return std::nullopt;
    keys.kinds.push_back(kind);
  }
  return keys;
}

absl::StatusOr<std::unique_ptr<Groups>> GroupsOfParts(const StoredParts& parts,
                                                      std::span<const StoredKey> keys,
                                                      const RowSet& rows,
                                                      const std::optional<SymbolRows>& symbols,
                                                      Budget& budget) {
  Maker maker(parts, keys);
  if (symbols.has_value()) {
    maker.AddSymbols(*symbols);
  } else if (rows.runs().empty() && std::ranges::count(keys, StoredKey::kSymbol) == 0) {
    maker.AddRows(rows, 0);
  } else {
    return nullptr;
  }
  return maker.Finish(budget);
}

}  // namespace tickstack::query
