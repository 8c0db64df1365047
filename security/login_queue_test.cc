#include "security/login_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tickstack::security {
namespace {

using Queue = LoginQueue<std::string>;

std::vector<std::string> PopAll(Queue& queue) {
  std::vector<std::string> all;
  while (!queue.empty()) all.push_back(queue.Pop());
  return all;
}

// Position of a job in the order; the number of jobs if it is not there.
size_t PositionOf(const std::vector<std::string>& jobs, const std::string& job) {
  return static_cast<size_t>(std::find(jobs.begin(), jobs.end(), job) - jobs.begin());
}

TEST(LoginQueue, AddressesTakeTurns) {
  Queue queue({});
  for (int i = 0; i < 30; ++i) queue.Push("a", fmt::format("u{}", i), false, fmt::format("a{}", i));
  queue.Push("b", "bob", false, "b");
  queue.Push("c", "carol", false, "c");
  const std::vector<std::string> order = PopAll(queue);
  EXPECT_EQ(order.size(), 32u);
  EXPECT_LE(PositionOf(order, "b"), 2u);
  EXPECT_LE(PositionOf(order, "c"), 2u);
}

TEST(LoginQueue, UsersOfAnAddressTakeTurns) {
  Queue queue({});
  for (int i = 0; i < 30; ++i) queue.Push("a", "eve", false, fmt::format("e{}", i));
  queue.Push("a", "bob", false, "bob");
  const std::vector<std::string> order = PopAll(queue);
  EXPECT_EQ(PositionOf(order, "bob"), 1u);
  EXPECT_LT(PositionOf(order, "e3"), PositionOf(order, "e4")) << "first come, first served";
}

TEST(LoginQueue, WhoHasLoggedInBeforePassesInventedNames) {
  Queue queue({});
  for (int i = 0; i < 30; ++i) queue.Push("a", fmt::format("u{}", i), false, "x");
  queue.Push("a", "bob", true, "bob");
  queue.Push("a", "carol", true, "carol");
  const std::vector<std::string> order = PopAll(queue);
  EXPECT_EQ(PositionOf(order, "bob"), 0u);
  EXPECT_EQ(PositionOf(order, "carol"), 2u) << "every second turn is for others";
}

TEST(LoginQueue, ThereIsAlwaysRoomForAnotherUserAndAddress) {
  Queue queue({.all = 20, .of_address = 8});
  for (int i = 0; i < 100; ++i) queue.Push("a", "eve", false, fmt::format("e{}", i));
  EXPECT_EQ(queue.size(), 8u);
  EXPECT_EQ(queue.Push("a", "eve", false, "late"), "late");
  EXPECT_EQ(queue.Push("a", "bob", false, "bob"), "e7") << "the newest of the user with most";
  for (const char* address : {"b", "c", "d"}) {
    for (int i = 0; i < 100; ++i) queue.Push(address, fmt::format("u{}", i), false, "x");
  }
  EXPECT_EQ(queue.size(), 20u);
  EXPECT_NE(queue.Push("e", "carol", false, "carol"), "carol");
  const std::vector<std::string> order = PopAll(queue);
  EXPECT_LT(PositionOf(order, "bob"), 8u);
  EXPECT_LT(PositionOf(order, "carol"), 8u);
  EXPECT_FALSE(queue.AnyOf([](const std::string&) { return true; }));
}

TEST(LoginQueue, InventedNamesDoNotDropWhoHasLoggedInBefore) {
  Queue queue({.all = 20, .of_address = 8});
  queue.Push("a", "bob", true, "bob");
  for (int i = 0; i < 100; ++i) queue.Push("a", fmt::format("u{}", i), false, "x");
  EXPECT_NE(queue.Push("a", "carol", true, "carol"), "carol");
  const std::vector<std::string> order = PopAll(queue);
  EXPECT_EQ(order.size(), 8u);
  EXPECT_EQ(PositionOf(order, "bob"), 0u);
  EXPECT_LE(PositionOf(order, "carol"), 2u);
}

}  // namespace
}  // namespace tickstack::security
