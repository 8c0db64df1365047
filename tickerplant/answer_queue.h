#pragma once

// Answers to requests whose rows are staged and not logged yet. A client is answered only when its
// rows are in the log, so that an answer confirms them.
//
//   request stages rows -> Add(its answer, upds staged so far)
//   rows are logged     -> TakeLogged(upds logged so far): the answers that may be sent now
//
// Rows are logged in the order in which they were staged, so answers leave in the order in which
// they came, and one that waits holds back all later ones. So a later request of a connection is
// not answered before an earlier one, and what a request sends to its client stays behind what
// earlier requests have sent.
//
// Threads: the service's loop. Errors: none.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "serve/loop_answers.h"

namespace tickstack::tickerplant {

// An answer whose value is read when it is sent: how many rows of a feed are logged then. A feed
// would take rows that are only staged for refused ones.
struct Receipt {
  std::string feed;
  bool claims = false;  // The request claimed the feed's name for its connection.
};

class AnswerQueue {
 public:
  struct Waiting {
    uint64_t connection;
    uint64_t upds;  // Tickerplant::upds_logged from which on it may be sent.
    serve::LoopAnswer answer;
    std::optional<Receipt> receipt = std::nullopt;  // Replaces the answer's value.
  };

  // Requires that `upds` is at least that of the answer before it.
  void Add(Waiting waiting) {
    TS_CHECK(waiting_.empty() || waiting_.back().upds <= waiting.upds);
    waiting_.push_back(std::move(waiting));
  }
  // True if an answer waits for this connection. Cost: O(answers).
  bool Has(uint64_t connection) const {
    return std::ranges::find(waiting_, connection, &Waiting::connection) != waiting_.end();
  }
  // Removes and returns, in their order, the answers whose rows are logged or needed no logging.
  std::vector<Waiting> TakeLogged(uint64_t upds_logged) {
    const auto end = std::ranges::find_if_not(
        waiting_, [=](const Waiting& waiting) { return waiting.upds <= upds_logged; });
    std::vector<Waiting> logged(std::make_move_iterator(waiting_.begin()),
                                std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return logged;
  }
  // Drops the answers of a connection that has ended. Its rows are logged all the same.
  void OnConnectionGone(uint64_t connection) {
    std::erase_if(waiting_,
                  [=](const Waiting& waiting) { return waiting.connection == connection; });
  }
  size_t size() const { return waiting_.size(); }

 private:
  std::vector<Waiting> waiting_;
};

}  // namespace tickstack::tickerplant
