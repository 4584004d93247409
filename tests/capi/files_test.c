/* Where files go: saving to a path makes a file of exactly that name or is an error with a
 * sentence, and leaves nothing else behind. Names are whatever bytes the system takes. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/check.h"

static dt_module* net;
static dt_tensor* tensor;

static dt_status save_module(const char* path) {
  return dt_module_save(net, path);
}
static dt_status save_tensor(const char* path) {
  const char* name = "a";
  return dt_save_safetensors(path, &name, 1, &tensor, 1, NULL, NULL, NULL);
}
typedef dt_status Save(const char* path);
static Save* const kSaves[] = {save_module, save_tensor};

/* How many entries a folder has, and whether `name` is among them. */
static int entries(const char* folder, const char* name, int* found) {
  DIR* d = opendir(folder);
  int n = 0;
  *found = 0;
  for (struct dirent* e = readdir(d); e; e = readdir(d)) {
    n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    *found |= strcmp(e->d_name, name) == 0;
  }
  closedir(d);
  return n;
}

static int64_t size_of(const char* path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

/* `name` in the working folder. */
static void saves(const char* name) {
  for (int i = 0; i < 2; i++) {
    dt_string_list* names = NULL;
    int found, before = entries(".", name, &found);
    CHECK(!found);
    for (int twice = 0; twice < 2; twice++) { /* a new file, and one in the place of an old one */
      OK(kSaves[i](name));
      CHECK(entries(".", name, &found) == before + 1 && found && size_of(name) > 8);
    }
    OK(dt_safetensors_names(name, &names));
    dt_string_list_release(names);
    CHECK(unlink(name) == 0);
  }
}

static void refuses(const char* path, const char* words) {
  for (int i = 0; i < 2; i++) {
    int found, before = entries(".", "", &found);
    FAILS(IO, kSaves[i](path));
    CHECK(message_has("cannot write '") && message_has(words));
    CHECK(entries(".", "", &found) == before);
  }
}

static void test_odd_names(void) {
  char name[300];
  for (int c = 1; c < 256; c++) {
    if (c == '/') continue;
    snprintf(name, sizeof name, "a%cb", c);
    saves(name);
  }
  saves("-");
  saves(" ");
  saves("...");
  saves("'\"\n%s%n\\");
  saves("\xff\xfe\x80");
  memset(name, 'x', 255);
  name[255] = 0;
  saves(name); /* as long as a name can be */
  memset(name, 0xc3, 255);
  saves(name);
  memset(name, 'x', 256);
  name[256] = 0;
  refuses(name, "File name too long");
}

static void test_long_paths(void) {
  static char path[3 * PATH_MAX];
  for (int i = 0; i < PATH_MAX / 2; i++) memcpy(path + 2 * i, "./", 3);
  strcpy(path + PATH_MAX - 4, "abc"); /* PATH_MAX - 1 bytes */
  for (int i = 0; i < 2; i++) {
    int found;
    const dt_status status = kSaves[i](path); /* the file beside it may have too long a path */
    CHECK(status == DT_STATUS_OK || (status == DT_STATUS_IO && message_has("File name too long")));
    CHECK(entries(".", "abc", &found) == (status == DT_STATUS_OK) && unlink("abc") == -!!status);
  }
  memset(path, 'x', sizeof path - 1);
  refuses(path, "File name too long");
  refuses("", "''");
}

static void test_folders(void) {
  struct stat info;
  CHECK(mkdir("folder", 0777) == 0);
  refuses("folder", "it is a folder");
  refuses("folder/", "it is a folder");
  refuses(".", "it is a folder");
  refuses("..", "it is a folder");
  refuses("/", "it is a folder");
  refuses("missing/", "No such file");
  refuses("missing/file", "No such file");
  CHECK(stat("missing", &info) != 0);
  OK(save_tensor("folder/file"));
  refuses("folder/file/", "Not a directory");
  refuses("folder/file/more", "Not a directory");
  CHECK(unlink("folder/file") == 0 && rmdir("folder") == 0);
  refuses("/dev/null", "it is not a regular file");
  CHECK(mkfifo("pipe", 0666) == 0);
  refuses("pipe", "it is not a regular file");
  dt_string_list* names = NULL;
  FAILS(IO, dt_safetensors_names("pipe", &names)); /* and is not waited for */
  CHECK(message_has("not a regular file") && unlink("pipe") == 0);
}

/* What the user must not write is not replaced, although the folder would let it be. */
static void test_no_permission(void) {
  int status = -1;
  OK(save_tensor("mine"));
  CHECK(chmod("mine", 0444) == 0 && chmod(".", 0777) == 0);
  const pid_t child = fork(); /* the system's own user may write everything */
  if (child == 0) {
    const int64_t before = size_of("mine");
    CHECK(getuid() != 0 || setuid(65534) == 0);
    refuses("mine", "Permission denied");
    CHECK(size_of("mine") == before);
    _exit(failures != 0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(unlink("mine") == 0);
}

/* A link stays one, and what it leads to is written, also where nothing was there. */
static void test_links(void) {
  int found;
  CHECK(mkdir("folder", 0777) == 0);
  CHECK(symlink("folder/file", "link") == 0 && symlink("link", "to link") == 0);
  CHECK(symlink("../loop", "folder/loop") == 0 && symlink("folder/loop", "loop") == 0);
  for (int i = 0; i < 2; i++) {
    for (int twice = 0; twice < 2; twice++) {
      OK(kSaves[i]("to link"));
      CHECK(size_of("to link") == -1 && size_of("link") == -1 && size_of("folder/file") > 8);
      CHECK(entries("folder", "file", &found) == 2 && entries(".", "", &found) == 4);
    }
    CHECK(unlink("folder/file") == 0);
  }
  refuses("loop", "Too many levels of symbolic links");
  CHECK(symlink("missing/file", "nowhere") == 0);
  refuses("nowhere", "No such file");
  for (const char* name = "link\0to link\0loop\0nowhere\0folder/loop\0"; *name;
       name += strlen(name) + 1) {
    CHECK(unlink(name) == 0);
  }
  CHECK(rmdir("folder") == 0);
}

int main(void) {
  char folder[] = P_tmpdir "/dt_files_test_XXXXXX";
  const int64_t size = 3;
  int found;
  CHECK(mkdtemp(folder) && chdir(folder) == 0);
  OK(dt_nn_linear(2, 2, NULL, &net));
  OK(dt_ones(&size, 1, 0, 0, 0, 0, &tensor));
  test_odd_names();
  test_long_paths();
  test_folders();
  test_no_permission();
  test_links();
  CHECK(entries(".", "", &found) == 0);
  CHECK(chdir("/") == 0 && rmdir(folder) == 0);
  dt_module_release(net);
  dt_tensor_release(tensor);
  return test_end("files");
}
