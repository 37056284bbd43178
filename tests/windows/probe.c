// What the tests need from Windows itself, and cannot ask from Linux:
//   probe terminate PID     TerminateProcess
//   probe handles PID       prints the number of handles that the process has open
//   probe ctrl-c FILE PROGRAM ARGS…
//                           runs a program in a console, with our own streams; sends Ctrl-C once FILE exists
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000006
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

#ifndef PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE
#define PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE 0x00020016
#endif

static int fail(const char *what) {
    fprintf(stderr, "probe: %s: error %lu\n", what, GetLastError());
    return 99;
}

static int terminate(DWORD pid) {
    HANDLE process = OpenProcess(PROCESS_TERMINATE, FALSE, pid);
    if (!process || !TerminateProcess(process, 7)) return fail("TerminateProcess");
    return 0;
}

typedef struct {
    void *object;
    ULONG_PTR pid, handle;
    ULONG access;
    USHORT trace, type;
    ULONG attributes, reserved;
} Entry;

typedef struct {
    ULONG_PTR count, reserved;
    Entry entries[1];
} Table;

// GetProcessHandleCount is always 0 in Wine; the table of all handles is not.
static int handles(DWORD pid) {
    typedef LONG(WINAPI * Query)(int, void *, ULONG, ULONG *);
    Query query = (Query)(void *)GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtQuerySystemInformation");
    ULONG size = 1 << 24, needed;
    Table *table = malloc(size);
    if (!table || query(64, table, size, &needed) != 0) return fail("NtQuerySystemInformation");
    unsigned found = 0;
    for (ULONG_PTR at = 0; at < table->count; at++) found += table->entries[at].pid == pid;
    printf("%u\n", found);
    return 0;
}

// The rest of our own command line, from this argument on.
static wchar_t *from(int argument) {
    wchar_t *at = GetCommandLineW();
    while (argument-- > 0) {
        for (BOOL quoted = FALSE; *at && (quoted || *at != L' '); at++) quoted ^= *at == L'"';
        while (*at == L' ') at++;
    }
    return at;
}

static void wait_for(const wchar_t *file) {
    while (GetFileAttributesW(file) == INVALID_FILE_ATTRIBUTES) Sleep(5);
}

static BOOL WINAPI stays(DWORD event) {
    (void)event;
    return TRUE;
}

static int ended(HANDLE process) {
    DWORD code;
    WaitForSingleObject(process, INFINITE);
    return GetExitCodeProcess(process, &code) ? (int)code : fail("GetExitCodeProcess");
}

// In the console: starts the program, and sends Ctrl-C to everything there. We stay.
static int inside(const wchar_t *file) {
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION started;
    SetConsoleCtrlHandler(stays, TRUE);
    if (!CreateProcessW(NULL, from(3), NULL, NULL, TRUE, 0, NULL, NULL, &startup, &started)) return fail("CreateProcess");
    wait_for(file);
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return fail("GenerateConsoleCtrlEvent");
    return ended(started.hProcess);
}

static DWORD WINAPI drain(void *pipe) {
    char buffer[4096];
    DWORD got;
    while (ReadFile(pipe, buffer, sizeof buffer, &got, NULL)) {}
    return 0;
}

static int with_console(void) {
    HANDLE in_read, in_write, out_read, out_write;
    HPCON console;
    if (!CreatePipe(&in_read, &in_write, NULL, 0) || !CreatePipe(&out_read, &out_write, NULL, 0))
        return fail("CreatePipe");
    HRESULT made = CreatePseudoConsole((COORD){80, 25}, in_read, out_write, 0, &console);
    if (FAILED(made)) return SetLastError(made), fail("CreatePseudoConsole");
    CreateThread(NULL, 0, drain, out_read, 0, NULL);
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    STARTUPINFOEXW startup = {.StartupInfo.cb = sizeof startup, .lpAttributeList = malloc(size)};
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    startup.StartupInfo.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.StartupInfo.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.StartupInfo.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, console,
                                   sizeof console, NULL, NULL))
        return fail("UpdateProcThreadAttribute");
    static wchar_t own[MAX_PATH], line[32768];
    GetModuleFileNameW(NULL, own, MAX_PATH);
    swprintf(line, 32768, L"\"%ls\" inside %ls", own, from(2));
    PROCESS_INFORMATION started;
    if (!CreateProcessW(own, line, NULL, NULL, TRUE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                        &startup.StartupInfo, &started))
        return fail("CreateProcess in the console");
    return ended(started.hProcess);
}

int wmain(int count, wchar_t **words) {
    if (count == 3 && !wcscmp(words[1], L"terminate")) return terminate(wcstoul(words[2], NULL, 10));
    if (count == 3 && !wcscmp(words[1], L"handles")) return handles(wcstoul(words[2], NULL, 10));
    if (count > 3 && !wcscmp(words[1], L"ctrl-c")) return with_console();
    if (count > 3 && !wcscmp(words[1], L"inside")) return inside(words[2]);
    return 98;
}
