#pragma once

// A table whose rows other processes have: some have those of past days, the others those of the
// last days. A query over it is evaluated there as far as possible (remote_query.h).
//
// Its symbols may be spread over shards, each of which has a past and a last side of its own. On
// the last day, each symbol is in the shard that ShardOf names. On any other day it is in one shard
// too, but in which one is not known.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/limits.h"
#include "table/value.h"

namespace tickstack::query {

// The column by which the past side is partitioned.
inline constexpr std::string_view kDateColumn = "date";

class RemoteTable {
 public:
  enum class Side : uint8_t {
    kPast,  // Partitioned by `date`.
    kLast,  // Has tables without a column `date`, and TABLE@DATE for each of its days.
  };

  virtual ~RemoteTable() = default;
  virtual const std::string& name() const = 0;
  // True if this side has the table.
  virtual bool IsOn(Side side) const = 0;
  // Returns the names of the columns in their order, without `date`.
  virtual std::vector<std::string> Columns(Side side) const = 0;
  // Returns the columns of the last side with `date`, if the table has a column of that name there.
  virtual std::vector<std::string> LastColumns() const { return Columns(Side::kLast); }
  // Returns how many of LastColumns(), from the first one on, are keys.
  virtual size_t KeyColumns() const { return 0; }
  // Returns the days, ascending, that each side answers for. No day is in both.
  virtual std::span<const int32_t> Days(Side side) const = 0;
  // Returns how many of the days, from the first one on, one process has: at least 1. `days` are
  // ascending, and days of this side.
  virtual size_t DaysOfOne(Side side, std::span<const int32_t> days) const = 0;

  // Evaluates a parse tree on one side, in a process that has all of the days. If there is none any
  // more, the error is kAborted: the days were read anew, and the query must begin again. Other
  // errors: those of the query, kUnavailable, `stop`. `limits.sink` may take the answer.
  virtual absl::StatusOr<Value> Ask(Side side, std::span<const int32_t> days, Value tree,
                                    const Limits& limits) const = 0;

  // Part of a query: what Ask takes.
  struct Part {
    const RemoteTable* shard;  // One of Shards().
    Side side;
    std::span<const int32_t> days;
    Value tree;
  };
  // Evaluates parts, at the same time if the processes can. Returns the answers in the order of the
  // parts, up to the first error: those before it are complete. Errors: as of Ask. `limits.sink` is
  // used only if there is one part. The default asks one after the other.
  virtual std::vector<absl::StatusOr<Value>> AskAll(std::vector<Part> parts,
                                                    const Limits& limits) const {
    std::vector<absl::StatusOr<Value>> answers;
    for (Part& part : parts) {
      answers.push_back(part.shard->Ask(part.side, part.days, std::move(part.tree), limits));
      if (!answers.back().ok()) break;
    }
    return answers;
  }

  // Returns the shards, each a table without further shards; the table itself if it has none. They
  // live as long as the table. Ask is for these only, and Days of a table with several shards may
  // have a day on both sides.
  virtual std::vector<const RemoteTable*> Shards() const { return {this}; }
  // Returns the column whose symbols are spread over the shards. Empty: there is none, and the
  // first shard has all rows of the last day.
  virtual std::string_view ShardColumn() const { return {}; }
  // Returns the position in Shards() of the symbol's shard on the last day; nullopt if none of them
  // has it.
  virtual std::optional<size_t> ShardOf(std::string_view /*symbol*/) const { return 0; }
  // Not OK if the days and columns are unknown, because no process has answered yet.
  virtual absl::Status status() const { return absl::OkStatus(); }
  // Not OK if a process of this shard may have a day that is not among its days: the day is later
  // than these, and a side does not answer now.
  virtual absl::Status StatusOf(int32_t /*day*/) const { return absl::OkStatus(); }
  // Returns the name of this shard, for errors.
  virtual std::string_view shard() const { return {}; }
};

}  // namespace tickstack::query
