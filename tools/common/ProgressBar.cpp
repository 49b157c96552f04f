// The bar's text and the terminal's control sequences around it.
#include "common/ProgressBar.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

using namespace flashc::tools;

static constexpr int64_t kWidth = 24;

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string flashc::tools::barText(int64_t done, int64_t total, double seconds,
                                   const std::string &what) {
  done = std::clamp<int64_t>(done, 0, total);
  int64_t full = total ? kWidth * done / total : kWidth;
  std::string text =
      fmt::format("[{}{}] {} of {} {}", std::string(full, '#'),
                  std::string(kWidth - full, '.'), done, total, what);
  if (done > 0 && done < total)
    text += fmt::format(", {:.0f} s left",
                        seconds / double(done) * double(total - done));
  return text;
}

ProgressBar::ProgressBar(int64_t total, std::string what)
    : total(total), what(std::move(what)), start(now()),
      shown(llvm::sys::Process::StandardErrIsDisplayed()) {
  draw();
}

void ProgressBar::draw() {
  if (shown)
    llvm::errs() << "\x1b[K" << barText(done, total, now() - start, what)
                 << '\r';
}

void ProgressBar::clear() {
  if (shown)
    llvm::errs() << "\x1b[K";
}

void ProgressBar::step() {
  ++done;
  draw();
}

void ProgressBar::note(const std::string &line) {
  clear();
  llvm::errs() << line << '\n';
  draw();
}
