#include "mem/page_allocator.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tickstack::mem {
namespace {

constexpr uint32_t kFreeWord = 0;
constexpr uint32_t kWholeWord = 1;
constexpr uint32_t kCutWord = 2;
constexpr uint32_t kCountMask = (1 << 13) - 1;

}  // namespace

PageAllocator::PageAllocator(size_t pages, size_t page_bytes)
    : page_count_(pages),
      page_bytes_(page_bytes),
      free_bits_((pages + 63) / 64),
      touched_bits_((pages + 63) / 64) {
  for (size_t page = 0; page < pages; ++page) SetFree(page, true);
}

size_t PageAllocator::ClassOf(size_t rounded) {
  return static_cast<size_t>(std::countr_zero(rounded) - std::countr_zero(Tier::kSmallestBytes));
}

void PageAllocator::SetFree(size_t page, bool free) {
  TS_CHECK(IsFree(page) != free);
  free_bits_[page / 64] ^= uint64_t{1} << (page % 64);
  const size_t touched = IsTouched(page) ? 1 : 0;
  if (free) {
    ++free_;
    touched_free_ += touched;
  } else {
    --free_;
    touched_free_ -= touched;
  }
}

void PageAllocator::GiveUntouched(size_t offset, size_t rounded) {
  Give(offset, rounded);
  const size_t end_page = (offset + rounded + page_bytes_ - 1) / page_bytes_;
  for (size_t page = offset / page_bytes_; page < end_page; ++page) {
    if (!IsFree(page) || !IsTouched(page)) continue;
    touched_bits_[page / 64] &= ~(uint64_t{1} << (page % 64));
    --touched_;
    --touched_free_;
  }
}

void PageAllocator::SetTouched(size_t page) {
  if (IsTouched(page)) return;
  touched_bits_[page / 64] |= uint64_t{1} << (page % 64);
  ++touched_;
  if (IsFree(page)) ++touched_free_;
}

void PageAllocator::Bar(size_t page) { SetFree(page, false); }

std::optional<PageAllocator::Grant> PageAllocator::Take(size_t rounded) {
  if (rounded >= page_bytes_) return TakePages(rounded / page_bytes_);
  return TakeBlock(ClassOf(rounded));
}

// Returns the first free run. A run of one page prefers a touched one.
std::optional<size_t> PageAllocator::FindRun(size_t pages) const {
  if (pages == 1) {
    for (const bool touched : {true, false}) {
      if (touched && touched_free_ == 0) continue;
      for (size_t i = 0; i < free_bits_.size(); ++i) {
        const uint64_t bits = touched ? free_bits_[i] & touched_bits_[i] : free_bits_[i];
        if (bits != 0) return i * 64 + static_cast<size_t>(std::countr_zero(bits));
      }
    }
    return std::nullopt;
  }
  // Runs of small pages begin at a multiple of their size, or of a huge page. Other pages are huge
  // pages themselves.
  const size_t align = std::min(pages, kPageBytes / page_bytes_);
  size_t run = 0;
  for (size_t page = 0; page < page_count_; ++page) {
    if (page % 64 == 0 && free_bits_[page / 64] == 0) {
      run = 0;
      page += 63;
      continue;
    }
    if (!IsFree(page)) {
      run = 0;
    } else if (run > 0 || page % align == 0) {
      ++run;
    }
    if (run == pages) return page + 1 - pages;
  }
  return std::nullopt;
}

std::optional<PageAllocator::Grant> PageAllocator::TakePages(size_t pages) {
  if (pages > free_) return std::nullopt;
  const std::optional<size_t> first = FindRun(pages);
  if (!first) return std::nullopt;
  Grant grant{*first * page_bytes_, true};
  for (size_t page = *first; page < *first + pages; ++page) {
    grant.touched = grant.touched && IsTouched(page);
    SetFree(page, false);
    SetTouched(page);  // The caller touches it if necessary.
    Changed(page);
  }
  return grant;
}

std::optional<PageAllocator::Grant> PageAllocator::TakeBlock(size_t size_class) {
  std::set<size_t>& with_room = with_room_[size_class];
  bool touched = true;
  if (with_room.empty()) {
    const std::optional<Grant> page = TakePages(1);
    if (!page) return std::nullopt;
    touched = page->touched;
    const size_t number = page->offset / page_bytes_;
    cut_pages_[number].size_class = static_cast<uint8_t>(size_class);
    with_room.insert(number);
  }
  const size_t number = *with_room.begin();
  CutPage& page = cut_pages_[number];
  size_t block = page.cut;
  if (page.freed.empty()) {
    ++page.cut;
  } else {
    block = page.freed.back();
    page.freed.pop_back();
  }
  ++page.live;
  if (page.freed.empty() && page.cut == BlocksOf(size_class)) with_room.erase(number);
  Changed(number);
  return Grant{number * page_bytes_ + block * (Tier::kSmallestBytes << size_class), touched};
}

void PageAllocator::Give(size_t offset, size_t rounded) {
  const size_t first = offset / page_bytes_;
  if (rounded >= page_bytes_) {
    for (size_t page = first; page < first + rounded / page_bytes_; ++page) {
      SetFree(page, true);
      Changed(page);
    }
    return;
  }
  const size_t size_class = ClassOf(rounded);
  const auto at = cut_pages_.find(first);
  TS_CHECK(at != cut_pages_.end() && at->second.size_class == size_class && at->second.live > 0);
  Changed(first);
  if (--at->second.live == 0) {
    cut_pages_.erase(at);
    with_room_[size_class].erase(first);
    SetFree(first, true);
    return;
  }
  at->second.freed.push_back(static_cast<uint16_t>(offset % page_bytes_ / rounded));
  with_room_[size_class].insert(first);
}

std::optional<size_t> PageAllocator::TakeUntouched() {
  for (size_t i = 0; i < free_bits_.size(); ++i) {
    const uint64_t bits = free_bits_[i] & ~touched_bits_[i];
    if (bits == 0) continue;
    const size_t page = i * 64 + static_cast<size_t>(std::countr_zero(bits));
    SetFree(page, false);
    return page;
  }
  return std::nullopt;
}

void PageAllocator::ReturnTouched(size_t page) {
  SetTouched(page);
  SetFree(page, true);
}

uint32_t PageAllocator::Word(size_t page) const {
  if (IsFree(page)) return kFreeWord;
  const auto at = cut_pages_.find(page);
  if (at == cut_pages_.end()) return kWholeWord;
  const CutPage& cut = at->second;
  return kCutWord | uint32_t{cut.size_class} << 2 | (cut.live - 1) << 6 | (cut.cut - 1) << 19;
}

void PageAllocator::Release(size_t page) {
  if (IsFree(page)) return;
  const auto at = cut_pages_.find(page);
  if (at != cut_pages_.end()) {
    with_room_[at->second.size_class].erase(page);
    cut_pages_.erase(at);
  }
  SetFree(page, true);
  Changed(page);
}

size_t PageAllocator::UsedBytes(size_t page) const {
  if (IsFree(page)) return 0;
  const auto at = cut_pages_.find(page);
  if (at == cut_pages_.end()) return page_bytes_;
  return at->second.live * (Tier::kSmallestBytes << at->second.size_class);
}

bool PageAllocator::WordHolds(uint32_t word, size_t offset, size_t rounded) {
  if (rounded >= kPageBytes) return word == kWholeWord && offset == 0;
  return (word & 3) == kCutWord && (word >> 2 & 15) == ClassOf(rounded) && offset % rounded == 0 &&
         offset / rounded <= word >> 19;
}

bool PageAllocator::Restore(size_t page, uint32_t word) {
  if (word == kFreeWord) return true;
  if (!IsFree(page)) return false;
  if (word != kWholeWord) {
    const size_t size_class = word >> 2 & 15;
    if ((word & 3) != kCutWord || size_class >= kClasses) return false;
    const uint32_t live = (word >> 6 & kCountMask) + 1, cut = (word >> 19) + 1;
    const size_t blocks = BlocksOf(size_class);
    if (live > cut || cut > blocks) return false;
    cut_pages_[page] = {static_cast<uint8_t>(size_class), live, cut, {}};
    if (cut < blocks) with_room_[size_class].insert(page);
  }
  SetFree(page, false);
  SetTouched(page);
  return true;
}

}  // namespace tickstack::mem
