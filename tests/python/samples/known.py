"""What docs/differences*.md say, as far as PyTorch's samples meet it. A pattern is of names as op_db has them."""

import re

# Not called: no complex or sparse tensors, no uint64; names of PyTorch's inside; what is random.
LEFT_OUT = re.compile(
    r"_(?!_)|__rdiv__|torch\.|masked\.|sparse|fft\.|jiterator|native_|(bfloat16|bool|byte|char|double|float|half|int|long|short)$"
    r"|view_as_(complex|real)$|complex$|polar$|istft$|to_sparse$|hash_tensor$|cfloat$|cdouble$|chalf$|linalg\.eig(vals)?$"
    r"|stft$|grid_sampler_|constant_pad_nd$|max_pool2d_with_indices_backward$|empty|new_empty|resize|as_strided\.partial"
    r"|rand|(log_)?normal|uniform|bernoulli|multinomial|cauchy|exponential$|geometric|nn\.functional\..*dropout"
    r"|nn\.functional\.(rrelu|fractional_|multi_head_attention_forward)|svd_lowrank|pca_lowrank"
)
# Equal elements have no order: the places are not compared.
PLACES = re.compile(r"(sort|argsort|msort|topk|kthvalue|mode|median|nanmedian)$")
# **Memory order**
ORDER = re.compile(
    r"nonzero|argwhere|linalg\.(householder_product|solve|solve_ex|matrix_power)$|ormqr|triangular_solve$"
    r"|nn\.functional\.(interpolate\.nearest|scaled_dot_product_attention)"
)
# **Nothing to compute**: `batch_norm` of one dimension.
REFUSED = re.compile(r"nn\.functional\.batch_norm")
# Which integers are taken.
INTEGERS = re.compile(r"nn\.functional\.(avg_pool|conv_transpose|local_response_norm|interpolate)")
# **Where PyTorch is wrong**: gradients that are not compared.
SLOPES = re.compile(r"as_strided_scatter|cholesky_(solve|inverse)$")
# **`polygamma`** and its kin know more digits; signs of vectors are free; matrix_exp in float32.
NUMBERS = re.compile(
    r"(special\.)?polygamma|special\.bessel|(linalg\.)?(svd|qr|eigh|lu)$|matrix_exp$|linalg\.pinv\.singular$"
)
