#include "tickerplant/succession.h"

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/logged_schemas.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRole = "tickerplant";
constexpr auto kPause = 100ms;  // Before the sockets are asked for again.
constexpr auto kLooks = 10ms;   // Interval of checks whether the process before has ended.

// kFailedPrecondition if this process would open another log than the one that is written.
absl::Status CheckLog(const std::string& written, const TickerplantOptions& options,
                      const DayClock& day, const Clock* clock) {
  TS_ASSIGN_OR_RETURN(const std::string log, Tickerplant::LogToOpen(options, day, clock));
  std::error_code error;
  if (!std::filesystem::equivalent(log, written, error) || error) {
    return FailedPrecondition("{}: expected the log of the running tickerplant, {}", log, written);
  }
  return CheckLoggedSchemas(log, options.schemas);
}

}  // namespace

absl::StatusOr<std::unique_ptr<wire::TakeOver>> TakePlace(const TickerplantOptions& options,
                                                          const DayClock& day, const Clock* clock,
                                                          wire::ListenerOptions& listener) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<wire::TakeOver> taken,
                      wire::TakeOver::Begin(listener.port, kRole, "log"));
  LogInfo("taking over port={} log={}", listener.port, taken->facts());
  const std::string log = taken->facts();
  TS_RETURN_IF_ERROR(CheckLog(log, options, day, clock));
  absl::Status given = taken->AskForSockets(listener);
  while (absl::IsUnavailable(given)) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogInfo("take-over waits reason=\"{}\"", Message(given));
    std::this_thread::sleep_for(kPause);
    given = taken->AskForSockets(listener);
  }
  if (absl::IsNotFound(given)) {
    LogWarn("the tickerplant that was taken over has ended, starting as usual");
    return taken;
  }
  TS_RETURN_IF_ERROR(given);
  return taken;
}

void Holder::Offer(wire::EventLoop& loop) {
  if (server_->port() == 0) return;
  absl::StatusOr<std::unique_ptr<wire::HandOver>> offered = wire::HandOver::Offer(
      loop, server_->port(), std::string(kRole),
      {.begin = [this](std::string_view) { return service_->tickerplant().log().path(); },
       .release = [this] { return Release(); },
       .cancelled = [] { LogWarn("the successor ended before it had taken over"); },
       .done =
           [this](bool accepts) {
             end_(accepts ? absl::OkStatus()
                          : Internal("the successor ended after it had the sockets and before it "
                                     "accepted clients"));
           }});
  if (offered.ok()) {
    hand_over_ = *std::move(offered);
  } else {
    LogWarn("this tickerplant cannot be taken over error=\"{}\"", Message(offered.status()));
  }
}

void Holder::OfferAfter(wire::EventLoop& loop, std::unique_ptr<wire::TakeOver> taken) {
  taken_ = std::move(taken);
  looks_.emplace(loop);
  looks_->Every(kLooks, [this, &loop] {
    if (!taken_->HolderHasEnded()) return;
    looks_->Cancel();
    LogInfo("took over, the process before this one has ended");
    Offer(loop);
  });
}

// Messages that were read are logged and published; the rest of what feeds have sent is in their
// sockets, and they send it again.
absl::StatusOr<wire::Released> Holder::Release() {
  TS_RETURN_IF_ERROR(service_->MayHandOver());
  const auto connections = server_->Connections();
  for (const auto& connection : connections) connection->PauseReading();
  const absl::Status closed = service_->Close();
  if (!closed.ok()) {
    end_(closed);
    return FailedPrecondition("its log could not be closed: {}", Message(closed));
  }
  wire::Released released;
  released.listeners = server_->ReleaseListeners();
  released.facts = std::to_string(service_->tickerplant().logged_seq());
  for (const auto& connection : connections) connection->Close(absl::OkStatus());
  return released;
}

}  // namespace tickstack::tickerplant
