#pragma once

// Functions as they travel, in q's words: which primitives there are by number, and a function as q
// writes it.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack {

// By number; what q calls them. The empty ones have no name in q.
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

// The source of a lambda, and the name of its namespace without the dot before it.
std::string_view SourceOf(const Value& lambda);
std::string_view SpaceNameOf(const Value& lambda);

// A function as q writes it: {x+y}, +, +[1;], +/. What is in it and is no function is `..`.
std::string FunctionText(const Value& function);

}  // namespace tickstack
