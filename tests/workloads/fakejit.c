// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JIT runtime that behaves as it is told: fakejit MODE SECONDS [DIR]
 *
 * It has pages of code that spins, tells of it in DIR/jit-PID.dump (or in /tmp/perf-PID.map, or
 * not, or badly), and runs it for SECONDS in each phase. It prints what CPU time, in ns, was spent
 * in code that is to have which name: NAME=NS. Most modes have a line or two in `modes`, below.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "workload.h"

#define PAGE 4096

enum { LOAD, MOVE, DEBUG_INFO, CLOSE };

static double seconds;
static const char *dir;
static uint8_t *code;
static int dump = -1;
static char dump_path[4096];
static uint64_t next_index = 1;

static void fail(const char *what)
{
	fprintf(stderr, "fakejit: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- code ------------------------------------------------------------------------------------ */

#define ROUNDS 100000

/* A function that counts down from ROUNDS. */
static void emit(uint8_t *at)
{
#if defined(__x86_64__)
	uint8_t bytes[] = {
		0xb9, 0,    0, 0, 0, /* mov ecx, ROUNDS */
		0xff, 0xc9,	     /* dec ecx */
		0x75, 0xfc,	     /* jnz */
		0xc3,
	};
	uint32_t rounds = ROUNDS;

	memcpy(bytes + 1, &rounds, 4);
#elif defined(__aarch64__)
	uint32_t bytes[] = {
		0x52800000 | (ROUNDS & 0xffff) << 5, /* movz w0 */
		0x72a00000 | (ROUNDS >> 16) << 5,    /* movk w0, lsl 16 */
		0x71000400,			     /* subs w0, w0, 1 */
		0x54ffffe1,			     /* b.ne */
		0xd65f03c0,			     /* ret */
	};
#else
#error "which instructions count down here?"
#endif
	memcpy(at, bytes, sizeof(bytes));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(bytes));
}

#define FUNC_SIZE 64

static uint8_t *func(int i)
{
	return code + i * FUNC_SIZE;
}

static void map_code(void)
{
	/* At an address of its own, so that another image has its code there too. */
	code = mmap((void *)0x200000000000, 16 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED)
		fail("mmap");
	for (int i = 0; i < 16 * PAGE / FUNC_SIZE; i++)
		emit(func(i));
}

static void run_for(const uint8_t *at, const char *name, double how_long)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(how_long * 1e9);

	while (workload_goes_on(end))
		((void (*)(void))at)();
	printf("%s=%llu\n", name, (unsigned long long)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin));
	fflush(stdout);
}

static void run(const uint8_t *at, const char *name)
{
	run_for(at, name, seconds);
}

/* ---- the dump -------------------------------------------------------------------------------- */

static void put(const void *bytes, size_t len)
{
	if (write(dump, bytes, len) != (ssize_t)len)
		fail("write");
}

static void header_with(uint64_t flags)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} h = { 0x4a695444, 1, 40, 62, 0, 1, 0, flags };

	put(&h, sizeof(h));
}

static void header(void)
{
	header_with(0);
}

static void prefix(uint32_t id, size_t body)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} p = { id, 16 + body, clock_ns(CLOCK_MONOTONIC) };

	put(&p, sizeof(p));
}

static void load_sized(const uint8_t *at, uint64_t size, const char *name, size_t name_len)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, addr, size, index;
	} l = { 1, 1, (uintptr_t)at, (uintptr_t)at, size, next_index++ };

	prefix(LOAD, sizeof(l) + name_len + 1 + FUNC_SIZE);
	put(&l, sizeof(l));
	put(name, name_len);
	put("", 1);
	put(at, FUNC_SIZE);
}

static void load(const uint8_t *at, const char *name)
{
	load_sized(at, FUNC_SIZE, name, strlen(name));
}

static void move(const uint8_t *from, const uint8_t *to)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} m = { 1, 1, 0, (uintptr_t)from, (uintptr_t)to, FUNC_SIZE, next_index - 1 };

	prefix(MOVE, sizeof(m));
	put(&m, sizeof(m));
}

static void line(const uint8_t *at, const char *file, uint32_t number)
{
	struct {
		uint64_t code, nr, addr;
		uint32_t line, discriminator;
	} d = { (uintptr_t)at, 1, (uintptr_t)at, number, 0 };

	prefix(DEBUG_INFO, sizeof(d) + strlen(file) + 1);
	put(&d, sizeof(d));
	put(file, strlen(file) + 1);
}

static void open_dump(void)
{
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", dir, getpid());
	dump = open(dump_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (dump < 0)
		fail(dump_path);
}

static void mark(void)
{
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		fail("the marker");
}

static void begin(void)
{
	open_dump();
	header();
	mark();
}

/* ---- the map --------------------------------------------------------------------------------- */

static void map_path(char *ret, size_t len)
{
	snprintf(ret, len, "/tmp/perf-%d.map", getpid());
}

static void write_map(const char *path, const uint8_t *at, const char *name)
{
	FILE *f = fopen(path, "a");

	if (!f)
		fail(path);
	fprintf(f, "%llx %x %s\n", (unsigned long long)(uintptr_t)at, FUNC_SIZE, name);
	fclose(f);
}

static void own_map(const uint8_t *at, const char *name)
{
	char path[64];

	map_path(path, sizeof(path));
	write_map(path, at, name);
}

/* ---- modes ----------------------------------------------------------------------------------- */

static void plain(void)
{
	begin();
	load(func(0), "first");
	load(func(1), "second");
	run(func(0), "first");
	run(func(1), "second");
}

static void unlinked(void)
{
	begin();
	unlink(dump_path);
	load(func(0), "first");
	run(func(0), "first");
	load(func(1), "second");
	run(func(1), "second");
}

/* One address, three functions. */
static void again(void)
{
	static const char *const names[] = { "one", "two", "three" };

	begin();
	for (int i = 0; i < 3; i++) {
		load(func(0), names[i]);
		run(func(0), names[i]);
	}
}

/* What the runtime buffers until it ends. */
static void late(void)
{
	begin();
	load(func(1), "early");
	run(func(1), "early");
	run(func(0), "late");
	load(func(0), "late");
}

static void moved(void)
{
	begin();
	load(func(0), "moved");
	run(func(0), "moved");
	move(func(0), func(8));
	load(func(0), "other");
	run(func(8), "moved");
	run(func(0), "other");
}

static void no_marker(void)
{
	open_dump();
	header();
	load(func(0), "first");
	run(func(0), "first");
}

static void nothing(void)
{
	run(func(0), "first");
}

static void shrunk(void)
{
	begin();
	load(func(0), "first");
	load(func(2), "kept");
	run(func(0), "first");
	if (ftruncate(dump, 0) || lseek(dump, 0, SEEK_SET))
		fail("ftruncate");
	/* Seen short, and then longer than it was. */
	run(func(2), "kept");
	header();
	load(func(1), "second");
	load(func(3), "padding");
	run(func(1), "second");
	run(func(0), "first");
}

/* The child has what the parent had, whatever becomes of the parent's. */
static void forked(void)
{
	pid_t pid;

	begin();
	load(func(0), "both");
	run(func(0), "both");
	pid = fork();
	if (!pid) {
		run_for(func(0), "both", 2 * seconds);
		exit(0);
	}
	usleep(1000);
	load(func(0), "parent");
	run(func(0), "parent");
	waitpid(pid, NULL, 0);
}

/* Another image, at the same addresses, of which nothing is told. */
static void exec_nothing(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%g", seconds);
	execl("/proc/self/exe", "fakejit", "nothing", text, NULL);
	fail("execl");
}

static void exec_again(void)
{
	begin();
	load(func(0), "before");
	run(func(0), "before");
	exec_nothing();
}

static void spoilt(void)
{
	static const uint8_t garbage[64] = { 1, 2, 3, 4, 5 };

	begin();
	load(func(0), "first");
	put(garbage, sizeof(garbage));
	load(func(1), "second");
	run(func(0), "first");
	run(func(1), "second");
}

static void no_dump(void)
{
	open_dump();
	put("This is no jitdump, although it is called like one, and mapped.", 63);
	mark();
	run(func(0), "first");
}

/* A terabyte of nothing behind what was written. */
static void sparse(void)
{
	begin();
	load(func(0), "first");
	if (ftruncate(dump, 1ll << 40))
		fail("ftruncate");
	run(func(0), "first");
}

/* A terabyte of records, 60 MB each, of which nothing was ever written but the beginnings. */
static void sparse_records(void)
{
	begin();
	load(func(0), "first");
	for (int i = 0; i < 16000; i++) {
		prefix(77, (60 << 20) - 16);
		if (lseek(dump, (60 << 20) - 16, SEEK_CUR) < 0)
			fail("lseek");
	}
	run(func(0), "first");
}

static void long_name(void)
{
	static char name[1 << 20];

	memset(name, 'n', sizeof(name));
	begin();
	load_sized(func(0), FUNC_SIZE, name, sizeof(name));
	run(func(0), "n");
}

/* As many functions as the disk takes, all at other addresses, with other names. */
static void endless(void)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	char name[64];

	begin();
	load(func(0), "first");
	for (uint64_t i = 0; workload_goes_on(end); i++) {
		struct {
			uint32_t id, size;
			uint64_t time;
			uint32_t pid, tid;
			uint64_t vma, addr, size_of_code, index;
			char name[72];
		} r[512] = { 0 };

		for (int k = 0; k < 512; k++) {
			r[k].size = sizeof(r[k]);
			r[k].time = clock_ns(CLOCK_MONOTONIC);
			r[k].addr = 0x100000000000 + (i * 512 + k) * 64;
			r[k].size_of_code = 64;
			snprintf(r[k].name, sizeof(r[k].name), "function number %llu",
				 (unsigned long long)i * 512 + k);
		}
		put(r, sizeof(r));
		if (lseek(dump, 0, SEEK_CUR) > 256 << 20)
			break;
	}
	snprintf(name, sizeof(name), "last");
	load(func(1), name);
	run(func(1), name);
}

static void with_lines(void)
{
	begin();
	line(func(0), "dir/file; x.js", 17);
	load(func(0), "first");
	load(func(1), "second");
	run(func(0), "first");
	run(func(1), "second");
}

static void hostile_names(void)
{
	begin();
	load(func(0), "a;b\nc\x1b[31m\xff\\ 17");
	load(func(1), "");
	load(func(2), "[kernel]");
	run(func(0), "odd");
	run(func(1), "empty");
	run(func(2), "brackets");
}

static void map(void)
{
	own_map(func(0), "first");
	run(func(0), "first");
	own_map(func(1), "second");
	run(func(1), "second");
}

/* As the JDK writes it. */
static void map_at_exit(void)
{
	run(func(0), "first");
	run(func(1), "second");
	own_map(func(0), "first");
	own_map(func(1), "second");
}

static void map_again(void)
{
	own_map(func(0), "one");
	run(func(0), "one");
	own_map(func(0), "two");
	run(func(0), "two");
}

/* Another image, whose perf map the file would be by its name. */
static void map_exec(void)
{
	own_map(func(0), "before");
	run(func(0), "before");
	exec_nothing();
}

static void map_link(void)
{
	char path[64], target[4200];

	snprintf(target, sizeof(target), "%s/elsewhere.map", dir);
	write_map(target, func(0), "first");
	map_path(path, sizeof(path));
	if (symlink(target, path))
		fail(path);
	run(func(0), "first");
}

static void map_fifo(void)
{
	char path[64];

	map_path(path, sizeof(path));
	if (mkfifo(path, 0666))
		fail(path);
	run(func(0), "first");
}

static void map_directory(void)
{
	char path[64];

	map_path(path, sizeof(path));
	if (mkdir(path, 0777))
		fail(path);
	run(func(0), "first");
	rmdir(path);
}

/* A map that never was another: made elsewhere. */
static void move_map(const char *from)
{
	char path[64];

	map_path(path, sizeof(path));
	if (rename(from, path))
		fail(path);
	run(func(0), "first");
}

static void map_of_another(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/fakejit-%d", getpid());
	write_map(path, func(0), "first");
	if (chown(path, 12345, 12345))
		fail(path);
	move_map(path);
}

static void map_old(void)
{
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/fakejit-%d", getpid());
	write_map(path, func(0), "first");
	if (utimensat(AT_FDCWD, path, times, 0))
		fail(path);
	move_map(path);
}

static void dump_of_another(void)
{
	open_dump();
	header();
	load(func(0), "first");
	if (fchown(dump, 12345, 12345))
		fail("fchown");
	mark();
	run(func(0), "first");
}

/* A device that can be mapped. Where none can be made: exit status 77. */
static void device(void)
{
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", dir, getpid());
	if (mknod(dump_path, S_IFCHR | 0666, makedev(1, 5)))
		exit(77);
	dump = open(dump_path, O_RDWR | O_CLOEXEC);
	if (dump < 0)
		exit(77);
	mark();
	run(func(0), "first");
}

/* Its times are those of another clock: 0 is as good as any. */
static void tsc(void)
{
	open_dump();
	header_with(1);
	mark();
	load(func(0), "first");
	load(func(1), "second");
	run(func(0), "first");
	run(func(1), "second");
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "plain", plain },
	{ "unlinked", unlinked },
	{ "again", again },
	{ "late", late },
	{ "moved", moved },
	{ "no-marker", no_marker },
	{ "nothing", nothing },
	{ "shrunk", shrunk },
	{ "forked", forked },
	{ "exec", exec_again },
	{ "spoilt", spoilt },
	{ "no-dump", no_dump },
	{ "sparse", sparse },
	{ "sparse-records", sparse_records },
	{ "long-name", long_name },
	{ "endless", endless },
	{ "lines", with_lines },
	{ "hostile-names", hostile_names },
	{ "map", map },
	{ "map-at-exit", map_at_exit },
	{ "map-again", map_again },
	{ "map-exec", map_exec },
	{ "map-link", map_link },
	{ "map-fifo", map_fifo },
	{ "map-directory", map_directory },
	{ "map-of-another", map_of_another },
	{ "map-old", map_old },
	{ "dump-of-another", dump_of_another },
	{ "device", device },
	{ "tsc", tsc },
};

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: fakejit MODE SECONDS [DIR]\n");
		return 2;
	}
	seconds = atof(argv[2]);
	dir = argc > 3 ? argv[3] : ".";
	signal(SIGTERM, workload_on_signal);
	signal(SIGINT, workload_on_signal);
	map_code();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		modes[i].run();
		return 0;
	}
	fprintf(stderr, "fakejit: no mode %s\n", argv[1]);
	return 2;
}
