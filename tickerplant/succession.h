#pragma once

// How a tickerplant takes the place of a running one, and gives its own to the next
// (wire/hand_over.h).
//
//   successor                                   holder
//   begins                              ---->   answers with the path of its log
//   checks that it would open that log, and
//   that its schemas fit it
//   asks for the sockets                ---->   logs and publishes what it has, closes the log,
//                                               closes its connections
//   opens the log, accepts clients      ---->   ends
//
// Between the last two steps nobody takes rows. That is the time of opening a log, which reads its
// index but not the log. Feeds and subscribers reconnect, as after the death of a tickerplant:
// feeds that number their rows resume after the last logged one, subscribers replay what they lack.
//
// Threads: the loop's.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/tickerplant.h"
#include "tickerplant/tickerplant_service.h"
#include "wire/event_loop.h"
#include "wire/hand_over.h"
#include "wire/server.h"

namespace tickstack::tickerplant {

// Receives the place of the tickerplant that listens on `listener.port`: from then on its log can
// be opened, and `listener` has its sockets. If it has ended meanwhile, `listener` stays as it is.
// Blocks, also while that tickerplant ends a day. Errors: those of wire::TakeOver::Begin;
// kFailedPrecondition if that tickerplant writes another log than `options` say, or has logged rows
// that do not fit the schemas. After such an error, that tickerplant continues.
absl::StatusOr<std::unique_ptr<wire::TakeOver>> TakePlace(const TickerplantOptions& options,
                                                          const DayClock& day, const Clock* clock,
                                                          wire::ListenerOptions& listener);

// Gives the place of a running tickerplant away.
class Holder {
 public:
  // `server` and `service` must outlive this. `end` is called when the process must end: OK if the
  // successor accepts clients.
  Holder(wire::Server* server, TickerplantService* service, std::function<void(absl::Status)> end)
      : server_(server), service_(service), end_(std::move(end)) {}

  // Waits for a successor from now on. Logs a warning if that is impossible.
  void Offer(wire::EventLoop& loop);
  // Calls Offer when the process at the other end of `taken` has ended.
  void OfferAfter(wire::EventLoop& loop, std::unique_ptr<wire::TakeOver> taken);

 private:
  absl::StatusOr<wire::Released> Release();

  wire::Server* const server_;
  TickerplantService* const service_;
  const std::function<void(absl::Status)> end_;
  std::unique_ptr<wire::HandOver> hand_over_;
  std::unique_ptr<wire::TakeOver> taken_;
  std::optional<wire::Timer> looks_;
};

}  // namespace tickstack::tickerplant
