#pragma once

// Finds messages of a log that are odd among the others. A log that plain kdb+ wrote has no
// checksums: its noise may still parse, as a message that is no upd, as rows whose columns have
// other types than those of their table elsewhere in the log, or as a message that has taken in the
// messages after it, because a count in it became larger. A feed may also have sent chars or
// strings where the table has symbols, in all of its messages.
//
// Threads: one owner.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_map.h"
#include "table/types.h"
#include "wire/upd.h"

namespace tickstack::tplog {

class MessageCensus {
 public:
  struct Place {
    uint64_t seq = 0;
    uint64_t offset = 0;
  };
  struct Odd {
    uint64_t messages = 0;  // How many messages are odd in the same way.
    Place first;
    std::string text;  // What they have, and what was expected.
    // True if rows are missing: a replay skips these messages, or finds one message in place of
    // several.
    bool hides_rows = false;
  };

  // Counts a message and what it was decoded to; nullptr: it is no upd. Cost: O(columns), a lookup
  // of the table, and a search of `body` for the beginning of an upd.
  void Add(const wire::UpdView* upd, std::span<const std::byte> body, Place place);
  // Returns what is odd. Of different rows of one table those of most messages are right, and the
  // first ones if as many are of another kind. `of_ticks`: the log is of kdb+tick, whose tables
  // have symbols in the column `sym`, one of the first two. Rows that have chars or lists there are
  // odd even if all rows of the table do.
  std::vector<Odd> FindOdd(bool of_ticks = false) const;
  // True if FindOdd, after all messages were added, lists messages such as this one because they
  // are unlike those of most messages.
  bool IsOdd(const wire::UpdView* upd, std::span<const std::byte> body) const;

 private:
  static constexpr size_t kLayoutsMax = 64;
  static constexpr size_t kTablesMax = 10'000;

  // Column types that agree. A list may hold values of any type, and agrees with each.
  struct Layout {
    std::vector<Type> types;
    uint64_t messages = 0;
    uint64_t without_symbols = 0;  // Messages with chars or a list where `sym` should be.
    Place first;
  };
  using Layouts = std::vector<Layout>;

  static std::string KeyOf(const wire::UpdView& upd);
  static bool Agree(const Layout& layout, const wire::UpdView& upd);
  static const Layout& MostFrequent(const Layouts& layouts);
  static std::optional<size_t> ColumnWithoutSymbols(const wire::UpdView& upd);
  static std::string Difference(const Layout& odd, const Layout& usual);

  bool HoldsAnother(std::span<const std::byte> body) const;

  std::string upd_begin_;  // How the first upd begins, up to the end of its verb.
  Odd no_upd_;
  Odd joined_;
  NameMap<Layouts> tables_;
};

}  // namespace tickstack::tplog
