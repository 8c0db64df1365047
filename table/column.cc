#include "table/column.h"

#include <algorithm>
#include <cstring>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "mem/copy.h"
#include "mem/medium.h"
#include "table/encoded.h"

namespace tickstack {
namespace {

constexpr size_t kFirstArenaBytes = 64 << 10;
constexpr size_t kArenaBytes = mem::Tier::kHugePageBytes;

// Packs an allocation into a word of a DurableList: its offset in units of 256 bytes, of which all
// offsets are multiples, and behind it its size in the same units, which is below 2^24 for all that
// a column takes.
constexpr int kUnitShift = 8;
constexpr int kSizeBits = 25;

uint64_t BlockWord(uint64_t offset, size_t bytes) {
  return offset >> kUnitShift << kSizeBits | bytes >> kUnitShift;
}
uint64_t OffsetOfWord(uint64_t word) { return word >> kSizeBits << kUnitShift; }
size_t BytesOfWord(uint64_t word) {
  return (word & ((uint64_t{1} << kSizeBits) - 1)) << kUnitShift;
}

// Packs the two checksums of a chunk into a word of a DurableList.
uint64_t SumsWord(uint32_t elements, uint32_t items) { return uint64_t{items} << 32 | elements; }

size_t StoredWidth(Type type, size_t item_ref_bytes) {
  if (type == Type::kList) return item_ref_bytes;
  return type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type);
}

// Goes through a list column's items in a batch and gives each as the bytes that the column keeps:
// values as they are, elements of a typed vector as atoms. This builds at most 16 bytes, for a
// guid; a symbol's name goes to `put` as a second part.
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
    : type_(type),
      width_(StoredWidth(type, sizeof(ItemRef))),
      layout_(layout),
      tier_(tier),
      aged_(tier->aged()) {
  if (mem::PersistentTier* const persistent = tier->persistent()) {
    durable_ = std::make_unique<Durable>(persistent);
  }
}

Column::~Column() {
  for (size_t i = 0; i < chunk_count_; ++i) tier_->Free(Chunk(i), ChunkBytes(i));
  for (size_t i = 0; i < block_count_; ++i) tier_->Free(blocks_[i].memory, blocks_[i].bytes);
}

absl::StatusOr<std::byte*> Column::Take(size_t bytes, DurableList Durable::* list) {
  TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(bytes));
  const size_t rounded = mem::Tier::RoundedBytes(bytes);
  if (durable_ != nullptr) {
    const uint64_t word = BlockWord(durable_->tier->OffsetOf(memory), rounded);
    if (absl::Status noted = (durable_.get()->*list).Append(word); !noted.ok()) {
      tier_->Free(memory, bytes);
      return noted;
    }
  }
  bytes_.fetch_add(rounded, std::memory_order_relaxed);
  if (aged_ != nullptr && aged_->older().Has(memory)) {
    older_bytes_.fetch_add(rounded, std::memory_order_release);
  }
  return memory;
}

absl::Status Column::ReserveChunks(size_t rows) {
  while (layout_.BeginRow(chunk_count_) < rows) {
    // Sum cannot fail for lack of room for a checksum.
    if (durable_ != nullptr) TS_RETURN_IF_ERROR(durable_->sums.Reserve(chunk_count_ + 1));
    TS_ASSIGN_OR_RETURN(std::byte * chunk, Take(ChunkBytes(chunk_count_), &Durable::chunks));
    chunks_.Reserve(chunk_count_ + 1);
    chunks_[chunk_count_++].store(chunk, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

absl::Status Column::AddBlock(size_t bytes) {
  const size_t wanted = std::max(bytes, block_count_ == 0 ? kFirstArenaBytes : kArenaBytes);
  TS_ASSIGN_OR_RETURN(std::byte * memory, Take(wanted, &Durable::blocks));
  blocks_.Reserve(block_count_ + 1);
  blocks_[block_count_++] = {memory, mem::Tier::RoundedBytes(wanted)};
  return absl::OkStatus();
}

// Walks the items as WriteItems will, so that each has room in the block that the walk chose.
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
          status = AddBlock(bytes);
          if (!status.ok()) return false;
        }
        used += bytes;
        return true;
      });
  TS_RETURN_IF_ERROR(status);
  if (!whole) return InvalidArgument("{} bytes do not hold {} values", view.data.size(), view.rows);
  return absl::OkStatus();
}

absl::Status Column::Reserve(const ColumnView& view, size_t begin_row) {
  // Checks the count first: each name or value has at least a byte, so a count that the bytes
  // cannot hold must reserve no memory.
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
    mem::MediumAccess access(medium());
    std::byte* const memory = Place(first_row);
    write_part(memory, first_row - begin_row, end_row - first_row);
    access.Wrote(memory, (end_row - first_row) * width_);
  });
}

void Column::WriteItems(const ColumnView& view, size_t begin_row) {
  mem::MediumAccess access(medium());
  size_t row = begin_row, item_bytes = 0;
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
    item_bytes += bytes;
    ++row;
    return true;
  });
  if (view.rows == 0) return;
  // The batch's items lie one after the other and end here, except those in earlier blocks.
  access.Wrote(blocks_[block_].memory + block_used_ - std::min(item_bytes, block_used_),
               item_bytes);
  EachPart(layout_, begin_row, row, [&](size_t first_row, size_t end_row) {
    access.Wrote(Place(first_row), (end_row - first_row) * width_);
  });
}

bool Column::Write(const ColumnView& view, size_t begin_row, bool may_stream) {
  bool streamed = false;
  if (type_ == Type::kList) {
    WriteItems(view, begin_row);
    return streamed;
  }
  WriteParts(begin_row, view.rows, [&](std::byte* memory, size_t first, size_t rows) {
    const std::byte* const from = view.data.data() + first * width_;
    const size_t bytes = rows * width_;
    if (may_stream && tier_->Streams(bytes)) {
      mem::CopyStreaming(memory, from, bytes);
      streamed = true;
    } else {
      std::memcpy(memory, from, bytes);
    }
  });
  return streamed;
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

Column::ItemRef Column::RefOf(size_t row) const {
  ItemRef ref;
  std::memcpy(&ref, Element(row), sizeof(ref));
  return ref;
}

std::span<const std::byte> Column::Item(size_t row) const {
  TS_CHECK(type_ == Type::kList);
  const ItemRef ref = RefOf(row);
  return {blocks_[ref.block].memory + ref.offset, ref.size};
}

// Calls visit(bytes) for the values of a list column's rows, in order. Values that lie one after
// the other in memory, as those of a batch do, are one run.
template <typename Visit>
void Column::EachItemRun(size_t begin_row, size_t end_row, Visit visit) const {
  std::span<const std::byte> run;
  for (size_t row = begin_row; row < end_row; ++row) {
    const std::span<const std::byte> item = Item(row);
    if (run.data() + run.size() == item.data()) {
      run = {run.data(), run.size() + item.size()};
      continue;
    }
    if (!run.empty()) visit(run);
    run = item;
  }
  if (!run.empty()) visit(run);
}

size_t Column::RecentBytes(size_t chunk, const mem::Tier* recent) const {
  if (aged_ == nullptr || aged_->older().Has(Chunk(chunk))) return 0;
  if (recent != nullptr && recent != &aged_->recent()) return 0;
  return mem::Tier::RoundedBytes(ChunkBytes(chunk));
}

absl::StatusOr<std::byte*> Column::CopyToOlder(size_t chunk) const {
  const size_t bytes = ChunkBytes(chunk);
  // New rows go to the older tier when the recent one is full, so a move leaves room for them.
  constexpr size_t kReservedShare = 32;
  const mem::TierStats older = aged_->older().Stats();
  const bool bounded = older.capacity_bytes != SIZE_MAX;
  const size_t reserve = bounded ? older.capacity_bytes / kReservedShare : 0;
  const size_t room = older.capacity_bytes - older.used_bytes;
  std::byte* copy = nullptr;
  if (room >= reserve && room - reserve >= mem::Tier::RoundedBytes(bytes)) {
    copy = aged_->older().TryAllocate(bytes);
  }
  if (copy == nullptr) {
    return ResourceExhausted(
        "tier {}: no room for {} bytes of old rows: {} of {} bytes used, and "
        "{} are for new rows",
        older.name, bytes, older.used_bytes, older.capacity_bytes, reserve);
  }
  if (aged_->older().Streams(bytes)) {
    mem::CopyStreaming(copy, Chunk(chunk), bytes);
    mem::DrainStreaming();
  } else {
    std::memcpy(copy, Chunk(chunk), bytes);
  }
  return copy;
}

ReplacedMemory::Piece Column::Replace(size_t chunk, std::byte* copy) {
  const size_t bytes = ChunkBytes(chunk);
  older_bytes_.fetch_add(mem::Tier::RoundedBytes(bytes), std::memory_order_release);
  // Release: see Chunk.
  return {&aged_->recent(), chunks_[chunk].exchange(copy, std::memory_order_acq_rel), bytes};
}

void Column::DropCopy(size_t chunk, std::byte* copy) const {
  aged_->older().Free(copy, ChunkBytes(chunk));
}

// Checksums are computed from the tier's memory, right after it was written, when it is still in
// the processor's cache. A chunk's checksum goes to the list with the chunk's last row. Until then
// it is in each root, and describes only the rows of that commit: later rows may have reached the
// medium already.
void Column::Sum(size_t begin_row, size_t end_row) {
  Sums& last = durable_->last;
  EachPart(layout_, begin_row, end_row, [&](size_t first_row, size_t part_end) {
    last.elements =
        ExtendCrc32c(last.elements, {Place(first_row), (part_end - first_row) * width_});
    if (type_ == Type::kList) {
      EachItemRun(first_row, part_end, [&](std::span<const std::byte> items) {
        last.items = ExtendCrc32c(last.items, items);
      });
    }
    if (part_end < layout_.ChunkOf(first_row).end_row) return;
    TS_CHECK(durable_->sums.Append(SumsWord(last.elements, last.items)).ok());  // Has room.
    last = {};
  });
}

void Column::Flush(size_t begin_row, size_t end_row) {
  EachPart(layout_, begin_row, end_row, [&](size_t first_row, size_t part_end) {
    durable_->tier->Flush(Place(first_row), (part_end - first_row) * width_);
  });
  if (type_ == Type::kList && begin_row < end_row) FlushItems(begin_row, end_row);
}

// Flushes the items of a batch. They lie in the order of their rows, so they are one run over one
// or several blocks.
void Column::FlushItems(size_t begin_row, size_t end_row) {
  const ItemRef first = RefOf(begin_row), last = RefOf(end_row - 1);
  for (size_t block = first.block; block <= last.block; ++block) {
    const size_t begin = block == first.block ? first.offset : 0;
    const size_t end = block == last.block ? last.offset + last.size : blocks_[block].bytes;
    durable_->tier->Flush(blocks_[block].memory + begin, end - begin);
  }
}

void Column::Save(ByteBuffer& record) const {
  durable_->chunks.Save(record);
  durable_->blocks.Save(record);
  durable_->sums.Save(record);
  record.AppendLittle(durable_->last.elements);
  record.AppendLittle(durable_->last.items);
}

absl::Status Column::Load(RecordReader& record, size_t rows) {
  TS_RETURN_IF_ERROR(Annotate(durable_->chunks.Load(record), "chunks"));
  TS_RETURN_IF_ERROR(Annotate(durable_->blocks.Load(record), "blocks"));
  TS_RETURN_IF_ERROR(Annotate(durable_->sums.Load(record), "checksums"));
  if (!record.Read(&durable_->last.elements) || !record.Read(&durable_->last.items)) {
    return DataLoss("the record is cut short");
  }
  const size_t chunks = durable_->chunks.size(), needed = layout_.Chunks(rows);
  if (needed > chunks) return DataLoss("{} rows in {} chunks", rows, chunks);
  const size_t full = needed > 0 && layout_.ChunkOf(rows - 1).end_row > rows ? needed - 1 : needed;
  if (durable_->sums.size() != full || durable_->sums.capacity() < chunks) {
    return DataLoss("{} checksums and room for {}, expected {} and room for {}",
                    durable_->sums.size(), durable_->sums.capacity(), full, chunks);
  }
  chunks_.Reserve(chunks);
  for (; chunk_count_ < chunks; ++chunk_count_) {
    const size_t bytes = ChunkBytes(chunk_count_);
    TS_ASSIGN_OR_RETURN(std::byte * chunk,
                        durable_->tier->Find(OffsetOfWord(durable_->chunks[chunk_count_]), bytes));
    chunks_[chunk_count_].store(chunk, std::memory_order_relaxed);
    bytes_.fetch_add(mem::Tier::RoundedBytes(bytes), std::memory_order_relaxed);
  }
  return type_ == Type::kList ? LoadBlocks(rows) : absl::OkStatus();
}

// Finds from the last row's item how far its block is filled; later writes overwrite what an
// uncommitted batch left behind it.
absl::Status Column::LoadBlocks(size_t rows) {
  const size_t blocks = durable_->blocks.size();
  blocks_.Reserve(blocks);
  for (; block_count_ < blocks; ++block_count_) {
    const uint64_t word = durable_->blocks[block_count_];
    TS_ASSIGN_OR_RETURN(std::byte * memory,
                        durable_->tier->Find(OffsetOfWord(word), BytesOfWord(word)));
    blocks_[block_count_] = {memory, BytesOfWord(word)};
    bytes_.fetch_add(BytesOfWord(word), std::memory_order_relaxed);
  }
  if (rows == 0) return absl::OkStatus();
  TS_RETURN_IF_ERROR(CheckRefs(rows - 1, rows));
  const ItemRef last = RefOf(rows - 1);
  block_ = last.block;
  block_used_ = size_t{last.offset} + last.size;
  return absl::OkStatus();
}

absl::Status Column::CheckRefs(size_t begin_row, size_t end_row) const {
  for (size_t row = begin_row; row < end_row; ++row) {
    const ItemRef ref = RefOf(row);
    if (ref.block < block_count_ && size_t{ref.offset} + ref.size <= blocks_[ref.block].bytes) {
      continue;
    }
    return DataLoss("row {}: {}: a value of {} bytes at {} of block {} is outside of the blocks",
                    row, durable_->tier->PlaceOf(Element(row), width_), ref.size, ref.offset,
                    ref.block);
  }
  return absl::OkStatus();
}

absl::Status Column::Verify(size_t chunk, size_t rows) const {
  const size_t begin_row = layout_.BeginRow(chunk);
  const size_t end_row = std::min(rows, begin_row + layout_.Rows(chunk));
  Sums expected = durable_->last;
  if (chunk < durable_->sums.size()) {
    const uint64_t word = durable_->sums[chunk];
    expected = {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
  const std::span<const std::byte> elements = Elements(chunk, end_row - begin_row);
  const auto damaged = [&](std::string_view what, std::span<const std::byte> bytes) {
    return DataLoss("rows {} to {}: {}: the checksum of {} disagrees", begin_row, end_row - 1,
                    durable_->tier->PlaceOf(bytes.data(), bytes.size()), what);
  };
  if (Crc32c(elements) != expected.elements) return damaged("the rows", elements);
  if (type_ != Type::kList) return absl::OkStatus();
  TS_RETURN_IF_ERROR(CheckRefs(begin_row, end_row));
  uint32_t items = 0;
  EachItemRun(begin_row, end_row,
              [&](std::span<const std::byte> run) { items = ExtendCrc32c(items, run); });
  if (items == expected.items) return absl::OkStatus();
  return damaged("the values from there on", Item(begin_row));
}

}  // namespace tickstack
