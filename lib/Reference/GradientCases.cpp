#include "flashc/Reference/GradientCases.h"
using namespace flashc::reference;
std::vector<GradientCase> flashc::reference::gradientCases() { return {}; }
