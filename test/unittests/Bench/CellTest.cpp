// Cells of flashc-bench: what a line says, and what is counted.
#include "flashc-bench/Cell.h"

#include "unittests/Catch.h"

using namespace flashc;

static Cell parsed(const char *line) {
  llvm::Expected<Cell> cell = parseCell(line);
  if (!cell)
    FAIL(llvm::toString(cell.takeError()));
  return *cell;
}

static std::string refusal(const char *line) {
  llvm::Expected<Cell> cell = parseCell(line);
  REQUIRE_FALSE(bool(cell));
  return llvm::toString(cell.takeError());
}

TEST_CASE("four words are a cell of the papers' grid") {
  Cell cell = parsed("fp16 64 4096 1");
  CHECK(cell.name() == "fp16 d64 H32 B4 4096 causal");
  CHECK(cell.flops() == 4.0 * 4 * 32 * 4096 * 4096 * 64 / 2);
  CHECK(parsed("bf16 256 512 0").name() == "bf16 d256 H8 B32 512 none");
  CHECK(parsed("fp16 64 65536 0").batch() == 1);
}

TEST_CASE("words with a key say the rest") {
  Cell cell = parsed("fp16 192 8192 0 dv=128 heads=128 kv-heads=8 "
                     "mask=window(1024,0) score=softcap(30)");
  CHECK(cell.name() ==
        "fp16 d192/128 H128/8 B2 8192 window(1024,0) softcap(30)");
  CHECK(parsed("dtype=bf16 d=128 length=8192 mask=causal score=alibi").name() ==
        "bf16 d128 H16 B2 8192 causal alibi");
}

TEST_CASE("only what a mask leaves is counted") {
  auto pairs = [](const char *mask) {
    return parsed((std::string("fp16 64 100 0 mask=") + mask).c_str()).pairs;
  };
  CHECK(pairs("none") == 10000);
  CHECK(pairs("causal") == 5000); // the papers' count
  CHECK(pairs("(causal)") == 5000);
  CHECK(pairs("window(-1,0)") == 5050); // the same mask, exactly
  // Rows 0 to 9 see 1 to 10 keys, the other 90 see 11.
  CHECK(pairs("window(10,0)") == 55 + 90 * 11);
  CHECK(pairs("window(10,10)") == 100 + 2 * (45 + 90 * 10));
  Cell cell = parsed("fp16 192 100 0 dv=128 heads=3 mask=window(10,0)");
  CHECK(cell.flops() ==
        2.0 * (192 + 128) * (55 + 990) * 3 * double(cell.batch()));
}

TEST_CASE("what is no cell is refused by the word") {
  auto has = [](const std::string &text, const char *part) {
    INFO(text);
    CHECK(text.find(part) != text.npos);
  };
  has(refusal("fp16 128 4096"), "3 words stand in front of key=value");
  has(refusal(""), "0 words");
  has(refusal("fp16 x 4096 1"), "the words are type, head dim");
  has(refusal("fp16 128 4096 1 foo=3"), "'foo=3' is not understood");
  has(refusal("fp16 128 4096 1 heads=-3"), "'heads=-3' is not understood");
  has(refusal("fp16 128 4096 1 mask=none& causal"), "'causal' is not");
  has(refusal("fp16 128 4096 1 mask=wavy"), "mask 'wavy', column 1");
  has(refusal("fp16 128 4096 1 score=softcap(-1)"), "score 'softcap(-1)'");
  has(refusal("fp16 128 4096 1 heads=16 kv-heads=3"), "no multiple of 3");
  has(refusal("f32 128 4096 1"), "type 'f32' is not timed");
  has(refusal("d=128 mask=causal"), "length is 0");
}

TEST_CASE("lists are split outside parentheses") {
  using List = std::vector<std::string>;
  CHECK(splitList("none,window(1024,0),causal") ==
        List{"none", "window(1024,0)", "causal"});
  CHECK(splitList("!(causal&window(1,2)),none") ==
        List{"!(causal&window(1,2))", "none"});
  CHECK(splitList("a,,b") == List{"a", "", "b"});
  CHECK(splitList("a),b") == List{"a)", "b"}); // parseMask says what is wrong
}

TEST_CASE("head dims of V are written behind a slash") {
  Cell cell;
  CHECK_FALSE(bool(parseDims("192/128", cell)));
  CHECK(cell.dim == 192);
  CHECK(cell.valueDim == 128);
  CHECK_FALSE(bool(parseDims("64", cell)));
  CHECK(cell.valueDim == 0);
  for (const char *bad : {"", "x", "-8", "128/", "128/0", "1/2/3"}) {
    INFO(bad);
    CHECK(llvm::toString(parseDims(bad, cell)).find("is no head dim") !=
          std::string::npos);
  }
}
