#pragma once

// The processes of a stack, wired as their mains wire them, and the clients that observe it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggengine/aggengine_service.h"
#include "aggengine/engine.h"
#include "feed/feed_service.h"
#include "mem/tier.h"
#include "rdb/end_of_day.h"
#include "rdb/rdb.h"
#include "tests/simulate/rows.h"
#include "tests/simulate/world.h"
#include "tickerplant/tickerplant_service.h"
#include "tplog/subscriber.h"
#include "wire/server.h"

namespace tickstack::simulate {

// Options of a stack. DrawOptions draws them for each life.
struct StackOptions {
  std::string folder;                                // A folder on the simulated disk.
  wire::Address tickerplant{"127.0.0.1", 5010, ""};  // As its clients know it.
  tplog::FsyncPolicy fsync = tplog::FsyncPolicy::kNone;
  int fsync_interval_ms = 100;
  int64_t batch_ns = 0;
  size_t batch_bytes = size_t{1} << 20;
  std::vector<std::string> at_once;
  std::string zone = "UTC";
  int64_t roll_offset_ns = 0;
  bool reads_log_file = true;
  int64_t bars_every_ns = 0;
  int64_t bars_gap_ns = 0;
  int64_t feed_batch_rows = 10;
  int write_threads = 1;
  size_t queue_bytes_max = size_t{512} << 20;
  // Unread bytes above which a writer waits.
  size_t socket_bytes = size_t{256} << 10;
  // Unsent bytes above which a subscriber is behind.
  size_t live_queue_bytes = size_t{4} << 20;
  // The teller is not read while a subscriber is more than this many rows behind; 0: it is always
  // read.
  int64_t teller_window_rows = 0;
  int keep_logs_days = -1;
  std::shared_ptr<wire::Authenticator> users;  // nullptr: there is no users file.
  bool has_notes = false;                      // The table note is one of the tickerplant's.
  bool has_news = false;                       // The table news is one of the tickerplant's.
  bool has_exchange = false;                   // Those of a live feed are.
  std::string log_folder = "tplog";            // In `folder`.

  std::string LogFolder() const { return folder + "/" + log_folder; }
  std::string LogPath(int32_t date) const { return LogFolder() + "/sym" + FormatDate(date); }
  std::string Database() const { return folder + "/hdb"; }
};

StackOptions DrawOptions(Random& random, std::string folder);
// Draws the options that an operator changes between two starts of a tickerplant: how it syncs and
// when it publishes.
void DrawTickerplantOptions(Random& random, StackOptions& options);

// The options of a subscriber, which is named as its process.
tplog::SubscriberOptions SubscribeAs(const Process& process, const StackOptions& options);

// The options of a tickerplant on this machine.
tickerplant::TickerplantOptions PlantOptions(const StackOptions& options, const Host& machine);

struct TickerplantProgram final : Program {
  // Logs the rows of notes that are due now and then, as an earlier version did, which did not
  // refuse what no file can store.
  void LogNotes(Process& process, const FeedPlan& plan);
  void Stop() override;
  std::unique_ptr<tickerplant::TickerplantService> service;
  std::unique_ptr<wire::Server> server;
  std::unique_ptr<wire::Timer> notes;
};
absl::StatusOr<std::unique_ptr<Program>> StartTickerplant(Process& process,
                                                          const StackOptions& options);

struct AggEngineProgram final : Program {
  std::unique_ptr<mem::Tier> tier;
  std::unique_ptr<aggengine::Engine> engine;
  std::unique_ptr<aggengine::AggEngineService> service;
};
absl::StatusOr<std::unique_ptr<Program>> StartAggEngine(Process& process,
                                                        const StackOptions& options);

struct RdbProgram final : Program {
  // Destroys the subscriber before the keeper of days, as the rdb's main does.
  ~RdbProgram() override { subscriber = nullptr; }
  std::unique_ptr<mem::Tier> tier;
  std::unique_ptr<rdb::Rdb> rdb;
  std::unique_ptr<rdb::EndOfDay> end_of_day;
  std::unique_ptr<tplog::Subscriber> subscriber;
};
absl::StatusOr<std::unique_ptr<Program>> StartRdb(Process& process, const StackOptions& options);

struct FeedProgram final : Program {
  std::unique_ptr<feed::FeedService> service;
};
absl::StatusOr<std::unique_ptr<Program>> StartFeed(Process& process, const StackOptions& options,
                                                   const std::string& name, const FeedPlan& plan);

// The answers to a teller: a client that sends rows of `trade` one at a time, each by a sync upd.
struct Told {
  enum class Answer : uint8_t { kNone, kLogged, kRefused };
  std::vector<Answer> answers;    // By number of the row.
  std::vector<int64_t> times_ns;  // When the answer came.
  size_t next = 0;
};

// Starts a teller. It sends rows without numbers, none of them twice, and records the answers.
absl::StatusOr<std::unique_ptr<Program>> StartTeller(Process& process, const StackOptions& options,
                                                     const FeedPlan& plan, Told& told);

// Starts a client that sends the rows of `trade` carelessly: a message may repeat rows of the last
// one, or leave a gap after it. `logged`: rows that were acknowledged.
absl::StatusOr<std::unique_ptr<Program>> StartRepeater(Process& process,
                                                       const StackOptions& options,
                                                       const FeedPlan& plan,
                                                       const std::string& name, int64_t& logged);

// Starts a client that sends notes which no file can store. `accepted`: a row that was not refused;
// empty: none.
absl::StatusOr<std::unique_ptr<Program>> StartScribe(Process& process, const StackOptions& options,
                                                     std::string& accepted);

// Records what a subscriber gets, and checks it.
class Recorder final : public tplog::SubscribedState {
 public:
  // `all_rows`: false if the tickerplant may leave out rows of a feed.
  explicit Recorder(bool all_rows = true) : all_rows_(all_rows) {}
  void OnSchemas(std::span<const Schema>) override {}
  tplog::LiveOutcome OnLive(std::span<const std::byte> body) override;
  void OnLogged(std::span<const std::byte> body) override;
  void StartOver() override;
  tplog::Position& position() override { return position_; }
  tplog::SubscriptionCounters& subscription() override { return counters_; }
  const tplog::LogIdentity& log() const override { return log_; }
  void SetLog(tplog::LogIdentity log) override;

  // What the subscriber saw that no subscriber may see; empty: nothing.
  const std::string& problem() const { return problem_; }
  bool is_live() const { return counters_.live.load() != 0; }
  // True if it reports that it could not read all of the current log.
  bool is_incomplete() const { return counters_.messages_missing.load() != missing_before_; }
  const TableTexts& rows() const { return rows_; }  // Rows of the current log.
  // Rows of each day whose end it got; nullopt if it was incomplete then.
  const std::map<int32_t, std::optional<TableTexts>>& ended() const { return ended_; }

 private:
  void Take(std::span<const std::byte> body, bool live, bool* in_order);
  void CheckNumbers(const std::string& table, std::span<const std::string> rows);

  const bool all_rows_;
  TableTexts rows_;
  std::map<int32_t, std::optional<TableTexts>> ended_;
  uint64_t missing_before_ = 0;  // Counter of missing messages when the state was emptied.
  tplog::Position position_;
  tplog::SubscriptionCounters counters_;
  tplog::LogIdentity log_;
  std::optional<tplog::LogIdentity> left_;  // The log that it had before it started over.
  // By table and feed: the number of the last row.
  std::map<std::pair<std::string, std::string>, int64_t> numbers_;
  std::string problem_;
  wire::UpdDecoder decoder_;
};

struct RecorderProgram final : Program {
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<tplog::Subscriber> subscriber;
  ~RecorderProgram() override { subscriber = nullptr; }
};
absl::StatusOr<std::unique_ptr<Program>> StartRecorder(Process& process,
                                                       const StackOptions& options, bool ahead,
                                                       bool all_rows = true);

}  // namespace tickstack::simulate
