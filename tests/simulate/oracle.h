#pragma once

// Records which rows were acknowledged to feeds, and checks at the end that the log still has them.
// After a power cut, the log may lack some of them, depending on the tickerplant's `fsync`:
//
//   batch     none, nor any row that was published
//   interval  rows acknowledged since the last sync
//   none      all rows of today, which feeds send again; and all rows of an ended day whose log was
//             not synced yet, which feeds do not send again
//
// A power cut after a failed sync may take anything that was written before that sync.
//
// In every case, a feed's rows are logged once and in order; every published row is logged; and the
// rdb, subscribers, bars and partitions have the rows of the log.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/simulate/exchange_feed.h"
#include "tests/simulate/stack.h"

namespace tickstack::simulate {

class Oracle {
 public:
  struct Feed {
    std::string name;
    const FeedPlan* plan;
    // By table: number of acknowledged rows that the log must have.
    std::map<std::string, int64_t> acknowledged = {};
    // Acknowledgements: their time, and the number of rows by table.
    std::vector<std::pair<int64_t, std::map<std::string, int64_t>>> history = {};
    // False after a power cut that may have taken acknowledged rows, until the feed has asked how
    // many are logged.
    bool knows = true;
    bool asks = false;
  };

  Oracle(const StackOptions& options, std::vector<Feed> feeds, const FeedPlan& teller, Told& told)
      : options_(options), feeds_(std::move(feeds)), teller_(teller), told_(told) {}

  // Records an acknowledgement.
  void OnAcknowledged(const std::string& feed, const NameMap<int64_t>& rows, int64_t now_ns);
  // Records whether a feed is asking how many of its rows are logged.
  void OnState(const std::string& feed, bool asks);
  struct PowerCut {
    tplog::FsyncPolicy fsync = tplog::FsyncPolicy::kNone;
    bool was_none = false;        // The policy was `none` earlier.
    int64_t unsynced_ns_max = 0;  // With `interval`: the age of the oldest rows that it may take.
    bool dropped = false;         // It took rows from logs whose sync had failed before.
  };
  void OnPowerCut(World& world, const PowerCut& cut);
  // Records that a tickerplant has opened its log. `subscribers` are those that live. `is_damaged`:
  // a bit of the log is flipped.
  void OnTickerplant(const tickerplant::Tickerplant& plant,
                     const std::vector<const Recorder*>& subscribers, bool is_damaged);

  // The state after convergence. `calm_days`: dates whose end no trouble disturbed.
  struct End {
    const tickerplant::Tickerplant& plant;
    const rdb::Rdb& rdb;
    std::vector<const Recorder*> recorders;
    std::vector<int32_t> calm_days;
    // When each day began, by date; the first day is left out.
    std::map<int32_t, int64_t> begins_ns;
    const ExchangeFeed* exchange = nullptr;  // nullptr: the life has no live feed.
  };
  void CheckEnd(const End& end);
  // Checks the rows of feeds and of the teller, in the logs of all days.
  void CheckRows(const std::map<int32_t, TableTexts>& days) {
    CheckFeeds(days);
    CheckTeller(days);
  }
  // Checks that the rows that were found are those of a log.
  void CheckSameTables(const std::string& where, const TableTexts& found, const TableTexts& log);

  // False if partitions need not agree with logs: an ended day's log may have lost anything.
  bool expects_partitions() const { return !may_lose_anything_; }
  // True if a log may be damaged, which every reader of it must report.
  bool expects_damage() const { return may_be_damaged_; }
  // True if the log of a past day may not be on the disk yet, or was not repaired.
  bool HasUnsyncedEndedDay() const;
  const std::string& failure() const { return failure_; }  // The first failure; empty: none.
  void Fail(std::string what);
  int64_t rows() const { return rows_; }

 private:
  void CheckFeeds(const std::map<int32_t, TableTexts>& days);
  void CheckTeller(const std::map<int32_t, TableTexts>& days);
  // `troubled_ns`: when the day began, if there was trouble around that time; else kNullLong.
  void CheckBars(const std::string& where, const TableTexts& log, int64_t troubled_ns);
  absl::Status AddRemovedDays(int32_t today, std::map<int32_t, TableTexts>& days,
                              std::vector<int32_t>& removed) const;
  void CheckSame(const std::string& where, const RowTexts& found, const RowTexts& expected);

  const StackOptions& options_;
  std::vector<Feed> feeds_;
  const FeedPlan& teller_;
  Told& told_;
  std::vector<bool> may_be_lost_;  // By row of `teller_`: true if the log may lack it.
  bool may_lose_anything_ = false;
  bool may_be_damaged_ = false;
  bool may_lose_published_ = false;  // A power cut came that may have taken published rows.
  // False after a power cut that may have taken any acknowledged row, however old.
  bool receipts_count_ = true;
  int64_t rows_ = 0;
  std::string failure_;
};

}  // namespace tickstack::simulate
