#pragma once

// Tests that consist of an expression and its expected result, as TestEnvironment::Ask returns it.
// Each is also evaluated where the tables are those of another process, and has the same result.
// The environment has the sample tables, and values in `.u` like those of a tickerplant.

#include <gtest/gtest.h>

#include <span>
#include <string_view>

#include "query/testing.h"

namespace tickstack::query {

struct Pair {
  std::string_view expression;
  std::string_view result;
};

inline void ExpectAll(std::span<const Pair> pairs) {
  TestEnvironment environment;
  AddSampleTables(environment);
  environment.SetValue(".u.i", Value::Long(3));
  environment.SetValue(".u.j", Value::Long(5));
  environment.SetValue(".u.L", Value::Symbol(":log/sym2013.10.07"));
  GatewayTo gateway(environment);
  for (const Pair& pair : pairs) {
    EXPECT_EQ(environment.Ask(pair.expression), pair.result) << pair.expression;
    // Rows that are fetched have no attributes.
    if (pair.expression.starts_with("meta ")) continue;
    EXPECT_EQ(gateway.Ask(pair.expression), pair.result) << pair.expression << " through a gateway";
  }
}

}  // namespace tickstack::query
