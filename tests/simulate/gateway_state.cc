#include "tests/simulate/gateway_state.h"

#include <algorithm>
#include <utility>

namespace tickstack::simulate {
namespace {

constexpr int64_t kSoonNs = kNsPerSecond / 2;

bool IsWell(Process& process) {
  return process.program() != nullptr && !process.is_dead() && !process.is_stalled() &&
         !process.is_cut_off();
}

}  // namespace

GatewayState::GatewayState(World& world, Processes processes, const GatewayOptions& options,
                           std::function<void(size_t rdb)> on_caught_up)
    : world_(world),
      processes_(std::move(processes)),
      options_(options),
      on_caught_up_(std::move(on_caught_up)),
      had_read_(processes_.rdbs.size(), false) {}

const tickerplant::Tickerplant* GatewayState::plant() const {
  const auto* const program = static_cast<TickerplantProgram*>(processes_.tickerplant->program());
  if (program == nullptr || processes_.tickerplant->is_dead()) return nullptr;
  return &program->service->tickerplant();
}

bool GatewayState::HasRead(size_t number) const {
  const ServingRdbProgram* const program = rdb(number);
  return program != nullptr && !processes_.rdbs[number]->is_dead() &&
         program->rdb->counters().caught_up.load() != 0;
}

void GatewayState::Watch() {
  const int64_t now_ns = world_.MonotonicNs();
  bool all_well = IsWell(*processes_.tickerplant) && IsWell(*processes_.hdb);
  const bool stalled_unnoticed =
      options_.hedge_ms == 0 &&
      std::ranges::any_of(world_.processes(), [](const auto& each) { return each->is_stalled(); });
  if (now_ns <= network_until_ns_ || stalled_unnoticed) network_ns_ = now_ns;
  const bool askers_well =
      std::ranges::all_of(processes_.askers, [](Process* each) { return IsWell(*each); });
  if (!IsWell(*processes_.gateway) || !askers_well) gateway_ns_ = now_ns;
  if (std::exchange(gateway_starts_, processes_.gateway->starts()) !=
      processes_.gateway->starts()) {
    gateway_started_ns_ = now_ns;
  }
  std::vector<bool> answers;
  for (size_t i = 0; i < processes_.rdbs.size(); ++i) {
    const bool has_read = HasRead(i);
    answers.push_back(has_read && IsWell(*processes_.rdbs[i]));
    all_well = all_well && answers.back() && rdb(i)->rdb->counters().live.load() != 0;
    const bool had_read = had_read_[i];
    had_read_[i] = has_read;
    if (has_read && !had_read) on_caught_up_(i);
  }
  if (std::ranges::find(answers, true) == answers.end()) all_rdbs_ns_ = now_ns;
  if (!all_well) any_ns_ = now_ns;
  WatchDays(answers);
  if (const tickerplant::Tickerplant* const now = plant()) date_ = std::max(date_, now->date());
}

void GatewayState::WatchDays(const std::vector<bool>& answers) {
  const int64_t now_ns = world_.MonotonicNs();
  std::set<int32_t> at_home;
  const bool all_answer = std::ranges::find(answers, false) == answers.end();
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    const std::vector<int32_t> days = rdb(i)->rdb->Days();
    for (const int32_t day : days) {
      begun_ns_.try_emplace(day, now_ns);
      const auto had = had_ns_.try_emplace({i, day}, now_ns).first;
      // The gateway may not know yet that this one has it, either.
      if (!all_answer && now_ns - had->second < kSoonNs) continue;
      // It may await an ended day, or have lost its connection before the day ended.
      const bool is_current = day == days.back();
      const bool lacks_end = is_current && day < date_ && rdb(i)->rdb->counters().live.load() == 0;
      const bool has = is_current || rdb(i)->rdb->FindTableOfDay("trade", day).has_value();
      if (has && !lacks_end) at_home.insert(day);
    }
  }
  if (IsWell(*processes_.hdb)) {
    for (const int32_t day : hdb()->Days()) {
      at_home.insert(day);
      loaded_.insert(day);
    }
  } else {
    // The gateway asks the hdb for them, also while the first rdb still has them.
    for (const int32_t day : loaded_) at_home.erase(day);
  }
  for (const auto& [day, begun_ns] : begun_ns_) {
    const bool is_seen = at_home.contains(day) && now_ns > network_ns_;
    if (!at_home.contains(day)) homeless_ns_[day] = now_ns;
    if (!is_seen && now_ns < gateway_started_ns_ + kSettleNs) excused_.insert(day);
    if (now_ns - std::max(homeless_ns_[day], network_ns_) > kKnownNs) excused_.erase(day);
  }
}

void GatewayState::Look() {
  const tickerplant::Tickerplant* const now = plant();
  if (now == nullptr) return;
  LogPosition position{now->date(), {}};
  for (const auto& [table, rows] : now->log().totals().rows) {
    position.rows[std::string(table)] = static_cast<int64_t>(rows);
  }
  logged_.emplace_back(world_.MonotonicNs(), std::move(position));
  // The first one is the newest that is old enough.
  while (logged_.size() > 1 && logged_[1].first <= world_.MonotonicNs() - kKnownNs) {
    logged_.pop_front();
  }
}

void GatewayState::OnNetworkTrouble(int64_t until_ns) {
  network_until_ns_ = std::max(network_until_ns_, until_ns);
  network_ns_ = world_.MonotonicNs();
}

bool GatewayState::MayFail(int64_t asked_ns, std::span<const int32_t> days) const {
  const int64_t since_ns = asked_ns - kSettleNs;
  if (std::max({gateway_ns_, network_ns_, all_rdbs_ns_}) >= since_ns) return true;
  return std::ranges::any_of(days, [&](int32_t day) {
    const auto homeless = homeless_ns_.find(day);
    return homeless != homeless_ns_.end() && homeless->second >= since_ns;
  });
}

std::vector<LogPosition> GatewayState::HeldBy(size_t number) const {
  std::vector<LogPosition> held;
  if (!HasRead(number)) return held;
  const rdb::Rdb& tables = *rdb(number)->rdb;
  for (const int32_t day : tables.Days()) {
    LogPosition position{day, {}};
    for (const char* const table : {"trade", "quote"}) {
      const std::optional<Snapshot> rows = tables.FindTableOfDay(table, day);
      if (rows) position.rows[table] = static_cast<int64_t>(rows->rows());
    }
    if (!position.rows.empty()) held.push_back(std::move(position));
  }
  return held;
}

bool GatewayState::HasEnded(int32_t day) const {
  if (date_ <= day || begun_ns_.empty()) return false;
  for (size_t i = 0; i < processes_.rdbs.size(); ++i) {
    const ServingRdbProgram* const program = rdb(i);
    if (program == nullptr) continue;
    const std::vector<int32_t> days = program->rdb->Days();
    if (!days.empty() && days.back() <= day) return false;
  }
  return true;
}

bool GatewayState::IsKnown(int32_t day) const {
  const auto begun = begun_ns_.find(day);
  if (begun == begun_ns_.end()) return false;
  const int64_t disturbed_ns = std::max({gateway_ns_, network_ns_, any_ns_});
  return world_.MonotonicNs() - std::max(begun->second, disturbed_ns) > kKnownNs;
}

std::optional<LogPosition> GatewayState::Fresh() const {
  const int64_t disturbed_ns = std::max({gateway_ns_, network_ns_, any_ns_});
  const int64_t now_ns = world_.MonotonicNs();
  if (now_ns - disturbed_ns < kSettleNs || logged_.empty()) return std::nullopt;
  if (logged_.front().first > now_ns - kKnownNs) return std::nullopt;
  return logged_.front().second;
}

}  // namespace tickstack::simulate
