#pragma once

// Server-sent events at /events: the state of a process, about once a second, for its pages.
//
//   timer --> ask the process (status_pages.h) --> text --> listeners that have read the last one
//
// A listener has at most one unread event. While it does not read that one, further events are
// dropped for it. So a slow listener costs the memory of one event at most, and nothing waits for
// it. All listeners share each event, except the first one of each, which has the history. Without
// listeners, the process is not asked.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "wire/event_loop.h"
#include "wire/status_pages.h"

namespace tickstack::wire {

class EventListener {
 public:
  virtual ~EventListener() = default;
  // Sends an event, or drops it.
  virtual void Take(const std::shared_ptr<const std::string>& event) = 0;
};

// Threads: the loop of HTTP.
class EventHub {
 public:
  static constexpr size_t kListenersMax = 32;
  static constexpr std::chrono::milliseconds kInterval{1'000};

  EventHub(EventLoop& loop, StatusDesk& desk) : desk_(desk), timer_(loop) {}
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  bool is_full() const { return listeners_.size() >= kListenersMax; }
  // Adds a listener, which gets an event with the process's history as soon as the process answers.
  // Returns its number, or 0 if there are kListenersMax. The listener must outlive its membership.
  uint64_t Add(EventListener* listener);
  void Remove(uint64_t number);
  // Sends no more events.
  void Close();

 private:
  void AskForAll();

  StatusDesk& desk_;
  Timer timer_;
  std::map<uint64_t, EventListener*> listeners_;  // By number.
  uint64_t last_ = 0;                             // Number of the newest listener.
  bool asking_ = false;                           // The process has not answered yet.
};

// Returns the bytes of an event: the reply's text is its data. That of a process that does not
// respond has the type `silent`.
std::string EventText(const StatusReply& reply);

}  // namespace tickstack::wire
