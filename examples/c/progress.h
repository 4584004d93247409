/* The progress bar of the examples: one line on a terminal, nothing elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdio.h>
#include <unistd.h>

/* Takes the bar off the line, before another one is printed there. */
static inline void clear_progress(void) {
  if (isatty(2)) fputs("\r\033[K", stderr);
}

/* Rewrites the line, for each hundredth of the way; it is gone at the end. */
static inline void show_progress(long done, long total, double loss) {
  const long hundredth = total / 100 > 0 ? total / 100 : 1;
  if (!isatty(2) || (done < total && done % hundredth)) return;
  const int filled = (int)(30 * done / total);
  fputs("\r\033[K", stderr);
  if (done == total) return;
  for (int i = 0; i < 30; i++) fputs(i < filled ? "█" : "░", stderr);
  fprintf(stderr, " %ld/%ld loss %.4f", done, total, loss);
}

#endif
