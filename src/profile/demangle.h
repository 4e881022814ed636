/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ and Rust names, as their authors wrote them.
 */
#ifndef EBOLT_PROFILE_DEMANGLE_H
#define EBOLT_PROFILE_DEMANGLE_H

#define DEMANGLE_INPUT_MAX  (16u << 10) /* bytes of a name; longer ones stay as they are */
#define DEMANGLE_OUTPUT_MAX (64u << 10) /* bytes; a name that gets longer stays as it is */

/*
 * The demangled name with its parameters, allocated for the caller to free: Itanium C++
 * ("_Z..."), Rust's old scheme (without its hash) and its v0 ("_R..."). The ending of a PLT
 * stub ("@plt") is kept. NULL where the name isn't mangled, can't be demangled, is over a limit, or
 * for want of memory: then use the name as it is. (libiberty's recursion limit, which stays on,
 * leaves C++ names of more than 1,024 bytes alone, for perf and c++filt too.)
 */
char *demangle__name(const char *mangled);

#endif
