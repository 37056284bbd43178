/* Wine 8 lacks this library, from which Rust's standard library takes its random numbers. Lies beside the
   executables, for tests only: on Windows the system's own is found first, as it is a "known" library. */
#include <windows.h>

BOOLEAN WINAPI SystemFunction036(PVOID data, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
  return SystemFunction036(data, (ULONG)size);
}
