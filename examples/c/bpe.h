/* GPT-2's tokens: pieces of text and their numbers, from the published vocab.json and merges.txt.
 */
#ifndef BPE_H
#define BPE_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of text: its bytes are not ended by 0. */
typedef struct Piece {
  unsigned char* bytes;
  int length, number;
} Piece;

typedef struct Merge {
  int left, right, joined;
} Merge;

typedef struct BPE {
  Piece *by_number, *sorted; /* sorted by bytes; both have the same bytes */
  Merge* merges;             /* the first to be joined comes first */
  int pieces, merge_count;
  int byte_of[512]; /* the byte that a character of the files stands for; -1: none */
} BPE;

/* Files write a byte as the character of that number, or, where that is not printed, one from 256
 * on. */
static void bpe_fill_bytes(BPE* bpe) {
  int next = 256;
  for (int c = 0; c < 512; c++) bpe->byte_of[c] = -1;
  for (int b = 0; b < 256; b++) {
    const int kept = (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174;
    bpe->byte_of[kept ? b : next++] = b;
  }
}

/* The contents of a file with a 0 behind them, to be freed; NULL if it cannot be read. */
static char* bpe_read(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  long size = -1;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file);
  if (size >= 0 && !fseek(file, 0, SEEK_SET)) text = malloc((size_t)size + 1);
  if (text) text[fread(text, 1, (size_t)size, file)] = 0;
  if (file) fclose(file);
  return text;
}

/* The next character, one or two bytes of UTF-8 or an escape of JSON's; -1: none that files have.
 */
static int bpe_character(const char** at) {
  const unsigned char* s = (const unsigned char*)*at;
  if (s[0] == '\\' && s[1] == 'u') {
    char digits[5] = {0};
    strncpy(digits, (const char*)s + 2, 4);
    *at += 2 + strlen(digits);
    return (int)strtol(digits, NULL, 16);
  }
  if (s[0] == '\\' && s[1]) return *at += 2, s[1];
  if (s[0] < 128) return s[0] ? (++*at, s[0]) : -1;
  if ((s[0] & 0xE0) != 0xC0 || !s[1]) return -1;
  *at += 2;
  return (s[0] & 31) << 6 | (s[1] & 63);
}

/* Reads characters up to `end` as bytes into `out`, which has room for 1024: how many, or -1. */
static int bpe_bytes(const BPE* bpe, const char** at, char end, unsigned char* out) {
  int length = 0;
  while (**at && **at != end) {
    const int c = bpe_character(at);
    if (c < 0 || c >= 512 || bpe->byte_of[c] < 0 || length == 1024) return -1;
    out[length++] = (unsigned char)bpe->byte_of[c];
  }
  return **at == end ? length : -1;
}

static int bpe_compare(const void* a, const void* b) {
  const Piece *x = a, *y = b;
  const int shorter = x->length < y->length ? x->length : y->length;
  const int order = memcmp(x->bytes, y->bytes, (size_t)shorter);
  return order ? order : x->length - y->length;
}

static int bpe_number(const BPE* bpe, const unsigned char* bytes, int length) {
  const Piece wanted = {(unsigned char*)bytes, length, 0};
  const Piece* found =
      bsearch(&wanted, bpe->sorted, (size_t)bpe->pieces, sizeof wanted, bpe_compare);
  return found ? found->number : -1;
}

/* {"piece": number, ...}: the numbers are 0, 1, ... in any order. False if it is not that. */
static int bpe_read_pieces(BPE* bpe, const char* at) {
  unsigned char bytes[1024];
  const int room = 1 << 20;
  bpe->by_number = calloc((size_t)room, sizeof *bpe->by_number);
  while (bpe->by_number && (at = strchr(at, '"'))) {
    at++;
    const int length = bpe_bytes(bpe, &at, '"', bytes);
    if (length < 1 || !(at = strchr(at, ':'))) return 0;
    const long number = strtol(at + 1, (char**)&at, 10);
    if (number < 0 || number >= room || bpe->by_number[number].bytes) return 0;
    const Piece piece = {malloc((size_t)length), length, (int)number};
    if (!piece.bytes) return 0;
    memcpy(piece.bytes, bytes, (size_t)length);
    bpe->by_number[number] = piece;
    bpe->pieces++;
  }
  for (int i = 0; i < bpe->pieces; i++)
    if (!bpe->by_number[i].bytes) return 0;
  bpe->sorted = malloc((size_t)bpe->pieces * sizeof *bpe->sorted + 1);
  if (!bpe->sorted) return 0;
  memcpy(bpe->sorted, bpe->by_number, (size_t)bpe->pieces * sizeof *bpe->sorted);
  qsort(bpe->sorted, (size_t)bpe->pieces, sizeof *bpe->sorted, bpe_compare);
  return bpe->pieces > 0;
}

/* A line for each pair, behind one that begins with #version. False if it is not that. */
static int bpe_read_merges(BPE* bpe, const char* at) {
  unsigned char both[2048];
  bpe->merges = malloc((size_t)bpe->pieces * sizeof *bpe->merges);
  if (!strncmp(at, "#version", 8)) at = strchr(at, '\n') ? strchr(at, '\n') + 1 : "";
  for (; bpe->merges && *at; at++) {
    const int left = bpe_bytes(bpe, &at, ' ', both);
    if (left < 1 || bpe->merge_count == bpe->pieces) return 0;
    at++;
    const int right = bpe_bytes(bpe, &at, '\n', both + left);
    if (right < 1) return 0;
    const Merge merge = {bpe_number(bpe, both, left), bpe_number(bpe, both + left, right),
                         bpe_number(bpe, both, left + right)};
    if (merge.left < 0 || merge.right < 0 || merge.joined < 0) return 0;
    bpe->merges[bpe->merge_count++] = merge;
  }
  return bpe->merges != NULL;
}

static void bpe_free(BPE* bpe) {
  for (int i = 0; bpe->by_number && i < 1 << 20; i++) free(bpe->by_number[i].bytes);
  free(bpe->by_number);
  free(bpe->sorted);
  free(bpe->merges);
}

/* False, and a message, if the folder has no vocab.json and merges.txt. bpe_free() in any case. */
static int bpe_open(BPE* bpe, const char* folder) {
  char path[2][4096];
  char* text[2];
  memset(bpe, 0, sizeof *bpe);
  bpe_fill_bytes(bpe);
  snprintf(path[0], sizeof path[0], "%s/vocab.json", folder);
  snprintf(path[1], sizeof path[1], "%s/merges.txt", folder);
  for (int i = 0; i < 2; i++) text[i] = bpe_read(path[i]);
  const int pieces = text[0] && bpe_read_pieces(bpe, text[0]);
  const int good = pieces && text[1] && bpe_read_merges(bpe, text[1]);
  if (!good) fprintf(stderr, "%s: cannot be read, or is broken\n", path[pieces]);
  for (int i = 0; i < 2; i++) free(text[i]);
  return good;
}

/* What belongs together: 0 spaces, 1 letters (and all that is not ASCII), 2 digits, 3 other signs.
 */
static int bpe_class(unsigned char c) {
  if (isspace(c)) return 0;
  return isalpha(c) || c >= 128 ? 1 : isdigit(c) ? 2 : 3;
}

/* How long the word is that the text begins with: with the space before it, or only spaces. */
static int64_t bpe_word(const unsigned char* s) {
  static const char* const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  int64_t n = 0;
  for (int i = 0; i < 7; i++)
    if (!strncmp((const char*)s, endings[i], strlen(endings[i])))
      return (int64_t)strlen(endings[i]);
  if (isspace(s[0]) && !(s[0] == ' ' && s[1] && !isspace(s[1]))) {
    while (isspace(s[n])) n++;
    return s[n] && n > 1 ? n - 1 : n;
  }
  const int64_t first = s[0] == ' ';
  for (n = first; s[n] && bpe_class(s[n]) == bpe_class(s[first]);) n++;
  return n;
}

/* Turns `length` bytes into their tokens: how many, at most `length`. A merge makes only pairs that
 * come later in the file, so one walk through it joins all there is to join. */
static int64_t bpe_encode_word(const BPE* bpe, const unsigned char* s, int64_t length,
                               int64_t* out) {
  for (int64_t i = 0; i < length; i++) out[i] = bpe_number(bpe, s + i, 1);
  for (int m = 0; m < bpe->merge_count && length > 1; m++) {
    const Merge* merge = &bpe->merges[m];
    int64_t to = 0;
    for (int64_t i = 0; i < length; to++) {
      const int both = i + 1 < length && out[i] == merge->left && out[i + 1] == merge->right;
      out[to] = both ? merge->joined : out[i];
      i += both ? 2 : 1;
    }
    length = to;
  }
  return length;
}

/* The tokens of a text, into room for as many as it has bytes. */
static int64_t bpe_encode(const BPE* bpe, const char* text, int64_t* out) {
  const unsigned char* s = (const unsigned char*)text;
  int64_t count = 0;
  while (*s) {
    const int64_t length = bpe_word(s);
    count += bpe_encode_word(bpe, s, length, out + count);
    s += length;
  }
  return count;
}

#endif
