#include "loadtest/report/paper.h"

#include <algorithm>

#include "loadtest/report/groups.h"

namespace tickstack::loadtest::report {
namespace {

constexpr double kSecond = 1000;
constexpr double kMinute = 60 * kSecond;

constexpr PaperRow kRows[] = {
    {.name = "Test 1, 50/300",
     .batch_ms = 50,
     .query_ms = 300,
     .many_rdbs = false,
     .max_latency_ms = {36.5, 59.9},
     .memory = {171'893, 5.77},
     .query_avg_ms = {47.1, 67.8},
     .queries_per_minute = {200, 200}},
    {.name = "Test 1, 50/50",
     .batch_ms = 50,
     .query_ms = 50,
     .many_rdbs = false,
     .max_latency_ms = {125, 4 * kMinute + 45 * kSecond},
     .memory = {171'893, 5.77},
     .query_avg_ms = {50.6, 69.8},
     .queries_per_minute = {880, 600}},
    {.name = "Test 1, 1000/50",
     .batch_ms = 1000,
     .query_ms = 50,
     .many_rdbs = false,
     .max_latency_ms = {1054, 1038},
     .memory = {171'893, 5.77},
     .query_avg_ms = {47.6, 67.8},
     .queries_per_minute = {1080, 600}},
    {.name = "Test 1, 50/20",
     .batch_ms = 50,
     .query_ms = 20,
     .many_rdbs = false,
     .max_latency_ms = {kMinute + 18 * kSecond, 14 * kMinute + 30 * kSecond},
     .memory = {171'888, 5.77},
     .query_avg_ms = {50.0, 70.4},
     .queries_per_minute = {1000, 700}},
    {.name = "Test 2, 1000/50, 2 against 10 RDBs",
     .batch_ms = 1000,
     .query_ms = 50,
     .many_rdbs = true,
     .max_latency_ms = {1042, 1071},
     .memory = {63.3, 2.26},
     .query_avg_ms = {46.7, 67.8},
     .queries_per_minute = {2314, 7735}},
};

}  // namespace

std::span<const PaperRow> PaperRows() { return kRows; }

const PaperRow* MatchingPaperRow(const RecordedTest& test) {
  const std::vector<Group> groups = GroupsOf(test);
  if (groups.size() < 2) return nullptr;
  const bool many_rdbs = std::any_of(test.stacks.begin(), test.stacks.end(),
                                     [](const RecordedStack& stack) { return stack.rdbs > 1; });
  // The same number of RDBs on both sides is a different experiment from the paper's second test.
  const bool same_rdbs = groups[0].stacks[0]->rdbs == groups[1].stacks[0]->rdbs;
  if (many_rdbs && same_rdbs) return nullptr;
  for (const PaperRow& row : kRows) {
    if (row.batch_ms == test.batch_ms && row.query_ms == test.query_ms &&
        row.many_rdbs == many_rdbs) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace tickstack::loadtest::report
