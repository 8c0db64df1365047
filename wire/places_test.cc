#include "wire/places.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::wire {
namespace {

using testing::HasSubstr;

PlaceHolder Holder(PlaceClass place, std::string user, std::string address = "10.0.0.1") {
  return {.place = place, .user = std::move(user), .address = std::move(address)};
}

size_t TakeAll(Places& places, const PlaceHolder& holder) {
  size_t taken = 0;
  while (!places.Take(holder).has_value()) ++taken;
  return taken;
}

TEST(Places, KeepsPlacesForAdministratorsAndTheStack) {
  Places places(40);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(places.Take(Holder(PlaceClass::kUser, fmt::format("u{}", i), fmt::format("{}", i))),
              std::nullopt);
  }
  EXPECT_THAT(*places.Take(Holder(PlaceClass::kUser, "late", "late")),
              HasSubstr("40 connections, the bound is 40"));
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kAdministrator, "boss")),
            Places::kAdministratorReserve);
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kStack, "stack")), Places::kStackReserve);
  places.Release(Holder(PlaceClass::kUser, "u7", "7"));
  EXPECT_EQ(places.Take(Holder(PlaceClass::kUser, "late", "late")), std::nullopt);
}

// What the stack and administrators take before users come reduces nobody's places.
TEST(Places, UsersHaveTheirPlacesBesideTheStack) {
  Places places(8);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(places.Take(Holder(PlaceClass::kStack, "stack")), std::nullopt);
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kAnonymous, "", "unix")), 8u);
}

TEST(Places, BoundsAUserAndAnAddress) {
  Places places(40);
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kUser, "eve", "127.0.0.1")), 10u);
  EXPECT_THAT(*places.Take(Holder(PlaceClass::kUser, "eve", "10.0.0.9")),
              HasSubstr("10 connections of the user eve, the bound is 10"));
  PlaceHolder few = Holder(PlaceClass::kUser, "few");
  few.places_max = 2;
  EXPECT_EQ(TakeAll(places, few), 2u);
  PlaceHolder many = Holder(PlaceClass::kUser, "many");
  many.places_max = 1000;
  EXPECT_EQ(TakeAll(places, many), 18u) << "others of the address have two of its twenty";
  EXPECT_THAT(*places.Take(many), HasSubstr("20 connections from 10.0.0.1, the bound is 20"));
  EXPECT_EQ(places.Take(Holder(PlaceClass::kUser, "bob", "10.0.0.2")), std::nullopt);
  EXPECT_EQ(places.Take(Holder(PlaceClass::kAdministrator, "boss")), std::nullopt);
}

TEST(Places, AnonymousClientsOfThisMachineHaveNoBoundOfTheirOwn) {
  Places places(40);
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kAnonymous, "", "10.0.0.1")), 20u);
  EXPECT_EQ(TakeAll(places, Holder(PlaceClass::kAnonymous, "", "127.0.0.1")), 20u);
}

TEST(Places, ReadsTheAddressOfAPeer) {
  EXPECT_EQ(AddressInPeer("10.0.0.5:4242"), "10.0.0.5");
  EXPECT_EQ(AddressInPeer("10.0.0.5:4242 by http"), "10.0.0.5");
  EXPECT_EQ(AddressInPeer("[::1]:4242"), "[::1]");
  EXPECT_EQ(AddressInPeer("unix"), "unix");
  EXPECT_EQ(AddressInPeer("unix by http"), "unix");
}

}  // namespace
}  // namespace tickstack::wire
