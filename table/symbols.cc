// A name's number is found by open addressing in an array of 16-byte slots, never more than half
// full:
//
//   key    the name itself, zero-padded, if it has up to 8 characters; otherwise a hash of it
//   meta   0 in an empty slot; else id + 1 in the low half, the name's size in the high half
//
// So a lookup of a ticker reads one cache line and compares two words: it never follows a pointer
// to the text. The writer fills key, then stores meta with release; a reader loads meta with
// acquire. When the array is half full the writer builds one of twice the size, publishes it with
// one release-store, and keeps the old one until the end for the readers that may still walk it:
// all old ones together are as large as the new one.
//
// The hash is seeded at random per table: names come from outside, and a table that somebody could
// fill with colliding names would make one batch cost a day.

#include "table/symbols.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "base/check.h"
#include "table/stable_array.h"

namespace tickstack {
namespace {

struct Slot {
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> meta;
};

struct Slots {
  explicit Slots(size_t size) : mask(size - 1), slot(new Slot[size]()) {}
  const size_t mask;
  const std::unique_ptr<Slot[]> slot;
};

struct Name {
  const char* text;
  size_t size;
};

struct Key {
  uint64_t key;
  uint64_t hash;
};

constexpr size_t kFirstSlots = 1024;
constexpr size_t kTextArenaBytes = 64 << 10;
constexpr size_t kInternBlock = 32;

__extension__ using Uint128 = unsigned __int128;

uint64_t Mix(uint64_t a, uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t LoadUpTo8(const char* at, size_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

SymbolId IdOf(uint64_t meta) { return static_cast<SymbolId>(static_cast<uint32_t>(meta) - 1); }

// Returns how many characters come before the first NUL of a word, 8 if there is none. The bit
// trick marks the lowest zero byte exactly; higher marks may be wrong and are not used.
size_t CharactersBeforeNul(uint64_t word) {
  const uint64_t zeros = (word - 0x0101010101010101) & ~word & 0x8080808080808080;
  return static_cast<size_t>(std::countr_zero(zeros)) / 8;  // countr_zero(0) is 64.
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;
}

}  // namespace

struct SymbolTable::State {
  State() {
    all_slots.push_back(std::make_unique<Slots>(kFirstSlots));
    slots.store(all_slots.back().get(), std::memory_order_release);
  }

  Key KeyOf(const char* text, size_t size) const {
    if (size <= 8) return ShortKey(LoadUpTo8(text, size));
    uint64_t hash = seed ^ size;
    size_t at = 0;
    for (; at + 8 < size; at += 8) hash = Mix(hash ^ LoadUpTo8(text + at, 8), kMultiplier);
    hash = Mix(hash ^ LoadUpTo8(text + at, size - at), kMultiplier);
    return {hash, hash};
  }
  Key ShortKey(uint64_t word) const { return {word, Mix(word ^ seed, kMultiplier)}; }

  // Returns the slot that holds the name, or the empty one where it belongs.
  Slot& Probe(const Slots& in, Key key, const char* text, size_t size) const {
    for (size_t i = key.hash & in.mask;; i = (i + 1) & in.mask) {
      Slot& slot = in.slot[i];
      const uint64_t meta = slot.meta.load(std::memory_order_acquire);  // Pairs with Add.
      if (meta == 0) return slot;
      if (slot.key.load(std::memory_order_relaxed) != key.key || meta >> 32 != size) continue;
      if (size <= 8) return slot;
      const Name& name = names[static_cast<size_t>(IdOf(meta))];
      if (std::memcmp(name.text, text, size) == 0) return slot;
    }
  }

  SymbolId Intern(Key key, const char* text, size_t size) {
    Slot& slot = Probe(*slots.load(std::memory_order_relaxed), key, text, size);
    const uint64_t meta = slot.meta.load(std::memory_order_relaxed);
    if (meta != 0) [[likely]]
      return IdOf(meta);
    return Add(slot, key, text, size);
  }

  SymbolId Add(Slot& slot, Key key, const char* text, size_t size) {
    const auto id = static_cast<uint32_t>(count.load(std::memory_order_relaxed));
    TS_CHECK(id < INT32_MAX);  // 2^31 names take 100 GB: memory is full before that.
    names.Reserve(id + 1);
    names[id] = {Keep(text, size), size};
    slot.key.store(key.key, std::memory_order_relaxed);
    slot.meta.store(uint64_t{size} << 32 | (id + 1), std::memory_order_release);
    count.store(static_cast<int32_t>(id + 1), std::memory_order_release);
    if ((id + 1) * 2 > slots.load(std::memory_order_relaxed)->mask) GrowSlots();
    return static_cast<SymbolId>(id);
  }

  const char* Keep(const char* text, size_t size) {
    if (size > arena_left) {
      const size_t bytes = size > kTextArenaBytes / 4 ? size : kTextArenaBytes;
      arena.push_back(std::make_unique<char[]>(bytes));
      if (bytes == size) {  // The name gets a block of its own; the current one stays in use.
        std::memcpy(arena.back().get(), text, size);
        return arena.back().get();
      }
      arena_at = arena.back().get();
      arena_left = bytes;
    }
    char* const kept = arena_at;
    std::memcpy(kept, text, size);
    arena_at += size;
    arena_left -= size;
    return kept;
  }

  void GrowSlots() {
    const Slots& old = *slots.load(std::memory_order_relaxed);
    auto grown = std::make_unique<Slots>((old.mask + 1) * 2);
    for (uint32_t id = 0; id < static_cast<uint32_t>(count.load(std::memory_order_relaxed)); ++id) {
      const Name& name = names[id];
      const Key key = KeyOf(name.text, name.size);
      size_t i = key.hash & grown->mask;
      while (grown->slot[i].meta.load(std::memory_order_relaxed) != 0) i = (i + 1) & grown->mask;
      grown->slot[i].key.store(key.key, std::memory_order_relaxed);
      grown->slot[i].meta.store(uint64_t{name.size} << 32 | (id + 1), std::memory_order_relaxed);
    }
    slots.store(grown.get(), std::memory_order_release);  // Pairs with Find.
    all_slots.push_back(std::move(grown));
  }

  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  const uint64_t seed = RandomSeed();
  std::atomic<Slots*> slots;
  std::atomic<int32_t> count = 0;
  StableArray<Name> names;
  // Used by the writer only.
  std::vector<std::unique_ptr<Slots>> all_slots;
  std::vector<std::unique_ptr<char[]>> arena;
  char* arena_at = nullptr;
  size_t arena_left = 0;
};

SymbolTable::SymbolTable() : state_(std::make_unique<State>()) {}
SymbolTable::~SymbolTable() = default;

SymbolId SymbolTable::Intern(std::string_view name) {
  name = name.substr(0, name.find('\0'));
  if (name.empty()) return kNullSymbol;
  return state_->Intern(state_->KeyOf(name.data(), name.size()), name.data(), name.size());
}

// Adds names in blocks. The slots of consecutive names are unrelated, so each is a miss of the
// first-level caches: those of a block of names are fetched before the first is read.
std::optional<size_t> SymbolTable::InternAll(std::span<const std::byte> text,
                                             std::span<SymbolId> ids) {
  struct Short {
    Key key;
    const char* text;
    size_t size;
  };
  Short block[kInternBlock];
  const char* at = reinterpret_cast<const char*>(text.data());
  const char* const begin = at;
  const char* const end = at + text.size();
  State& state = *state_;
  size_t done = 0;
  while (done < ids.size()) {
    const size_t most = std::min(kInternBlock, ids.size() - done);
    const Slots& slots = *state.slots.load(std::memory_order_relaxed);
    size_t names = 0;
    for (; names < most; ++names) {
      const uint64_t word = end - at >= 8 ? LoadUpTo8(at, 8) : ~uint64_t{0};
      const size_t size = CharactersBeforeNul(word);
      if (size == 8) [[unlikely]]
        break;
      const Key key = state.ShortKey(word & ((uint64_t{1} << (8 * size)) - 1));
      __builtin_prefetch(&slots.slot[key.hash & slots.mask]);
      block[names] = {key, at, size};
      at += size + 1;
    }
    for (size_t i = 0; i < names; ++i) {
      const auto& [key, name, size] = block[i];
      ids[done + i] = size == 0 ? kNullSymbol : state.Intern(key, name, size);
    }
    done += names;
    if (names == most) continue;
    // Copies at least eight characters, or the last bytes of the text.
    const auto left = static_cast<size_t>(end - at);
    const void* const nul = left == 0 ? nullptr : std::memchr(at, 0, left);
    if (nul == nullptr) return std::nullopt;
    const auto length = static_cast<size_t>(static_cast<const char*>(nul) - at);
    ids[done++] = Intern({at, length});
    at += length + 1;
  }
  return static_cast<size_t>(at - begin);
}

std::optional<SymbolId> SymbolTable::Find(std::string_view name) const {
  name = name.substr(0, name.find('\0'));
  if (name.empty()) return kNullSymbol;
  const Slots& slots = *state_->slots.load(std::memory_order_acquire);  // Pairs with GrowSlots.
  const Key key = state_->KeyOf(name.data(), name.size());
  const Slot& slot = state_->Probe(slots, key, name.data(), name.size());
  const uint64_t meta = slot.meta.load(std::memory_order_acquire);
  if (meta == 0) return std::nullopt;
  return IdOf(meta);
}

std::string_view SymbolTable::NameOf(SymbolId id) const {
  if (id < 0 || id >= size()) return {};  // It is null, or a number from a damaged file.
  const Name& name = state_->names[static_cast<size_t>(id)];
  return {name.text, name.size};
}

int32_t SymbolTable::size() const { return state_->count.load(std::memory_order_acquire); }

}  // namespace tickstack
