"""What was built: the versions, and the parts that PyTorch's builds may have."""

interface = "2.13.0"  # the PyTorch whose names, arguments and numbers are here
release = "0.1.0"  # of this library
__version__ = f"{interface}+dumbtorch.{release}"
debug = False
cuda = None  # CUDA is found at run time: torch.cuda.is_available()
git_version = None
hip = None
rocm = None
xpu = None
