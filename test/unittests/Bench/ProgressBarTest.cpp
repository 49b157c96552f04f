// The bar's text; what surrounds it is for terminals.
#include "common/ProgressBar.h"

#include "unittests/Catch.h"

using namespace flashc::tools;

TEST_CASE("a bar says how far it is and how long it takes") {
  CHECK(barText(0, 60, 3, "cells") ==
        "[........................] 0 of 60 cells");
  CHECK(barText(15, 60, 20, "cells") ==
        "[######..................] 15 of 60 cells, 60 s left");
  CHECK(barText(60, 60, 80, "cells") ==
        "[########################] 60 of 60 cells");
  CHECK(barText(0, 0, 0, "cells") == "[########################] 0 of 0 cells");
}
