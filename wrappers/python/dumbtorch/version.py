"""What was built: the version, and the parts that PyTorch's builds may have."""

__version__ = "0.1.0"
debug = False
cuda = None  # CUDA is found at run time: torch.cuda.is_available()
git_version = None
hip = None
rocm = None
xpu = None
