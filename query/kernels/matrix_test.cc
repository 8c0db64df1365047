// Goal: products, inverses and fits are those of the definitions. Method: pairs from arithmetic by
// hand, and laws over matrices made of a sequence of numbers.

#include <gtest/gtest.h>

#include <string>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Matrix, ProductsOfVectorsAndMatrices) {
  constexpr Pair kPairs[] = {
      {"(1 2f;3 4f) mmu (5 6f;7 8f)", "(19 22f;43 50f)"},
      {"(1 2f;3 4f)$(5 6f;7 8f)", "(19 22f;43 50f)"},
      {"1 2 3f mmu 4 5 6f", "32f"},
      {"1 2 3f$4 5 6f", "32f"},
      {"1 2f mmu (5 6f;7 8f)", "19 22f"},
      {"(1 2f;3 4f) mmu 5 6f", "17 39f"},
      {"(1 2 3f;4 5 6f)$(7 8f;9 10f;11 12f)", "(58 64f;139 154f)"},
      {"mmu[;(5 6f;7 8f)]each (1 2f;3 4f)", "(19 22f;43 50f)"},
      {"m:(1 2f;3 4f);m mmu m", "(7 10f;15 22f)"},
      {"1 0n mmu 1 1f", "0n"},
      {"1 2 mmu 3 4", "'type"},
      {"(1 2f;3 4f) mmu 1 2 3f", "'length"},
      {"(1 2f;3 4 5f) mmu 1 2f", "'length"},
      {"(0#0f) mmu 0#0f", "0f"},
  };
  ExpectAll(kPairs);
}

TEST(Matrix, Inverses) {
  constexpr Pair kPairs[] = {
      {"inv (2 0f;0 4f)", "(0.5 0;0 0.25)"},
      {"inv (0 1f;1 0f)", "(0 1f;1 0f)"},
      {"inv (1 2f;2 4f)", "'domain"},
      {"inv (1 0n;2 4f)", "'domain"},
      {"inv enlist 1 2f", "'length"},
      {"inv 1 2f", "'type"},
      {"inv (1 2;3 4)", "'type"},
      {"c:(2 4 8f;3 5 6f;0 7 1f);1e-12>max max abs (c mmu inv c)-(1 0 0f;0 1 0f;0 0 1f)", "1b"},
  };
  ExpectAll(kPairs);
}

TEST(Matrix, LeastSquares) {
  constexpr Pair kPairs[] = {
      // Line, parabola and cubic through points of a cubic.
      {"p:{[c;x]sum c*x xexp til count c};x:til 6;y:p[1 5 -3 2]each x;"
       "fit:{(enlist y)lsq x xexp/:til 1+z};0.001*`long$1000*raze each fit[x;y]each 1 2 3",
       "(-33 37.6;7 -22.4 12;1 5 -3 2f)"},
      {"(enlist 2 4f) lsq (1 0f;0 2f)", ",2 2f"},
      {"a:(3 4 5 6f;7 8 9 10f);b:(2 7 -2 5f;5 3 6 1f;-2 5 2 7f;5 0 3 4f);"
       "1e-9>max max abs a-(a lsq b)mmu b",
       "1b"},
      // The residue of a fit is at right angles to what it was fitted by.
      {"a:(3 4 5 6f;7 8 9 1f);b:(2 7 -2 5f;5 3 6 1f);1e-9>max max abs (a-(a lsq b)mmu b)mmu flip b",
       "1b"},
      {"(enlist 1 2f) lsq (1 2f;3 4f;5 6f)", "'length"},
      {"(enlist 1 2 3f) lsq (1 2f;3 4f)", "'length"},
      {"(enlist 1 2 3f) lsq (1 2 3f;2 4 6f)", "'domain"},
      {"1 2f lsq (1 2f;3 4f)", "'type"},
  };
  ExpectAll(kPairs);
}

}  // namespace
}  // namespace tickstack::query
