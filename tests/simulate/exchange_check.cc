#include "tests/simulate/exchange_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tickstack::simulate {
namespace {

constexpr int64_t kSecond = kNsPerSecond;
// A feed that runs on for this long has written what it took, also if it is stalled meanwhile.
constexpr int64_t kRunsOnNs = 8 * kSecond;
constexpr int64_t kSlackNs = 10'000'000;
// Smaller steps of a clock are taken for delays.
constexpr int64_t kClockSlackNs = 600'000'000;

class Check {
 public:
  Check(const ExchangeFeed& feed, const ExchangeRows& rows)
      : feed_(feed), sessions_(feed.exchange().sessions()), rows_(rows) {
    for (const Exchange::Session& session : sessions_) {
      found_.emplace_back(session.messages.size() + 1);
    }
    for (const size_t join : feed.beginnings()) {
      excused_until_ns_ = std::max(excused_until_ns_, BeginsAnewNs(join));
    }
  }

  std::string Run() {
    for (const auto& [date, tables] : rows_.days) {
      for (const char* const table : {"order", "deal"}) {
        const auto rows = tables.find(table);
        if (rows != tables.end()) TakeRows(date, *FindSchema(table), rows->second);
      }
      const auto gaps = tables.find("gap");
      if (gaps != tables.end()) TakeGaps(*FindSchema("gap"), gaps->second);
    }
    for (size_t session = 0; session < sessions_.size(); ++session) CheckSession(session);
    return wrong_;
  }

 private:
  // What the logs have of a message.
  struct Found {
    int rows = 0, gaps = 0;
    std::string closed = {};  // Why its gap was closed.
  };

  void Fail(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  void TakeRows(int32_t date, const Schema& schema, const RowTexts& rows) {
    const auto cell = [&schema](const std::string& row, std::string_view column) {
      return Cell(row, static_cast<size_t>(schema.Find(column)));
    };
    std::vector<int64_t> last_seqs(sessions_.size());
    for (const std::string& row : rows) {
      const int64_t id = std::stoll(cell(row, "id"));
      const int64_t session = id / 1'000'000 - 1, seq = id % 1'000'000;
      const bool exists = session >= 0 && session < std::ssize(sessions_) && seq > 0 &&
                          seq < std::ssize(found_[static_cast<size_t>(session)]);
      if (!exists || std::stoll(cell(row, "seq")) != seq ||
          cell(row, "channel") != sessions_[static_cast<size_t>(session)].name) {
        return Fail(fmt::format("{}: row {} is that of no message", schema.table, row));
      }
      ++found_[static_cast<size_t>(session)][static_cast<size_t>(seq)].rows;
      int64_t& last_seq = last_seqs[static_cast<size_t>(session)];
      const bool in_order = seq > last_seq || rows_.unordered.contains(date) ||
                            !feed_.beginnings().empty() || rows_.may_lack_rows;
      if (!in_order) Fail(fmt::format("{}: row {} follows number {}", schema.table, row, last_seq));
      last_seq = seq;
    }
  }

  void TakeGaps(const Schema& schema, const RowTexts& rows) {
    const auto cell = [&schema](const std::string& row, std::string_view column) {
      return Cell(row, static_cast<size_t>(schema.Find(column)));
    };
    for (const std::string& row : rows) {
      const auto session =
          std::ranges::find(sessions_, cell(row, "session"), &Exchange::Session::name);
      const int64_t first = std::stoll(cell(row, "first_seq")),
                    last = std::stoll(cell(row, "last_seq"));
      if (session == sessions_.end() || first < 1 || last < first ||
          last > std::ssize(session->messages)) {
        return Fail(fmt::format("gap: row {} is that of no messages", row));
      }
      std::vector<Found>& found = found_[static_cast<size_t>(session - sessions_.begin())];
      for (int64_t seq = first; seq <= last; ++seq) {
        ++found[static_cast<size_t>(seq)].gaps;
        found[static_cast<size_t>(seq)].closed = cell(row, "closed");
      }
    }
  }

  // Returns when the feed has the position at which it begins without a spool. A receiver of a feed
  // that ended sooner may have left none.
  int64_t BeginsAnewNs(size_t join) const {
    const std::vector<Exchange::Join>& joins = feed_.exchange().joins();
    for (; join < joins.size(); ++join) {
      const int64_t first_ns = joins[join].first_taken_ns;
      if (first_ns != Exchange::kNever && RanOn(join, first_ns)) {
        return first_ns + feed_.wait_ns() + kSecond;
      }
    }
    return Exchange::kNever;
  }

  bool RanOn(size_t join, int64_t since_ns) const {
    const int64_t end_ns = feed_.exchange().joins()[join].end_ns;
    return end_ns == Exchange::kNever || end_ns - since_ns >= kRunsOnNs;
  }

  bool IsExcused(const Exchange::Message& message) const {
    return rows_.may_lack_rows || message.sent_ns <= excused_until_ns_;
  }

  // True if the message arrived in time at a feed that ran on, and so has a row.
  bool HasRow(const Exchange::Message& message) const {
    const int64_t slack_ns = feed_.sets_clock() ? kClockSlackNs : kSlackNs;
    return !feed_.may_drop() && message.taken_ns != Exchange::kNever &&
           message.arrived_ns - message.known_ns < feed_.wait_ns() - slack_ns &&
           RanOn(message.taken_by, message.taken_ns) && !IsExcused(message);
  }

  void CheckSession(size_t index) {
    const Exchange::Session& session = sessions_[index];
    const std::vector<Found>& found = found_[index];
    size_t first = 0, last = 0;  // 0: there is none.
    for (size_t seq = 1; seq < found.size(); ++seq) {
      if (found[seq].rows + found[seq].gaps == 0) continue;
      if (first == 0) first = seq;
      last = seq;
    }
    for (size_t seq = std::max<size_t>(first, 1); seq <= last; ++seq) {
      const auto [rows, gaps, closed] = found[seq];
      if (rows + gaps == 1 || IsExcused(session.messages[seq - 1])) continue;
      return Fail(fmt::format("message {} of {} has {} rows and is in {} gaps, {} to {} are known",
                              seq, session.name, rows, gaps, first, last));
    }
    for (size_t seq = 1; seq < found.size(); ++seq) {
      if (found[seq].rows > 0 || !HasRow(session.messages[seq - 1])) continue;
      return Fail(fmt::format("message {} of {} arrived in time and has no row; its gap: {}", seq,
                              session.name, found[seq].closed));
    }
    for (const auto& [join, known] : session.known) {
      const size_t known_last = known.end_seq - 1;
      if (known_last < known.first_seq || !RanOn(join, known.time_ns)) continue;
      if (last >= known_last || IsExcused(session.messages[known_last - 1])) continue;
      return Fail(fmt::format("message {} of {} is known, the last row or gap is that of {}",
                              known_last, session.name, last));
    }
  }

  const ExchangeFeed& feed_;
  const std::vector<Exchange::Session>& sessions_;
  const ExchangeRows& rows_;
  int64_t excused_until_ns_ = 0;
  std::vector<std::vector<Found>> found_;  // By session and sequence number.
  std::string wrong_;
};

}  // namespace

std::string FindWrongExchangeRows(const ExchangeFeed& feed, const ExchangeRows& rows) {
  return Check(feed, rows).Run();
}

}  // namespace tickstack::simulate
