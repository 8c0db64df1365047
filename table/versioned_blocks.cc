#include "table/versioned_blocks.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "mem/medium.h"

namespace tickstack {

std::span<const std::byte> BlockView::Elements(size_t column, size_t block) const {
  const size_t rows =
      std::min(rows_ - blocks_->layout_.BeginRow(block), blocks_->layout_.Rows(block));
  return {root_[block / VersionedBlocks::kLeafBlocks][blocks_->SlotOf(column, block)],
          rows * blocks_->columns_[column].place.width};
}

VersionedBlocks::VersionedBlocks(const ChunkLayout& layout, std::span<const ColumnPlace> columns)
    : layout_(layout) {
  // Checks that all blocks have one size, so that a row's place in its block is its number's low
  // bits.
  TS_CHECK(layout.Rows(0) == layout.Rows(1) && layout.BeginRow(2) == 2 * layout.Rows(0));
  for (const ColumnPlace& column : columns) {
    columns_.emplace_back(column, layout.Rows(0) * column.width);
  }
  word_.store(uint64_t{MakeView(0)} << kTakenBits, std::memory_order_release);
}

VersionedBlocks::~VersionedBlocks() {
  Cancel();
  for (const Garbage& garbage : garbage_) Free(garbage);
  for (size_t block = 0; block < block_count_; ++block) {
    for (size_t column = 0; column < columns_.size(); ++column) {
      ReleasePiece(column, Piece(column, block));
    }
  }
  for (const Leaf leaf : draft_) delete[] leaf;
}

std::shared_ptr<const BlockView> VersionedBlocks::Pin(std::shared_ptr<const void> owner) const {
  const uint64_t word = word_.fetch_add(1, std::memory_order_acquire);  // Step (1) of the header.
  return {&views_[word >> kTakenBits], [owner = std::move(owner)](const BlockView* view) {
            view->returned_.fetch_add(1, std::memory_order_release);  // Step (2).
          }};
}

absl::StatusOr<std::byte*> VersionedBlocks::TakePiece(size_t column) {
  ColumnState& state = columns_[column];
  TS_ASSIGN_OR_RETURN(std::byte * piece, state.place.tier->Allocate(state.piece_bytes));
  state.bytes.fetch_add(mem::Tier::RoundedBytes(state.piece_bytes), std::memory_order_relaxed);
  return piece;
}

void VersionedBlocks::ReleasePiece(size_t column, std::byte* piece) {
  ColumnState& state = columns_[column];
  state.place.tier->Free(piece, state.piece_bytes);
  state.bytes.fetch_sub(mem::Tier::RoundedBytes(state.piece_bytes), std::memory_order_relaxed);
}

// Adds blocks to leaves that views have as well: no view's rows reach a new block.
absl::Status VersionedBlocks::AddBlocks(size_t end_row) {
  while (layout_.BeginRow(block_count_) < end_row) {
    if (block_count_ / kLeafBlocks == draft_.size()) {
      draft_.push_back(new std::byte*[kLeafBlocks * columns_.size()]());
      leaf_made_.push_back(version_ + 1);
    }
    const Leaf leaf = draft_[block_count_ / kLeafBlocks];
    for (size_t column = 0; column < columns_.size(); ++column) {
      absl::StatusOr<std::byte*> piece = TakePiece(column);
      if (!piece.ok()) {
        for (size_t i = 0; i < column; ++i) ReleasePiece(i, leaf[SlotOf(i, block_count_)]);
        return piece.status();
      }
      leaf[SlotOf(column, block_count_)] = *piece;
    }
    block_made_.push_back(version_ + 1);
    ++block_count_;
  }
  return absl::OkStatus();
}

absl::Status VersionedBlocks::Reserve(std::span<const uint32_t> changed_blocks, size_t end_row) {
  TS_CHECK(copied_blocks_.empty());
  Reclaim();
  if (!HasFreeView()) {
    return ResourceExhausted("{} versions of its rows are held by queries, expected less",
                             kViewsMax);
  }
  TS_RETURN_IF_ERROR(AddBlocks(end_row));
  for (const uint32_t block : changed_blocks) {
    copied_blocks_.push_back(block);
    for (size_t column = 0; column < columns_.size(); ++column) {
      if (!columns_[column].place.changes) continue;
      absl::StatusOr<std::byte*> piece = TakePiece(column);
      if (!piece.ok()) {
        Cancel();
        return piece.status();
      }
      copies_.push_back(*piece);
    }
  }
  return absl::OkStatus();
}

void VersionedBlocks::Cancel() {
  size_t column = 0;
  for (std::byte* const copy : copies_) {
    while (!columns_[column % columns_.size()].place.changes) ++column;
    ReleasePiece(column++ % columns_.size(), copy);
  }
  copies_.clear();
  copied_blocks_.clear();
}

void VersionedBlocks::Install() {
  const uint64_t version = version_ + 1;
  const size_t leaf_pieces = kLeafBlocks * columns_.size();
  auto copy = copies_.begin();
  for (const uint32_t block : copied_blocks_) {
    const size_t number = block / kLeafBlocks;
    Leaf& leaf = draft_[number];
    if (leaf_made_[number] != version) {
      const Leaf fresh = new std::byte*[leaf_pieces];
      std::copy_n(leaf, leaf_pieces, fresh);
      garbage_.push_back({leaf_made_[number], version, kLeafOfNoColumn, leaf});
      leaf = fresh;
      leaf_made_[number] = version;
    }
    const size_t rows = std::min(rows_ - layout_.BeginRow(block), layout_.Rows(block));
    for (size_t column = 0; column < columns_.size(); ++column) {
      const ColumnPlace& place = columns_[column].place;
      if (!place.changes) continue;
      std::byte*& piece = leaf[SlotOf(column, block)];
      mem::MediumAccess access(place.tier->medium());
      std::memcpy(*copy, piece, rows * place.width);
      access.ReadInOrder(piece, rows * place.width);
      access.Wrote(*copy, rows * place.width);
      garbage_.push_back({block_made_[block], version, column, piece});
      piece = *copy++;
    }
    block_made_[block] = version;
  }
  copies_.clear();
  copied_blocks_.clear();
}

uint32_t VersionedBlocks::MakeView(size_t rows) {
  uint32_t number = 0;
  if (free_views_.empty()) {
    TS_CHECK(view_count_ < kViewsMax);
    number = static_cast<uint32_t>(view_count_++);
    views_.Reserve(view_count_);
  } else {
    number = free_views_.back();
    free_views_.pop_back();
  }
  BlockView& view = views_[number];
  view.blocks_ = this;
  view.rows_ = rows;
  view.version_ = version_;
  view.root_ = std::make_unique<std::byte**[]>(draft_.size());
  std::copy(draft_.begin(), draft_.end(), view.root_.get());
  view.returned_.store(0, std::memory_order_relaxed);
  return number;
}

void VersionedBlocks::Publish(size_t rows) {
  TS_CHECK(copied_blocks_.empty());
  ++version_;
  rows_ = rows;
  const uint64_t next = uint64_t{MakeView(rows)} << kTakenBits;
  const uint64_t old = word_.exchange(next, std::memory_order_release);  // Step (3).
  const auto number = static_cast<uint32_t>(old >> kTakenBits);
  views_[number].taken_ = old & kTakenMask;
  held_views_.push_back(number);
  Reclaim();
}

// Returns whether a view is held that has this garbage.
bool VersionedBlocks::IsHeld(const Garbage& garbage) const {
  const auto after = std::lower_bound(
      held_views_.begin(), held_views_.end(), garbage.replaced,
      [this](uint32_t view, uint64_t version) { return views_[view].version_ < version; });
  return after != held_views_.begin() && views_[*(after - 1)].version_ >= garbage.made;
}

void VersionedBlocks::Free(const Garbage& garbage) {
  if (garbage.column == kLeafOfNoColumn) {
    delete[] static_cast<Leaf>(garbage.memory);
  } else {
    ReleasePiece(garbage.column, static_cast<std::byte*>(garbage.memory));
  }
}

void VersionedBlocks::Reclaim() {
  const size_t held = std::erase_if(held_views_, [this](uint32_t number) {
    BlockView& view = views_[number];
    if (view.returned_.load(std::memory_order_acquire) != view.taken_) return false;  // Step (4).
    view.root_ = nullptr;
    free_views_.push_back(number);
    return true;
  });
  // As long as no view is dropped, what was held stays held: with a long query and many blocks, not
  // every batch goes through all of them.
  if (held > 0) garbage_held_ = 0;
  const auto kept = std::remove_if(garbage_.begin() + static_cast<ptrdiff_t>(garbage_held_),
                                   garbage_.end(), [this](const Garbage& garbage) {
                                     if (IsHeld(garbage)) return false;
                                     Free(garbage);
                                     return true;
                                   });
  garbage_.erase(kept, garbage_.end());
  garbage_held_ = garbage_.size();
}

}  // namespace tickstack
