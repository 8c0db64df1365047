#include "aggengine/symbol_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tickstack::aggengine {
namespace {

TEST(SymbolGroups, OfNoRowsAreNone) {
  SymbolGroups groups;
  groups.Make({}, 0);
  EXPECT_TRUE(groups.groups().empty());
  EXPECT_TRUE(groups.order().empty());
}

// Goal: groups are in the order of their first rows, and rows in theirs, whatever batches came
// before and however many symbols there are. Method: one object takes random batches; a map is the
// model.
TEST(SymbolGroups, KeepTheOrderOfFirstRowsAndOfRows) {
  SymbolGroups groups;
  std::mt19937_64 rng(1);
  for (uint64_t batch = 0; batch < 200; ++batch) {
    SCOPED_TRACE(batch);
    const uint64_t symbols = 1 + batch;
    std::vector<uint32_t> slots(rng() % 100);
    std::map<uint32_t, std::vector<uint32_t>> rows_of;
    std::vector<uint32_t> first_order;
    for (size_t row = 0; row < slots.size(); ++row) {
      slots[row] = static_cast<uint32_t>(rng() % symbols);
      if (rows_of[slots[row]].empty()) first_order.push_back(slots[row]);
      rows_of[slots[row]].push_back(static_cast<uint32_t>(row));
    }
    groups.Make(slots, symbols);
    ASSERT_EQ(groups.order().size(), slots.size());
    ASSERT_EQ(groups.groups().size(), first_order.size());
    uint32_t at = 0;
    for (size_t i = 0; i < first_order.size(); ++i) {
      const SymbolGroups::Group& group = groups.groups()[i];
      EXPECT_EQ(group.slot, first_order[i]);
      EXPECT_EQ(group.begin, at);
      const auto rows = groups.order().subspan(group.begin, group.end - group.begin);
      EXPECT_EQ(std::vector<uint32_t>(rows.begin(), rows.end()), rows_of[group.slot]);
      at = group.end;
    }
    EXPECT_EQ(at, slots.size());
  }
}

}  // namespace
}  // namespace tickstack::aggengine
