#pragma once

// Asks the other processes of the stack for their statistics once a second, for the monitor's page,
// while somebody has the page open.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/address.h"
#include "wire/event_loop.h"

namespace tickstack::monitor {

struct WatchedProcess {
  std::string role;  // `tickerplant`
  std::string name;
  wire::Address address;
};

// Reads `ROLE:NAME=ADDRESS`, such as `rdb:rdb1=127.0.0.1:5011`. kInvalidArgument for other texts.
absl::StatusOr<WatchedProcess> ParseWatched(std::string_view text);

// Threads: the loop's.
class StackWatch {
 public:
  // After this time without a call of Json, it disconnects and stops asking.
  static constexpr int64_t kWantedNs = 5'000'000'000;

  StackWatch(wire::EventLoop& loop, std::vector<WatchedProcess> processes);
  ~StackWatch();
  StackWatch(const StackWatch&) = delete;
  StackWatch& operator=(const StackWatch&) = delete;

  // Returns the newest answers, and starts or continues to ask:
  //   [{"role":"rdb","name":"rdb1","host":"127.0.0.1","port":5011,"connected":true,"error":"",
  //     "ms":1764115200000,"facts":{".rdb.stats":{...},...}},...]
  // `ms` is the time of the last answer, in ms since 1970; null before the first.
  std::string Json();

  bool is_asking() const { return !links_.empty(); }

 private:
  class Link;
  void Ask();

  wire::EventLoop& loop_;
  const std::vector<WatchedProcess> processes_;
  wire::Timer timer_;
  int64_t wanted_ns_ = 0;                     // When Json was last called, monotonic.
  std::vector<std::unique_ptr<Link>> links_;  // Empty while nobody has the page open.
};

}  // namespace tickstack::monitor
