#include "disk/partition_name.h"

#include <gtest/gtest.h>

#include <string>

namespace tickstack::disk {
namespace {

TEST(PartitionName, EachKindComesBackAsItsName) {
  for (const auto& [name, kind, value] : {
           std::tuple("2024.01.29", PartitionKind::kDate, int64_t{8794}),
           std::tuple("1999.12.31", PartitionKind::kDate, int64_t{-1}),
           std::tuple("2024.01", PartitionKind::kMonth, int64_t{288}),
           std::tuple("1999.12", PartitionKind::kMonth, int64_t{-1}),
           std::tuple("2024", PartitionKind::kYear, int64_t{2024}),
           std::tuple("7", PartitionKind::kInt, int64_t{7}),
           std::tuple("451440000000000000", PartitionKind::kInt, int64_t{451440000000000000}),
       }) {
    EXPECT_EQ(ParsePartitionName(name), (PartitionName{kind, value})) << name;
    EXPECT_EQ(FormatPartition(kind, value), name);
  }
}

TEST(PartitionName, OtherNamesAreNone) {
  for (const std::string name :
       {"", "trade", "2024.13", "2024.00", "2024.02.30", "2024-01-29", "20240129x", "-7", "+7",
        "99999999999999999999", "2024.1.29", "....", "2024.-1", "2024.01.29~"}) {
    EXPECT_EQ(ParsePartitionName(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tickstack::disk
