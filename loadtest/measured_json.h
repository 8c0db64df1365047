#pragma once

#include <nlohmann/json_fwd.hpp>

#include "loadtest/result.h"

namespace tickstack::loadtest {

// Returns `count` and the percentiles, which are null without values.
nlohmann::ordered_json SpanJson(const Histogram& histogram);

// Returns `whole`, `last_minute` and `histogram` in the format of docs/loadtest.md.
nlohmann::ordered_json MeasuredJson(const Measured& measured);

}  // namespace tickstack::loadtest
