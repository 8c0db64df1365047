#pragma once

// The name under which the index counts the rows of a feed whose name belongs to a user:
//
//   feed@sim.1             rows that were logged without a users file: the name belongs to no user
//   feed@sim.1:owner:1:al  rows of the user `al`, the first owner
//   feed@sim.1:owner:2:bo  rows of the user `bo`, who took the name over
//
// A feed never sends such a name. Its rows are numbered across all of them. The number of the owner
// says who owns the name now: the one with the highest number.
//
// The index, its copies in standbys and topics, and the counts with which the next day begins have
// nothing of a feed but this name, so its owner is wherever its rows are counted.
//
// Threads: reentrant.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack::tickerplant {

struct FeedOwner {
  std::string_view name;  // The feed's.
  uint32_t number = 0;    // 0: the name belongs to no user.
  std::string_view user;
};

// `user` is a name of the users file (security::CheckUserName), and so has no colon.
std::string NameUnderOwner(std::string_view name, uint32_t number, std::string_view user);
// The views are of `logged`.
FeedOwner SplitOwner(std::string_view logged);

}  // namespace tickstack::tickerplant
