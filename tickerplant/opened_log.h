#pragma once

// What an operator reads in the tickerplant's messages when a log was opened.

#include "wire/tplog_writer.h"

namespace tickstack::tickerplant {

// Logs what a log contains, and how its last writer, a power cut or a failed disk left it.
void LogOpened(const wire::TplogWriter& log);

}  // namespace tickstack::tickerplant
