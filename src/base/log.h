/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on standard error. Only src/cmd and src/session.c call these: everything
 * below returns an errno or counts.
 */
#ifndef EBOLT_BASE_LOG_H
#define EBOLT_BASE_LOG_H

enum log_level {
	LOG_ERR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
};

/* -q gives LOG_ERR, the default is LOG_INFO, -v gives LOG_DEBUG. */
void log__set_level(enum log_level level);

/* One line: "ebolt: " (and "warning: " for LOG_WARN), the text, a line end. */
void log__print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Each line of a text so. NULL has none. */
void log__print_lines(enum log_level level, const char *text);

#define pr_err(...)   log__print(LOG_ERR, __VA_ARGS__)
#define pr_warn(...)  log__print(LOG_WARN, __VA_ARGS__)
#define pr_info(...)  log__print(LOG_INFO, __VA_ARGS__)
#define pr_debug(...) log__print(LOG_DEBUG, __VA_ARGS__)

#endif
