#include "tests/simulate/cluster_life.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "tests/simulate/bridge.h"
#include "tests/simulate/bridge_check.h"
#include "tests/simulate/chained_check.h"
#include "tests/simulate/cluster.h"
#include "tests/simulate/cluster_trouble.h"
#include "tests/simulate/oracle.h"
#include "tests/simulate/topics.h"
#include "tests/simulate/users.h"
#include "tickerplant/day_clock.h"
#include "tplog/tplog_blocks.h"
#include "tplog/tplog_format.h"

namespace tickstack::simulate {
namespace {

using Moment = ClusterTroubles::Moment;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr size_t kMembers = 3;
constexpr int64_t kBeforeRoll = 15 * kSecond, kAfterRoll = 12 * kSecond;
constexpr int64_t kLastRowsNs = 2 * kSecond;  // After the trouble, when the last rows are due.
constexpr int64_t kConvergeNsMax = 60 * kSecond;
constexpr int64_t kSettleNs = 2 * kSecond;
constexpr int64_t kAnswerNsMax = 5 * kSecond;
constexpr int64_t kLookNs = 100 * kMs;
// News may come this long after the cluster has got their table.
constexpr int64_t kNewsAfterNs = kSecond / 2;
constexpr int64_t kSkewNsMax = 40 * kMs;  // How far a member's clock is off.

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The logs of a member by day, each with the digest of its blocks. The bytes of their indexes may
// differ: that of a member that died while it wrote also has the rest of a block.
struct Log {
  std::string bytes;
  // nullopt if the blocks cannot be read to the end of the log. 0 is that of a log without rows.
  std::optional<uint64_t> digest;
};
using Logs = std::map<int32_t, Log>;

std::string Describe(const Log& log) {
  return fmt::format("{} bytes with {}", log.bytes.size(),
                     log.digest ? fmt::format("the digest {:016x}", *log.digest)
                                : "an index that does not fit them");
}

std::optional<uint64_t> DigestOf(const std::string& log_path, size_t bytes) {
  const absl::StatusOr<std::unique_ptr<tplog::TplogBlocks>> blocks =
      tplog::TplogBlocks::Open(log_path);
  if (!blocks.ok()) return std::nullopt;
  while (true) {
    const absl::StatusOr<std::optional<tplog::IndexBlock>> block = (*blocks)->Next();
    if (!block.ok()) return std::nullopt;
    if (*block) continue;
    if ((*blocks)->log_offset() != bytes) return std::nullopt;
    return (*blocks)->end().digest;
  }
}

class ClusterLife {
 public:
  ClusterLife(uint64_t seed, int days, const std::string& root)
      : days_(days),
        world_(seed, root, 0),
        random_(world_.random()),
        store_(world_),
        options_(DrawClusterOptions(random_, root + "/data")) {
    options_.stack.tickerplant = AddressOfCluster(kMembers);
    options_.stack.reads_log_file = false;
    if (random_.OneIn(2)) options_.stack.users = MakeUsers();
    chained_options_ = DrawChainedOptions(random_, options_.stack);
    bridge_options_ = DrawBridgeOptions(random_);
    topics_.emplace(world_, bridge_options_.partitions);
    Plan();
  }
  ~ClusterLife() { world_.End(); }

  LifeReport Run();

 private:
  struct Member {
    Process* process = nullptr;
    // As it was last looked at.
    uint64_t starts = 0;
    bool leads = false, serves = false;
    int32_t date = 0;
    bool may_lack_rows = false;        // Its disk has lost some, and it does not have them again.
    bool has_lost_ended_rows = false;  // The logs of ended days may lack some for good.
  };

  MemberProgram* ProgramOf(const Member& member) {
    return static_cast<MemberProgram*>(member.process->program());
  }
  tickerplant::Leadership Entry() const {
    return tickerplant::ParseLeadership(store_.record().value).value_or(tickerplant::Leadership());
  }
  void Plan();
  void StartProcesses();
  void StartChain();
  void StartBridge();
  void PlanNews();
  void AddNews();
  void AddTablesOfChained();
  std::vector<Process*> Feeds() const {
    std::vector<Process*> feeds = {feed_a_, feed_b_};
    if (feed_news_ != nullptr) feeds.push_back(feed_news_);
    return feeds;
  }
  StackOptions StackOf(const Member& member) const {
    return options_.StackOf(static_cast<size_t>(&member - members_.data()));
  }
  void OnPowerCut(const Host& machine);
  Member* Leader();
  bool MayLose(const Process& process);
  bool HasMarker(const Member& member);
  Logs LogsOf(const Member& member);
  std::vector<const Recorder*> Recorders();
  void NoteReceipts();
  void Watch();
  void WatchMember(Member& member);
  void OnServes(Member& member);
  void Look();
  void CheckInSyncSet(const Member& leader);
  std::string WhatIsMissing();
  void CheckEnd();
  LifeReport Report();

  const int days_;
  World world_;
  Random& random_;
  Store store_;
  ClusterOptions options_;
  ChainedOptions chained_options_;
  BridgeOptions bridge_options_;
  std::optional<Topics> topics_;
  std::vector<int64_t> rolls_ns_;  // Wall-clock times.
  int32_t last_day_ = 0;
  int64_t last_rows_ns_ = 0;
  FeedPlan plan_a_, plan_b_, plan_teller_;
  FeedPlan plan_news_;           // Empty: the cluster gets no table.
  int64_t news_added_ns_ = 0;    // Wall-clock time.
  int64_t tables_added_ns_ = 0;  // When the chained tickerplant gets tables; 0: it does not.
  Told told_;
  std::string stolen_;  // What the stranger got of the names of feeds.
  std::optional<Oracle> oracle_;
  std::optional<ClusterTroubles> troubles_;
  std::vector<Member> members_;
  Process *feed_a_ = nullptr, *feed_b_ = nullptr, *feed_news_ = nullptr;
  std::vector<Process*> recorders_;
  Process *chained_ = nullptr, *chained_recorder_ = nullptr;
  std::optional<ChainedCheck> chained_check_;
  Process* bridge_ = nullptr;
  std::optional<BridgeCheck> bridge_check_;
  std::map<const Process*, int64_t> receipts_;  // Rows that a feed knows to be logged.
  tickerplant::MemberNames in_sync_;            // In the store, when it was last looked at.
  uint64_t revision_ = 0;
  int64_t leaders_ = 0;
  int64_t next_look_ns_ = 0;
};

void ClusterLife::Plan() {
  const tickerplant::DayClock day = *tickerplant::DayClock::Create(
      options_.stack.zone, options_.stack.roll_offset_ns, std::nullopt);
  int64_t roll_ns = (DaysFromCivil(2024, 1, 1) + random_.Between(0, 400)) * kNsPerDay;
  for (int i = 0; i < days_; ++i) rolls_ns_.push_back(roll_ns = day.NextRollAfter(roll_ns));
  last_day_ = day.DateAt(rolls_ns_.back() + kAfterRoll);
  world_.JumpClock(rolls_ns_.front() - kBeforeRoll - world_.NowNs());
  last_rows_ns_ = rolls_ns_.back() + kAfterRoll + kLastRowsNs;
  for (FeedPlan* const plan : {&plan_a_, &plan_b_, &plan_teller_}) {
    *plan = {{"trade", {}}, {"quote", {}}};
    for (const int64_t roll : rolls_ns_) {
      FeedPlan of_day =
          PlanRows(random_, random_.Between(10, 400), roll - kBeforeRoll + kSecond / 2,
                   roll + kAfterRoll - kSecond, roll, {});
      for (auto& [table, rows] : of_day) {
        (*plan)[table].insert((*plan)[table].end(), rows.begin(), rows.end());
      }
    }
    for (auto& [table, rows] : *plan) rows.push_back({last_rows_ns_, "LAST", 1, 1});
  }
  PlanNews();
  std::vector<Oracle::Feed> feeds = {{"feed_a", &plan_a_}, {"feed_b", &plan_b_}};
  if (!plan_news_.empty()) feeds.push_back({"feed_news", &plan_news_});
  oracle_.emplace(options_.stack, std::move(feeds), plan_teller_, told_);
}

// In half of the lives, an operator adds a table on the last day, and starts the cluster again.
// Later, one may add tables to those that the chained tickerplant copies.
void ClusterLife::PlanNews() {
  const int64_t roll_ns = rolls_ns_.back();
  const auto draw_ns = [&] {
    return roll_ns + random_.Between(-kBeforeRoll + 2 * kSecond, kAfterRoll - 2 * kSecond);
  };
  if (!chained_options_.upstream.all_tables && random_.OneIn(2)) tables_added_ns_ = draw_ns();
  if (random_.OneIn(2)) return;
  news_added_ns_ = draw_ns();
  std::vector<PlannedRow>& news = plan_news_["news"];
  const FeedPlan rows = PlanRows(random_, random_.Between(10, 200), news_added_ns_ + kNewsAfterNs,
                                 roll_ns + kAfterRoll - kSecond,
                                 std::max(roll_ns, news_added_ns_ + kNewsAfterNs), {});
  for (const auto& [table, of_table] : rows) {
    news.insert(news.end(), of_table.begin(), of_table.end());
  }
  std::ranges::stable_sort(news, {}, &PlannedRow::due_ns);
  news.push_back({last_rows_ns_, "LAST", 1, 1});
}

void ClusterLife::StartProcesses() {
  world_.wires().set_unread_bytes_max(options_.stack.socket_bytes);
  const int64_t sync_ns_max = random_.OneIn(2) ? OneOf<int64_t>(random_, {kMs, 30 * kMs}) : 0;
  // One of three clocks may be wrong by days: not that of the member that begins the cluster, which
  // nothing contradicts, and not where a power cut takes blocks, whose age is by that clock.
  size_t wrong = 0;
  const bool may_be_wrong =
      options_.replication.acknowledge > 0 && options_.stack.fsync == tplog::FsyncPolicy::kBatch;
  if (may_be_wrong && random_.OneIn(2)) wrong = random_.OneIn(2) ? 1 : 2;
  for (size_t number = 0; number < kMembers; ++number) {
    const std::string name(1, static_cast<char>('a' + number));
    Host& machine = world_.AddMachine("machine_" + name);
    const int64_t days_ahead = number == wrong && wrong > 0 ? random_.Between(1, 3) : 0;
    machine.clock.set_ahead_ns(days_ahead * kNsPerDay + random_.Between(-kSkewNsMax, kSkewNsMax));
    machine.disk.set_sync_ns_max(sync_ns_max);
    members_.push_back({.process = &world_.Add(name, &machine, [this, number](Process& process) {
      return StartMember(process, options_, number, store_);
    })});
  }
  feed_a_ = &world_.Add("feed_a", nullptr, [this](Process& process) {
    return StartFeed(process, options_.stack, "feed_a", plan_a_);
  });
  feed_b_ = &world_.Add("feed_b", nullptr, [this](Process& process) {
    return StartFeed(process, options_.stack, "feed_b", plan_b_);
  });
  if (!plan_news_.empty()) {
    feed_news_ = &world_.Add("feed_news", nullptr,
                             [this](Process& process) -> absl::StatusOr<std::unique_ptr<Program>> {
                               if (!options_.stack.has_news)
                                 return absl::UnavailableError("its table is added later");
                               return StartFeed(process, options_.stack, "feed_news", plan_news_);
                             });
  }
  Process& teller = world_.Add("teller", nullptr, [this](Process& process) {
    return StartTeller(process, options_.stack, plan_teller_, told_);
  });
  if (options_.stack.users != nullptr) {
    world_.Add("stranger", nullptr, [this](Process& process) {
      return StartStranger(process, options_.stack, {"feed_a", "feed_b"}, stolen_);
    });
  }
  for (const bool ahead : {false, true}) {
    recorders_.push_back(&world_.Add(
        ahead ? "eager recorder" : "recorder", nullptr,
        [this, ahead](Process& process) { return StartRecorder(process, options_.stack, ahead); }));
  }
  StartChain();
  StartBridge();
  world_.OnPowerCut([this](Host& machine) { OnPowerCut(machine); });
  ClusterTroubles::Processes processes;
  for (const Member& member : members_) processes.members.push_back(member.process);
  processes.clients = {feed_a_, feed_b_, &teller};
  processes.clients.insert(processes.clients.end(), recorders_.begin(), recorders_.end());
  processes.clients.insert(processes.clients.end(), {chained_, chained_recorder_});
  processes.clients.push_back(bridge_);
  processes.chained = chained_;
  processes.bridge = bridge_;
  troubles_.emplace(
      world_, store_, *topics_, std::move(processes),
      options_.stack.fsync == tplog::FsyncPolicy::kBatch,
      [this] {
        const Member* const leader = Leader();
        return leader == nullptr ? nullptr : leader->process;
      },
      [this](const Process& process) { return MayLose(process); });
}

void ClusterLife::StartChain() {
  Host& machine = world_.AddMachine("machine_chained");
  chained_ = &world_.Add("chained", &machine, [this](Process& process) {
    return StartChained(process, chained_options_);
  });
  const bool ahead = random_.OneIn(2);
  chained_recorder_ = &world_.Add("chained recorder", nullptr, [this, ahead](Process& process) {
    return StartRecorder(process, chained_options_.stack, ahead,
                         chained_options_.upstream.symbols.empty());
  });
  chained_check_.emplace(chained_options_, *chained_, *chained_recorder_, *oracle_);
}

void ClusterLife::StartBridge() {
  bridge_ = &world_.Add("bridge", nullptr, [this](Process& process) {
    return simulate::StartBridge(process, options_.stack, bridge_options_, *topics_);
  });
  bridge_check_.emplace(bridge_options_, *topics_, *bridge_, *oracle_);
}

void ClusterLife::AddNews() {
  options_.stack.has_news = true;
  chained_check_->OnUpstreamHasMore();
  for (const Member& member : members_) world_.Kill(*member.process);
}

void ClusterLife::AddTablesOfChained() {
  const std::vector<Schema>& all = options_.stack.has_news ? SchemasWithNews() : AllSchemas();
  chained_check_->OnTablesAdded(std::exchange(chained_options_.schemas, all));
  world_.Kill(*chained_);
}

void ClusterLife::OnPowerCut(const Host& machine) {
  if (chained_->machine() == &machine) return chained_check_->OnPowerCut();
  const bool keeps_rows = options_.stack.fsync == tplog::FsyncPolicy::kBatch;
  if (keeps_rows && !machine.has_lost_disk) return;
  chained_check_->OnLostEndedRows();
  bridge_check_->OnLostEndedRows();
  for (Member& member : members_) {
    if (member.process->machine() != &machine) continue;
    member.may_lack_rows = member.has_lost_ended_rows = true;
  }
}

// Returns the member that the store says leads, if it does.
ClusterLife::Member* ClusterLife::Leader() {
  const std::string name = Entry().leader;
  for (Member& member : members_) {
    const MemberProgram* const program = ProgramOf(member);
    const bool leads = program != nullptr && program->leader() != nullptr;
    if (leads && member.process->name() == name) return &member;
  }
  return nullptr;
}

bool ClusterLife::HasMarker(const Member& member) {
  world_.Enter(*member.process->machine());
  return std::filesystem::exists(StackOf(member).LogFolder() + "/sym.may-lack-rows");
}

Logs ClusterLife::LogsOf(const Member& member) {
  world_.Enter(*member.process->machine());
  Logs logs;
  std::error_code absent;
  for (const auto& entry :
       std::filesystem::directory_iterator(StackOf(member).LogFolder(), absent)) {
    const std::string path = entry.path(), name = entry.path().filename();
    if (const std::optional<int32_t> date = ParseDate(std::string_view(name).substr(3))) {
      std::string bytes = ContentOf(path);
      const std::optional<uint64_t> digest = DigestOf(path, bytes.size());
      logs[*date] = {std::move(bytes), digest};
    }
  }
  return logs;
}

// True if another member that may lead has all rows of this one, also those of ended days.
bool ClusterLife::MayLose(const Process& process) {
  if (store_.may_change()) return false;  // The other member may leave the set.
  const tickerplant::Leadership entry = Entry();
  const auto lost = std::ranges::find(members_, &process, &Member::process);
  const Logs logs = LogsOf(*lost);
  return std::ranges::any_of(members_, [&](const Member& member) {
    const bool may_lead = entry.in_sync.contains(member.process->name()) && !member.may_lack_rows &&
                          !HasMarker(member);
    if (&member == &*lost || !may_lead) return false;
    Logs kept = LogsOf(member);
    return std::ranges::all_of(logs, [&](const auto& log) {
      const bool is_newest = log.first == logs.rbegin()->first;
      return is_newest || kept[log.first].bytes.size() >= log.second.bytes.size();
    });
  });
}

std::vector<const Recorder*> ClusterLife::Recorders() {
  std::vector<const Recorder*> all;
  for (Process* const process : recorders_) {
    const auto* const program = static_cast<RecorderProgram*>(process->program());
    if (program != nullptr) all.push_back(program->recorder.get());
  }
  return all;
}

// ---- at any time

void ClusterLife::NoteReceipts() {
  for (Process* const process : Feeds()) {
    const auto* const program = static_cast<FeedProgram*>(process->program());
    if (program == nullptr) continue;
    const NameMap<int64_t>& logged = program->service->feed().rows_logged();
    int64_t rows = 0;
    for (const auto& [table, count] : logged) rows += count;
    if (std::exchange(receipts_[process], rows) == rows) continue;
    oracle_->OnAcknowledged(process->name(), logged, world_.MonotonicNs());
  }
}

// Called after each event.
void ClusterLife::Watch() {
  NoteReceipts();
  for (Member& member : members_) WatchMember(member);
  chained_check_->Watch();
  if (std::exchange(revision_, store_.record().revision) != store_.record().revision) {
    const tickerplant::Leadership entry = Entry();
    const Member* const leader = Leader();
    const bool has_changed = std::exchange(in_sync_, entry.in_sync) != entry.in_sync;
    if (has_changed && leader != nullptr) troubles_->OnMoment(Moment::kSet, *leader->process);
  }
  if (world_.MonotonicNs() >= next_look_ns_) Look();
}

void ClusterLife::WatchMember(Member& member) {
  Process& process = *member.process;
  const MemberProgram* const program = ProgramOf(member);
  if (program == nullptr || process.is_dead()) {
    member.leads = member.serves = false;
    return;
  }
  if (std::exchange(member.starts, process.starts()) != process.starts()) {
    troubles_->OnMoment(Moment::kStart, process);
  }
  const bool leads = program->leader() != nullptr;
  if (std::exchange(member.leads, leads) != leads && leads) {
    ++leaders_;
    troubles_->OnMoment(Moment::kElected, process);
  }
  if (!leads) return;
  if (std::exchange(member.serves, program->serves()) != program->serves()) OnServes(member);
  const int32_t date = program->leader()->tickerplant().date();
  if (std::exchange(member.date, date) < date) troubles_->OnMoment(Moment::kDayBegun, process);
}

// A member begins to serve clients: it has everything that they were told of.
void ClusterLife::OnServes(Member& member) {
  world_.Enter(*member.process->machine());
  oracle_->OnTickerplant(ProgramOf(member)->leader()->tickerplant(), Recorders(), false);
  troubles_->OnMoment(Moment::kServes, *member.process);
}

void ClusterLife::Look() {
  next_look_ns_ = world_.MonotonicNs() + kLookNs;
  if (!stolen_.empty()) oracle_->Fail("another user got " + stolen_);
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->problem().empty()) oracle_->Fail("a subscriber: " + recorder->problem());
    if (recorder->is_incomplete()) oracle_->Fail("a subscriber misses rows");
  }
  chained_check_->Look();
  if (chained_check_->asks_for_tables()) AddTablesOfChained();
  bridge_check_->Look();
  const tickerplant::Leadership entry = Entry();
  for (Member& member : members_) {
    const bool has_all = ProgramOf(member) != nullptr &&
                         entry.in_sync.contains(member.process->name()) && !HasMarker(member);
    if (has_all) member.may_lack_rows = false;
  }
  const Member* const leader = Leader();
  if (leader != nullptr && !leader->process->is_dead()) CheckInSyncSet(*leader);
}

// Each member of the in-sync set has what the leader has logged.
void ClusterLife::CheckInSyncSet(const Member& leader) {
  if (!ProgramOf(leader)->serves()) return;
  const int32_t date = ProgramOf(leader)->leader()->tickerplant().date();
  const std::string log = LogsOf(leader)[date].bytes;
  for (const std::string& name : Entry().in_sync) {
    for (const Member& member : members_) {
      const bool has_it = member.process->name() == name && ProgramOf(member) != nullptr &&
                          !member.may_lack_rows && !HasMarker(member);
      if (!has_it || LogsOf(member)[date].bytes.starts_with(log)) continue;
      oracle_->Fail(fmt::format("{} is in the in-sync set and lacks rows of the leader {}", name,
                                leader.process->name()));
    }
  }
}

// ---- the end

std::string ClusterLife::WhatIsMissing() {
  for (const std::unique_ptr<Process>& process : world_.processes()) {
    if (process->program() == nullptr) {
      return fmt::format("{} does not run: {}", process->name(), process->start_error().ToString());
    }
  }
  const Member* const leader = Leader();
  if (leader == nullptr || !ProgramOf(*leader)->serves()) return "no member serves clients";
  for (const Member& member : members_) {
    if (&member != leader && ProgramOf(member)->leader() != nullptr) return "two members lead";
  }
  if (Entry().in_sync.size() != kMembers) return "a member is not in sync";
  const tickerplant::TickerplantService& service = *ProgramOf(*leader)->leader();
  const tickerplant::Tickerplant& plant = service.tickerplant();
  for (Process* const process : Feeds()) {
    const feed::Feed& feed = static_cast<FeedProgram*>(process->program())->service->feed();
    if (feed.state() != feed::FeedState::kDone) {
      return fmt::format("{} is {}: {}", process->name(), feed::NameOf(feed.state()),
                         feed.error().ToString());
    }
  }
  const bool waits =
      told_.answers.back() == Told::Answer::kNone && world_.NowNs() < last_rows_ns_ + kAnswerNsMax;
  if (told_.next < told_.answers.size() || waits) return "the teller has rows to send";
  if (plant.date() != last_day_) return fmt::format("the day is {}", FormatDate(plant.date()));
  if (plant.has_staged()) return "rows are staged";
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->is_live()) return "a subscriber is not live";
    if (recorder->log().path != plant.log().path()) return "a subscriber does not know its log";
  }
  std::string missing = chained_check_->WhatIsMissing(last_day_, plant.logged_seq());
  if (!missing.empty()) return missing;
  return bridge_check_->WhatIsMissing(last_day_, plant.log().totals().rows);
}

void ClusterLife::CheckEnd() {
  std::vector<Logs> logs;
  Logs all;
  for (const Member& member : members_) {
    logs.push_back(LogsOf(member));
    for (const auto& [date, log] : logs.back()) {
      if (log.bytes.size() > all[date].bytes.size()) all[date] = log;
    }
  }
  std::map<int32_t, TableTexts> days;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    for (const auto& [date, expected] : all) {
      const auto own = logs[i].find(date);
      const bool is_same = own != logs[i].end() && own->second.bytes == expected.bytes &&
                           own->second.digest == expected.digest && expected.digest;
      if (is_same && !days.contains(date)) {
        world_.Enter(*member.process->machine());
        const absl::StatusOr<TableTexts> texts = TextsOfLog(StackOf(member).LogPath(date));
        if (!texts.ok()) return oracle_->Fail(std::string(Message(texts.status())));
        days[date] = *texts;
      }
      // A member with a new disk copies only the newest day.
      const bool may_differ =
          date != last_day_ && (own == logs[i].end() || member.has_lost_ended_rows);
      if (is_same || may_differ) continue;
      oracle_->Fail(
          fmt::format("log of {} of {}: {}, expected {}", member.process->name(), FormatDate(date),
                      own == logs[i].end() ? "none" : Describe(own->second), Describe(expected)));
    }
  }
  oracle_->CheckRows(days);
  for (const Recorder* const recorder : Recorders()) {
    oracle_->CheckSameTables("subscriber", recorder->rows(), days[last_day_]);
    for (const auto& [date, rows] : recorder->ended()) {
      if (rows) oracle_->CheckSameTables("subscriber at the end of a day", *rows, days[date]);
    }
  }
  chained_check_->CheckEnd(world_, days, last_day_);
  bridge_check_->CheckEnd(days, last_day_);
}

LifeReport ClusterLife::Report() {
  return {.failure = oracle_->failure(),
          .trace = world_.trace(),
          .rows = oracle_->rows(),
          .deaths = troubles_->deaths(),
          .power_cuts = world_.power_cuts(),
          .leaders = leaders_};
}

LifeReport ClusterLife::Run() {
  StartProcesses();
  const uint64_t network = random_.Below(3);
  if (network == 0) world_.chances().slow_read = 10, world_.chances().slow_read_ns = 20 * kMs;
  if (network == 1) world_.chances().latency_ns_max = OneOf<int64_t>(random_, {5 * kMs, 50 * kMs});
  if (random_.OneIn(3)) world_.chances().short_write = 3;
  world_.set_restart_ns_max(OneOf<int64_t>(random_, {kSecond / 5, 3 * kSecond}));
  const auto has_failed = [this] {
    Watch();
    return !oracle_->failure().empty();
  };
  const auto until = [this](int64_t wall_ns) { return wall_ns - world_.NowNs(); };
  for (const int64_t roll_ns : rolls_ns_) {
    // All machines sleep during the night.
    world_.AdvanceTo(world_.MonotonicNs() + until(roll_ns - kBeforeRoll));
    const int64_t to_monotonic_ns = world_.MonotonicNs() - world_.NowNs();
    troubles_->Plan(roll_ns + to_monotonic_ns, roll_ns + kAfterRoll + to_monotonic_ns);
    if (roll_ns == rolls_ns_.back()) {
      const auto at = [&](int64_t wall_ns, auto act) {
        if (wall_ns > 0) world_.At(wall_ns + to_monotonic_ns, [this, act] { (this->*act)(); });
      };
      at(news_added_ns_, &ClusterLife::AddNews);
      at(tables_added_ns_, &ClusterLife::AddTablesOfChained);
    }
    world_.RunUntil(has_failed, until(roll_ns + kAfterRoll));
  }
  troubles_->CallOff();
  world_.set_restart_ns_max(kSecond / 5);
  const int64_t converged_by_ns = world_.MonotonicNs() + kConvergeNsMax;
  while (oracle_->failure().empty() &&
         !(world_.NowNs() > last_rows_ns_ && WhatIsMissing().empty())) {
    world_.RunUntil(has_failed, kLookNs);
    if (world_.MonotonicNs() > converged_by_ns) {
      oracle_->Fail("no convergence: " + WhatIsMissing());
    }
  }
  if (oracle_->failure().empty()) world_.RunUntil(has_failed, kSettleNs);
  if (oracle_->failure().empty() && !WhatIsMissing().empty()) {
    oracle_->Fail("converged, but not for long: " + WhatIsMissing());
  }
  if (oracle_->failure().empty()) CheckEnd();
  return Report();
}

}  // namespace

LifeReport LiveAsCluster(uint64_t seed, int days, const std::string& root) {
  for (size_t number = 0; number < kMembers; ++number) {
    std::filesystem::create_directories(
        fmt::format("machine_{}/{}", static_cast<char>('a' + number), root));
  }
  std::filesystem::create_directories("machine_chained/" + root);
  return ClusterLife(seed, days, root).Run();
}

}  // namespace tickstack::simulate
