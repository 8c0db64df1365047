#include "rdb/succession.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRole = "rdb";
constexpr std::string_view kNoTier = "-";
constexpr std::chrono::nanoseconds kDrainAtMost = 5s;  // For rows that wait in the connection.
constexpr auto kPause = 100ms;                         // Before the sockets are asked for again.
constexpr auto kLastRowsAtMost = 1s;                   // Wait for the holder's last messages.
constexpr auto kLooks = 10ms;  // Interval of checks whether the holder has ended.
// Time of a holder's running queries. As long as clients may take to read an answer; queries have a
// low priority, so on a busy machine a short one needs many seconds.
constexpr auto kRunningAtMost = 60s;
constexpr auto kReclaimAtMost = 5s;  // A successor that died may still have its lock.

bool IsSameFile(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error) && !error;
}

// Rows by table, as `trade 20 quote 300`. A position in the log would not do: it is known between
// publications only.
using TableRows = std::vector<std::pair<std::string, size_t>>;

size_t RowsOf(const Rdb& rdb, std::string_view table) {
  const std::optional<Snapshot> snapshot = rdb.FindTable(table);
  return snapshot ? snapshot->rows() : 0;
}

std::string FormatRows(const Rdb& rdb) {
  std::string text;
  for (const std::string& table : rdb.TableNames()) {
    text += fmt::format("{} {} ", table, RowsOf(rdb, table));
  }
  return text;
}

TableRows ParseRows(const std::string& text) {
  TableRows rows;
  std::istringstream words(text);
  std::string table;
  size_t count = 0;
  while (words >> table >> count) rows.emplace_back(table, count);
  return rows;
}

bool HasRows(const Rdb& rdb, const TableRows& expected) {
  return std::ranges::all_of(
      expected, [&rdb](const auto& each) { return RowsOf(rdb, each.first) >= each.second; });
}

}  // namespace

// ---- the successor

absl::StatusOr<std::unique_ptr<Successor>> Successor::Begin(int port, std::string_view tier_file) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<wire::TakeOver> holder,
                      wire::TakeOver::Begin(port, kRole, tier_file.empty() ? kNoTier : tier_file));
  std::unique_ptr<Successor> successor(new Successor(std::move(holder)));
  const std::string& given = successor->holder_->facts();
  successor->has_tier_ = !given.empty() && IsSameFile(given, std::string(tier_file));
  LogInfo("taking over port={} tier={}", port, successor->has_tier_ ? given : "none");
  return successor;
}

absl::Status Successor::TakeSockets(wire::EventLoop& loop, const bool& stop, const Rdb& rdb,
                                    wire::ListenerOptions& listener,
                                    std::optional<mem::TouchPause>& pause) {
  const RdbCounters& counters = rdb.counters();
  loop.RunUntil([&] { return stop || counters.live.load(std::memory_order_relaxed) == 1; },
                /*busy_poll=*/false);
  // Rows that were published during the replay wait in the connection. They are taken before the
  // holder stops answering.
  const int64_t drained_ns = MonotonicNs() + kDrainAtMost.count();
  while (!stop && MonotonicNs() < drained_ns && loop.RunReady()) {
  }
  // The threads that will answer here map memory, and no client is answered until they run.
  pause.emplace();
  absl::Status taken = Unavailable("not asked yet");
  while (!stop && absl::IsUnavailable(taken)) {
    if (counters.incomplete.load(std::memory_order_relaxed) != 0) {
      return FailedPrecondition("rows of the log are missing here, so the running rdb goes on");
    }
    taken = holder_->AskForSockets(listener);
    if (!absl::IsUnavailable(taken)) break;
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogInfo("take-over waits reason=\"{}\"", Message(taken));
    loop.RunUntil([&] { return stop; }, kPause);
  }
  if (stop) return absl::OkStatus();
  if (absl::IsNotFound(taken)) {
    LogWarn("the rdb that was taken over has ended, starting as usual");
    return absl::OkStatus();
  }
  TS_RETURN_IF_ERROR(taken);
  const TableRows last = ParseRows(holder_->facts());
  if (!loop.RunUntil([&] { return stop || HasRows(rdb, last); }, kLastRowsAtMost)) {
    LogWarn("taking over without the last rows of the process before rows={}", holder_->facts());
  }
  return absl::OkStatus();
}

void Successor::Confirm(wire::EventLoop& loop, std::function<void()> done) {
  holder_->Confirm();
  looks_.emplace(loop);
  looks_->Every(kLooks, [this, done = std::move(done)] {
    if (!holder_->HolderHasEnded()) return;
    looks_->Cancel();
    has_tier_ = false;
    LogInfo("took over, the process before this one has ended");
    done();
  });
}

// ---- the holder

Holder::Holder(Rdb* rdb, serve::QueryService* service, Intake* intake, std::function<void(End)> end)
    : rdb_(rdb), service_(service), intake_(intake), end_(std::move(end)) {}

void Holder::Offer(wire::EventLoop& loop) {
  if (service_->port() == 0) return;
  absl::StatusOr<std::unique_ptr<wire::HandOver>> offered =
      wire::HandOver::Offer(loop, service_->port(), std::string(kRole),
                            {.begin = [this](std::string_view request) { return OnBegin(request); },
                             .release = [this] { return OnRelease(); },
                             .cancelled = [this] { OnCancelled(); },
                             .done = [this](bool accepts) { OnDone(accepts); }});
  if (offered.ok()) {
    hand_over_ = *std::move(offered);
  } else {
    LogWarn("this rdb cannot be taken over error=\"{}\"", Message(offered.status()));
  }
}

absl::StatusOr<std::string> Holder::OnBegin(std::string_view request) {
  if (rdb_->durable() == nullptr || request == kNoTier) return std::string();
  std::string tier = rdb_->durable()->tier().Stats().path;
  if (!IsSameFile(tier, std::string(request))) return std::string();
  if (rdb_->days_kept() > 0) {
    return FailedPrecondition(
        "a day that has ended is still in the tier: take over when days_kept of .rdb.stats[] is 0");
  }
  TS_RETURN_IF_ERROR(rdb_->GiveTier());
  intake_->Stop();
  LogInfo("tier given, rows of later messages are in the successor path={} seq={}", tier,
          rdb_->counters().seq.load());
  return tier;
}

absl::StatusOr<wire::Released> Holder::OnRelease() {
  if (rdb_->days_kept() > 0) return Unavailable("a day that has ended is being written");
  intake_->Stop();
  wire::Released released;
  released.listeners = service_->ReleaseListeners();
  released.facts = FormatRows(*rdb_);
  return released;
}

void Holder::OnCancelled() {
  LogWarn("the successor ended before it had taken over, going on seq={}",
          rdb_->counters().seq.load());
  if (!rdb_->gave_tier()) return;
  if (const absl::Status back = rdb_->ReclaimTier(kReclaimAtMost); !back.ok()) {
    LogError("tier not taken back error=\"{}\"", Message(back));
    return end_(End::kFailed);
  }
  intake_->Start();
}

void Holder::OnDone(bool accepts) {
  if (!accepts) {
    LogError("the successor ended after it had the sockets and before it accepted clients");
    return end_(End::kFailed);
  }
  if (!service_->WaitForClients(kRunningAtMost)) {
    LogWarn("queries that still ran were ended ms={}",
            std::chrono::milliseconds(kRunningAtMost).count());
  }
  end_(End::kHandedOver);
}

}  // namespace tickstack::rdb
