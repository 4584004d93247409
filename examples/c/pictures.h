/* Pictures of the examples: PGM files, which every viewer of pictures opens. */
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

/* Writes images [N, 1, height, width] with numbers from 0 to 1, `columns` of them in a row. */
static inline void save_grid(dt_tensor* images, int64_t columns, const char* path) {
  T_SCOPE {
    const int64_t height = T_size(images, 2), width = T_size(images, 3);
    const int64_t rows = T_size(images, 0) / columns, bytes = T_numel(images);
    dt_tensor* sheet = T_reshape(images, T_DIMS(rows, columns, height, width));
    sheet = T_contiguous(T_transpose(sheet, 1, 2));
    sheet = T_mul(T_clamp(sheet, .min = T_OP(0), .max = T_OP(1)), 255);
    unsigned char* values = malloc((size_t)bytes + 1);
    const int good = values && !T_read(T_to(sheet, .dtype = DT_DTYPE_UINT8), values, bytes);
    FILE* file = good ? fopen(path, "wb") : NULL;
    if (file) {
      fprintf(file, "P5\n%d %d\n255\n", (int)(columns * width), (int)(rows * height));
      const int whole = fwrite(values, 1, (size_t)bytes, file) == (size_t)bytes;
      if (fclose(file) || !whole)
        T_check(dt_error_set(DT_STATUS_IO, "the picture cannot be written"));
    } else {
      T_check(dt_error_set(DT_STATUS_IO, "the picture cannot be written"));
    }
    free(values);
  }
}

#endif
