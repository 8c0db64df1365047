#pragma once

// Tracks which pages and blocks of an arena are allocated. It knows them by number, and never
// touches the arena's memory.
//
//   arena   | page 0 | page 1 | page 2 | page 3 | ...        a page is 2 MiB
//   chunk of 4 MiB   = two consecutive pages
//   block of 512 B   = one of the 4,096 slices of a page that is divided into blocks
//
// Sizes below a page are powers of two from 256 B on. A page is divided into blocks of one size and
// becomes free again with its last block, so that it can serve other sizes later. Lower pages are
// preferred: memory that was touched before is reused, and usage shrinks from the arena's end.
//
// In a tier of tens of MiB, one 2 MiB page for each of the 13 block sizes would take most of it.
// Such a tier has pages of 64 KiB; its large blocks and chunks are runs of them, aligned to their
// size.
//
// Threads: one at a time; a tier calls it under its lock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "mem/tier.h"

namespace tickstack::mem {

class PageAllocator {
 public:
  static constexpr size_t kPageBytes = Tier::kHugePageBytes;
  static constexpr size_t kSmallPageBytes = size_t{64} << 10;

  // `page_bytes` is kPageBytes or kSmallPageBytes. Everything below counts pages of that size.
  explicit PageAllocator(size_t pages, size_t page_bytes = kPageBytes);
  // Returns the page size for an arena: kPageBytes if that is at most 1/64 of the arena, else
  // kSmallPageBytes.
  static constexpr size_t PageBytesFor(size_t arena_bytes) {
    return arena_bytes < 64 * kPageBytes ? kSmallPageBytes : kPageBytes;
  }
  size_t page_bytes() const { return page_bytes_; }

  struct Grant {
    size_t offset;  // In bytes from the start of the arena.
    bool touched;   // True if its pages were allocated or pre-touched before.
  };
  // Allocates `rounded` bytes (Tier::RoundedBytes). nullopt if no page or run of pages is free.
  std::optional<Grant> Take(size_t rounded);
  // Frees what Take(rounded) granted.
  void Give(size_t offset, size_t rounded);
  // Frees what Take granted as not touched, and what could not be touched: it stays so.
  void GiveUntouched(size_t offset, size_t rounded);

  // Excludes a page from allocation.
  void Bar(size_t page);

  // Reserves a free page that was never touched, so that the caller can touch it and then call
  // ReturnTouched. nullopt if there is none.
  std::optional<size_t> TakeUntouched();
  void ReturnTouched(size_t page);
  size_t touched_free_pages() const { return touched_free_; }
  size_t touched_pages() const { return touched_; }
  size_t free_pages() const { return free_; }
  size_t pages() const { return page_count_; }

  // Returns a page's state as one word, for a tier whose memory outlives the process:
  //   0 free, 1 whole (part of a chunk), or
  //   bits 0-1 = 2, 2-5 size class, 6-18 live blocks - 1, 19-31 blocks ever handed out - 1
  // An excluded page has the word of a free one. Words are for pages of kPageBytes.
  uint32_t Word(size_t page) const;
  // Restores a free page to the state of `word`. Its blocks that are not live stay unused until the
  // last live one is freed. False if the word is not valid.
  bool Restore(size_t page, uint32_t word);
  // Frees a page in any state. No live allocation may be in it.
  void Release(size_t page);
  size_t UsedBytes(size_t page) const;  // Sum of the allocations in it.
  // True if a page with this word has an allocation of `rounded` bytes at `offset` within the page.
  static bool WordHolds(uint32_t word, size_t offset, size_t rounded);
  // If `on`, records in changed_pages() each page whose word may have changed, perhaps repeatedly.
  void NoteChanges(bool on) { notes_changes_ = on; }
  std::vector<uint32_t>& changed_pages() { return changed_; }

 private:
  static constexpr size_t kClasses = 13;  // 256 B, 512 B, ... 1 MiB.
  struct CutPage {
    uint8_t size_class = 0;
    uint32_t live = 0;
    uint32_t cut = 0;             // Number of blocks ever handed out: the first ones of the page.
    std::vector<uint16_t> freed;  // Those of the first `cut` blocks that were freed.
  };

  static size_t ClassOf(size_t rounded);
  size_t BlocksOf(size_t size_class) const {
    return page_bytes_ / (Tier::kSmallestBytes << size_class);
  }
  std::optional<Grant> TakePages(size_t pages);
  std::optional<size_t> FindRun(size_t pages) const;
  std::optional<Grant> TakeBlock(size_t size_class);
  void Changed(size_t page) {
    if (notes_changes_) changed_.push_back(static_cast<uint32_t>(page));
  }
  bool IsFree(size_t page) const { return (free_bits_[page / 64] >> (page % 64) & 1) != 0; }
  bool IsTouched(size_t page) const { return (touched_bits_[page / 64] >> (page % 64) & 1) != 0; }
  void SetFree(size_t page, bool free);
  void SetTouched(size_t page);

  const size_t page_count_;
  const size_t page_bytes_;
  std::vector<uint64_t> free_bits_;
  std::vector<uint64_t> touched_bits_;
  size_t free_ = 0;
  size_t touched_ = 0;
  size_t touched_free_ = 0;
  std::map<size_t, CutPage> cut_pages_;
  // Divided pages that have a free block, by size class.
  std::array<std::set<size_t>, kClasses> with_room_;
  bool notes_changes_ = false;
  std::vector<uint32_t> changed_;
};

}  // namespace tickstack::mem
