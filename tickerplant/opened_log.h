#pragma once

// Messages for operators about a log that was opened.

#include "wire/tplog_writer.h"

namespace tickstack::tickerplant {

// Logs what a log contains, and how its last writer, a power cut or a failed disk left it.
void LogOpened(const wire::TplogWriter& log);

}  // namespace tickstack::tickerplant
