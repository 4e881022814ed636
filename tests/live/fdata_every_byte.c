// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What ebolt writes as fdata for one sample at each byte of a binary's code:
 *
 *	fdata_every_byte BINARY >OUT.fdata
 *
 * The profile is made by hand, as if the binary had been mapped and sampled, so that the output
 * can be compared with perf2bolt's for the same samples (every_byte.py).
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "object/elf_file.h"
#include "output/output.h"
#include "proc/dso.h"
#include "profile/profile.h"

static int add_sample(struct profile *p, uint64_t off)
{
	struct stack key = { .comm = "every", .nr_user = 1 };
	struct frame f = { .kind = FRAME_NATIVE, .dso = 0, .off = off };
	uint32_t frame;
	int err = profile__frame(p, &f, &frame);

	return err ?: profile__add(p, &key, &frame);
}

static int add_code(struct profile *p, int fd)
{
	struct elf_file *ef;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = elf_file__open_fd(fd, &ef);

	if (err)
		return err;
	while ((scn = elf_nextscn(elf_file__elf(ef), scn)) && !err) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    (shdr.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR))
			continue;
		for (uint64_t i = 0; i < shdr.sh_size && !err; i++)
			err = add_sample(p, shdr.sh_offset + i);
	}
	elf_file__close(ef);
	return err;
}

static int run(const char *path, int fd, struct profile *p, struct dso_table *dsos)
{
	struct output_opts opts = { .binary = path, .event_name = "cpu-clock", .time_based = true };
	struct output_input in = { .profile = p, .dsos = dsos, .opts = &opts };
	struct output_result result = { 0 };
	char *why = NULL;
	void *state = NULL;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -1;
	err = vec_push(&dsos->dsos, (struct dso){ .id = { .maj = major(st.st_dev),
							  .min = minor(st.st_dev),
							  .ino = st.st_ino },
						  .fd = fd,
						  .path = strdup(path) });
	if (!err)
		err = add_code(p, fd);
	if (!err)
		err = output_fdata.prepare(&opts, &state, &why);
	if (!err) {
		err = output_fdata.write(state, &in, stdout, &result, &why);
		output_fdata.free(state);
	}
	if (err)
		fprintf(stderr, "%s\n", why ? why : strerror(-err));
	else
		fprintf(stderr, "%llu samples\n%s\n", (unsigned long long)result.samples,
			result.notes ? result.notes : "");
	free(result.notes);
	free(why);
	return err;
}

int main(int argc, char **argv)
{
	struct profile_opts opts = { 0 };
	struct profile *p = profile__new(&opts);
	struct dso_table dsos;
	int fd, err;

	if (argc != 2 || !p || dso_table__init(&dsos))
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	/* The table closes the descriptor. */
	err = run(argv[1], fd, p, &dsos);
	dso_table__done(&dsos);
	profile__free(p);
	return err ? 1 : 0;
}
