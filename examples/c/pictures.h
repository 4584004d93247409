/* Pictures of the examples: PNG files, which browsers, editors and viewers of pictures open. */
#ifndef PICTURES_H
#define PICTURES_H

#include <dt.h>
#include <sys/stat.h>

/* Of a program's arguments DIR [epochs] [folder for the pictures] [images]. */
typedef struct Arguments {
  dt_tensor* images; /* those in DIR, from 0 to 255 */
  int epochs;
  const char* folder;
} Arguments;

static inline Arguments read_arguments(int argc, char** argv) {
  const int64_t count = argc > 4 ? atoll(argv[4]) : 60000;
  char path[4096];
  snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", argv[1]);
  dt_tensor* images = T_slice(T_read_idx(path), .end = T_INT(count));
  images = T_to(images, .dtype = DT_DTYPE_FLOAT32);
  const char* folder = argc > 3 ? argv[3] : ".";
  mkdir(folder, 0777); /* where it cannot be made, saving says so */
  return (Arguments){images, argc > 2 ? atoi(argv[2]) : 5, folder};
}

/* Numbers of PNG files begin with their highest byte. */
static inline unsigned char* put_number(unsigned char* to, uint32_t x) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(x >> (24 - 8 * i));
  return to + 4;
}

/* The checksum of bytes: the remainder of a division of polynomials, bit by bit. */
static inline uint32_t crc32_of(const unsigned char* p, size_t n) {
  uint32_t rest = 0xFFFFFFFF;
  for (size_t i = 0; i < n; i++) {
    rest ^= p[i];
    for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320 : 0);
  }
  return ~rest;
}

/* A part of a PNG file around its content, which lies 8 bytes behind `part`: its length, its name
 * and the checksum. Where the next one begins. */
static inline unsigned char* end_part(unsigned char* part, const char* name, size_t content) {
  memcpy(put_number(part, (uint32_t)content), name, 4);
  return put_number(part + 8 + content, crc32_of(part + 4, 4 + content));
}

/* Writes the file of a picture to `to`, which has room for (width + 6) * height + 63 bytes. Its
 * pixels are bytes from black, 0, to white, 255. Nothing is compressed: each row is a stored block,
 * and begins with 0, for no filter. The end of the file. */
static inline unsigned char* write_png(unsigned char* to, const unsigned char* pixels, int width,
                                       int height) {
  static const unsigned char kFirst[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  memcpy(to, kFirst, sizeof kFirst);
  unsigned char* part = to + sizeof kFirst;
  unsigned char* at = put_number(put_number(part + 8, (uint32_t)width), (uint32_t)height);
  memcpy(at, (const unsigned char[]){8, 0, 0, 0, 0}, 5); /* 8 bits for each pixel, of grey */
  part = end_part(part, "IHDR", 13);

  const int stored = width + 1;
  uint32_t sum = 1, sum_of_sums = 0; /* adler32 */
  at = part + 8;
  *at++ = 0x78, *at++ = 0x01;
  for (int row = 0; row < height; row++) {
    *at++ = row == height - 1; /* the last block */
    *at++ = stored & 255, *at++ = stored >> 8 & 255;
    *at++ = ~stored & 255, *at++ = ~stored >> 8 & 255;
    *at++ = 0;
    memcpy(at, pixels + (size_t)row * (size_t)width, (size_t)width);
    at += width;
    for (int i = stored; i > 0; i--) {
      sum = (sum + at[-i]) % 65521;
      sum_of_sums = (sum_of_sums + sum) % 65521;
    }
  }
  at = put_number(at, sum_of_sums << 16 | sum);
  part = end_part(part, "IDAT", (size_t)(at - part - 8));
  return end_part(part, "IEND", 0);
}

/* Writes images [N, 1, height, width] with numbers from 0 to 1, `columns` of them in a row. */
static inline void save_grid(dt_tensor* images, int64_t columns, const char* path) {
  T_SCOPE {
    const int64_t height = T_size(images, 2), width = T_size(images, 3);
    const int64_t rows = T_size(images, 0) / columns, bytes = T_numel(images);
    const int64_t room = (columns * width + 6) * rows * height + 63;
    dt_tensor* sheet = T_reshape(images, T_DIMS(rows, columns, height, width));
    sheet = T_contiguous(T_transpose(sheet, 1, 2));
    sheet = T_mul(T_clamp(sheet, .min = T_OP(0), .max = T_OP(1)), 255);
    unsigned char* pixels = malloc((size_t)(bytes + room));
    const int good = pixels && !T_read(T_to(sheet, .dtype = DT_DTYPE_UINT8), pixels, bytes);
    FILE* file = good ? fopen(path, "wb") : NULL;
    if (file) {
      unsigned char* const png = pixels + bytes;
      unsigned char* const end =
          write_png(png, pixels, (int)(columns * width), (int)(rows * height));
      const int whole = fwrite(png, (size_t)(end - png), 1, file) == 1;
      if (fclose(file) || !whole)
        T_check(dt_error_set(DT_STATUS_IO, "the picture cannot be written"));
    } else {
      T_check(dt_error_set(DT_STATUS_IO, "the picture cannot be written"));
    }
    free(pixels);
  }
}

#endif
