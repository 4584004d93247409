"""Random programs, run by dumbtorch and by PyTorch: see __main__.py."""
