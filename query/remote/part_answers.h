#pragma once

// Asks processes for parts of a query, as parse trees.
//
// A part gets the query with its own table, and with the condition on `date` that chooses its days.
// On the last side, which has no column `date`, the name is replaced by the day:
//
//   past side   select price from trade where date in 2024.01.02 2024.01.03,size>5
//   last side   select price from trade@2024.01.06 where size>5
//
// Errors: as of RemoteTable::Ask; kAborted if a day has moved, so that the query must begin again;
//         those of an exhausted budget, to which all answers are charged.
// Threads: that of the context, which waits for the answers.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"
#include "query/remote/chosen_parts.h"
#include "query/remote/prepared_query.h"
#include "table/value.h"

namespace tickstack::query {

// Sends the whole query to one process. If its result is the answer to the client, the client may
// get it while it arrives.
absl::StatusOr<Term> AskWhole(Context& context, const PreparedQuery& prepared,
                              const RemotePart& part);

// Returns the query for a part, without source and conditions.
using QueryForPart = absl::FunctionRef<Query(const RemotePart& part)>;
// Receives the answer of a part. Returns whether the answers of later parts are wanted.
using TakeAnswer = absl::FunctionRef<absl::StatusOr<bool>(const RemotePart& part, Value answer)>;

// Sends a query to each part, to all of them at the same time if the processes can answer so, and
// calls `take` with the answers in the order of the parts. `conditions`: how many conditions, from
// the first one on, are sent with it. All answers are charged before the first one is taken, since
// they are in memory together. If `take` returns false, or a part fails, the answers of the later
// parts are dropped, whether they are errors or not.
absl::Status AskEach(Context& context, const PreparedQuery& prepared,
                     const std::vector<RemotePart>& parts, size_t conditions,
                     QueryForPart query_for, TakeAnswer take);

// Returns the columns of a part's answer by their names. If the part has no column `date`, the one
// called `date` is made of its day. Errors: the name of a column that the answer lacks.
absl::StatusOr<std::vector<Value>> ColumnsIn(Context& context, const RemotePart& part, Value answer,
                                             const std::vector<std::string>& names,
                                             std::optional<std::string_view> date);

}  // namespace tickstack::query
