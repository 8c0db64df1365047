#include "query/joins/asof_match.h"

#include <algorithm>
#include <array>

#include "base/status.h"
#include "mem/medium.h"

namespace tickstack::query {
namespace {

// Finds how many of the ascending `times` are at most `now`, given that those before `after` are.
struct Merge {
  template <typename T>
  static size_t EndOf(std::span<const T> times, size_t after, T now) {
    constexpr size_t kTogether = 16;
    while (times.size() - after >= kTogether) {
      const T* const next = times.data() + after;
      T count = 0;  // As wide as the elements, so that their SIMD lanes add it up.
      for (size_t i = 0; i < kTogether; ++i) count += static_cast<T>(next[i] <= now);
      after += static_cast<size_t>(count);
      if (count < static_cast<T>(kTogether)) return after;
    }
    while (after < times.size() && times[after] <= now) ++after;
    return after;
  }
};

struct Gallop {
  template <typename T>
  static size_t EndOf(std::span<const T> times, size_t after, T now) {
    if (after == times.size() || times[after] > now) return after;
    size_t low = after, step = 1;  // times[low] <= now, always.
    while (step < times.size() - low && times[low + step] <= now) {
      low += step;
      step *= 2;
    }
    size_t high = std::min(low + step, times.size());  // The end, or times[high] > now.
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (times[middle] <= now ? low : high) = middle;
    }
    return high;
  }
};

// Calls f with the kind of search that suits the ratio of the two sides.
template <typename F>
void BySearch(size_t trades, size_t quotes, F f) {
  constexpr size_t kDense = 24;  // asof_match.h has the measurement.
  if (quotes / kDense <= trades) {
    f(Merge());
  } else {
    f(Gallop());
  }
}

absl::Status CheckMatch(size_t trades, size_t quotes, size_t results) {
  if (results == trades && quotes < kNoRow) return absl::OkStatus();
  return InvalidArgument("asof match: {} results for {} trades and {} quotes", results, trades,
                         quotes);
}

uint32_t LastBefore(size_t after) { return after == 0 ? kNoRow : static_cast<uint32_t>(after - 1); }

// Trades with exact times, on the clock of the quotes.
struct ExactTrades {
  std::span<const int64_t> ns;
  const PostingTimes& clock;

  size_t size() const { return ns.size(); }
  uint32_t CoarseOf(size_t i) const { return clock.CoarseOf(ns[i]); }
  int64_t ExactNs(size_t i) const { return ns[i]; }
  void Prefetch(size_t) const {}
  void Charge(mem::MediumAccess&) const {}
  static size_t exact_reads() { return 1; }
};

// Trades from postings, on the clock of the quotes.
struct PostedTrades {
  const PostingRun& run;
  const PostingTimes& times;

  size_t size() const { return run.rows.size(); }
  uint32_t CoarseOf(size_t i) const { return run.coarse[i]; }
  int64_t ExactNs(size_t i) const { return times.ExactNs(run.rows[i]); }
  void Prefetch(size_t i) const { times.Prefetch(run.rows[i]); }
  void Charge(mem::MediumAccess& access) const {
    access.ReadInOrder(run.coarse.data(), run.coarse.size_bytes());
  }
  static size_t exact_reads() { return 2; }
};

// Charges what a match has read of the quotes' postings up to the last answer: their coarse times,
// and the row numbers of the answers, which the caller reads next.
void ChargeQuotes(bool merged, const PostingRun& quotes, size_t after, size_t trades,
                  mem::MediumAccess& access) {
  constexpr size_t kFar = 256;  // From one answer to the next; no prefetcher bridges this distance.
  const size_t bytes = after * sizeof(uint32_t);
  const bool far = bytes / kFar > trades;
  if (merged || !far) {
    access.ReadInOrder(quotes.coarse.data(), bytes);
  } else {
    access.Searched(bytes / trades, 2 * trades);  // Gallops up, then searches down.
  }
  if (far) {
    access.ReadScattered(trades);
  } else {
    access.ReadInOrder(quotes.rows.data(), bytes);
  }
}

template <typename Search, typename Trades>
void MatchPostings(const Trades& trades, const PostingRun& quotes, const PostingTimes& quote_times,
                   std::span<uint32_t> prevailing) {
  // Matches a block of trades by coarse times first and fetches the needed exact times afterwards.
  // Their cache misses then overlap, instead of each delaying the next search.
  constexpr size_t kBlock = 128;
  std::array<size_t, kBlock> end_of;
  size_t coarse_after = 0, after = 0;
  mem::MediumAccess postings(quotes.medium), exact(quote_times.medium());
  size_t asked = 0;  // Exact times that were needed.
  for (size_t begin = 0; begin < trades.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, trades.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t now = trades.CoarseOf(begin + i);
      const size_t end = end_of[i] = coarse_after = Search::EndOf(quotes.coarse, coarse_after, now);
      if (end > 0 && quotes.coarse[end - 1] == now) [[unlikely]] {
        quote_times.Prefetch(quotes.rows[end - 1]);
        trades.Prefetch(begin + i);
        ++asked;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const size_t end = end_of[i];
      if (end == after || quotes.coarse[end - 1] < trades.CoarseOf(begin + i)) [[likely]] {
        after = end;
      } else {
        after = quote_times.EndOfExact(quotes, after, end, trades.ExactNs(begin + i));
      }
      prevailing[begin + i] = LastBefore(after);
    }
  }
  ChargeQuotes(std::is_same_v<Search, Merge>, quotes, after, trades.size(), postings);
  trades.Charge(postings);
  // Charges one read for the quote and one for the trade; where both come from postings, both are
  // alike.
  exact.ReadScattered(asked * trades.exact_reads());
}

}  // namespace

absl::Status AsofMatch(std::span<const int64_t> trade_ns, std::span<const int64_t> quote_ns,
                       std::span<uint32_t> prevailing) {
  TS_RETURN_IF_ERROR(CheckMatch(trade_ns.size(), quote_ns.size(), prevailing.size()));
  BySearch(trade_ns.size(), quote_ns.size(), [&]<typename Search>(Search) {
    size_t after = 0;  // How many quotes are at or before the trade: the last of these prevails.
    for (size_t i = 0; i < trade_ns.size(); ++i) {
      after = Search::EndOf(quote_ns, after, trade_ns[i]);
      prevailing[i] = LastBefore(after);
    }
  });
  return absl::OkStatus();
}

absl::Status AsofMatch(std::span<const int64_t> trade_ns, const PostingRun& quotes,
                       const PostingTimes& quote_times, std::span<uint32_t> prevailing) {
  TS_RETURN_IF_ERROR(CheckMatch(trade_ns.size(), quotes.rows.size(), prevailing.size()));
  BySearch(trade_ns.size(), quotes.rows.size(), [&]<typename Search>(Search) {
    MatchPostings<Search>(ExactTrades{trade_ns, quote_times}, quotes, quote_times, prevailing);
  });
  return absl::OkStatus();
}

absl::Status AsofMatch(const PostingRun& trades, const PostingTimes& trade_times,
                       const PostingRun& quotes, const PostingTimes& quote_times,
                       std::span<uint32_t> prevailing) {
  TS_RETURN_IF_ERROR(CheckMatch(trades.rows.size(), quotes.rows.size(), prevailing.size()));
  if (!trade_times.SameClock(quote_times)) {
    // The base is of another day, so this compares exact times, a block at a time. Each block goes
    // on from the answers of the last one.
    constexpr size_t kBlock = 1024;
    std::array<int64_t, kBlock> ns;
    size_t done = 0;  // Quotes that are before all later trades.
    for (size_t begin = 0; begin < trades.rows.size(); begin += kBlock) {
      const size_t n = std::min(kBlock, trades.rows.size() - begin);
      const std::span<const uint32_t> rows = trades.rows.subspan(begin, n);
      mem::MediumAccess index(trades.medium), exact(trade_times.medium());
      for (size_t i = 0; i < n; ++i) ns[i] = trade_times.ExactNs(rows[i]);
      index.ReadInOrder(rows.data(), rows.size_bytes());
      exact.ReadRows(rows, sizeof(int64_t));
      const PostingRun rest{quotes.rows.subspan(done), quotes.coarse.subspan(done), quotes.medium};
      const std::span<uint32_t> found = prevailing.subspan(begin, n);
      TS_RETURN_IF_ERROR(AsofMatch(std::span(ns).first(n), rest, quote_times, found));
      for (uint32_t& at : found) {
        if (at != kNoRow) at += static_cast<uint32_t>(done);
      }
      if (found.back() != kNoRow) done = found.back();
    }
    return absl::OkStatus();
  }
  BySearch(trades.rows.size(), quotes.rows.size(), [&]<typename Search>(Search) {
    MatchPostings<Search>(PostedTrades{trades, trade_times}, quotes, quote_times, prevailing);
  });
  return absl::OkStatus();
}

}  // namespace tickstack::query
