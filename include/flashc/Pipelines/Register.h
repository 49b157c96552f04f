// All dialects and passes that flashc's tools know.
#ifndef FLASHC_PIPELINES_REGISTER_H
#define FLASHC_PIPELINES_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace flashc {
/// flashc's dialects and the upstream ones that its IR uses at any stage.
void registerAllDialects(mlir::DialectRegistry &registry);
/// flashc's passes and pipelines, and upstream's conversions and
/// canonicalizers.
void registerAllPasses();
} // namespace flashc

#endif // FLASHC_PIPELINES_REGISTER_H
