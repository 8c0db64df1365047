#pragma once

// Which bytes of an arena are taken: bookkeeping over page numbers, which never touches the arena.
//
//   arena   | page 0 | page 1 | page 2 | page 3 | ...        a page is 2 MiB
//   chunk of 4 MiB   = two pages in a row
//   block of 512 B   = a slice of a page that was cut into 4,096 of them
//
// Sizes below a page are powers of two from 256 B on. A page is cut for one size and goes back to
// the free pages with its last block, so that tomorrow's index finds whatever sizes it wants.
// Lowest pages first: what is warm is used again, and an arena that shrinks does so from its end.
//
// In a tier of tens of MiB, a 2 MiB page for each of 13 block sizes would be most of it: such a
// tier has pages of 64 KiB, of which large blocks and chunks are runs, aligned to their size.
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
  // For an arena of so many bytes: a page is at most 1/64 of it, or is small.
  static constexpr size_t PageBytesFor(size_t arena_bytes) {
    return arena_bytes < 64 * kPageBytes ? kSmallPageBytes : kPageBytes;
  }
  size_t page_bytes() const { return page_bytes_; }

  struct Grant {
    size_t offset;  // Bytes from the arena's begin.
    bool touched;   // Its pages were taken before, or touched ahead.
  };
  // `rounded` as Tier::RoundedBytes. nullopt: no page, or no run of pages, is free.
  std::optional<Grant> Take(size_t rounded);
  // What Take(rounded) granted.
  void Give(size_t offset, size_t rounded);

  // The page is never handed out.
  void Bar(size_t page);

  // For touching ahead: takes a free page that was never touched out of the free ones, until it is
  // given back as touched.
  std::optional<size_t> TakeUntouched();
  void GiveTouched(size_t page);
  size_t touched_free_pages() const { return touched_free_; }
  size_t touched_pages() const { return touched_; }
  size_t free_pages() const { return free_; }
  size_t pages() const { return page_count_; }

  // A page's state as one word, for a tier that outlives its process:
  //   0 free, 1 whole (part of a chunk), or
  //   bits 0-1 = 2, 2-5 size class, 6-18 live blocks - 1, 19-31 blocks that were cut - 1
  // A barred page is free to a reader of words. Words are of pages of kPageBytes.
  uint32_t Word(size_t page) const;
  // Takes a free page as the word says. Blocks that were cut and are not live stay unused until the
  // page's last live one is given back. False: no word of ours.
  bool Restore(size_t page, uint32_t word);
  // Frees a page whatever it was: nothing that lives is in it.
  void Release(size_t page);
  size_t UsedBytes(size_t page) const;  // Of the allocations in it.
  // Whether a page with this word holds an allocation of `rounded` bytes at `offset` in it.
  static bool WordHolds(uint32_t word, size_t offset, size_t rounded);
  // With `on`, pages whose word may have changed are noted, a page once or more.
  void NoteChanges(bool on) { notes_changes_ = on; }
  std::vector<uint32_t>& changed_pages() { return changed_; }

 private:
  static constexpr size_t kClasses = 13;  // 256 B, 512 B, ... 1 MiB.
  struct CutPage {
    uint8_t size_class = 0;
    uint32_t live = 0;
    uint32_t cut = 0;             // Blocks that were ever handed out: the first ones.
    std::vector<uint16_t> freed;  // Of those, the ones that came back.
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
  std::array<std::set<size_t>, kClasses> with_room_;  // Cut pages that have a block to give.
  bool notes_changes_ = false;
  std::vector<uint32_t> changed_;
};

}  // namespace tickstack::mem
