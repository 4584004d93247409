"""The rows: one or more for every op. test_coverage.py fails if an op of the schema has none."""

from rows_arrange import ROWS as ARRANGE_ROWS
from rows_attention import ROWS as ATTENTION_ROWS
from rows_factor import ROWS as FACTOR_ROWS
from rows_generation import ROWS as GENERATION_ROWS
from rows_linalg import ROWS as LINALG_ROWS
from rows_loss import ROWS as LOSS_ROWS
from rows_nn import ROWS as NN_ROWS
from rows_recurrent import ROWS as RECURRENT_ROWS
from rows_shape import ROWS as SHAPE_ROWS
from rows_sorting import ROWS as SORTING_ROWS
from rows_special import ROWS as POINTWISE_ROWS
from rows_vision import ROWS as VISION_ROWS
from rows_window import ROWS as WINDOW_ROWS

ROWS = [
    *POINTWISE_ROWS,
    *SHAPE_ROWS,
    *ARRANGE_ROWS,
    *SORTING_ROWS,
    *NN_ROWS,
    *WINDOW_ROWS,
    *VISION_ROWS,
    *RECURRENT_ROWS,
    *ATTENTION_ROWS,
    *GENERATION_ROWS,
    *LOSS_ROWS,
    *LINALG_ROWS,
    *FACTOR_ROWS,
]
