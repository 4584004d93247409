// What a tool hears of ranges and marks by NVTX, from a tool that is part of this program.
#include "tests/cuda/check.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <string>

#include "kernels/cuda/nvtx.cpp"

namespace {

std::string told;

int NVTX_API push(const char* name) {
  told += std::string("(") + name;
  return 3;
}
int NVTX_API pop() {
  told += ")";
  return 2;
}
nvtxRangeId_t NVTX_API start(const char* name) {
  told += std::string("<") + name;
  return 7;
}
void NVTX_API end(nvtxRangeId_t range) {
  told += range == 7 ? ">" : "?";
}
void NVTX_API marked(const char* name) {
  told += std::string("!") + name;
}

// What NVTX calls before the first range: it takes a tool's functions.
int NVTX_API watch(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size);
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  *table[NVTX_CBID_CORE_RangeStartA] = reinterpret_cast<NvtxFunctionPointer>(start);
  *table[NVTX_CBID_CORE_RangeEnd] = reinterpret_cast<NvtxFunctionPointer>(end);
  *table[NVTX_CBID_CORE_MarkA] = reinterpret_cast<NvtxFunctionPointer>(marked);
  return 1;
}

}  // namespace

int main() {
  InitializeInjectionNvtx2_fnptr = watch;  // NVTX's way in for a tool that is linked, not opened
  const dt_tool& tool = *dt_tool_open();
  CHECK(tool.struct_size == sizeof(dt_tool));
  CHECK(tool.range_push("step") == 3);
  const uint64_t load = tool.range_start("load");
  tool.mark("here");
  CHECK(tool.range_pop() == 2);
  tool.range_end(load);
  CHECK(told == "(step<load!here)>");
  return test::finish();
}
#else
int main() {
  return 77;  // there is no CUDA toolkit
}
#endif
