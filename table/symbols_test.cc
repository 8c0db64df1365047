#include "table/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tickstack {
namespace {

std::string NumberedName(size_t i) { return "S" + std::to_string(i * i * 7919); }

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(SymbolTable, NumbersNamesInOrderOfFirstAppearance) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.Intern("IBM"), 0);
  EXPECT_EQ(symbols.Intern("A"), 1);
  EXPECT_EQ(symbols.Intern("IBM"), 0);
  EXPECT_EQ(symbols.Intern("12345678"), 2);
  EXPECT_EQ(symbols.Intern("123456789"), 3);
  EXPECT_EQ(symbols.Intern("a name of many words, as some columns hold"), 4);
  EXPECT_EQ(symbols.Intern("12345678"), 2);
  EXPECT_EQ(symbols.Intern("123456789"), 3);
  EXPECT_EQ(symbols.size(), 5);
  EXPECT_EQ(symbols.NameOf(0), "IBM");
  EXPECT_EQ(symbols.NameOf(3), "123456789");
}

TEST(SymbolTable, TheEmptyNameIsTheNullAndHasNoNumber) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.Intern(""), kNullSymbol);
  EXPECT_EQ(symbols.Find(""), kNullSymbol);
  EXPECT_EQ(symbols.NameOf(kNullSymbol), "");
  EXPECT_EQ(symbols.size(), 0);
}

TEST(SymbolTable, ANameEndsAtItsFirstNul) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.Intern(std::string_view("AB\0C", 4)), symbols.Intern("AB"));
  EXPECT_EQ(symbols.Find(std::string_view("AB\0D", 4)), 0);
}

TEST(SymbolTable, FindsOnlyWhatWasInterned) {
  SymbolTable symbols;
  symbols.Intern("IBM");
  EXPECT_EQ(symbols.Find("IBM"), 0);
  EXPECT_EQ(symbols.Find("IB"), std::nullopt);
  EXPECT_EQ(symbols.Find("IBMM"), std::nullopt);
  EXPECT_EQ(symbols.Find("a longer name than a word"), std::nullopt);
}

// Goal: ids and names agree with a map over many growths. Method: names of 1 to 300 characters,
// half of which exist already.
TEST(SymbolTable, AgreesWithAMapOverManyGrowths) {
  SymbolTable symbols;
  std::map<std::string, SymbolId> model;
  std::vector<std::string> names;
  std::mt19937_64 rng(11);
  for (int i = 0; i < 200'000; ++i) {
    std::string name;
    if (!names.empty() && rng() % 2 == 0) {
      name = names[rng() % names.size()];
    } else {
      const size_t size = rng() % 50 == 0 ? 1 + rng() % 300 : 1 + rng() % 12;
      for (size_t c = 0; c < size; ++c) name.push_back(static_cast<char>('A' + rng() % 26));
    }
    const auto [known, added] = model.emplace(name, static_cast<SymbolId>(names.size()));
    if (added) names.push_back(name);
    ASSERT_EQ(symbols.Intern(name), known->second) << name;
  }
  ASSERT_EQ(symbols.size(), static_cast<int32_t>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(symbols.NameOf(static_cast<SymbolId>(i)), names[i]);
    ASSERT_EQ(symbols.Find(names[i]), static_cast<SymbolId>(i));
  }
}

TEST(SymbolTable, InternsARunOfNamesAsItStandsOnTheWire) {
  SymbolTable symbols;
  const std::string_view text("IBM\0\0A\0ABCDEFGH\0a name beyond a word\0IBM\0\xff\xfe\0A\0rest",
                              50);
  std::vector<SymbolId> ids(8);
  EXPECT_EQ(symbols.InternAll(Bytes(text), ids), 46u);
  EXPECT_THAT(ids, testing::ElementsAre(0, kNullSymbol, 1, 2, 3, 0, 4, 1));
  EXPECT_EQ(symbols.NameOf(4), "\xff\xfe");
}

TEST(SymbolTable, SaysWhenTheTextEndsBeforeTheNamesDo) {
  SymbolTable symbols;
  std::vector<SymbolId> ids(3);
  for (const std::string_view text :
       {std::string_view(""), std::string_view("A\0B\0", 4), std::string_view("A\0B\0C", 5),
        std::string_view("A\0B\0CCCCCCCCCC", 14)}) {
    EXPECT_EQ(symbols.InternAll(Bytes(text), ids), std::nullopt);
  }
  EXPECT_EQ(symbols.InternAll(Bytes(std::string_view("A\0B\0C\0", 6)), ids), 6u);
}

// Goal: readers without a lock see whole names while the writer grows the table. Method: one writer
// adds 100,000 names, and two readers look up names below the size that they saw.
TEST(SymbolTable, ReadersSeeWholeNamesWhileTheWriterGrowsIt) {
  SymbolTable symbols;
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937_64 rng(static_cast<uint64_t>(r));
      while (!done.load(std::memory_order_relaxed)) {
        const int32_t size = symbols.size();
        if (size == 0) continue;
        const auto id = static_cast<SymbolId>(rng() % static_cast<uint64_t>(size));
        const std::string expected = NumberedName(static_cast<size_t>(id));
        if (symbols.NameOf(id) != expected || symbols.Find(expected) != id) ++wrong;
      }
    });
  }
  for (size_t i = 0; i < 100'000; ++i) symbols.Intern(NumberedName(i));
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tickstack
