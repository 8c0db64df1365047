#include "wire/event_hub.h"

#include <fmt/format.h>

#include <algorithm>

namespace tickstack::wire {

uint64_t EventHub::Add(EventListener* listener) {
  if (is_full()) return 0;
  const uint64_t number = ++last_;
  listeners_.emplace(number, listener);
  if (listeners_.size() == 1) timer_.Every(kInterval, [this] { AskForAll(); });
  desk_.Ask(StatusPage::kFirstEvent, [this, number](const StatusReply& reply) {
    const auto found = listeners_.find(number);
    if (found == listeners_.end()) return;
    found->second->Take(std::make_shared<const std::string>(EventText(reply)));
  });
  return number;
}

void EventHub::Remove(uint64_t number) {
  if (listeners_.erase(number) > 0 && listeners_.empty()) timer_.Cancel();
}

void EventHub::Close() {
  timer_.Cancel();
  listeners_.clear();
}

void EventHub::AskForAll() {
  if (asking_) return;
  asking_ = true;
  desk_.Ask(StatusPage::kEvent, [this](const StatusReply& reply) {
    asking_ = false;
    const auto event = std::make_shared<const std::string>(EventText(reply));
    for (const auto& [number, listener] : listeners_) listener->Take(event);
  });
}

std::string EventText(const StatusReply& reply) {
  std::string data = reply.text;
  while (data.ends_with('\n')) data.pop_back();
  // A line end would end the data.
  std::ranges::replace(data, '\n', ' ');
  std::ranges::replace(data, '\r', ' ');
  return fmt::format("{}data: {}\n\n", reply.ok ? "" : "event: silent\n", data);
}

}  // namespace tickstack::wire
