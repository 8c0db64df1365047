#pragma once

// A loop with a time and a network of its own, for tests:
//
//   Simulation simulation(kNine);
//   Client client(simulation.loop(), ...);
//   EXPECT_TRUE(simulation.RunUntil([&] { return client.connection() != nullptr; }, 1h));
//
// Simulated pauses take no real time, so an hour of retries runs as fast as the program can work.
// Every run is the same. Threads: one.

#include <chrono>
#include <cstdint>
#include <functional>

#include "wire/event_loop.h"
#include "wire/memory_network.h"
#include "wire/simulated_time.h"

namespace tickstack::wire {

class Simulation {
 public:
  explicit Simulation(int64_t now_ns) : time_(now_ns), loop_(time_, network_) {}

  EventLoop& loop() { return loop_; }
  // Somebody sets the wall clock ahead by `ns`, or back.
  void SetClock(int64_t ns) { time_.SetClock(ns); }
  // Runs until `done()` holds or `at_most` of simulated time has passed; true if `done()` holds.
  bool RunUntil(const std::function<bool()>& done, std::chrono::nanoseconds at_most) {
    return time_.RunUntil(loop_, done, at_most);
  }
  void RunFor(std::chrono::nanoseconds duration) {
    RunUntil([] { return false; }, duration);
  }

 private:
  SimulatedTime time_;
  MemoryNetwork network_;
  EventLoop loop_;
};

}  // namespace tickstack::wire
