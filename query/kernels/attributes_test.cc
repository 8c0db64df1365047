// Goal: attributes are set where a value can have them and nowhere else, and a sorted dictionary is
// a step function (code.kx.com/q/ref: set attribute, apply). Method: pairs.

#include <gtest/gtest.h>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Attributes, AreSetWhereTheyHold) {
  constexpr Pair kPairs[] = {
      {"attr `s#1 2 2", "`s"},
      {"attr `s#`a`b", "`s"},
      {"attr `s#0n 1 2", "`s"},
      {"attr `s#`long$()", "`s"},
      {"`s#3 1 2", "'s-fail"},
      {"`s#`b`a", "'s-fail"},
      {"attr `u#3 1 2", "`u"},
      {"`u#3 1 3", "'u-fail"},
      {"attr `u#(1;`a)", "`u"},
      {"attr `p#2 2 1", "`p"},
      {"`p#2 1 2", "'u-fail"},
      {"`p#(1 2;3)", "'type"},
      {"attr `g#`a`b`a", "`g"},
      {"`g#(1 2;3)", "'type"},
      {"attr `#`s#1 2", "`"},
      {"`#1 2", "1 2"},
      {"`#5", "5"},
      {"`s#5", "'type"},
      {"`u#5", "'type"},
      {"`s#{x}", "'type"},
      {"a:`s#1 2;a[0]:5;attr a", "`"},
      {"attr reverse `s#1 2", "`"},
  };
  ExpectAll(kPairs);
}

TEST(Attributes, OfDictionariesAndTables) {
  constexpr Pair kPairs[] = {
      {"`s#`a`b!2 1", "`a`b!2 1"},
      {"type `s#`a`b!2 1", "99h"},
      {"attr key `s#`a`b!2 1", "`s"},
      {"(`s#`a`b!2 1)~`a`b!2 1", "1b"},
      {"`s#`b`a!2 1", "'s-fail"},
      {"`u#`a`b!1 2", "'type"},
      {"`p#`a`b!1 2", "'type"},
      {"`g#`a`b!1 2", "'type"},
      {"exec a from meta `s#([]a:1 2;b:3 4)", "`p`"},
      {"`s#([]a:2 1;b:3 4)", "'s-fail"},
      {"`u#([]a:2 1;b:3 4)", "'type"},
      {"`s#([k:1 2]v:3 4)", "'nyi: `s# of a keyed table"},
      {"`u#([k:1 2]v:3 4)", "'type"},
  };
  ExpectAll(kPairs);
}

TEST(Attributes, ASortedDictionaryIsAStepFunction) {
  constexpr Pair kPairs[] = {
      {"(`s#0D00 0D04!`a`b) 0D05", "`b"},
      {"(`s#0D00 0D04!`a`b) 0D03 0D04 -0D01", "`a`b`"},
      {"(`s#1 2 4!10 20 40) 0 1 3 9 0N", "0N 10 20 40 0N"},
      {"d:`s#`cat`cow`dog`sheep!`chat`vache`chien`mouton;d `sheep`snake`cat`ant",
       "`mouton`mouton`chat`"},
      {"(`s#`a`b!1 2)`a", "1"},
      {"(`s#1 2!(`x;3 4)) 5", "3 4"},
      {"(`s#1 2!3 4) `a", "'type"},
      {"(`#`s#1 2!3 4) 9", "0N"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
