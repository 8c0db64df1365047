#include "wire/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class Source final : public StatusSource {
 public:
  Render Collect(StatusPage page) override {
    const std::string text = page == StatusPage::kFirstEvent ? "first" : "event";
    ++collected;
    return [text] { return StatusReply{.ok = true, .text = text}; };
  }
  int collected = 0;
};

class Listener final : public EventListener {
 public:
  void Take(const std::shared_ptr<const std::string>& event) override { events.push_back(event); }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& event : events) texts.push_back(*event);
    return texts;
  }
  std::vector<std::shared_ptr<const std::string>> events;
};

// The process and HTTP share a loop here.
class EventHubTest : public testing::Test {
 protected:
  template <typename F>
  void RunUntil(F done) {
    EXPECT_TRUE(loop_.RunUntil(done, 20s));
  }
  EventLoop loop_;
  Source source_;
  StatusDesk desk_{loop_, &source_, &loop_};
  EventHub hub_{loop_, desk_};
};

TEST_F(EventHubTest, AListenerGetsTheHistoryAndThenWhatAllGet) {
  Listener a, b;
  hub_.Add(&a);
  hub_.Add(&b);
  RunUntil([&] { return a.events.size() == 2 && b.events.size() == 2; });
  EXPECT_THAT(a.Texts(), ElementsAre("data: first\n\n", "data: event\n\n"));
  EXPECT_EQ(a.events[1], b.events[1]) << "one text for all listeners";
  EXPECT_EQ(source_.collected, 3);
}

TEST_F(EventHubTest, WithoutListenersTheProcessIsNotAsked) {
  Listener a;
  hub_.Remove(hub_.Add(&a));
  EXPECT_FALSE(loop_.RunUntil([&] { return source_.collected > 1; }, EventHub::kInterval * 2));
  EXPECT_THAT(a.events, IsEmpty());
}

TEST_F(EventHubTest, ListenersAreBounded) {
  std::deque<Listener> listeners(EventHub::kListenersMax + 1);
  std::vector<uint64_t> numbers;
  for (Listener& listener : listeners) numbers.push_back(hub_.Add(&listener));
  EXPECT_EQ(numbers.back(), 0u);
  numbers.pop_back();
  EXPECT_THAT(numbers, Each(testing::Ne(0u)));
  EXPECT_TRUE(hub_.is_full());
  hub_.Remove(numbers.front());
  EXPECT_FALSE(hub_.is_full());
  EXPECT_NE(hub_.Add(&listeners.back()), 0u);
}

TEST_F(EventHubTest, AClosedHubSendsNothing) {
  Listener a;
  hub_.Add(&a);
  hub_.Close();
  EXPECT_FALSE(loop_.RunUntil([&] { return !a.events.empty(); }, EventHub::kInterval * 2));
}

TEST(EventText, IsOneEventWhateverTheProcessSays) {
  EXPECT_EQ(EventText({.ok = true, .text = "{}"}), "data: {}\n\n");
  EXPECT_EQ(EventText({.ok = true, .text = "a\n\ndata: b\r\n"}), "data: a  data: b \n\n");
  EXPECT_EQ(EventText({.ok = false, .text = "silent for 2000 ms\n"}),
            "event: silent\ndata: silent for 2000 ms\n\n");
}

}  // namespace
}  // namespace tickstack::wire
