#pragma once

#include <nlohmann/json_fwd.hpp>

#include "loadtest/result.h"

namespace tickstack::loadtest {

// `count` and percentiles, null without values.
nlohmann::ordered_json SpanJson(const Histogram& histogram);

// `whole`, `last_minute` and `histogram`, as docs/loadtest.md has them.
nlohmann::ordered_json MeasuredJson(const Measured& measured);

}  // namespace tickstack::loadtest
