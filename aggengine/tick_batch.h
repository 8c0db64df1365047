#pragma once

// A batch of one source's rows, column by column, as the bars need it: rows by symbol
// (symbol_groups.h), and every operand as 64-bit integers or floats. It is made once for all bars
// of the source.
//
//   upd    upd     upd           Add: in order of arrival; each column is widened and appended
//   AB.... BA.C... AAB...        Arrange: AAAA.. BBB.. C..
//
// A batch consists of as many upds as were added: the more rows, the longer the runs of a symbol,
// and the cheaper each row.
//
// Threads: one owner. Buffers are reused from batch to batch.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggengine/aggregate.h"
#include "aggengine/symbol_groups.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack::aggengine {

class TickBatch {
 public:
  // Stands for a time that is missing or outside of any clock's range. Such a row is in no bar.
  static constexpr int64_t kNoTime = kNullLong;
  static constexpr int64_t kTimeMaxNs = int64_t{1} << 62;  // Times beyond +/- this are kNoTime.

  // `source` has columns `time`, of type p or n, and `sym s`. `source` and `symbols` must outlive
  // this.
  TickBatch(const Schema& source, SymbolTable* symbols) : source_(source), symbols_(symbols) {}

  // Returns the operand's number in this batch; equal operands have the same one. TypeOf must
  // accept it.
  size_t AddOperand(const Operand& operand);

  // Copies the needed columns of rows that CheckBatch accepts. kInvalidArgument, by column, if
  // their bytes do not match type and count: then none is added.
  absl::Status Add(const BatchView& batch);
  // Number of rows since Arrange.
  size_t added() const { return added_; }
  void DropAdded() { added_ = 0; }
  // Makes the added rows the current batch.
  void Arrange();

  // Everything below is by place, not by row: the places of a group are those of a symbol's rows,
  // in order of arrival.
  size_t rows() const { return times_.size(); }
  std::span<const SymbolGroups::Group> groups() const { return groups_.groups(); }
  // ns since 2000, or since midnight if the source has type n.
  std::span<const int64_t> times() const { return times_; }
  // Returns a symbol's slot, its index in arrays: 1 or more, or 0 for rows without a symbol.
  static uint32_t SlotOf(SymbolId id) {
    return id == kNullSymbol ? 0 : static_cast<uint32_t>(id) + 1;
  }
  size_t symbol_slots() const { return static_cast<size_t>(symbols_->size()) + 1; }

  bool is_floating(size_t operand) const { return lanes_[operand].floating; }
  // Nulls of every width are kNullLong or NaN; there is no -0.
  std::span<const int64_t> longs(size_t operand) const { return lanes_[operand].longs; }
  std::span<const double> floats(size_t operand) const { return lanes_[operand].floats; }
  // Returns the operand as floats, whatever its type; an integer as the nearest float.
  std::span<const double> AsFloats(size_t operand) {
    if (!lanes_[operand].converted) Convert(lanes_[operand]);
    return lanes_[operand].floats;
  }

 private:
  // A column, or the difference of two earlier lanes.
  struct Lane {
    Operand operand;
    size_t column = 0;
    size_t left = SIZE_MAX, right = SIZE_MAX;
    bool floating = false;
    bool converted = false;  // True if `floats` is up to date with `longs` for this batch.
    std::vector<int64_t> longs;
    std::vector<double> floats;
    std::vector<int64_t> added_longs;
    std::vector<double> added_floats;
  };

  size_t AddColumn(const std::string& column);
  void WidenColumn(const ColumnView& column, Lane& lane) const;
  void LoadDifference(Lane& lane);
  static void Convert(Lane& lane);

  const Schema& source_;
  SymbolTable* const symbols_;
  // Number of added rows, whose values are in the lanes. The vectors never shrink, because growing
  // again would fill them with zeros.
  size_t added_ = 0;
  std::vector<uint32_t> added_slots_;
  std::vector<int64_t> added_times_;
  std::vector<SymbolId> ids_;

  SymbolGroups groups_;
  std::vector<int64_t> times_;
  std::vector<Lane> lanes_;  // By operand.
};

}  // namespace tickstack::aggengine
