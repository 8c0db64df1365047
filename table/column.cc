#include "table/column.h"

#include <algorithm>
#include <cstring>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "table/encoded.h"

namespace tickstack {
namespace {

constexpr size_t kFirstArenaBytes = 64 << 10;
constexpr size_t kArenaBytes = mem::Tier::kHugePageBytes;

size_t StoredWidth(Type type, size_t item_ref_bytes) {
  if (type == Type::kList) return item_ref_bytes;
  return type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type);
}

// Goes through the items that a batch brings for a list column, as the bytes that the column keeps:
// values as they are; an element of a typed vector becomes an atom. At most 16 bytes are built, a
// guid's; a symbol's name goes to `put` as a second part.
template <typename Put>
bool EachItem(const ColumnView& view, Put put) {
  std::span<const std::byte> rest = view.data;
  const size_t width = WidthOf(view.type);
  const auto atom_code = static_cast<std::byte>(-static_cast<int8_t>(view.type));
  for (size_t row = 0; row < view.rows; ++row) {
    size_t bytes = width;
    if (view.type == Type::kSymbol) {
      const void* const nul = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
      if (nul == nullptr) return false;
      bytes = static_cast<size_t>(static_cast<const std::byte*>(nul) - rest.data()) + 1;
    } else if (view.type == Type::kList) {
      const std::optional<size_t> encoded = EncodedBytes(rest);
      if (!encoded) return false;
      bytes = *encoded;
    }
    if (bytes > rest.size()) return false;
    if (!put(view.type == Type::kList ? std::span<const std::byte>() : std::span(&atom_code, 1),
             rest.first(bytes))) {
      return false;
    }
    rest = rest.subspan(bytes);
  }
  return rest.empty();
}

}  // namespace

Column::Column(Type type, const ChunkLayout& layout, mem::Tier* tier)
    : type_(type), width_(StoredWidth(type, sizeof(ItemRef))), layout_(layout), tier_(tier) {}

Column::~Column() {
  for (size_t i = 0; i < chunk_count_; ++i) tier_->Free(chunks_[i], layout_.Rows(i) * width_);
  for (size_t i = 0; i < block_count_; ++i) tier_->Free(blocks_[i].memory, blocks_[i].bytes);
}

absl::StatusOr<std::byte*> Column::Take(size_t bytes) {
  absl::StatusOr<std::byte*> memory = tier_->Allocate(bytes);
  if (memory.ok()) {
    bytes_.fetch_add(mem::Tier::RoundedBytes(bytes), std::memory_order_relaxed);
  }
  return memory;
}

absl::Status Column::ReserveChunks(size_t rows) {
  while (layout_.BeginRow(chunk_count_) < rows) {
    TS_ASSIGN_OR_RETURN(std::byte * chunk, Take(layout_.Rows(chunk_count_) * width_));
    chunks_.Reserve(chunk_count_ + 1);
    chunks_[chunk_count_++] = chunk;
  }
  return absl::OkStatus();
}

// Walks the items as WriteItems will, so that each finds room in the block that the walk chose.
absl::Status Column::ReserveItems(const ColumnView& view) {
  size_t block = block_;
  size_t used = block_used_;
  absl::Status status;
  const bool whole =
      EachItem(view, [&](std::span<const std::byte> head, std::span<const std::byte> body) {
        const size_t bytes = head.size() + body.size();
        if (bytes > UINT32_MAX) {
          status =
              ResourceExhausted("a value of {} bytes, a column takes values below 4 GiB", bytes);
          return false;
        }
        while (block < block_count_ && bytes > blocks_[block].bytes - used) {
          ++block;
          used = 0;
        }
        if (block == block_count_) {
          const size_t wanted = std::max(bytes, block_count_ == 0 ? kFirstArenaBytes : kArenaBytes);
          absl::StatusOr<std::byte*> memory = Take(wanted);
          if (!memory.ok()) {
            status = memory.status();
            return false;
          }
          blocks_.Reserve(block_count_ + 1);
          blocks_[block_count_++] = {*memory, mem::Tier::RoundedBytes(wanted)};
        }
        used += bytes;
        return true;
      });
  TS_RETURN_IF_ERROR(status);
  if (!whole) return InvalidArgument("{} bytes do not hold {} values", view.data.size(), view.rows);
  return absl::OkStatus();
}

absl::Status Column::Reserve(const ColumnView& view, size_t begin_row) {
  // A name or a value has a byte at least: a count that the bytes cannot hold reserves no memory.
  const size_t width = WidthOf(view.type);
  const bool possible = width > 0
                            ? view.data.size() % width == 0 && view.data.size() / width == view.rows
                            : view.data.size() >= view.rows;
  if (!possible || (view.type != Type::kList && !IsVectorType(view.type))) {
    return InvalidArgument("{} bytes do not hold {} values of type {}", view.data.size(), view.rows,
                           NameOf(view.type));
  }
  TS_RETURN_IF_ERROR(ReserveChunks(begin_row + view.rows));
  return type_ == Type::kList ? ReserveItems(view) : absl::OkStatus();
}

// Calls write_part(memory, first, rows) for each piece of the rows that lies in one chunk; `first`
// counts from begin_row.
template <typename WritePart>
void Column::WriteParts(size_t begin_row, size_t rows, WritePart write_part) {
  EachPart(layout_, begin_row, begin_row + rows, [&](size_t first_row, size_t end_row) {
    write_part(Place(first_row), first_row - begin_row, end_row - first_row);
  });
}

void Column::WriteItems(const ColumnView& view, size_t begin_row) {
  size_t row = begin_row;
  EachItem(view, [&](std::span<const std::byte> head, std::span<const std::byte> body) {
    const size_t bytes = head.size() + body.size();
    while (bytes > blocks_[block_].bytes - block_used_) {
      ++block_;
      block_used_ = 0;
    }
    std::byte* const at = blocks_[block_].memory + block_used_;
    if (!head.empty()) at[0] = head[0];
    std::memcpy(at + head.size(), body.data(), body.size());
    const ItemRef ref{static_cast<uint32_t>(block_), static_cast<uint32_t>(block_used_),
                      static_cast<uint32_t>(bytes), 0};
    std::memcpy(Place(row), &ref, sizeof(ref));
    block_used_ += bytes;
    ++row;
    return true;
  });
}

void Column::Write(const ColumnView& view, size_t begin_row) {
  if (type_ == Type::kList) return WriteItems(view, begin_row);
  WriteParts(begin_row, view.rows, [&](std::byte* memory, size_t first, size_t rows) {
    std::memcpy(memory, view.data.data() + first * width_, rows * width_);
  });
}

absl::Status Column::WriteSymbols(const ColumnView& view, size_t begin_row, SymbolTable& symbols) {
  std::span<const std::byte> names = view.data;
  bool whole = true;
  WriteParts(begin_row, view.rows, [&](std::byte* memory, size_t, size_t rows) {
    if (!whole) return;
    const std::span<SymbolId> ids(reinterpret_cast<SymbolId*>(memory), rows);
    const std::optional<size_t> bytes = symbols.InternAll(names, ids);
    whole = bytes.has_value();
    if (whole) names = names.subspan(*bytes);
  });
  if (!whole || !names.empty()) {
    return InvalidArgument("{} bytes do not hold {} names", view.data.size(), view.rows);
  }
  return absl::OkStatus();
}

std::span<const std::byte> Column::Item(size_t row) const {
  TS_CHECK(type_ == Type::kList);
  ItemRef ref;
  std::memcpy(&ref, Element(row), sizeof(ref));
  return {blocks_[ref.block].memory + ref.offset, ref.size};
}

}  // namespace tickstack
