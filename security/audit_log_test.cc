#include "security/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/logging.h"

namespace tickstack::security {
namespace {

using testing::HasSubstr;

template <typename Write>
std::string Logged(Write write) {
  testing::internal::CaptureStderr();
  write();
  return testing::internal::GetCapturedStderr();
}

TEST(AuditLog, LinesAreWrittenWhateverTheLevelExceptOff) {
  InitLogging("tp", LogLevel::kError);
  EXPECT_THAT(Logged([] { AuditLogin("bob", "10.0.0.5:42"); }),
              HasSubstr(" I tp audit login user=bob host=10.0.0.5:42 withheld=0\n"));
  EXPECT_THAT(Logged([] { AuditAct("bob", "10.0.0.5:42", ".u.end"); }),
              HasSubstr("audit act user=bob host=10.0.0.5:42 what=\".u.end\" withheld=0\n"));
  InitLogging("tp", LogLevel::kOff);
  EXPECT_EQ(Logged([] { AuditLogin("bob", "10.0.0.5:42"); }), "");
}

TEST(AuditLog, NamesFromOutsideForgeNothing) {
  InitLogging("tp", LogLevel::kInfo);
  EXPECT_THAT(Logged([] { AuditRefused("a b=\n\"", "h", "x \"y\""); }),
              HasSubstr("audit refused user=a?b??? host=h reason=\"x 'y'\" withheld=0\n"));
  EXPECT_THAT(Logged([] { AuditRefused("", "h", ""); }), HasSubstr(" user=- host=h "));
  EXPECT_LT(Logged([] {
              AuditRefused(std::string(100'000, 'a'), "h", std::string(100'000, 'b'));
            }).size(),
            500u);
}

TEST(AuditLog, AFloodIsCountedAndHidesNoOtherKind) {
  InitLogging("tp", LogLevel::kInfo);
  const std::string flood = Logged([] {
    for (int i = 0; i < 10'000; ++i) AuditDenied("bob", "h", "query trade");
  });
  EXPECT_LE(std::ranges::count(flood, '\n'), 150);
  EXPECT_THAT(Logged([] { AuditAct("root", "h", ".u.end"); }), HasSubstr("audit act user=root"));
}

}  // namespace
}  // namespace tickstack::security
