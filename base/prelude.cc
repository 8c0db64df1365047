#include "base/prelude.h"
