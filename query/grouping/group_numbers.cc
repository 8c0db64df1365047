#include "query/grouping/group_numbers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "base/byte_buffer.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/columns/parallel.h"
#include "query/kernels/key_table.h"
#include "query/kernels/order.h"
#include "query/kernels/sort_keys.h"

namespace tickstack::query {
namespace {

constexpr uint32_t kNoCode = UINT32_MAX;
constexpr size_t kKeysPerTask = size_t{1} << 18;

// A run of rows with one code, from the end of the previous run up to `end_row`.
struct CodeRun {
  uint32_t end_row;
  uint32_t code;
};

// The codes of one key column.
struct Codes {
  ScratchVector<uint32_t> of_row;  // Empty if the column has `runs`.
  ScratchVector<CodeRun> runs;     // Empty if there are nearly as many as rows.
  uint32_t count = 0;              // Codes are below this; of symbols some may have no rows.
  std::optional<Value> items;  // By code; nullopt for symbols, whose code is their number plus one.
};

size_t CodeOf(SymbolId id) { return id < 0 ? 0 : static_cast<size_t>(id) + 1; }

absl::StatusOr<Codes> CodesOfSymbols(const Slice& key, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(key.count(), sizeof(uint32_t)));
  Codes codes;
  codes.count = static_cast<uint32_t>(key.column.symbols().size()) + 1;
  codes.of_row.resize(key.count());
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, key.count(), kKeysPerTask, [&](size_t begin, size_t end) {
        uint32_t* at = codes.of_row.data() + begin;
        return ForEachBlock<SymbolId>(key, begin, end, budget, [&](const Block<SymbolId>& block) {
          for (SymbolId id : block.elements) *at++ = static_cast<uint32_t>(CodeOf(id));
        });
      }));
  return codes;
}

absl::StatusOr<Codes> CodesOf(const KeyColumn& column, Budget& budget);

// Calls f(row, code) for all rows.
template <typename F>
void ForEachCode(const Codes& codes, F f) {
  uint32_t row = 0;
  for (const CodeRun& run : codes.runs) {
    for (; row < run.end_row; ++row) f(row, run.code);
  }
  for (; row < codes.of_row.size(); ++row) f(row, codes.of_row[row]);
}

// Returns the codes of items that are a byte each, such as chars: the values that occur, in their
// order, or the codes of what they are mapped to. This needs no hash table, and the tasks are
// independent.
absl::StatusOr<Codes> CodesOfBytes(const Slice& key, const std::optional<Value>& mapped,
                                   Budget& budget) {
  constexpr size_t kValues = 256;
  const size_t rows = key.count();
  const auto each_block = [&](size_t begin, size_t end, auto f) {
    return VisitElementType(key.type(), [&]<typename T>(std::type_identity<T>) {
      return ForEachBlock<T>(key, begin, end, budget, [&](const Block<T>& block) {
        f(std::span(reinterpret_cast<const uint8_t*>(block.elements.data()),
                    block.elements.size()));
      });
    });
  };
  TS_RETURN_IF_ERROR(budget.Charge(rows, sizeof(uint32_t)));
  std::array<std::atomic<uint8_t>, kValues> occurs{};
  const auto note_values = [&](size_t begin, size_t end) {
    std::array<uint8_t, kValues> seen{};
    const absl::Status read = each_block(begin, end, [&](std::span<const uint8_t> values) {
      for (const uint8_t value : values) seen[value] = 1;
    });
    for (size_t value = 0; value < kValues; ++value) {
      if (seen[value] != 0) occurs[value].store(1, std::memory_order_relaxed);
    }
    return read;
  };
  TS_RETURN_IF_ERROR(ParallelRanges(budget, rows, kKeysPerTask, note_values));
  std::array<uint32_t, kValues> code_of{};
  ScratchVector<uint32_t> present;
  ByteBuffer items;
  for (uint32_t value = 0; value < kValues; ++value) {
    if (occurs[value].load(std::memory_order_relaxed) == 0) continue;
    code_of[value] = static_cast<uint32_t>(present.size());
    present.push_back(value);
    items.AppendLittle(static_cast<uint8_t>(value));
  }
  Codes codes;
  if (mapped.has_value()) {  // Several values may map to one key.
    TS_ASSIGN_OR_RETURN(const Codes of_present,
                        CodesOf(KeyColumn{Slice::Of(TakeItems(*mapped, present))}, budget));
    ForEachCode(of_present, [&](uint32_t at, uint32_t code) { code_of[present[at]] = code; });
    codes.count = of_present.count;
    codes.items = of_present.items;
  } else {
    codes.count = static_cast<uint32_t>(present.size());
    codes.items = Value::Vector(key.type(), std::move(items));
  }
  codes.of_row.resize(rows);
  TS_RETURN_IF_ERROR(ParallelRanges(budget, rows, kKeysPerTask, [&](size_t begin, size_t end) {
    uint32_t* at = codes.of_row.data() + begin;
    return each_block(begin, end, [&](std::span<const uint8_t> values) {
      for (const uint8_t value : values) *at++ = code_of[value];
    });
  }));
  return codes;
}

// Gives codes in order of first appearance, and records runs as long as they pay.
class Coder {
 public:
  explicit Coder(size_t rows) : rows_(rows) {}

  // Gives the next `rows` rows this code.
  void Add(uint32_t code, uint32_t rows = 1) {
    if (code == count_) {
      firsts_.push_back(items_);
      ++count_;
    }
    if (runs_pay_) {
      if (!runs_.empty() && runs_.back().code == code) {
        runs_.back().end_row += rows;
      } else {
        runs_.push_back({static_cast<uint32_t>(row_) + rows, code});
        if (runs_.size() * 8 > rows_ + 64) Expand();
      }
    } else {
      of_row_.insert(of_row_.end(), rows, code);
    }
    row_ += rows;
    ++items_;
  }
  uint32_t count() const { return count_; }
  std::span<const uint32_t> firsts() const { return firsts_; }  // The first item of each code.

  Codes Finish() && {
    Codes codes;
    codes.of_row = std::move(of_row_);
    codes.runs = std::move(runs_);
    codes.count = count_;
    return codes;
  }

 private:
  void Expand() {
    of_row_.reserve(rows_);
    uint32_t row = 0;
    for (const CodeRun& run : runs_) {
      of_row_.insert(of_row_.end(), run.end_row - row, run.code);
      row = run.end_row;
    }
    runs_ = {};
    runs_pay_ = false;
  }

  const size_t rows_;
  size_t row_ = 0;
  uint32_t items_ = 0;
  uint32_t count_ = 0;
  bool runs_pay_ = true;
  ScratchVector<CodeRun> runs_;
  ScratchVector<uint32_t> of_row_;
  ScratchVector<uint32_t> firsts_;
};

// Calls add(code) for each item of the key.
template <typename T, typename Add>
absl::Status CodeElements(const Slice& key, Add add, Budget& budget) {
  using Key = decltype(KeyOf(T{}));
  KeyTable<Key> known;
  Key last{};
  uint32_t code = kNoCode;
  return ForEachBlock<T>(key, budget, [&](const Block<T>& block) {
    for (const T& element : block.elements) {
      const Key bits = KeyOf(element);
      if (code == kNoCode || bits != last) {
        code = known.NumberOf(bits);
        last = bits;
      }
      add(code);
    }
  });
}

absl::StatusOr<Codes> CodesOf(const KeyColumn& column, Budget& budget) {
  const Slice& key = column.items;
  const bool by_run = !column.run_ends.empty();
  if (!by_run && key.type() == Type::kSymbol && key.column.has_ids())
    return CodesOfSymbols(key, budget);
  if (!by_run && WidthOf(key.type()) == 1) return CodesOfBytes(key, column.mapped, budget);
  TS_RETURN_IF_ERROR(budget.Charge(column.rows(), 2 * sizeof(uint32_t)));
  Coder coder(column.rows());
  uint32_t run = 0, row = 0;
  const auto add = [&](uint32_t code) {
    const uint32_t end_row = by_run ? column.run_ends[run++] : row + 1;
    coder.Add(code, end_row - row);
    row = end_row;
  };
  if (key.type() == Type::kSymbol) {
    KeyTable<std::string_view> known;
    for (uint32_t at : key.rows->ToVector()) add(known.NumberOf(key.column.SymbolAt(at)));
  } else if (IsFixedWidth(key.type())) {
    TS_RETURN_IF_ERROR(VisitElementType(key.type(), [&]<typename T>(std::type_identity<T>) {
      return CodeElements<T>(key, add, budget);
    }));
  } else {
    // Equal items have equal places in the order of a list.
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint64_t> places, SortKeys(key, budget));
    KeyTable<uint64_t> known;
    for (const uint64_t place : places) add(known.NumberOf(place));
  }
  ScratchVector<uint32_t> rows;
  rows.reserve(coder.count());
  for (uint32_t position : coder.firsts()) {
    rows.push_back(static_cast<uint32_t>(key.rows->At(position)));
  }
  Codes codes = std::move(coder).Finish();
  TS_ASSIGN_OR_RETURN(codes.items, GatherRows(key.column, rows, budget));
  return codes;
}

// Codes of pairs, made of the codes of two columns.
struct Pairs {
  Codes codes;                            // Has no items.
  ScratchVector<uint32_t> first, second;  // The two codes of each pair, by the pair's code.

  uint32_t Add(uint32_t a, uint32_t b) {
    first.push_back(a);
    second.push_back(b);
    return codes.count++;
  }
};

// Calls f(row, code of slow, code of fast) for rows [begin, end). `slow` has the longer runs.
template <typename F>
void ForEachPair(const Codes& slow, const Codes& fast, size_t begin, size_t end, F f) {
  const auto run_of = [](const Codes& codes, size_t row) {
    return std::ranges::upper_bound(codes.runs, row, {}, &CodeRun::end_row);
  };
  size_t row = begin;
  if (slow.runs.empty()) {
    for (; row < end; ++row) f(row, slow.of_row[row], fast.of_row[row]);
    return;
  }
  auto b = run_of(fast, row);  // Used if both columns have runs.
  for (auto a = run_of(slow, row); row < end; ++a) {
    const size_t run_end = std::min<size_t>(a->end_row, end);
    if (!fast.of_row.empty()) {
      for (; row < run_end; ++row) f(row, a->code, fast.of_row[row]);
      continue;
    }
    while (row < run_end) {
      const size_t both_end = std::min<size_t>(b->end_row, run_end);
      for (; row < both_end; ++row) f(row, a->code, b->code);
      if (b->end_row == row) ++b;
    }
  }
}

// Makes the codes of rows [begin, end) and writes them to these places of `of_row`. `known` has a
// place for each possible pair, which holds the pair's code plus one. There is no branch on whether
// a pair is new, because the processor could not guess it.
void PairRows(const Codes& slow, const Codes& fast, size_t begin, size_t end, uint32_t* known,
              uint32_t* of_row, Pairs& pairs) {
  pairs.first.resize(end - begin);
  pairs.second.resize(end - begin);
  uint32_t count = 0;
  ForEachPair(slow, fast, begin, end, [&](size_t row, uint32_t a, uint32_t b) {
    uint32_t& place = known[size_t{a} * fast.count + b];
    const uint32_t code = place == 0 ? count + 1 : place;
    pairs.first[count] = a;
    pairs.second[count] = b;
    count += static_cast<uint32_t>(place == 0);
    place = code;
    of_row[row] = code - 1;
  });
  pairs.first.resize(count);
  pairs.second.resize(count);
  pairs.codes.count = count;
}

// Returns row numbers at which to cut so that no code of `slow` has rows on both sides; empty if a
// code has several runs.
ScratchVector<uint32_t> Cuts(const Codes& slow, size_t rows) {
  ScratchVector<uint32_t> cuts;
  if (slow.runs.size() != slow.count) return cuts;
  cuts.push_back(0);
  for (const CodeRun& run : slow.runs) {
    if (run.end_row - cuts.back() >= kKeysPerTask || run.end_row == rows) {
      cuts.push_back(run.end_row);
    }
  }
  return cuts;
}

// Pairs up codes in parts, if each code of `slow` is one run of rows, as with the minutes of rows
// sorted by time. Parts that are cut between two runs have no pair in common: each is paired up
// separately, and its codes then continue those of the part before. The result equals that of one
// part.
absl::Status PairUpParts(const Codes& slow, const Codes& fast, std::span<const uint32_t> cuts,
                         uint32_t* known, Budget& budget, Pairs& pairs) {
  const size_t parts = cuts.size() - 1;
  std::vector<Pairs> of_part(parts);
  uint32_t* const of_row = pairs.codes.of_row.data();
  TS_RETURN_IF_ERROR(ParallelTasks(budget, parts, [&](size_t part) {
    PairRows(slow, fast, cuts[part], cuts[part + 1], known, of_row, of_part[part]);
    return absl::OkStatus();
  }));
  std::vector<uint32_t> first_code(parts);
  for (size_t part = 0; part < parts; ++part) {
    first_code[part] = pairs.codes.count;
    pairs.codes.count += of_part[part].codes.count;
  }
  pairs.first.resize(pairs.codes.count);
  pairs.second.resize(pairs.codes.count);
  return ParallelTasks(budget, parts, [&](size_t part) {
    const uint32_t first = first_code[part];
    for (size_t row = cuts[part]; row < cuts[part + 1]; ++row) of_row[row] += first;
    std::ranges::copy(of_part[part].first, pairs.first.begin() + first);
    std::ranges::copy(of_part[part].second, pairs.second.begin() + first);
    return absl::OkStatus();
  });
}

absl::StatusOr<Pairs> PairUp(const Codes& slow, const Codes& fast, size_t rows, Budget& budget) {
  Pairs pairs;
  TS_RETURN_IF_ERROR(budget.Charge(rows, 3 * sizeof(uint32_t)));
  pairs.codes.of_row.resize(rows);
  uint32_t* const of_row = pairs.codes.of_row.data();
  const uint64_t product = uint64_t{slow.count} * fast.count;
  if (product <= 8 * uint64_t{rows} + 65536) {
    TS_RETURN_IF_ERROR(budget.Charge(product, sizeof(uint32_t)));
    ScratchVector<uint32_t> known(product);  // Holds codes plus one.
    const ScratchVector<uint32_t> cuts = Cuts(slow, rows);
    if (cuts.size() > 2) {
      TS_RETURN_IF_ERROR(PairUpParts(slow, fast, cuts, known.data(), budget, pairs));
    } else {
      PairRows(slow, fast, 0, rows, known.data(), of_row, pairs);
    }
    return pairs;
  }
  KeyTable<uint64_t> known;
  ForEachPair(slow, fast, 0, rows, [&](size_t row, uint32_t a, uint32_t b) {
    const uint32_t code = known.NumberOf(uint64_t{a} << 32 | b);
    if (code == pairs.codes.count) pairs.Add(a, b);
    of_row[row] = code;
  });
  return pairs;
}

// Returns which codes of a column have rows.
ScratchVector<uint32_t> Present(const Codes& codes) {
  ScratchVector<uint32_t> present;
  if (codes.items.has_value()) {
    present.resize(codes.count);
    std::iota(present.begin(), present.end(), 0u);
    return present;
  }
  ScratchVector<uint8_t> seen(codes.count);
  ForEachCode(codes, [&](uint32_t, uint32_t code) { seen[code] = 1; });
  for (uint32_t code = 0; code < codes.count; ++code) {
    if (seen[code] != 0) present.push_back(code);
  }
  return present;
}

// The ranks of a column's codes in the order of their items.
struct Ranks {
  ScratchVector<uint32_t> of_code;
  Value sorted;  // The items of the codes that have rows, ascending.
};

// Ranks the codes of the groups; `of_group` has the code of each group.
Ranks RanksOf(const Codes& codes, const Slice& key, std::span<const uint32_t> of_group) {
  Ranks ranks;
  ranks.of_code.assign(codes.count, kNoCode);
  ScratchVector<uint32_t> present;
  for (uint32_t code : of_group) {
    if (ranks.of_code[code] != kNoCode) continue;
    ranks.of_code[code] = 0;
    present.push_back(code);
  }
  Value items;
  if (codes.items.has_value()) {
    items = TakeItems(*codes.items, present);
  } else {
    SymbolVector names;
    names.reserve(present.size(), present.size() * 8);
    for (uint32_t code : present) {
      names.push_back(code == 0 ? ""
                                : key.column.symbols().NameOf(static_cast<SymbolId>(code) - 1));
    }
    items = Value::Symbols(std::move(names));
  }
  const ScratchVector<uint32_t> order = AscendingOrder(items);
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks.of_code[present[order[rank]]] = rank;
  ranks.sorted = TakeItems(items, order);
  return ranks;
}

// Sorts groups by their ranks; equal ones keep their order.
void SortByRank(std::span<const uint32_t> rank_of_group, size_t ranks,
                ScratchVector<uint32_t>& order) {
  const auto is_before = [&](uint32_t a, uint32_t b) {
    return rank_of_group[a] < rank_of_group[b];
  };
  // Groups of rows in order of time are sorted already.
  if (std::ranges::is_sorted(order, is_before)) return;
  ScratchVector<uint32_t> begins(ranks + 1);
  for (uint32_t rank : rank_of_group) ++begins[rank + 1];
  std::inclusive_scan(begins.begin(), begins.end(), begins.begin());
  ScratchVector<uint32_t> sorted(order.size());
  for (uint32_t group : order) sorted[begins[rank_of_group[group]]++] = group;
  order = std::move(sorted);
}

// The columns' codes as one: a code for each tuple that occurs.
struct Tuples {
  Codes codes;
  // For each column, the code of each group in it.
  std::vector<ScratchVector<uint32_t>> of_group;
};

absl::StatusOr<Tuples> Combine(std::vector<Codes>& columns, size_t rows, Budget& budget) {
  Tuples tuples;
  tuples.of_group.push_back(Present(columns[0]));
  if (columns.size() == 1) return tuples;
  // From here on a tuple's code is its group, since symbols without rows are in no pair.
  for (size_t i = 1; i < columns.size(); ++i) {
    const Codes& before = i == 1 ? columns[0] : tuples.codes;
    const bool swapped = before.runs.empty() && !columns[i].runs.empty();
    TS_ASSIGN_OR_RETURN(Pairs pairs, swapped ? PairUp(columns[i], before, rows, budget)
                                             : PairUp(before, columns[i], rows, budget));
    if (swapped) pairs.first.swap(pairs.second);
    TS_RETURN_IF_ERROR(budget.Charge(pairs.codes.count, (i + 3) * sizeof(uint32_t)));
    if (i == 1) {
      tuples.of_group[0] = std::move(pairs.first);
    } else {
      for (ScratchVector<uint32_t>& column : tuples.of_group) {
        ScratchVector<uint32_t> of_pair(pairs.codes.count);
        for (size_t pair = 0; pair < of_pair.size(); ++pair) {
          of_pair[pair] = column[pairs.first[pair]];
        }
        column = std::move(of_pair);
      }
    }
    tuples.of_group.push_back(std::move(pairs.second));
    tuples.codes = std::move(pairs.codes);
  }
  return tuples;
}

ScratchVector<uint32_t> RowsOfCodes(Codes codes, size_t rows) {
  if (!codes.of_row.empty()) return std::move(codes.of_row);
  ScratchVector<uint32_t> of_row(rows);
  ForEachCode(codes, [&](uint32_t row, uint32_t code) { of_row[row] = code; });
  return of_row;
}

}  // namespace

absl::StatusOr<NumberedKeys> NumberGroups(std::span<const KeyColumn> keys, Budget& budget) {
  TS_CHECK(!keys.empty());
  const size_t rows = keys[0].rows();
  std::vector<Codes> columns;
  for (const KeyColumn& key : keys) {
    if (key.rows() != rows) return LengthError("by {} items for {} rows", key.rows(), rows);
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), CodesOf(key, budget));
  }
  TS_ASSIGN_OR_RETURN(Tuples tuples, Combine(columns, rows, budget));
  const size_t groups = tuples.of_group[0].size();
  TS_RETURN_IF_ERROR(budget.Charge(groups, (keys.size() + 4) * sizeof(uint32_t)));

  // Sorts by the last column first; each earlier column's sort keeps the order among its equals.
  ScratchVector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<Value> sorted(keys.size());
  for (size_t column = keys.size(); column-- > 0;) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    ScratchVector<uint32_t>& of_group = tuples.of_group[column];
    Ranks ranks = RanksOf(columns[column], keys[column].items, of_group);
    ScratchVector<uint32_t> rank_of_group(groups);
    std::ranges::transform(of_group, rank_of_group.begin(),
                           [&](uint32_t code) { return ranks.of_code[code]; });
    SortByRank(rank_of_group, ranks.sorted.count(), order);
    sorted[column] = std::move(ranks.sorted);
    if (keys.size() > 1) of_group = std::move(rank_of_group);
  }

  NumberedKeys result;
  if (keys.size() == 1) {  // The sorted items are the keys.
    for (uint32_t& group : order) group = tuples.of_group[0][group];
    result.keys.push_back(std::move(sorted[0]));
    result.numbers.slots = columns[0].count;
    result.numbers.of_row = RowsOfCodes(std::move(columns[0]), rows);
  } else {
    ScratchVector<uint32_t> ranks(groups);
    for (size_t column = 0; column < keys.size(); ++column) {
      std::ranges::transform(order, ranks.begin(),
                             [&](uint32_t group) { return tuples.of_group[column][group]; });
      TS_ASSIGN_OR_RETURN(result.keys.emplace_back(),
                          GatherRows(AnyColumn(std::move(sorted[column])), ranks, budget));
    }
    result.numbers.slots = tuples.codes.count;
    result.numbers.of_row = std::move(tuples.codes.of_row);
  }
  result.numbers.order = std::move(order);
  return result;
}

absl::StatusOr<GroupNumbers> NumberBySymbol(const Slice& key, std::span<const SymbolId> ids,
                                            Budget& budget) {
  TS_ASSIGN_OR_RETURN(Codes codes, CodesOfSymbols(key, budget));
  GroupNumbers numbers;
  numbers.slots = codes.count;
  numbers.of_row = std::move(codes.of_row);
  for (SymbolId id : ids) numbers.order.push_back(static_cast<uint32_t>(CodeOf(id)));
  return numbers;
}

}  // namespace tickstack::query
