#pragma once

// Writes functions from the wire in q's notation.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack {

// q's names of the primitives, by their number on the wire; empty if q has no name for one.
inline constexpr std::array<std::string_view, 45> kUnaryPrimitives = {
    "::",   "flip",  "neg",    "first",  "reciprocal", "where",  "reverse", "null", "group",
    "iasc", "idesc", "string", "",       "count",      "floor",  "not",     "key",  "distinct",
    "type", "value", "read0",  "read1",  "",           "avg",    "last",    "sum",  "prd",
    "min",  "max",   "exit",   "getenv", "abs",        "sqrt",   "log",     "exp",  "sin",
    "asin", "cos",   "acos",   "tan",    "atan",       "enlist", "var",     "dev",  "hopen"};
inline constexpr std::array<std::string_view, 37> kOperatorPrimitives = {
    ":",    "+",   "-",    "*",      "%",      "&",    "|",   "^",  "=",      "<",
    ">",    "$",   ",",    "#",      "_",      "~",    "!",   "?",  "@",      ".",
    "0:",   "1:",  "2:",   "in",     "within", "like", "bin", "ss", "insert", "wsum",
    "wavg", "div", "xexp", "setenv", "binr",   "cov",  "cor"};
inline constexpr std::array<std::string_view, 6> kIteratorPrimitives = {"'",  "/",  "\\",
                                                                        "':", "/:", "\\:"};

// Returns the source of a lambda.
std::string_view SourceOf(const Value& lambda);
// Returns the name of a lambda's namespace, without the leading dot.
std::string_view SpaceNameOf(const Value& lambda);

// Returns a function as q writes it: {x+y}, +, +[1;], +/. Each part that is not a function becomes
// `..`.
std::string FunctionText(const Value& function);

}  // namespace tickstack
