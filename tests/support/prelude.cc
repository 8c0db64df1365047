#include "tests/support/prelude.h"
