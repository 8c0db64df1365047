#include "loadtest/paper_tests.h"

#include "base/status.h"

namespace tickstack::loadtest {
namespace {

TestSpec MakeTest(double batch_ms, double query_ms, const Profile& profile,
                  const std::vector<Placement>& placements) {
  TestSpec test;
  test.name = TestName(batch_ms, query_ms);
  test.batch_ms = batch_ms;
  test.query_ms = query_ms;
  test.profile = profile;
  test.stacks = NameStacks(placements);
  return test;
}

Placement WithRdbs(Placement placement, int rdbs) {
  // Drops a count at the end: the matrix sets the number of rdbs.
  if (const size_t count = placement.text.rfind(fmt::format(":{}", placement.rdbs));
      placement.rdbs > 1 && count != std::string::npos) {
    placement.text.resize(count);
  }
  placement.rdbs = rdbs;
  if (rdbs > 1) placement.text += fmt::format(":{}", rdbs);
  return placement;
}

}  // namespace

std::string TestName(double batch_ms, double query_ms) {
  return fmt::format("{:g}/{:g}", batch_ms, query_ms);
}

absl::StatusOr<std::vector<TestSpec>> MakeMatrix(const std::string& name, const Profile& profile,
                                                 const Placement& second_tier) {
  TS_ASSIGN_OR_RETURN(const Placement dram, ParsePlacement("dram"));
  std::vector<TestSpec> tests;
  if (name == "paper-test1") {
    const Placement second = WithRdbs(second_tier, 1);
    for (const auto& [batch_ms, query_ms] :
         {std::pair{50, 300}, std::pair{50, 50}, std::pair{1000, 50}, std::pair{50, 20}}) {
      tests.push_back(MakeTest(batch_ms, query_ms, profile, {dram, dram, second, second}));
    }
    return tests;
  }
  if (name == "paper-test2") {
    tests.push_back(MakeTest(1000, 50, profile, {WithRdbs(dram, 2), WithRdbs(second_tier, 10)}));
    return tests;
  }
  return InvalidArgument("matrix {}: expected paper-test1 or paper-test2", name);
}

}  // namespace tickstack::loadtest
